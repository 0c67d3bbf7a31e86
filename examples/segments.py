"""Spans with probabilities from a model of segments, which looks at whole candidates (synthetic data)."""

from __future__ import annotations

import fieldcraft as fc

TEMPLATES = """
lower(word[-1..1])
shape(word)
edge
"""
WHOLE = """
segment.length
segment.shape
last(lower(word))
"""


def main() -> None:
    """Train, score, and print the spans of one address."""
    train, test = fc.datasets.split(fc.datasets.addresses(n=300), fraction=0.8, seed=0)
    crf = fc.SegmentCRF(TEMPLATES, segment_templates=WHOLE, n_jobs=1).fit(train)
    print(f"F of spans {crf.score(test):.2f}, segments of at most {max(crf.max_length_.values())} tokens")
    words = test[0].columns["word"]
    for span, probability in crf.predict_spans(test[:1])[0]:
        print(f"{probability:.2f}  {span.label:12} {' '.join(words[span.start : span.end])}")


if __name__ == "__main__":
    main()
