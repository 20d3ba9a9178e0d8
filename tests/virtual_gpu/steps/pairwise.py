"""A pairwise cover: each two values that may stand together do so in one of its rows.

The rows follow from the axes and the rules alone, so that every run tries the same.
"""

from itertools import combinations


def obeys(row, rules):
    """True if a row, or a part of one, follows every rule.

    A rule is two mappings of names to values: where a row has the values of the first, it has
    those of the second.
    """
    return all(
        any(row.get(name) not in values for name, values in where.items()) or
        all(name not in row or row[name] in values for name, values in then.items())
        for where, then in rules)


def completed(row, axes, rules, missing):
    """The row with a value of every axis, of those that hold the most missing pairs; or None."""
    left = {name: [value for value in axes[name] if obeys({**row, name: value}, rules)]
            for name in axes if name not in row}
    if not left:
        return row
    name = min(left, key=lambda name: len(left[name]))  # whose values run out first

    def gained(value):
        return sum(frozenset({(name, value), old}) in missing for old in row.items())

    for value in sorted(left[name], key=gained, reverse=True):
        if full := completed({**row, name: value}, axes, rules, missing):
            return full
    return None


def pairwise(axes, rules=()):
    """Rows of the cover; `axes` are names with their values. Pairs that no row can hold are left out."""
    missing = {frozenset({(one, a), (other, b)}): None
               for one, other in combinations(axes, 2) for a in axes[one] for b in axes[other]}
    rows = []
    while missing:
        pair = dict(next(iter(missing)))
        row = completed(pair, axes, rules, missing) if obeys(pair, rules) else None
        if row is None:
            missing.pop(frozenset(pair.items()))
            continue
        rows.append({name: row[name] for name in axes})
        for held in combinations(row.items(), 2):
            missing.pop(frozenset(held), None)
    return rows
