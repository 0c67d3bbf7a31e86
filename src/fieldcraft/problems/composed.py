"""The training problem of any structure: design -> potentials -> structure -> objective -> adjoint.

    f(w) = sum over blocks of sequences of objective(structure, potentials(w), gold) + penalties

The corpus is cut into blocks of about ``block`` positions, by the corpus alone. Threads work on blocks; each
block's gradient covers the weights that it looks at, and the blocks are added in their order: the result has
the same bits for any number of threads.

Layout: a block has a sparse map between weights and numbers per position and label configuration
(potentials.BlockMap); ``structure.expand`` and ``collapse`` lead from configurations to potentials and back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.design import Design
from fieldcraft.errors import InputError, input_error
from fieldcraft.objectives.log_sums import AllowedSum, LogSum
from fieldcraft.objectives.objective import Evaluated
from fieldcraft.potentials import BlockMap, FeatureTable, Parts
from fieldcraft.priors import Prior
from fieldcraft.problems.penalised import Penalised
from fieldcraft.structures.structure import Structure

Floats = NDArray[np.float64]
T = TypeVar("T")


class Block(NamedTuple):
    """Some sequences with what their loss depends on."""

    first: int  # number of the first sequence
    map: BlockMap
    gold: NDArray[Any]
    weights: Floats | None  # [N] of the sequences
    structure: Structure  # of these sequences


class ComposedProblem(Penalised):
    """Penalised loss of any structure over a design; offers Gradient, Expectation and Passes.

    Parameters
    ----------
    structure : operations on potentials
    others : as for ChainProblem
    """

    block: ClassVar[int] = 2000  # positions of a block, for structures with up to 500 numbers a position

    def __init__(self, structure: Structure, design: Design, prior: Prior, **options: Any) -> None:
        super().__init__(structure, design, prior, **options)
        self.objective.check(structure)
        self.structure = structure.using(1)
        self._table = FeatureTable(design.index, structure.configurations())
        self._encoded, self._gold = design.encoded, self._gold_of(design)
        self._sequences: dict[int, Block] = {}  # blocks of one sequence, made when it is first visited
        self._passes: Any = None
        self._counts: Floats | None = None  # [F] expected counts in place of partial labels, once expected

    @cached_property
    def _blocks(self) -> list[Block]:
        most = max(1, self.block * 500 // max(500, self.structure.n_parts))
        return [self._block(a, b) for a, b in cuts(self._encoded.offsets, most)]

    def _gold_of(self, design: Design) -> NDArray[Any]:
        structure = self.structure
        labels: NDArray[Any] = design.gold
        if design.partial is not None:
            labels = design.partial.allowed(len(structure.labels))
        gold = structure.gold(labels, design.encoded.offsets)
        if gold.ndim == 2 and not self.objective.partial:
            raise InputError(
                f"{self.objective.name} needs one state per label, and this {structure.name} has "
                f"{structure.n_states} states for {len(structure.labels)} labels; "
                "use objective='marginal_likelihood'"
            )
        return gold

    def _block(self, first: int, last: int) -> Block:
        rows = np.arange(first, last)
        weights = None if self._sequence_weights is None else self._sequence_weights[first:last]
        encoded = self._encoded.take(rows)
        gold = self._gold[self._encoded.tokens_of(rows)]
        used = {name: self.structure.used_rows(name, encoded.offsets) for name in self.structure.parts}
        return Block(first, BlockMap(self._table, encoded, used), gold, weights, self._structure_of(rows))

    def _structure_of(self, rows: NDArray[np.int64]) -> Structure:
        """The structure of some sequences: the same for all, unless each has a shape of its own."""
        del rows
        return self.structure

    def evaluate(self, block: Block, weights: Floats, scale: float = 1.0) -> Evaluated:
        """Loss and gradient in potential space of a block, at scale * weights."""
        classes = block.map.apply(weights)
        if scale != 1.0:
            classes = Parts({name: scale * array for name, array in classes.arrays.items()}, classes.offsets)
        potentials = block.structure.expand(classes)
        try:
            return self.objective.evaluate(
                block.structure, potentials, block.gold, block.weights, self._label_weights
            )
        except ValueError as error:
            if not hasattr(error, "sequence"):
                raise
            raise input_error(error, block.first) from None  # which counts from the first of the block

    def _slope(self, block: Block, weights: Floats) -> tuple[float, Floats]:
        result = self.evaluate(block, weights)
        with np.errstate(invalid="ignore", over="ignore"):  # a loss that is not finite has no gradient
            return float(result.value.sum()), block.map.adjoint(block.structure.collapse(result.gradient))

    def loss(self, weights: Floats, gradient: Floats) -> float:
        gradient[:] = 0.0
        total = 0.0
        for block, (value, slope) in zip(self._blocks, self._slopes(weights)):
            total += value
            gradient[block.map.features] += slope
        if self._counts is not None:
            gradient -= self._counts
            total -= float(_core.dot(weights, self._counts, self.n_jobs))
        return total

    def expect(self, weights: Floats) -> float:
        """E-step: expected counts over the labellings that the labels allow take the place of these.

        From here on the loss is Q(w) = log Z - <w, counts>. The number returned, added to Q, equals the
        marginal likelihood's loss at ``weights`` and is an upper bound on it elsewhere.
        """
        counts = np.zeros(self.n_variables)
        self.objective, self._counts = AllowedSum(), None
        total = self.loss(weights, counts)
        self.objective, self._counts = LogSum(), counts
        return float(_core.dot(weights, counts, self.n_jobs)) - total

    def _slopes(self, weights: Floats) -> Iterator[tuple[float, Floats]]:
        yield from in_turn(partial(self._slope, weights=weights), self._blocks, self.n_jobs)

    def losses(self, weights: Floats) -> Floats:
        return np.concatenate([self.evaluate(block, weights).value for block in self._blocks])

    # -- one sequence at a time -----------------------------------------------------------------------

    def passes(self) -> Any:
        """The core's update rules call back for one sequence's loss and sparse gradient."""
        if self._passes is None:
            self._passes = _core.callback_passes(
                self.n_variables,
                self._sequence_weights,
                self._sizes(),
                self._sequence_loss,
                self._sequence_adjoint,
            )
        return self._passes

    def remembered_bytes(self) -> int:
        return 4 * int(self._sizes().sum())

    def _sizes(self) -> NDArray[np.int64]:
        """[N] length of each sequence's flat gradient."""
        shapes = (self._shapes(self._sequence(i)) for i in range(self.n_sequences))
        return np.array([sum(rows * width for rows, width in one) for one in shapes], np.int64)

    def _sequence(self, i: int) -> Block:
        if i not in self._sequences:
            self._sequences[i] = self._block(i, i + 1)
        return self._sequences[i]

    def _sequence_loss(self, i: int, field: Floats, scale: float) -> tuple[float, int, Floats]:
        """Weighted loss of a sequence at scale * field, wrong positions, and the flat gradient."""
        result = self.evaluate(self._sequence(i), field, scale)
        gradient = result.gradient
        flat = np.concatenate([gradient[name].ravel() for name in self.structure.parts])
        return float(result.value[0]), int(np.count_nonzero(gradient["node"].any(axis=1))), flat

    def _sequence_adjoint(self, i: int, flat: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Weights and their gradients that a flat gradient of a sequence stands for."""
        block = self._sequence(i)
        shapes = self._shapes(block)
        cuts = np.cumsum([rows * width for rows, width in shapes])[:-1]
        arrays = [part.reshape(shape) for part, shape in zip(np.split(flat, cuts), shapes)]
        gradient = Parts(dict(zip(self.structure.parts, arrays)), block.map.offsets)
        return block.map.features, block.map.adjoint(block.structure.collapse(gradient))

    def _shapes(self, block: Block) -> list[tuple[int, int]]:
        potentials = block.structure.expand(block.map.apply(np.zeros(self.n_variables)))
        rows = {name: int(block.structure.row_offsets(potentials, name)[-1]) for name in self.structure.parts}
        return [(rows[name], potentials[name].shape[-1]) for name in self.structure.parts]


def in_turn(work: Callable[[Any], T], blocks: Sequence[Any], n_jobs: int) -> Iterator[T]:
    """What work returns for each block, in their order; threads share the blocks."""
    if n_jobs == 1 or len(blocks) == 1:
        yield from map(work, blocks)
        return
    with ThreadPoolExecutor(min(n_jobs, len(blocks))) as pool:
        try:
            found: Iterable[T] = pool.map(work, blocks)
        except RuntimeError:  # the system gives no more threads
            found = map(work, blocks)
        yield from found


def cuts(offsets: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """First and last sequence of each block: at most so many positions, or one longer sequence."""
    first = 0
    for i in range(1, len(offsets)):
        if i == len(offsets) - 1 or offsets[i + 1] - offsets[first] > most:
            yield first, i
            first = i
