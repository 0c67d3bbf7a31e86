"""Files of folders: what `tag --output-dir` reads and writes, and which rank of an MPI job does which."""

from __future__ import annotations

import os

from fieldcraft.cli.outputs import keep_inputs
from fieldcraft.cli.ranks import agreed
from fieldcraft.distributed import Ranks
from fieldcraft.errors import InputError

Pair = tuple[str, str]  # input, output
Work = list[tuple[list[str], str]]  # inputs, and the output that they go to


def work_of(
    others: list[str], files: list[str], output: str, folder: str | None, ranks: Ranks | None
) -> Work:
    """What this process tags: all files to one output, or its share of the files to the folder.

    ``others`` are files that are read besides: no output may replace them.
    """
    with agreed(ranks):
        if folder is None:
            if ranks is not None:
                raise InputError("tag on several ranks writes a file for each input; pass --output-dir")
            keep_inputs([output], [*others, *files])
            return [(files, output)]
        if output != "-":
            raise InputError("--output and --output-dir are both given; leave one of them out")
        pairs = pairs_of(files, folder)
        keep_inputs([path for _, path in pairs], [*others, *(name for name, _ in pairs)])
    own = own_share(pairs, ranks)
    with agreed(ranks):
        for _, path in own:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    return [([name], path) for name, path in own]


def pairs_of(names: list[str], folder: str) -> list[Pair]:
    """Each file, and each file below a folder, with the file of the same name in the output folder."""
    pairs: list[Pair] = []
    for name in names:
        if name == "-":
            raise InputError("standard input has no name for a file in --output-dir; use --output")
        inside = _below(name) if os.path.isdir(name) else [(name, os.path.basename(name))]
        pairs += [(path, os.path.join(folder, relative)) for path, relative in inside]
    if not pairs:
        raise InputError(f"{', '.join(names)}: no file is there to tag; name a folder with files in it")
    taken: dict[str, str] = {}
    for path, output in pairs:
        if output in taken:
            raise InputError(f"{output}: is the output of {taken[output]} and of {path}; tag them apart")
        taken[output] = path
    return pairs


def _below(folder: str) -> list[Pair]:
    """The files below a folder and their names relative to it, sorted; hidden ones are left out."""
    found = []
    for place, inner, files in os.walk(folder):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        found += [os.path.join(place, name) for name in files if not name.startswith(".")]
    return [(path, os.path.relpath(path, folder)) for path in sorted(found)]


def own_share(pairs: list[Pair], ranks: Ranks | None) -> list[Pair]:
    """The files of this rank: the largest first, each to the rank that has the fewest bytes so far."""
    if ranks is None:
        return pairs
    sizes = ranks.broadcast([os.path.getsize(path) for path, _ in pairs])
    loads, owner = [0] * ranks.size, {}
    for i in sorted(range(len(pairs)), key=lambda i: (-sizes[i], i)):
        owner[i] = loads.index(min(loads))
        loads[owner[i]] += sizes[i] + 1
    return [pair for i, pair in enumerate(pairs) if owner[i] == ranks.rank]
