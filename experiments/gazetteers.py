"""The gazetteers of the thesis' chapter 8, from lists that can be had today.

The three lists of names of the US census are the thesis' own (its table 8.1: 88,799, 4,275 and 1,219
entries). Its 27,635 places, 299,833 companies and 425 other organisations are not public: cities, parts of
countries, countries and US states stand in for the first, 6,301 companies for the second, universities,
newspapers, charities and sports teams for the third. Nationalities are left out: the thesis' lists name
people, places and organisations, and in CoNLL-2003 they are neither.

The thesis does not say how it matched them. Here case does not count, entries are cut at white space and
taken as they are, and matches are the longest from left to right. Development data chose between this (F of
91.09), case that counts (90.98), and either with companies also without their legal form and places without
remarks in brackets (91.08, 90.99): one training each, with a Gaussian prior of sigma 15, ended by the limit
of 400 iterations. Differences that small may be chance; none was tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fieldcraft.features.gazetteers import Gazetteer

FILES = {
    "surnames": ("surnames_us_census_1990",),
    "female": ("first_names_female_us_census_1990",),
    "male": ("first_names_male_us_census_1990",),
    "places": ("cities_geonames15000", "subcountries_geonames", "countries", "us_states"),
    "companies": ("companies",),
    "organisations": ("universities", "newspapers", "charities", "sports_teams"),
}


def gazetteers(data: Path) -> list[Gazetteer]:
    """All of them, by the names that the template sets use."""
    return [
        Gazetteer(name, _entries(data / "gazetteers", files), case="insensitive")
        for name, files in FILES.items()
    ]


def _entries(folder: Path, files: tuple[str, ...]) -> Iterator[str]:
    for name in files:
        yield from (folder / f"{name}.txt").read_text(encoding="utf-8").splitlines()
