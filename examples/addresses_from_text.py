"""Raw strings in, fields with character offsets and probabilities out.

Trains on synthetic addresses, then reads addresses as somebody typed them: one string each, with
line breaks and commas anywhere. Fields that the model is not sure of are marked.
"""

from __future__ import annotations

import fieldcraft as fc

TEMPLATES = """
    lower(word[-2..2])
    shape(word[-2..2])
    lower(word[-1]) & lower(word)
    prefix(lower(word), 2..4)
    suffix(lower(word), 2..4)
    contains_digit(word) & length(word)
    edge
"""
TYPED = [
    "Ms Ada Whitfield, 12 Harbour Lane, Flat 3, Leeds LS1 4AP",
    "742 Maple Ave., Apt. 4B\nSt. Louis, MO 63101\nU.S.A.",
    "Bank of Ashford,P.O. Box 123,Boston,MA 02101",
    "Lindenstr. 12, 10969 Berlin",
    "12 King's Road london sw3 5xp",
]
SURE = 0.9


def main() -> None:
    corpus = fc.datasets.addresses(n=2000)
    print(f"trained on {corpus.source}; no address in it is real\n")
    crf = fc.ChainCRF(TEMPLATES, prior=fc.Gaussian(variance=10), tokenizer="words").fit(corpus)

    doubtful = 0
    for text, spans in zip(TYPED, crf.predict_text(TYPED)):
        print(repr(text))
        for span in spans:
            mark = "" if span.probability >= SURE else "  ?"
            doubtful += bool(mark)
            place = f"{span.start}-{span.end}"
            print(f"  {place:<7}{span.label:<13}{span.text:<18}{span.probability:.2f}{mark}")
    print(f"\n{doubtful} fields are less than {SURE:.0%} sure and go to a person")


if __name__ == "__main__":
    main()
