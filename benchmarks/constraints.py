"""Constrained decoding of synthetic addresses: `python -m benchmarks.constraints`.

At most one city span, at most one postcode span, and a region implies a city, on 10,000 addresses;
prints sequences per second of processor time, the best of several rounds, and how many needed more than
the unconstrained labels. Fails below 2,000 a second, or if an answer is not proved.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

import fieldcraft as fc

LEAST = 2000.0
ROUNDS = 5


def main() -> int:
    """Measure, print, judge."""
    train, test = fc.datasets.addresses(3000, seed=2), fc.datasets.addresses(10_000, seed=1)
    crf = fc.ChainCRF("simple", n_jobs=1).fit(train)
    rules = [fc.at_most(1, "city"), fc.at_most(1, "postcode"), fc.implies("region", "city")]
    seconds = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        decoded = crf.decode(test, constraints=rules)
        seconds.append(time.process_time() - begun)
    rate, ways = len(test) / min(seconds), Counter(one.method for one in decoded)
    proved = sum(one.optimal for one in decoded)
    print(f"{rate:,.0f} sequences per second; {proved:,} of {len(test):,} proved to be the best")
    for method, n in ways.most_common():
        print(f"{method}: {n:,} ({100 * n / len(test):.1f} %)")
    return 0 if rate >= LEAST and proved == len(test) else 1


if __name__ == "__main__":
    sys.exit(main())
