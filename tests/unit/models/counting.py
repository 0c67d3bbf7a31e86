"""How often a model encodes and scores."""

from __future__ import annotations

from typing import Any

import pytest

from fieldcraft import ChainCRF, _core
from fieldcraft.potentials import ChainWeights
from fieldcraft.structures.linear_chain import LinearChain


class Counts:
    """Calls of the encoder, of scoring, and of operations on potentials that are not kept."""

    def __init__(self, crf: ChainCRF, patch: pytest.MonkeyPatch) -> None:
        self.encoded = self.scored = self.computed = 0
        encoder, scorer = type(crf.encoder_), ChainWeights
        encode_, potentials, handle = encoder.encode, scorer.potentials, LinearChain._handle

        def encode(*arguments: Any, **settings: Any) -> Any:
            self.encoded += 1
            return encode_(*arguments, **settings)

        def apply(*arguments: Any) -> Any:
            self.scored += 1
            return potentials(*arguments)

        def used(chain: LinearChain, given: Any, **settings: Any) -> Any:
            self.computed += not isinstance(given.handle, _core.ScoredPotentials)
            return handle(chain, given, **settings)

        patch.setattr(encoder, "encode", encode)
        patch.setattr(scorer, "potentials", apply)
        patch.setattr(LinearChain, "_handle", used)
