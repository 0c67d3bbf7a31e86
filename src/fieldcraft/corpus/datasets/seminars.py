"""Synthetic seminar announcements: who speaks where, from when to when.

An announcement is one sequence: a heading in one of several styles and a body. Its facts (four
people, two rooms, two pairs of times) are drawn first; the body then mentions them in sentences
that fit all of them alike, so that a name there is the speaker's only if the heading says so. A
model that ties equal words together has something to gain; one that looks at neighbours alone
must guess.

Columns: `word`, and `line` (`first` where a token opens a line, else `inside`).
Labels, IOB2: speaker, location, start, end. All mentions count, titles (`Dr.`) included.
Hazard: `seminars(n)` is the beginning of `seminars(m)` for n < m; a test pins its digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import NamedTuple

from fieldcraft.corpus import Corpus, Sequence
from fieldcraft.corpus.datasets.grammar import expand, labels_of
from fieldcraft.corpus.datasets.seminar_rules import SEMINARS
from fieldcraft.errors import InputError

_CLOCKS = ("{twelve}:{minute} {half}m", "{twelve}:{minute} {half}.m.", "{hour}:{minute}")
_SHOUTED = 0.15  # share of announcements whose short heading lines are in capitals


class _Forms(NamedTuple):
    full: tuple[str, ...]  # ways to write it in the heading
    later: tuple[str, ...]  # ways to write it in the body


class _Mention(NamedTuple):
    label: str  # "" for O
    forms: tuple[str, ...]  # ways to write it, tokens separated by blanks


_Facts = Mapping[str, tuple[_Mention, ...]]  # slot -> what may fill it


def seminars(n: int = 300, seed: int = 0) -> Corpus:
    """`n` synthetic announcements, columns `word` and `line`; invented, not real.

    >>> corpus = seminars(2)
    >>> corpus.source
    'synthetic: seminars(n=2, seed=0)'
    """
    if n < 0:
        raise InputError(f"seminars: n must be 0 or more; got {n}")
    rng = Random(seed)
    sequences = [_announcement(rng) for _ in range(n)]
    return Corpus(sequences, label="field", source=f"synthetic: seminars(n={n}, seed={seed})")


def _announcement(rng: Random) -> Sequence:
    facts = _facts(rng)
    shout = rng.random() < _SHOUTED
    words: list[str] = []
    lines: list[str] = []
    labels: list[str] = []
    for line in _lines(rng):
        start = len(words)
        for token in line.split():
            _write(token, facts, words, labels, rng)
        if shout and start < 12:  # the first lines only
            words[start:] = [word.upper() for word in words[start:]]
        lines += ["first"] + ["inside"] * (len(words) - start - 1)
    return Sequence({"word": words, "line": lines}, labels)


def _lines(rng: Random) -> list[str]:
    """The lines of an announcement, slots still open."""
    text = expand(rng.choice(SEMINARS["announcement"]), SEMINARS, rng)
    kept: list[str] = []
    for line in text.split(" / "):
        rate, _, rest = line.partition(" ")
        if not rate.startswith("?"):
            kept.append(line)
        elif rng.randrange(10) < int(rate[1:]):
            kept.append(rest)
    return kept


def _write(token: str, facts: _Facts, words: list[str], labels: list[str], rng: Random) -> None:
    """Append a token, or the tokens of the mention that fills its slot."""
    if not token.startswith("<"):
        words.append(token)
        labels.append("O")
        return
    mention = rng.choice(facts[token[1:-1]])
    tokens = rng.choice(mention.forms).split()
    words += tokens
    labels += labels_of(mention.label, len(tokens))


def _facts(rng: Random) -> _Facts:
    speaker, host, colleague, poster = _people(4, rng)
    (place, room), (other_place, other_room) = _place(rng), _place(rng)
    (start, end), (other_start, other_end) = _times(rng)
    later = [_Mention("speaker", speaker.later)] * 3  # half of what the body says of people
    later += [_Mention("", host.later)] * 2 + [_Mention("", colleague.later)]
    return {
        "speaker": (_Mention("speaker", speaker.full),),
        "host": (_Mention("", host.full),),
        "colleague": (_Mention("", colleague.full),),
        "poster": (_Mention("", poster.full),),
        "place": (_Mention("location", place),),
        "other_place": (_Mention("", other_place),),
        "start": (_Mention("start", start),),
        "end": (_Mention("end", end),),
        "other_start": (_Mention("", other_start),),
        "other_end": (_Mention("", other_end),),
        "person": tuple(later),
        "room": (_Mention("location", room), _Mention("", other_room)),
        "clock": (_Mention("start", start), _Mention("", other_start)),
    }


def _people(n: int, rng: Random) -> list[_Forms]:
    """Names of n people, no surname twice."""
    surnames: list[str] = []
    while len(surnames) < n:
        surname = expand("{surname}", SEMINARS, rng)
        if surname not in surnames:
            surnames.append(surname)
    return [_person(surname, rng) for surname in surnames]


def _person(surname: str, rng: Random) -> _Forms:
    given, honorific, initial = expand("{given} {honorific} @.", SEMINARS, rng).split()
    return _Forms(
        (f"{given} {surname}", f"{given} {initial} {surname}", f"{honorific} {given} {surname}"),
        (surname, surname, f"{honorific} {surname}", f"{given} {surname}"),
    )


def _place(rng: Random) -> _Forms:
    building, number = expand("{building}~%###", SEMINARS, rng).split("~")
    name = building.split()[0]
    numbered = f"{building} {number}"
    return rng.choice(
        (
            _Forms((numbered, f"{number} {building}"), (f"{name} {number}", numbered)),
            _Forms((f"Room {number} , {building}",), (f"Room {number}", number)),
            _Forms((f"the {building}", building), (building, name)),
        )
    )


def _times(rng: Random) -> tuple[_Forms, _Forms]:
    """Two pairs of a start and an end, with starts that differ."""
    first = rng.randrange(18, 34)  # half-hours since midnight: 9:00 to 16:30
    other = first + rng.choice((-4, -3, -2, -1, 1, 2, 3, 4))
    style = rng.choice(_CLOCKS)
    return _pair(first, style, rng), _pair(other, style, rng)


def _pair(start: int, style: str, rng: Random) -> _Forms:
    return _Forms(_clock(start, style), _clock(start + rng.randrange(1, 5), style))


def _clock(half_hours: int, style: str) -> tuple[str, ...]:
    """Ways to write a time: in the style, or without the half of the day."""
    hour, minute = half_hours // 2, "30" if half_hours % 2 else "00"
    twelve, half = (hour - 1) % 12 + 1, "a" if hour < 12 else "p"
    text = style.format(twelve=twelve, hour=hour, minute=minute, half=half)
    return (text, text, text.split()[0])
