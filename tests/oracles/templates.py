"""Template extraction the slow way: strings as keys, every word function spelled out by hand.

A template here is (part, terms); a term is (kind, column, functions, offset): kind "column",
"first", "last" or "bias"; functions a list of (name, argument) applied from left to right. An
attribute is the key (template number, values), a value being a string or ("outside", side,
distance).
"""

from __future__ import annotations

from itertools import groupby

TESTS = {
    "contains_digit": lambda w: any(c.isdigit() for c in w),
    "contains_upper": lambda w: any(c.isupper() for c in w),
    "contains_hyphen": lambda w: w.count("-") > 0,
    "contains_period": lambda w: w.count(".") > 0,
    "is_digits": lambda w: len(w) > 0 and all(c.isdigit() for c in w),
    "is_upper": lambda w: w.isupper(),
    "is_lower": lambda w: w.islower(),
    "is_mixed": lambda w: any(c.isupper() for c in w) and any(c.islower() for c in w),
    "is_title": lambda w: w.istitle(),
    "is_capitalised": lambda w: w != "" and w[0].isupper(),
    "is_initial": lambda w: w[1:] == "." and w[:1].isupper(),
    "is_roman": lambda w: w != "" and set(w) <= set("IVXLCDM"),
}


def _classes(word, upper, lower, digit):
    kinds = [(upper, str.isupper), (lower, str.islower), (digit, str.isdigit)]
    return [next((symbol for symbol, test in kinds if test(c)), c) for c in word]


def _shape(word):
    runs = [(symbol, len(list(run))) for symbol, run in groupby(_classes(word, "X", "x", "d"))]
    return "".join(symbol * min(n, 2) for symbol, n in runs)


VALUES = {
    "lower": lambda w, _: w.lower(),
    "prefix": lambda w, n: "".join(list(w)[:n]),
    "suffix": lambda w, n: "".join(reversed(list(reversed(w))[:n])),
    "length": lambda w, _: str(sum(1 for _ in w)),
    "shape": lambda w, _: _shape(w),
    "collins": lambda w, _: "".join(s for s, _ in groupby(_classes(w, "A", "a", "0"))),
}


def apply(functions, word):
    """The value of a chain of functions, None where a test fails."""
    for name, argument in functions:
        if name in TESTS:
            return "" if TESTS[name](word) else None
        word = VALUES[name](word, argument)
    return word


def value_at(sequence, t, term):
    """The value of a term at token t; None: it does not hold."""
    kind, column, functions, offset = term
    n = len(next(iter(sequence.values())))
    p = t + offset
    if kind == "bias":
        return ""
    if kind in ("first", "last"):
        return "" if p == (0 if kind == "first" else n - 1) else None
    if 0 <= p < n:
        return apply(functions, sequence[column][p])
    if functions and functions[-1][0] in TESTS:
        return None
    return ("outside", "left", -p) if p < 0 else ("outside", "right", p - n + 1)


def attributes(sequence, templates):
    """Per token the keys of its attributes, in template order."""
    n = len(next(iter(sequence.values())))
    rows = []
    for t in range(n):
        row = []
        for k, (part, terms) in enumerate(templates):
            values = tuple(value_at(sequence, t, term) for term in terms)
            if None not in values and not (part == "edge" and t == 0):
                row.append((k, values))
        rows.append(row)
    return rows


def encode(sequences, templates, table, *, grow):
    """Per token the ids of its attributes; the table grows in order of first appearance."""
    rows = []
    for sequence in sequences:
        for keys in attributes(sequence, templates):
            if grow:
                for key in keys:
                    table.setdefault(key, len(table))
            rows.append([table[key] for key in keys if key in table])
    return rows


def longest_matches(words, entries):
    """Leftmost-longest, non-overlapping matches of word tuples."""
    spans, t = [], 0
    while t < len(words):
        lengths = [len(e) for e in entries if tuple(words[t : t + len(e)]) == tuple(e)]
        if lengths:
            spans.append((t, t + max(lengths)))
        t += max(lengths, default=1)
    return spans


def all_tags(words, entries):
    """Per token B, I, L, U of the longest match that covers it (leftmost of equals), or None."""
    best = [(0, 0, None)] * len(words)
    for start in range(len(words)):
        for entry in entries:
            m = len(entry)
            if tuple(words[start : start + m]) != tuple(entry):
                continue
            for i in range(m):
                tag = "U" if m == 1 else "B" if i == 0 else "L" if i == m - 1 else "I"
                best[start + i] = max(best[start + i], (m, -start, tag), key=lambda x: x[:2])
    return [tag for _, _, tag in best]


def _mix(a, b):
    product = a * b
    return (product ^ (product >> 64)) & (2**64 - 1)


def hash_text(text):
    """The 64-bit hash of a text: eight bytes at a time, multiplied and folded."""
    k0, k1 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
    data = text.encode()
    h = _mix(len(data) ^ k0, k1)
    while len(data) > 8:
        h = _mix(h ^ int.from_bytes(data[:8], "little"), k0)
        data = data[8:]
    return _mix(h ^ _tail(data), k1)


def _tail(data):
    """Up to eight bytes as one number: two overlapping fours, or the first, middle and last byte."""
    if len(data) >= 4:
        return int.from_bytes(data[:4], "little") | int.from_bytes(data[-4:], "little") << 32
    return data[0] | data[len(data) // 2] << 8 | data[-1] << 16 if data else 0


def bucket(name, values, size):
    """Where a hashed table puts the attribute of a template; values from left to right."""
    h = hash_text(name)
    for value in values:
        h = _mix(h ^ hash_text(value), 0x9E3779B97F4A7C15)
    return h % size
