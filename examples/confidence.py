"""How sure is the model? Check probabilities against the truth, and let a person see the rest."""

from __future__ import annotations

import fieldcraft as fc

TEMPLATES = """
lower(word[-1..1])
shape(word[-1..1])
suffix(lower(word), 2..3)
contains_digit(word) & length(word)
first
last
edge
"""


def spans_with_probability(crf: fc.ChainCRF, corpus: fc.Corpus) -> list[tuple[float, bool]]:
    """For every predicted field: its probability, and whether it is right."""
    spans = [fc.schemes.spans(labels) for labels in crf.predict(corpus)]
    found = zip(spans, crf.span_probability(corpus, spans), corpus.spans())
    return [
        (probability, span in gold)
        for listed, probabilities, gold in found
        for span, probability in zip(listed, probabilities)
    ]


def main() -> None:
    """Calibration, and what is gained by handing the least sure addresses to a person."""
    train, test = fc.datasets.split(fc.datasets.addresses(n=1500), fraction=0.7, seed=0)
    crf = fc.ChainCRF(templates=TEMPLATES).fit(train)

    print(f"{train.source}: are fields with probability p right p of the time?")
    print(f"{'probability':>14}{'fields':>8}{'mean':>8}{'right':>8}")
    found = spans_with_probability(crf, test)
    for low, high in ((0.0, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 0.99), (0.99, 1.01)):
        inside = [(p, right) for p, right in found if low <= p < high]
        mean = sum(p for p, _ in inside) / len(inside)
        right = sum(right for _, right in inside) / len(inside)
        print(f"{low:8.2f}-{min(high, 1):4.2f}{len(inside):9d}{mean:8.2f}{right:8.2f}")

    decodings = crf.decode(test)
    unsure = sorted(range(len(test)), key=lambda i: decodings[i].value)
    print("\nwhole addresses right, when the least probable ones go to a person:")
    for share in (0.0, 0.1, 0.3):
        kept = unsure[int(share * len(test)) :]
        right = sum(decodings[i].labels == test[i].labels for i in kept) / len(kept)
        print(f"  {share:4.0%} handed over: {right:.1%} of the others right")

    doubtful = test[[unsure[0]]]
    print("\nthe least sure one and its three best readings:")
    print("  " + " ".join(doubtful[0].columns["word"]))
    for labels, log_probability in crf.k_best(doubtful, 3)[0]:
        fields = [f"{s.label} {s.start}-{s.end}" for s in fc.schemes.spans(labels)]
        print(f"  log p {log_probability:6.2f}  {', '.join(fields)}")


if __name__ == "__main__":
    main()
