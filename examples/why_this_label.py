"""Why this label? What a model learnt, and the votes behind one of its mistakes."""

from __future__ import annotations

import fieldcraft as fc

TEMPLATES = """
lower(word[-1..1])
shape(word[-1..1])
suffix(lower(word), 2..3)
contains_digit(word) & length(word)
edge: shape(word)
edge
"""


def mistakes(crf: fc.ChainCRF, corpus: fc.Corpus) -> list[tuple[float, int, int]]:
    """Wrong tokens, the surest first: probability of the wrong label, sequence, token."""
    classes = crf.classes_.tolist()
    found = []
    for i, (labels, marginals) in enumerate(zip(crf.predict(corpus), crf.predict_proba(corpus))):
        for t, (label, gold) in enumerate(zip(labels, corpus[i].labels)):
            if label != gold:
                found.append((float(marginals[t, classes.index(label)]), i, t))
    return sorted(found, reverse=True)


def main() -> None:
    """What was learnt of one label; then why the surest mistake was made."""
    train, test = fc.datasets.split(fc.datasets.addresses(n=600), fraction=0.7, seed=0)
    crf = fc.ChainCRF(templates=TEMPLATES).fit(train)
    print(f"{train.source}: what the model knows of cities\n")
    print(crf.inspect(label="B-city", top=8).text())

    print("\nand of one word\n")
    print(crf.inspect(attribute="lower(word)=lincoln").text())

    wrong = mistakes(crf, test)
    _, i, t = wrong[0]
    gold = test[i].labels[t]
    print(f"\n{len(wrong)} of {test.n_tokens} held-out tokens are wrong.")
    print(f"The surest mistake is token {t} here, which should be {gold}:")
    print("  " + " ".join(test[i].columns["word"]) + "\n")
    print(crf.explain(test[i], token=t, label=gold).text())


if __name__ == "__main__":
    main()
