"""Many labels in three ways: the exact chain, a beam, and error-correcting codes (synthetic data)."""

from __future__ import annotations

import fieldcraft as fc

TEMPLATES = """
lower(word[-1..1])
shape(word)
edge
"""


def main() -> None:
    """Train a chain and a code, search the chain with a beam, and print accuracies."""
    train, test = fc.datasets.split(fc.datasets.addresses(n=200), fraction=0.8, seed=0)
    settings = {"optimiser": fc.LBFGS(max_iterations=30), "n_jobs": 1, "metric": "token_accuracy"}
    exact = fc.ChainCRF(TEMPLATES, **settings).fit(train)
    print(f"exact chain, {len(exact.classes_)} labels: {exact.score(test):.2f} of the tokens")
    exact.beam = 4
    proved = sum(found.optimal for found in exact.decode(test))
    print(f"searched with 4 states: {exact.score(test):.2f}, {proved} labellings proved to be the best")
    coded = fc.CodedCRF(TEMPLATES, bits=30, **settings).fit(train)
    print(f"a binary chain for each of {coded.code_.shape[1]} bits: {coded.score(test):.2f}")


if __name__ == "__main__":
    main()
