"""An sklearn-crfsuite programme with its imports changed: fit, report, random search, a look inside.

The two lines of fieldcraft.compat below are all that differs; with ``import sklearn_crfsuite`` and
``from sklearn_crfsuite import metrics`` in their place the programme prints the same, but for
the rounding of numbers.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import scipy.stats
from sklearn.metrics import make_scorer
from sklearn.model_selection import RandomizedSearchCV

import fieldcraft as fc
from fieldcraft import compat as sklearn_crfsuite
from fieldcraft.compat import metrics

Sentence = list[tuple[str, str, str]]  # word, place in the line, label


def sentences(corpus: fc.Corpus) -> list[Sentence]:
    """The corpus as lists of tuples, which is how such programmes keep it."""
    return [[*zip(s.columns["word"], s.columns["line"], s.labels)] for s in corpus]


def word2features(sentence: Sentence, i: int) -> dict[str, Any]:
    """What the model sees at a word: text, yes or no, and numbers."""
    word, line, _ = sentence[i]
    features = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
        "line": line,
    }
    for step in (-1, 1):
        if 0 <= i + step < len(sentence):
            other = sentence[i + step][0]
            features[f"{step:+}:word.lower()"] = other.lower()
            features[f"{step:+}:word.istitle()"] = other.istitle()
        else:
            features["BOS" if step < 0 else "EOS"] = True
    return features


def sent2features(sentence: Sentence) -> list[dict[str, Any]]:
    return [word2features(sentence, i) for i in range(len(sentence))]


def sent2labels(sentence: Sentence) -> list[str]:
    return [label for _, _, label in sentence]


def search(X: Any, y: Any, labels: list[str]) -> Any:
    """The best strengths of both penalties among a few drawn at random."""
    crf = sklearn_crfsuite.CRF(algorithm="lbfgs", max_iterations=50, all_possible_transitions=True)
    space = {"c1": scipy.stats.expon(scale=0.5), "c2": scipy.stats.expon(scale=0.05)}
    f1 = make_scorer(metrics.flat_f1_score, average="weighted", labels=labels, zero_division=0)
    return RandomizedSearchCV(crf, space, cv=3, n_iter=3, scoring=f1, random_state=0).fit(X, y)


def look_inside(crf: Any) -> None:
    """The strongest transitions and features."""
    print("Likely transitions:")
    for (before, label), weight in Counter(crf.transition_features_).most_common(5):
        print(f"  {before:<11} -> {label:<11} {weight:6.2f}")
    print("Features that speak for a label:")
    for (attribute, label), weight in Counter(crf.state_features_).most_common(8):
        print(f"  {weight:6.2f}  {label:<11} {attribute}")


def main() -> None:
    """Train, report, search, look inside."""
    corpus = fc.datasets.seminars(n=60)
    print(f"from {corpus.source}")
    train_sents, test_sents = map(sentences, fc.datasets.split(corpus, fraction=0.75, seed=0))
    X_train, y_train = [*map(sent2features, train_sents)], [*map(sent2labels, train_sents)]
    X_test, y_test = [*map(sent2features, test_sents)], [*map(sent2labels, test_sents)]

    crf = sklearn_crfsuite.CRF(
        algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=50, all_possible_transitions=True
    )
    crf.fit(X_train, y_train)

    labels = list(crf.classes_)
    labels.remove("O")
    labels.sort(key=lambda name: (name[1:], name[0]))  # B and I of a type side by side
    y_pred = crf.predict(X_test)
    f1 = metrics.flat_f1_score(y_test, y_pred, average="weighted", labels=labels)
    print(f"F1 {f1:.4f}, accuracy {crf.score(X_test, y_test):.4f}")
    print(metrics.flat_classification_report(y_test, y_pred, labels=labels, digits=3, zero_division=0))

    found = search(X_train, y_train, labels)
    print(f"best of the search: c1={found.best_params_['c1']:.3f}, c2={found.best_params_['c2']:.3f}")
    print(f"cross-validated F1 {found.best_score_:.4f}")
    look_inside(found.best_estimator_)


if __name__ == "__main__":
    main()
