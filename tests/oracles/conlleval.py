"""conlleval's counting, one token at a time; imports nothing from the package.

On the letters B, I and O the pairs below are those of the script of 2004. It knows E as well, but joins E
and a B behind it, and it has no S; here E and S end a span, as in its later versions for IOBES.

Two bits of state per side (the last letter and type) and one shared flag say whether a span that
both sides opened together is still shared. Rules for pairs of letters are written out, so that
a compact formula elsewhere has something to be compared with. L and U are E and S.
"""

from __future__ import annotations

from collections import Counter

# (previous, current) letters that close or open a span within one type; O does neither.
CLOSING = {("B", "B"), ("B", "S"), ("B", "O"), ("I", "B"), ("I", "S"), ("I", "O")} | {
    (single, after) for single in "ES" for after in "BIESO"
}
OPENING = {(before, letter) for before in "BIESO" for letter in "BS"} | {
    (before, letter) for before in "ESO" for letter in "IE"
}


def split(label: str) -> tuple[str, str]:
    if label == "O":
        return "O", ""
    letter, _, type_ = label.partition("-")
    return {"L": "E", "U": "S"}.get(letter, letter), type_


def closes(previous: tuple[str, str], current: tuple[str, str]) -> bool:
    if previous[0] == "O":
        return False
    return (previous[0], current[0]) in CLOSING or previous[1] != current[1]


def opens(previous: tuple[str, str], current: tuple[str, str]) -> bool:
    if current[0] == "O":
        return False
    return (previous[0], current[0]) in OPENING or previous[1] != current[1]


class Tally:
    """Spans per type on either side and on both, and tokens."""

    def __init__(self) -> None:
        self.gold: Counter[str] = Counter()
        self.predicted: Counter[str] = Counter()
        self.correct: Counter[str] = Counter()
        self.tokens = 0
        self.right_tokens = 0

    def add(self, gold: list[str], predicted: list[str]) -> None:
        last_gold = last_predicted = ("O", "")
        shared = False
        for gold_label, predicted_label in zip([*gold, "O"], [*predicted, "O"], strict=True):
            here, guess = split(gold_label), split(predicted_label)
            gold_closes, guess_closes = closes(last_gold, here), closes(last_predicted, guess)
            if shared and gold_closes and guess_closes:
                self.correct[last_gold[1]] += 1
            if gold_closes or guess_closes:
                shared = False
            if opens(last_gold, here) and opens(last_predicted, guess) and here[1] == guess[1]:
                shared = True
            self.gold[here[1]] += opens(last_gold, here)
            self.predicted[guess[1]] += opens(last_predicted, guess)
            last_gold, last_predicted = here, guess
        self.tokens += len(gold)
        self.right_tokens += sum(a == b for a, b in zip(gold, predicted, strict=True))

    def counts(self, type_: str) -> tuple[int, int, int]:
        return self.gold[type_], self.predicted[type_], self.correct[type_]

    def totals(self) -> tuple[int, int, int]:
        return tuple(sum(c.values()) for c in (self.gold, self.predicted, self.correct))  # type: ignore[return-value]


def tally(gold: list[list[str]], predicted: list[list[str]]) -> Tally:
    result = Tally()
    for gold_labels, predicted_labels in zip(gold, predicted, strict=True):
        result.add(gold_labels, predicted_labels)
    return result


def prf(gold: int, predicted: int, correct: int) -> tuple[float, float, float]:
    precision = correct / predicted if predicted else 0.0
    recall = correct / gold if gold else 0.0
    f = 2 * precision * recall / (precision + recall) if correct else 0.0
    return precision, recall, f


def line(gold: int, predicted: int, correct: int) -> str:
    """The part of a printed line that rows of types and the overall row share; per cent come first."""
    precision = 100 * correct / predicted if predicted else 0.0
    recall = 100 * correct / gold if gold else 0.0
    f = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    return "precision: %6.2f%%; recall: %6.2f%%; FB1: %6.2f" % (precision, recall, f)  # noqa: UP031


def printed(result: Tally) -> str:
    """What the script prints."""
    gold, predicted, correct = result.totals()
    counted = f"processed {result.tokens} tokens with {gold} phrases"
    lines = [f"{counted}; found: {predicted} phrases; correct: {correct}."]
    if result.tokens:
        accuracy = 100 * result.right_tokens / result.tokens
        lines.append("accuracy: %6.2f%%; %s" % (accuracy, line(gold, predicted, correct)))  # noqa: UP031
    for type_ in sorted({t for side in (result.gold, result.predicted) for t, n in side.items() if n}):
        lines.append("%17s: %s  %d" % (type_, line(*result.counts(type_)), result.predicted[type_]))  # noqa: UP031
    return "\n".join(lines)
