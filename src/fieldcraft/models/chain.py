"""ChainCRF: the linear-chain conditional random field.

p(y | x) = exp(sum of weights of the active features) / Z(x)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fieldcraft.errors import InputError
from fieldcraft.models.sequence_model import SequenceModel
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.state_text import parse_states, states_from_text
from fieldcraft.structures.states import StateSpace

if TYPE_CHECKING:
    from fieldcraft.models.parameters import Parameters
    from fieldcraft.models.voting import Voters


class ChainCRF(SequenceModel):
    """Linear-chain conditional random field.

    Parameters
    ----------
    templates : the observations: a named set ("simple", "tagging", "entities" …), template text,
        a Templates object, or None when X holds features
    prior : penalty on the weights: "gaussian", "laplacian", "elastic_net", "hyperbolic", "inequality", an
        object, or None; "auto" is the Gaussian, or none for optimisers without penalties
    optimiser : "auto", "lbfgs", "owlqn", or an object with settings
    objective : loss on the data: "likelihood", "pointwise", "softmax_margin" … or an object of
        ``fc.objectives``; None for the optimiser's default
    labels : names of the labels, in order; None for those that occur, sorted
    label_weights : how much the terms of each gold label count: a dict (others count 1) or "balanced"
    features : "supported" (configurations seen in training), "all", "all_states", "all_transitions", or
        "selected" (supported, and those that are probable after a few iterations)
    min_count : features seen less often are left out
    states : what the chain runs over: "labels"; "labels+observed" (only label pairs of the training data);
        "ngrams:2" or "ngrams:3" (chains of second and third order), also "ngrams:2+observed" and
        "ngrams:2+iob2"; "latent:3" (three hidden states per label); a scheme such as "iob2" (valid labels
        only); or a StateSpace whose ``names`` are the labels in their order. See ``fc.StateSpace``
    constraints : what predictions obey if they are given no other: a list of constraints (``fc.at_most`` …)
        or texts; those on neighbouring labels are part of the state space in training too
    beam : for hundreds of labels: how many states of a position ``predict``, ``decode`` and training by
        likelihood look at, a number (20) or the share of their sums that these have (0.999); None for all.
        ``training_log_`` has the mass that was lost, and ``decode`` says ``optimal=False``; probabilities
        stay those of all states
    decoding : "viterbi" (the best labelling) or "posterior" (the best label at each position)
    metric : held-out score: "auto" is span F if the labels form a scheme, else token accuracy
    gazetteers : for templates that name them
    functions : dict of name -> function, features beside the templates: called with the columns of a sequence
        (a dict of lists), it returns an item for each token: a string, a list of strings, a dict or a number.
        The file of a model stores the names only: ``fc.load(path, functions={"name": function})``
    hash_size : hash attributes into this many ids instead of storing their names
    edge_prefix : features whose name starts with it are combined with label pairs
    tokenizer : how predict_text splits strings: "words", "whitespace", "characters" or a Tokenizer
    warm_start : fit starts from the weights of the previous fit, for the features in common
    n_jobs : threads; None uses all allowed cores
    random_state : seed of sample()
    verbose : show progress

    Examples
    --------
    >>> X = [[["w=the", "first"], ["w=dog"]], [["w=a", "first"], ["w=cat"]]]
    >>> y = [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> crf = ChainCRF().fit(X, y)
    >>> crf.predict([[["w=the"], ["w=cat"]]]).tolist()
    [['DET', 'NOUN']]
    """

    states_: StateSpace

    def export(self, path: str | os.PathLike[str], format: str = "crfsuite") -> None:
        """Write the model in the format of another toolkit, whole or not at all.

        Parameters
        ----------
        path : the file to write
        format : "crfsuite", a binary model of CRFsuite

        CRFsuite has weights for an attribute with a label and for a pair of labels. A model with anything
        else (label pairs that look at the input, hashing, gazetteers, forbidden labels) is an InputError.
        """
        from fieldcraft.models.exchange import export

        export(self, path, format)

    def structure_for(self, labels: Sequence[str]) -> LinearChain:
        """The structure of a model with these labels: a chain over ``states``."""
        if isinstance(self.states, StateSpace):
            if tuple(self.states.names) != tuple(labels):
                raise InputError(
                    f"states has the labels {', '.join(self.states.names)}, the model {', '.join(labels)}; "
                    "they must agree, also in their order"
                )
            return LinearChain(self.states)
        known = vars(self).get("states_")  # of the training
        told = parse_states(self.states).observed or self.constraints is not None
        if told and known is not None and known.names == tuple(labels):
            return LinearChain(known)
        return LinearChain(states_from_text(self.states, labels))

    def _settle(self, parameters: Parameters, classes: Sequence[str], voters: Voters | None = None) -> None:
        super()._settle(parameters, classes, voters)
        if isinstance(parameters.structure, LinearChain):
            self.states_ = parameters.structure.states
