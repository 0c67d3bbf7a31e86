"""Synthetic postal addresses of nine countries, labelled with their fields.

An address is made in four steps, each from the seeded generator alone:

    country -> place (city, region, postcode) -> layout (which parts, in which order) -> noise

Noise: groups out of order, separators left out, all in upper or in lower case, a typing error.
Fields: recipient, house_number, street, unit (flat, floor, building), po_box, city, region,
postcode, country. Labels are IOB2; commas and notes to the carrier are O.
Hazard: `addresses(n)` is the beginning of `addresses(m)` for n < m; a test pins its digest.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from fieldcraft.corpus import Corpus, Sequence
from fieldcraft.corpus.datasets import address_rules as near
from fieldcraft.corpus.datasets import address_rules_abroad as abroad
from fieldcraft.corpus.datasets.grammar import Rules, expand, labels_of
from fieldcraft.errors import InputError

FIELDS = ["recipient", "house_number", "street", "unit", "po_box", "city", "region", "postcode", "country"]
_ENGLISH = (near.UNITED_STATES, near.UNITED_STATES, near.UNITED_KINGDOM, near.UNITED_KINGDOM, near.CANADA)
_OTHERS = (abroad.GERMANY, abroad.FRANCE, abroad.NETHERLANDS, abroad.SPAIN, abroad.ITALY, abroad.JAPAN)
COUNTRIES: tuple[Rules, ...] = (  # those that are listed twice are twice as frequent
    *({**near.SHARED, **near.ENGLISH, **country} for country in _ENGLISH),
    *({**near.SHARED, **country} for country in _OTHERS),
)

# How often a comma of the layout is written, and how an address is cased: one is drawn each.
_COMMA_RATES = (1.0, 0.7, 0.3, 0.0, 0.0)
_CASINGS: tuple[Callable[[str], str], ...] = (*[str] * 5, str.upper, str.lower)
_REORDERED = 0.12  # share of addresses whose groups between commas are shuffled
_TYPING_ERRORS = 0.4  # share of addresses with one

_Part = tuple[str, list[str]]  # field (or "" for O) and its tokens


def addresses(n: int = 2000, seed: int = 0) -> Corpus:
    """`n` synthetic addresses, column `word`, labels such as `B-street`; invented, not real.

    >>> corpus = addresses(3)
    >>> corpus.source
    'synthetic: addresses(n=3, seed=0)'
    """
    if n < 0:
        raise InputError(f"addresses: n must be 0 or more; got {n}")
    rng = Random(seed)
    sequences = [_address(rng) for _ in range(n)]
    return Corpus(sequences, label="field", source=f"synthetic: addresses(n={n}, seed={seed})")


def _address(rng: Random) -> Sequence:
    rules = rng.choice(COUNTRIES)
    parts = _punctuated(_parts(rules, rng), rng.choice(_COMMA_RATES), rng)
    words: list[str] = []
    labels: list[str] = []
    for field, tokens in parts:
        words += tokens
        labels += labels_of(field, len(tokens))
    _mistype(words, rng)
    return Sequence({"word": [*map(rng.choice(_CASINGS), words)]}, labels)


def _parts(rules: Rules, rng: Random) -> list[_Part]:
    """The parts of one layout; those that are left out or empty are gone."""
    texts = _place(rules, rng)
    parts: list[_Part] = []
    for item in _layout(rules, rng).split():
        name, _, rate = item.partition("?")
        if rate and rng.randrange(10) >= int(rate):
            continue
        if name == ",":
            parts.append(("", [","]))
            continue
        tokens = expand(texts.get(name, f"{{{name}}}"), rules, rng).split()
        if tokens:
            parts.append((name if name in FIELDS else "", tokens))
    return parts


def _layout(rules: Rules, rng: Random) -> str:
    layout = rng.choice(rules["layouts"])
    if rng.random() >= _REORDERED:
        return layout
    groups = layout.split(" , ")
    rng.shuffle(groups)
    return " , ".join(groups)


def _place(rules: Rules, rng: Random) -> dict[str, str]:
    city, region, postcode = rng.choice(rules["places"]).split("~")
    region = rng.choice(region.split("/"))
    return {"city": city, "region": region, "postcode": postcode, "country": "{names}"}


def _punctuated(parts: list[_Part], comma_rate: float, rng: Random) -> list[_Part]:
    """Keep a comma only between two parts, with probability `comma_rate`."""
    kept: list[_Part] = []
    waiting = False
    for part in parts:
        if part[1] == [","]:
            waiting = bool(kept)
            continue
        if waiting and rng.random() < comma_rate:
            kept.append(("", [","]))
        waiting = False
        kept.append(part)
    return kept


def _mistype(words: list[str], rng: Random) -> None:
    """Swap, drop or double one letter inside one long word of some addresses."""
    if rng.random() >= _TYPING_ERRORS:
        return
    index = rng.randrange(len(words))
    word = words[index]
    if len(word) < 4:
        return
    at = rng.randrange(1, len(word) - 2)
    words[index] = rng.choice(
        (
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
        )
    )
