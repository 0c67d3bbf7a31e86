"""Acronyms by counter states: how many letters since the last one that was taken?

Every letter of a long word is in (I) or not in (O) its acronym. The words are synthetic: random letters, of
which the first is taken, and then each time the first consonant that comes at least four letters after the
last one taken. With two labels a chain remembers one letter back. Counter states put the number of O in a row
into the state, so that each count has weights of its own.
"""

from __future__ import annotations

import random

import fieldcraft as fc

VOWELS, LETTERS = "aeiou", "abcdefghijklmnopqrstuvwxyz"
GAP = 4
SPACES = {
    "first order": "labels",
    "second order": "ngrams:2",
    "counter of O up to 6": fc.StateSpace.counter(["I", "O"], "O", 6),
}


def word(rng: random.Random) -> tuple[list[str], list[str]]:
    """Letters and their labels."""
    letters = [rng.choice(VOWELS if rng.random() < 0.4 else LETTERS) for _ in range(rng.randint(8, 22))]
    labels, since = [], GAP
    for t, letter in enumerate(letters):
        taken = t == 0 or (since >= GAP and letter not in VOWELS)
        labels.append("I" if taken else "O")
        since = 1 if taken else since + 1
    return letters, labels


def acronym(letters: list[str], labels: list[str]) -> str:
    """The letters that are taken, as capitals."""
    return "".join(letter.upper() for letter, label in zip(letters, labels) if label == "I")


def main() -> None:
    """Train three state spaces on the same words and compare them."""
    rng = random.Random(3)
    words = [word(rng) for _ in range(900)]
    X, y = [{"letter": letters} for letters, _ in words], [labels for _, labels in words]
    print("synthetic words; whole acronyms that are right, of 300\n")
    for name, states in SPACES.items():
        crf = fc.ChainCRF("letter\nedge: letter\nedge\nfirst", states=states).fit(X[:600], y[:600])
        predicted = crf.predict(X[600:])
        right = sum(list(a) == b for a, b in zip(predicted, y[600:]))
        print(f"{name:22} {right:3}   {crf.states_}")
    letters, labels = words[600]
    print(
        f"\n{''.join(letters)} -> {acronym(letters, list(predicted[0]))}, right: {acronym(letters, labels)}"
    )


if __name__ == "__main__":
    main()
