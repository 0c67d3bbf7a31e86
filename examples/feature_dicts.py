"""Features that you compute yourself: one dict per token, the idiom of sklearn-crfsuite."""

from __future__ import annotations

import fieldcraft as fc


def word_features(sentence: list[str], t: int) -> dict[str, str | bool | float]:
    """What the model may look at around token t."""
    word = sentence[t]
    return {
        "bias": 1.0,
        "lower": word.lower(),
        "suffix": word[-3:],
        "title": word.istitle(),
        "digits": word.isdigit(),
        "before": sentence[t - 1].lower() if t > 0 else "<start>",
        "after": sentence[t + 1].lower() if t + 1 < len(sentence) else "<end>",
    }


def sentence_features(sentence: list[str]) -> list[dict[str, str | bool | float]]:
    """One dict per token."""
    return [word_features(sentence, t) for t in range(len(sentence))]


def main() -> None:
    """Train on synthetic seminar announcements and score on others."""
    train, test = fc.datasets.split(fc.datasets.seminars(n=200), fraction=0.75, seed=0)
    X_train = [sentence_features(sequence.columns["word"]) for sequence in train]
    X_test = [sentence_features(sequence.columns["word"]) for sequence in test]

    crf = fc.ChainCRF(prior=fc.Gaussian(variance=1), optimiser=fc.LBFGS(max_iterations=100))
    crf.fit(X_train, train.labels)

    print(f"{train.source}: {len(train)} to train on, {len(test)} to test on")
    print(fc.metrics.report(test.labels, crf.predict(X_test)))


if __name__ == "__main__":
    main()
