"""The campaign against fieldcraft: ``make attack``, or ``python tests/attack`` with options.

    python tests/attack                          every part, an hour in all
    python tests/attack --seconds 300            five minutes
    python tests/attack --mutants 1000000        so many mutants, however long they take, then the other parts
    python tests/attack --parts kills leaks      these alone

Parts take their share of the time one after the other. The report is a table; each find is a line of JSON
before it. Exit status 1 if there is a find.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from attack import campaign, extremes, kills, leaks, shared_lists, starvation
from attack.report import Part, Result, table

# the share of the time of each part
PARTS: dict[str, tuple[Part, float]] = {
    "mutants": (campaign.attack, 0.5),
    "shared lists": (shared_lists.attack, 0.1),
    "kills": (kills.attack, 0.15),
    "starvation": (starvation.attack, 0.1),
    "extremes": (extremes.attack, 0.1),
    "leaks": (leaks.attack, 0.05),
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=3600.0, help="in all (3600)")
    parser.add_argument("--mutants", type=int, help="how many, instead of a share of the time")
    parser.add_argument("--first", type=int, default=0, help="number of the first case of each part (0)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    given = parser.parse_args()
    whole = sum(PARTS[name][1] for name in given.parts)
    results: dict[str, Result] = {}
    for name in given.parts:
        part, share = PARTS[name]
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as made:
            limit = given.mutants if name == "mutants" else None
            seconds = given.seconds * share / whole if limit is None else float("inf")
            result = part(Path(made), seconds, given.first, limit)
        results[name] = result._replace(seconds=time.monotonic() - begin)
        for find in result.finds:
            print(json.dumps({"part": name, **find}), flush=True)
        print(f"{name}: {result.cases} cases, {len(result.finds)} finds", file=sys.stderr, flush=True)
    print(table(results))
    return int(any(result.finds for result in results.values()))


if __name__ == "__main__":
    os.environ.setdefault("FIELDCRAFT_JOBS", "1")
    sys.exit(main())
