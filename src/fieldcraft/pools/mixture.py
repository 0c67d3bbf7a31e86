"""A scored batch of a linear pool: exact answers about a mixture of models.

    p(y | x) = sum over i of v_i p_i(y | x)

Marginals, probabilities of spans and of labellings are weighted means of the members'; a sample is one of a
member that is drawn first. The best labelling of a mixture has no recursion: ``predict`` takes the most
probable label of each position (posterior decoding), and what needs the distribution itself is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus import Span
from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError
from fieldcraft.models.scored import Scored
from fieldcraft.models.spans import predicted_spans
from fieldcraft.structures.answers import Decoding

Floats = NDArray[np.float64]


class ScoredMixture(Scored):
    """Sequences, scored by each member of a linear pool.

    Parameters
    ----------
    members : [n] the batch scored by each member
    weights : [n]
    """

    def __init__(self, members: Sequence[Scored], weights: Floats) -> None:
        first = members[0]
        super().__init__(first._predictor, first._X, first._encoded, keep=False)
        self.members, self.weights = members, weights

    @property
    def nbytes(self) -> int:
        """Bytes of the stored potentials."""
        return sum(member.nbytes for member in self.members)

    def predict_proba(self) -> NDArray[np.object_]:
        """Marginal probabilities: an object array of [T, Y] arrays in the order of ``classes_``."""
        out = np.empty(len(self), object)
        columns = [member.predict_proba() for member in self.members]
        for i, rows in enumerate(zip(*columns)):
            out[i] = sum(v * p for v, p in zip(self.weights, rows))
        return out

    def label_numbers(self) -> NDArray[np.int32]:
        """[tokens] the most probable label of each position, as positions in ``classes_``."""
        rows = [p.argmax(axis=1) for p in self.predict_proba()]
        return np.concatenate([np.zeros(0, np.int64), *rows]).astype(np.int32)

    def decode(self) -> list[Decoding]:
        """The most probable label of each position; the labelling need not be the most probable one."""
        lists = self.predict()
        values = self.log_probability(lists).tolist()
        why = "the most probable label of each position; a mixture has no recursion for its best labelling"
        return [Decoding(row, v, False, float("nan"), "posterior", why) for row, v in zip(lists, values)]

    def predict_spans(self) -> list[list[tuple[Span, float]]]:
        """The spans of the predicted labels with their probabilities: a list of pairs per sequence."""
        names = self._predictor.classes_.tolist()
        listed = [predicted_spans(row, names) for row in self.predict()]
        return [list(zip(*pair)) for pair in zip(listed, self.span_probability(listed))]

    def log_probability(self, y: Any = None) -> Floats:
        """log p(y | x) of each sequence [N]; ``y`` defaults to the labels of the corpus."""
        logs = np.stack([member.log_probability(y) for member in self.members])  # [n, N]
        return log_mean(logs, self.weights)

    def span_probability(self, spans: Sequence[Iterable[Any]]) -> list[list[float]]:
        """Probability of each span; ``spans`` has a list of (start, end, label) per sequence."""
        spans = [list(row) for row in spans]
        columns = [member.span_probability(spans) for member in self.members]
        n = len(self.weights)
        return [(self.weights @ np.reshape(rows, (n, -1))).tolist() for rows in zip(*columns)]

    def sample(self, n: int) -> list[list[list[str]]]:
        """Per sequence n labellings drawn from p(y | x); fixed by the pool's ``random_state``."""
        n = whole_number(n, "n", 0, "the number of samples")
        drawn = [member.sample(n) for member in self.members]
        seed = [int(self._predictor.random_state) % 2**64, 0]
        chosen = np.random.default_rng(seed).choice(len(self.members), (len(self), n), p=self.weights)
        return [[drawn[i][s][k] for k, i in enumerate(row)] for s, row in enumerate(chosen.tolist())]

    def k_best(self, k: int) -> Any:
        """Refused: the best labellings of a mixture are not known."""
        del k
        raise _refusal("k_best", "its best labellings cannot be found by a recursion")

    def entropy(self) -> Any:
        """Refused: the entropy of a mixture is not known."""
        raise _refusal("entropy", "the logarithm of a sum over members does not split into parts")

    def log_partition(self) -> Any:
        """Refused: a mixture of normalised distributions has no normaliser."""
        raise _refusal("log_partition", "its members are normalised one by one, so that it has no log Z")

    def explain(self, *args: Any, **options: Any) -> Any:
        """Refused: a mixture has no scores that features add up to."""
        del args, options
        raise _refusal("explain", "its labels are not decided by one sum of weights")


def log_mean(logs: Floats, weights: Floats) -> Floats:
    """[N] log of the weighted mean of exp(logs [n, N])."""
    top = logs.max(axis=0)
    finite = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(finite + np.log(weights @ np.exp(logs - finite)))


def _refusal(question: str, reason: str) -> InputError:
    return InputError(
        f"{question}: a linear pool is a mixture, and {reason}; ask predict, predict_proba, log_probability, "
        "span_probability or sample, ask one of members_, or use a LogOpinionPool"
    )
