"""UAI files: the format of the competitions of that conference.

    MARKOV                  or BAYES, whose tables are conditional probabilities
    3                       variables
    2 2 3                   their states
    2                       factors
    1 0                     each: how many variables, and which
    2 1 2
    2  1.0 2.718            each: how many entries, and the potentials (not their logarithms)
    6  1 1 2.718 1 7.389 1  the last variable runs fastest

Evidence stands in a file of its own: how many variables are observed, then each with its state. Potentials of
0 become -inf.
"""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fieldcraft.errors import InputError
from fieldcraft.replacing import replacing
from fieldcraft.structures.graphs.groups import MOST_CELLS, Floats

if TYPE_CHECKING:
    from fieldcraft.structures.graph import FactorGraph

KINDS = ("MARKOV", "BAYES")
LARGEST = 700.0  # log-potentials beyond it have no exponential


class Words:
    """The words of a file, read one after the other."""

    def __init__(self, path: Path) -> None:
        self.path, self.at = path, 0
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{path}: this is no text; a UAI file is expected") from None
        self.words = text.split()

    def fail(self, problem: str) -> InputError:
        """An error that says where."""
        return InputError(f"{self.path}: word {self.at}: {problem}")

    def take(self, what: str) -> str:
        if self.at >= len(self.words):
            raise InputError(f"{self.path}: the file ends where {what} is expected")
        self.at += 1
        return self.words[self.at - 1]

    def whole(self, what: str, least: int, most: int) -> int:
        word = self.take(what)
        if not word.isdecimal() or len(word) > 12 or not least <= int(word) <= most:
            raise self.fail(f"{word!r} where {what} is expected, a whole number in {least} .. {most}")
        return int(word)

    def wholes(self, n: int, what: str, least: int, most: int) -> list[int]:
        if n > len(self.words) - self.at:
            raise InputError(
                f"{self.path}: {n} words of {what} are expected, the file has {len(self.words) - self.at}"
            )
        return [self.whole(what, least, most) for _ in range(n)]

    def numbers(self, n: int, what: str) -> Floats:
        if n > len(self.words) - self.at:
            raise InputError(
                f"{self.path}: {n} {what} are expected, the file has {len(self.words) - self.at}"
            )
        words = self.words[self.at : self.at + n]
        try:
            values = np.array(words, np.float64)
        except ValueError:
            wrong = next(i for i, word in enumerate(words) if not _is_number(word))
            self.at += wrong + 1
            raise self.fail(f"{words[wrong]!r} where a number is expected") from None
        bad = ~((values >= 0) & (values < np.inf))
        if bad.any():
            self.at += int(np.argmax(bad)) + 1
            raise self.fail(
                f"potential {self.words[self.at - 1]}; potentials must be finite and not negative"
            )
        self.at += n
        return values

    def end(self) -> None:
        if self.at < len(self.words):
            self.at += 1
            raise self.fail(f"{self.words[self.at - 1]!r} after the end of the data")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def read(path: Path, evidence: Path | None) -> FactorGraph:
    """The graph of a file; consecutive factors of one shape form a group."""
    from fieldcraft.structures.graph import FactorGraph

    words = Words(path)
    kind = words.take("MARKOV or BAYES")
    if kind.upper() not in KINDS:
        raise words.fail(f"{kind!r} where MARKOV or BAYES is expected; is it a UAI file?")
    n = words.whole("the number of variables", 0, 2**31 - 1)
    graph = FactorGraph(words.wholes(n, "the states of a variable", 1, 2**31 - 1))
    scopes = []
    for _ in range(words.whole("the number of factors", 0, 2**31 - 1)):
        scopes.append(
            words.wholes(words.whole("the number of variables of a factor", 0, n), "a variable", 0, n - 1)
        )
    tables = []
    for f, scope in enumerate(scopes):
        cells = prod(int(graph.cardinalities[v]) for v in scope)
        given = words.whole(f"the number of entries of factor {f}", 0, MOST_CELLS)
        if given != cells:
            raise words.fail(f"{given} entries for factor {f}, whose variables have {cells} joint states")
        tables.append(words.numbers(cells, f"potentials of factor {f}"))
    words.end()
    _add_grouped(graph, scopes, tables)
    return _observed(graph, path, evidence)


def _add_grouped(graph: FactorGraph, scopes: list[list[int]], tables: list[Floats]) -> None:
    shapes = [tuple(int(graph.cardinalities[v]) for v in scope) for scope in scopes]
    first = 0
    for last in range(1, len(scopes) + 1):
        if last < len(scopes) and shapes[last] == shapes[first]:
            continue
        scope = np.array(scopes[first:last], np.int32).reshape(last - first, len(shapes[first]))
        with np.errstate(divide="ignore"):
            graph.add(scope, np.log(np.array(tables[first:last])))
        first = last


def _observed(graph: FactorGraph, path: Path, evidence: Path | None) -> FactorGraph:
    beside = Path(f"{path}.evid")
    if evidence is None and not beside.exists():
        return graph
    words = Words(evidence or beside)
    if not words.words:
        return graph
    if len(words.words) % 2 == 0 and words.words[0] == "1":  # an older form: one set of evidence follows
        words.take("the number of sets")
    n = words.whole("the number of observed variables", 0, graph.n_variables)
    states: dict[int, int] = {}
    for _ in range(n):
        v = words.whole("a variable", 0, graph.n_variables - 1)
        if v in states:
            raise words.fail(f"variable {v} is observed twice")
        states[v] = words.whole(f"the state of variable {v}", 0, int(graph.cardinalities[v]) - 1)
    words.end()
    return graph.condition(states)


def write(graph: FactorGraph, path: Path) -> None:
    """Write the graph, and its evidence where there is some."""
    lines = ["MARKOV", str(graph.n_variables), " ".join(map(str, graph.cardinalities)), str(graph.n_factors)]
    for group in graph.groups:
        lines += [" ".join(map(str, [len(scope), *scope])) for scope in group.scope.tolist()]
    for k, group in enumerate(graph.groups):
        finite = group.table[group.table != -np.inf]
        if finite.size and np.abs(finite).max() > LARGEST:
            raise InputError(
                f"group {k} has a log-potential of {finite[np.abs(finite).argmax()]:g}; a UAI file contains "
                f"potentials, and exponentials beyond exp(+-{LARGEST:g}) are no numbers; shift the tables"
            )
        for row in np.exp(group.table):
            lines += [str(len(row)), " ".join(map(repr, row.tolist()))]
    _write_lines(path, lines)
    seen = np.flatnonzero(graph.observed >= 0)
    if len(seen):
        _write_lines(
            Path(f"{path}.evid"),
            [" ".join(map(str, [len(seen), *np.stack([seen, graph.observed[seen]], axis=1).reshape(-1)]))],
        )


def _write_lines(path: Path, lines: list[str]) -> None:
    with replacing(path) as file:
        file.write(("\n".join(lines) + "\n").encode())
