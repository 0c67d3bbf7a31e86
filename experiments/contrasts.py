"""Two models' errors on the test set, token by token, kept as JSON lines beside the archive.

The archive has the errors of a model by sentence only, so that both models label the test set again, with the
weights that were kept or, without them, after the same training. A later version of the code may round
otherwise and stop an iteration sooner or later: sentences whose errors are not those of the archive are
counted and told, and scores that differ by more than a tenth of a point are an error.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.archive import append, read_lines
from experiments.configuration import Configuration
from experiments.ground import Ground
from experiments.pool import Pool
from experiments.running import Laboratory
from experiments.table import Contrast
from fieldcraft.evaluation import bootstrap
from fieldcraft.evaluation.labellings import Encoded, decode
from fieldcraft.evaluation.significance import compare
from fieldcraft.pools.discriminative import gazetteers
from fieldcraft.pools.sites import sites

Floats = NDArray[np.float64]
CLOSE = 0.001  # of scores


@dataclass(frozen=True)
class Contrasted:
    """What became of a contrast.

    tokens : ((both right, only before), (only after, both wrong))
    before, after, repaired : scores, the last one with all harm undone
    types : {"harmed": {"A": …}, "mended": …}
    p : matched pairs by sentence, two-sided
    moved : sentences whose errors are not those of the archive, before and after
    """

    key: str
    tokens: tuple[tuple[int, int], tuple[int, int]]
    before: float
    after: float
    repaired: float
    types: dict[str, dict[str, int]]
    p: float
    moved: tuple[int, int]


def contrasted(contrast: Contrast, laboratory: Laboratory) -> Contrasted:
    """From the file, or by labelling the test set again."""
    path, key = laboratory.archive.path.with_name("contrasts.jsonl"), key_of(contrast, laboratory)
    known = read_lines(path)
    if key in known:
        raw = known[key]
        return Contrasted(**{**raw, "tokens": tuple(map(tuple, raw["tokens"])), "moved": tuple(raw["moved"])})
    found = _contrasted(contrast, laboratory, key)
    append(path, asdict(found))
    return found


def key_of(contrast: Contrast, laboratory: Laboratory) -> str:
    """Tells it from any other."""
    told = f"{[side.key for side in (contrast.before[1], contrast.after[1])]}-{laboratory.suffix}"
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def _contrasted(contrast: Contrast, laboratory: Laboratory, key: str) -> Contrasted:
    (before, moved), (after, also) = (
        _labels(side, laboratory) for side in (contrast.before[1], contrast.after[1])
    )
    test = laboratory.splits(contrast.task).test
    names = (contrast.before[0], contrast.after[0])
    ground, weights = _weights(contrast.after[1], laboratory)
    model = ground.fitted(weights)
    listed = sites(test.labels, before, after, X=test, model=model, features=gazetteers(model), names=names)
    pairs = compare(test.labels, before, after, resamples=1)
    scores = (listed.a, listed.b, listed.repaired)
    p = pairs.by_sequence.two_sided
    return Contrasted(key, pairs.tokens, *scores, listed.counts(), p, (moved, also))


def _labels(side: Configuration | Pool, laboratory: Laboratory) -> tuple[list[list[str]], int]:
    """A labelling of the test set, and in how many sentences its errors are not those of the archive."""
    result = laboratory.result(side)
    ground, weights = _weights(side, laboratory)
    held_out = ground.test
    ids, offsets = held_out.labels(weights), held_out.encoded.offsets
    errors = bootstrap.errors_by_sequence(Encoded(held_out.names, held_out.gold, ids, offsets))
    known = result.model.test
    if known is None or abs(known.score - held_out.score(ids)) > CLOSE:
        raise ValueError(f"{result.key}: the score on the test set is not that of the archive")
    moved = int(np.count_nonzero(errors != known.errors()))
    return decode(ids, offsets, held_out.names), moved


def _weights(side: Configuration | Pool, laboratory: Laboratory) -> tuple[Ground, Floats]:
    if isinstance(side, Configuration):
        ground, weights, _ = laboratory.weights(side)
        return ground, weights
    found = [laboratory.weights(member) for member in side.members]
    shares = np.array(laboratory.result(side).chosen)
    return found[0][0], np.asarray(shares @ np.stack([weights for _, weights, _ in found]))
