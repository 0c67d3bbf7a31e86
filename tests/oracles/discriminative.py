"""Discriminative features the slow way: dicts of tuples, token by token, with exact fractions.

Sequences are lists of tokens, tokens lists of attribute names; names that begin with ``edge`` are combined
with pairs of labels. A feature is (name, label before, label), with None for what it does not have.
"""

from __future__ import annotations

from fractions import Fraction

PAIR = None


def active(tokens, labels, t, edge="\0"):
    """The set of features that are active at token t."""
    found = set()
    for name in tokens[t]:
        if not name.startswith(edge):
            found.add((name, None, labels[t]))
        elif t > 0:
            found.add((name, labels[t - 1], labels[t]))
    if t > 0:
        found.add((PAIR, labels[t - 1], labels[t]))
    return found


def company(X, y, edge="\0"):
    """For each feature of the data the mean number of others that are active beside it."""
    beside = {}
    for tokens, labels in zip(X, y):
        for t in range(len(tokens)):
            now = active(tokens, labels, t, edge)
            for feature in now:
                beside.setdefault(feature, []).append(len(now) - 1)
    return {feature: Fraction(sum(numbers), len(numbers)) for feature, numbers in beside.items()}


def families(X, y, edge="\0"):
    """For each feature with a name: at how many tokens it is active, and its observation is there."""
    times, seen = {}, {}
    for tokens, labels in zip(X, y):
        for t in range(len(tokens)):
            for feature in active(tokens, labels, t, edge):
                if feature[0] is not PAIR:
                    times[feature] = times.get(feature, 0) + 1
                    seen[feature[0]] = seen.get(feature[0], 0) + 1
    return {feature: (n, seen[feature[0]]) for feature, n in times.items()}


def site_type(tokens, t, features, edge="\0"):
    """A, elsewhere or B: can one of these features be active at t, or at another token?"""

    def possible(s):
        names = {name for name in tokens[s] if s > 0 or not name.startswith(edge)}
        return any(name in names or (name is PAIR and s > 0) for name, _, _ in features)

    if possible(t):
        return "A"
    return "elsewhere" if any(possible(s) for s in range(len(tokens))) else "B"


def sites(X, gold, a, b, features, edge="\0"):
    """(sequence, token, gold, a, b, type, active features) where a alone is right, and where b alone is."""
    harmed, mended = [], []
    for i, tokens in enumerate(X):
        for t in range(len(tokens)):
            labels = [side[i][t] for side in (gold, a, b)]
            right_a, right_b = labels[1] == labels[0], labels[2] == labels[0]
            if right_a == right_b:
                continue
            there = set()
            for side in (gold, a, b):
                there |= active(tokens, side[i], t, edge) & features
            row = (
                i,
                t,
                *labels,
                site_type(tokens, t, features, edge),
                {f for f in there if f[0] is not PAIR},
            )
            (harmed if right_a else mended).append(row)
    return harmed, mended


def repaired(gold, a, b):
    """The labelling b, with the right label wherever a has it."""
    return [[g if x == g else z for g, x, z in zip(*rows)] for rows in zip(gold, a, b)]
