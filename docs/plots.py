"""The pictures of docs/plots.md, of synthetic data: `python docs/plots.py` writes them beside the page."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np

import fieldcraft as fc
from fieldcraft.plots.confidence import spans_by_confidence

HERE = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent


def draw(folder: Path) -> None:
    """Train on a part of the synthetic addresses and draw everything."""
    train, rest = fc.datasets.split(fc.datasets.addresses(n=900, seed=3), fraction=0.3, seed=0)
    held_out, test = fc.datasets.split(rest, fraction=0.5, seed=0)
    crf = fc.ChainCRF("lower(word[-1..1])\nshape(word)\nedge", prior=fc.Gaussian(variance=100))
    crf.fit(train, X_dev=held_out, score_every=1)
    said, seen = list(crf.predict(test)), crf.inspect()

    log = crf.training_log_
    fc.plots.learning_curves(
        [r.objective for r in log],
        [r.held_out for r in log],
        metric="span F",
        path=folder / "plots-learning.svg",
    )
    fc.plots.confusion(
        *reversed(fc.metrics.span_confusion(test.labels, said)),
        unit="spans",
        path=folder / "plots-confusion.svg",
    )
    fc.plots.transitions(seen.transitions, seen.labels, path=folder / "plots-transitions.svg")
    rows = seen.templates
    fc.plots.template_weights(
        [r.template for r in rows],
        [r.total for r in rows],
        [r.active for r in rows],
        path=folder / "plots-weights.svg",
    )
    calibrated = fc.calibrate(crf, held_out)
    found = {
        name: fc.metrics.reliability(test.labels, model.predict_proba(test), model.classes_)
        for name, model in (("trained", crf), ("calibrated", calibrated))
    }
    fc.plots.reliability(found, path=folder / "plots-reliability.svg")
    spans = calibrated.scored(test).predict_spans()
    fc.plots.precision_recall(*spans_by_confidence(spans, test.spans()), path=folder / "plots-thresholds.svg")

    segments = fc.SegmentCRF("lower(word)\nshape(word)\nedge", segment_templates="segment.length").fit(
        train[:80]
    )
    one = test[3:4]
    fc.plots.segmentation(
        one[0].columns["word"],
        segments.predict_spans(one)[0],
        segments.boundary_probability(one)[0],
        path=folder / "plots-segments.svg",
    )
    graph = fc.FactorGraph(np.full(9, 2))
    graph.add(scope=[[0], [8]], table=[[0.0, 2.0], [1.5, 0.0]])
    pairs = [(a, b) for a in range(9) for b in (a + 1, a + 3) if b < 9 and (b == a + 3 or b % 3)]
    graph.add(scope=pairs, table=np.tile([[0.8, 0.0], [0.0, 0.8]], (len(pairs), 1, 1)))
    fc.plots.factor_graph(
        pairs, graph.infer().variables, states=["background", "foreground"], path=folder / "plots-graph.svg"
    )


if __name__ == "__main__":
    matplotlib.rcParams["svg.hashsalt"] = "fieldcraft"  # the same bytes every time
    draw(HERE)
