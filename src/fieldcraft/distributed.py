"""Several processes that train one model: the ranks of an MPI job. The only module that imports mpi4py.

A launcher (mpiexec, srun) starts the same program ``size`` times and tells each copy its number, its rank, in
the environment. ``Ranks`` lets the copies exchange objects and add up vectors:

    sum over ranks r = 0, 1, …, in this order, of vector_r

Each rank adds up its own slice of the vectors, then the slices are gathered: the order of the additions, and
with it every bit, depends on the number of ranks alone. On one node the vectors are in shared memory
(a window of MPI) and nothing is sent; between nodes the slices are sent.

Hazards: every rank must make the same calls in the same order, or all of them wait for ever. Work that may
fail on one rank belongs into ``agreed``: an error there is raised on all ranks. ``guarded`` is the last
resort: an error that the others do not share ends the job. Nodes must compute the same bits: ranks whose
processors have different instruction sets are refused where training starts.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from fieldcraft.errors import FieldcraftError, InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LAUNCHERS = (  # variables with the number of processes and with that of this one
    ("PMI_SIZE", "PMI_RANK"),  # MPICH, Intel MPI, Cray
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),  # Open MPI, PRRTE
    ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"),  # MVAPICH
    ("PMIX_SIZE", "PMIX_RANK"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),  # srun; a batch script alone has no step
)
PATIENCE = 5.0  # seconds in which other ranks may report the same error, before the job is ended
SPINS = 200  # looks at a request (some 50 microseconds) before the first nap
NAP = 2e-5  # seconds
PIECE = 1 << 22  # numbers that are sent at a time
SHARED_MEMORY = "/dev/shm"


class Launched(NamedTuple):
    """What the launcher says of this process."""

    rank: int
    size: int


def launched() -> Launched | None:
    """The rank of this process and the number of ranks; None unless a launcher started several."""
    for size, rank in LAUNCHERS:
        n, r = os.environ.get(size, ""), os.environ.get(rank, "")
        if n.isdecimal() and r.isdecimal() and int(n) > 1:
            return Launched(int(r), int(n))
    return None


class Ranks:
    """The processes of an MPI job that work together.

    Parameters
    ----------
    communicator : an mpi4py communicator; None for all processes that the launcher started
    shared : use shared memory where all ranks are on one node

    Examples
    --------
    >>> import fieldcraft as fc
    >>> ranks = fc.Ranks()  # doctest: +SKIP
    >>> crf = fc.ChainCRF("entities").fit(ranks.shard(corpus), ranks=ranks)  # doctest: +SKIP
    """

    def __init__(self, communicator: Any = None, *, shared: bool = True) -> None:
        self._mpi = _mpi4py()
        self._comm = (self._mpi.COMM_WORLD if communicator is None else communicator).Dup()
        self._errors = self._comm.Dup()  # used by ranks that fail, and only by them
        self.rank: int = self._comm.Get_rank()
        self.size: int = self._comm.Get_size()
        self._shared = shared and self._on_one_node()
        self._memory: _SharedMemory | None = None
        if communicator is None:
            self._check_launcher()

    def _check_launcher(self) -> None:
        started = launched()
        if started is not None and started.size != self.size:
            raise InputError(
                f"the launcher started {started.size} processes, and mpi4py sees {self.size}: it uses "
                "another MPI than the launcher; start the job with the mpiexec of mpi4py's MPI"
            )

    def _on_one_node(self) -> bool:
        node = self._comm.Split_type(self._mpi.COMM_TYPE_SHARED)
        alone = node.Get_size() == self.size
        node.Free()
        return all(self.gather(alone))

    # -- objects --------------------------------------------------------------------------------------

    def gather(self, item: Any) -> list[Any]:
        """The items of all ranks, in their order, on every rank."""
        self._meet()
        return list(self._comm.allgather(item))

    def collect(self, item: Any) -> list[Any]:
        """The items of all ranks, in their order, on rank 0; an empty list elsewhere."""
        self._meet()
        return list(self._comm.gather(item) or ())

    def broadcast(self, item: Any = None) -> Any:
        """The item of rank 0, on every rank."""
        self._meet()
        return self._comm.bcast(item)

    def scatter(self, items: list[Any] | None) -> Any:
        """Item r of the list that rank 0 has, on rank r."""
        self._meet()
        return self._comm.scatter(items)

    def split(self, group: int) -> Ranks:
        """The ranks that pass the same number here, in the order of all; every rank must call it."""
        return Ranks(self._comm.Split(group, self.rank))

    def _meet(self) -> None:
        """Wait until all ranks are here, and let other processes have the core meanwhile."""
        _wait_for(self._comm.Ibarrier())

    def any(self, flag: bool) -> bool:
        """Whether the flag is True on any rank."""
        return self(float(flag), _nothing()) > 0.0

    def first(self, number: float) -> float:
        """The number of rank 0, on every rank."""
        return self(number if self.rank == 0 else 0.0, _nothing())

    def shard(self, X: Any, *more: Any) -> Any:
        """The part of this rank: contiguous, with about the same number of tokens as the others.

        Parameters
        ----------
        X : a corpus or a list of sequences, the same on all ranks
        more : lists with an item for each sequence (labels, weights), cut in the same places

        Returns
        -------
        The part of X, or a tuple of the parts of X and of each of ``more``
        """
        cuts = cuts_of([len(sequence) for sequence in X], self.size)
        parts = tuple(each[cuts[self.rank] : cuts[self.rank + 1]] for each in (X, *more))
        return parts if more else parts[0]

    # -- vectors --------------------------------------------------------------------------------------

    def __call__(self, value: float, vector: NDArray[np.float64]) -> float:
        """The sum of the values over all ranks; the vectors are added up in place."""
        memory = self._memory_for(len(vector) + 1) if self._shared else None
        if memory is not None:
            return memory.sum(value, vector)
        for first in range(0, len(vector), PIECE):
            self._sum_piece(vector[first : first + PIECE])
        total = 0.0
        for one in self.gather(float(value)):
            total += one
        return total

    def _memory_for(self, n: int) -> _SharedMemory | None:
        """Shared memory for vectors of n numbers; None where the node has too little of it."""
        if self._memory is None or self._memory.n < n:
            self.release()
            needed = 8 * n * (self.size + 1)
            if not all(self.gather(_fits(needed))):
                self._shared = False
                return None
            self._memory = _SharedMemory(self._mpi, self._comm, n)
        return self._memory

    def _sum_piece(self, piece: NDArray[np.float64]) -> None:
        """Send slice r of every rank's piece to rank r, which adds them up in rank order."""
        import numpy as np

        bounds = len(piece) * np.arange(self.size + 1) // self.size
        sizes, mine = np.diff(bounds), int(bounds[self.rank + 1] - bounds[self.rank])
        received = np.empty((self.size, mine))
        double = self._mpi.DOUBLE
        to, by = [piece, sizes, bounds[:-1], double], [np.full(self.size, mine), mine * np.arange(self.size)]
        _wait_for(self._comm.Ialltoallv(to, [received, *by, double]))
        total = received[0]
        for other in received[1:]:
            total += other
        _wait_for(self._comm.Iallgatherv(total, to))

    def part_of(self, n: int) -> slice:
        """The part of a vector of n numbers that this rank takes care of."""
        return slice(n * self.rank // self.size, n * (self.rank + 1) // self.size)

    def join(self, vector: NDArray[np.float64]) -> None:
        """Replace each part of the vector by that of the rank that takes care of it."""
        import numpy as np

        part, n = self.part_of(len(vector)), len(vector)
        memory = self._memory_for(n + 1) if self._shared else None
        if memory is not None:
            memory.join(vector, part)
            return
        bounds = n * np.arange(self.size + 1) // self.size
        whole = [vector, np.diff(bounds), bounds[:-1], self._mpi.DOUBLE]
        _wait_for(self._comm.Iallgatherv(vector[part].copy(), whole))

    def largest(self, vector: NDArray[np.float64]) -> None:
        """Replace each number by the largest of all ranks."""
        self._comm.Allreduce(self._mpi.IN_PLACE, vector, self._mpi.MAX)

    def add(self, counts: NDArray[np.int64]) -> None:
        """Add up whole numbers over all ranks, in place."""
        self._comm.Allreduce(self._mpi.IN_PLACE, counts, self._mpi.SUM)

    def release(self) -> None:
        """Free the shared memory; on all ranks at once."""
        if self._memory is not None:
            self._memory.free()
            self._memory = None

    # -- errors ---------------------------------------------------------------------------------------

    @contextmanager
    def agreed(self) -> Iterator[None]:
        """Local work that may fail: an error of any rank is raised on all of them."""
        failure: Exception | None = None
        try:
            yield
        except Exception as error:
            failure = error
        texts = self.gather(None if failure is None else _described(failure))
        self._raise(failure, texts)

    def _raise(self, own: BaseException | None, texts: list[str | None]) -> None:
        """Raise the error of the lowest rank that has one, on all ranks."""
        failed = [r for r, text in enumerate(texts) if text is not None]
        if not failed:
            return
        shared = set(texts) == {texts[0]}  # all ranks have the same error
        if own is not None and (shared or self.rank == failed[0] == 0 or not isinstance(own, Exception)):
            raise _marked(own)
        where = f"rank {failed[0]}: " if failed[0] else ""
        raise _marked(InputError(f"{where}{texts[failed[0]]}")) from own

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Work with collective calls: an error that not all ranks have ends the job with status 1."""
        try:
            yield
        except BaseException as error:
            if not getattr(error, "agreed", False):
                self._settle(error)
            raise

    def _settle(self, error: BaseException) -> None:
        """Raise the error on all ranks if all of them have one soon; else end the job."""
        request, until = self._errors.Ibarrier(), time.monotonic() + PATIENCE
        while not request.Test():
            if time.monotonic() > until:
                self.abort(error)
            time.sleep(0.01)
        self._raise(error, list(self._errors.allgather(_described(error))))

    def abort(self, error: BaseException) -> NoReturn:
        """Print the error and end all ranks."""
        stream = sys.__stderr__
        if stream is not None:
            print(f"fieldcraft: rank {self.rank}: {_described(error)}", file=stream, flush=True)
        self._comm.Abort(1)
        raise error


class _SharedMemory:
    """A window with one vector for each rank and one for the sum, in the memory of the node."""

    def __init__(self, mpi: Any, comm: Any, n: int) -> None:
        import numpy as np

        self.n, self._comm, self._rank, size = n, comm, comm.Get_rank(), comm.Get_size()
        own = 8 * n * (2 if self._rank == 0 else 1)  # rank 0 also has the sum
        self._window = mpi.Win.Allocate_shared(own, 8, comm=comm)
        self._window.Lock_all(mpi.MODE_NOCHECK)
        parts = [np.frombuffer(self._window.Shared_query(r)[0], np.float64) for r in range(size)]
        self._vectors = [part[:n] for part in parts]  # [ranks][n]
        self._total = parts[0][n : 2 * n]

    def sum(self, value: float, vector: NDArray[np.float64]) -> float:
        """The sum of the values; that of the vectors is written into ``vector``."""
        n, size = len(vector), len(self._vectors)
        mine = self._vectors[self._rank]
        mine[:n], mine[n] = vector, value
        self._wait()
        part = slice((n + 1) * self._rank // size, (n + 1) * (self._rank + 1) // size)
        total = self._total[part]
        total[:] = self._vectors[0][part]
        for other in self._vectors[1:]:
            total += other[part]
        self._wait()
        vector[:] = self._total[:n]
        return float(self._total[n])

    def join(self, vector: NDArray[np.float64], part: slice) -> None:
        """Replace the parts of other ranks by theirs."""
        self._wait()  # until nobody reads an earlier sum any more
        self._total[part] = vector[part]
        self._wait()
        vector[:] = self._total[: len(vector)]

    def _wait(self) -> None:
        """Until all ranks have written; what they wrote is then visible to all."""
        self._window.Sync()
        _wait_for(self._comm.Ibarrier())
        self._window.Sync()

    def free(self) -> None:
        self._vectors, self._total = [], self._total[:0].copy()
        self._window.Unlock_all()
        self._window.Free()


def cuts_of(lengths: list[int], n: int) -> list[int]:
    """[n + 1] where a list is cut into n parts with about equal sums of lengths.

    >>> cuts_of([5, 1, 1, 1, 2], 2)
    [0, 1, 5]
    """
    import numpy as np

    ends = np.concatenate([[0], np.cumsum(lengths)])
    wanted = ends[-1] * np.arange(n + 1) / n
    cuts = np.searchsorted(ends, wanted)
    before = np.maximum(cuts - 1, 0)
    cuts = np.where(wanted - ends[before] < ends[np.minimum(cuts, len(ends) - 1)] - wanted, before, cuts)
    cuts[0], cuts[-1] = 0, len(lengths)
    return [int(cut) for cut in np.maximum.accumulate(cuts)]


def _nothing() -> NDArray[np.float64]:
    import numpy as np

    return np.empty(0)


def _wait_for(request: Any) -> None:
    """Wait without keeping the core: where there are more ranks than cores, others could not work."""
    for _ in range(SPINS):
        if request.Test():
            return
    while not request.Test():
        time.sleep(NAP)


def _mpi4py() -> Any:
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as problem:
        raise InputError(
            f"training on several ranks needs mpi4py and an MPI library ({problem}); "
            "pip install mpi4py mpich, or start the command without mpiexec"
        ) from None
    return MPI


def _fits(needed: int) -> bool:
    """Whether the file system of shared memory has room; a page that it lacks is a crash, not an error."""
    try:
        about = os.statvfs(SHARED_MEMORY)
    except (OSError, AttributeError):
        return True
    return about.f_bavail * about.f_frsize > needed


def _described(error: BaseException) -> str:
    """An error in words; with its traceback where it is none that a user can cause."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, (FieldcraftError, MemoryError)):
        return str(error) or "not enough memory"
    if isinstance(error, OSError):
        return f"{'' if error.filename is None else f'{error.filename}: '}{error.strerror or error}"
    return "".join(traceback.format_exception(error)).rstrip()


def _marked(error: BaseException) -> BaseException:
    """The error, marked as one that all ranks raise."""
    error.agreed = True  # type: ignore[attr-defined]
    return error
