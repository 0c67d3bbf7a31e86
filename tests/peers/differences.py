"""Tests of python-crfsuite's and sklearn-crfsuite's own suites that fail with fieldcraft.compat, and why.

The reason is the bold beginning of an entry under "What differs" in docs/from-sklearn-crfsuite.md.
"""

from __future__ import annotations

ARRAYS = "Arrays."
NOTHING = "Training on nothing"

DIFFERENCES: dict[str, dict[str, str]] = {
    "sklearn-crfsuite": {
        # the original makes a matrix of labels where all sequences have one length
        **{f"test_crf::test_crf[{algorithm}]": ARRAYS for algorithm in ("lbfgs", "l2sgd", "pa", "arow")},
        **{
            f"test_crf::test_crf_verbose[{held_out}-{algorithm}]": ARRAYS
            for held_out in (True, False)
            for algorithm in ("lbfgs", "l2sgd", "pa", "arow")
        },
    },
    "python-crfsuite": {
        # the original writes a model without labels
        "test_trainer::test_trainer_noappend": NOTHING,
        "test_trainer::test_trainer_noselect_noappend": NOTHING,
    },
}
MOST = {"sklearn-crfsuite": 12, "python-crfsuite": 4}  # how many may differ
