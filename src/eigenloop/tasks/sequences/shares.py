"""Assigning cases or groups to splits: close to the given shares in every class, with no split left empty."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Number of random orders of the groups to try; fewer with many groups, which even out by themselves.
_TRIES, _WORK = 64, 20_000
#: Maximum number of entries of the table of groups and classes.
_LARGE = 10_000_000


def by_class(classes: NDArray[np.int64], shares: Sequence[float], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the split of each case, stratified by class; a class with few cases is in the first split at least.

    >>> by_class(np.array([0, 0, 0, 0, 1, 1, 1, 1]), [0.5, 0.5], np.random.default_rng(0))
    array([0, 1, 0, 1, 1, 1, 0, 0])
    """
    wanted = np.asarray(shares) / np.sum(shares)
    owed = np.zeros(len(wanted))
    equal = bool(np.allclose(wanted, wanted[0]))
    result = np.zeros(len(classes), np.int64)
    for cases in _members(classes):
        owed += wanted * len(cases)
        counts = np.floor(wanted * len(cases) + 1e-9).astype(np.int64)
        if not equal and not counts[0]:
            counts[0] = 1
        for _ in range(len(cases) - int(counts.sum())):
            counts[np.argmax(owed - counts)] += 1
        owed -= counts
        result[rng.permutation(cases)] = np.repeat(np.arange(len(wanted)), counts)
    return _filled(result, np.ones(len(classes)), len(wanted))


def by_group(
    groups: NDArray[np.int64], classes: NDArray[np.int64], shares: Sequence[float], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the split of each case, the same for all cases of a group: the best of several random assignments.

    >>> by_group(np.array([0, 0, 1, 1, 2, 2]), np.zeros(6, int), [0.7, 0.3], np.random.default_rng(0))
    array([0, 0, 1, 1, 0, 0])
    """
    names, group = np.unique(groups, return_inverse=True)
    kinds = np.unique(classes, return_inverse=True)[1]
    if len(names) * (int(kinds.max()) + 1) > _LARGE:
        kinds = np.zeros_like(kinds)  # with so many groups, classes even out by themselves
    table = np.zeros((len(names), int(kinds.max()) + 1))
    np.add.at(table, (group, kinds), 1)
    wanted = np.asarray(shares)[:, None] / np.sum(shares) * table.sum(0)
    best, best_error = np.zeros(len(names), np.int64), np.inf
    for _ in range(max(1, min(_TRIES, _WORK // len(names)))):
        part = _greedy(table, wanted, rng.permutation(len(names)))
        given = np.stack([table[part == p].sum(0) for p in range(len(wanted))])
        error = float(np.abs(given - wanted).sum() + np.abs((given - wanted).sum(1)).sum())
        if error < best_error:
            best, best_error = part, error
    return best[group]


def in_order(count: int, shares: Sequence[float]) -> NDArray[np.int64]:
    """Return the split of each case, with the first cases in the first split and so on.

    >>> in_order(6, [0.5, 0.3, 0.2])
    array([0, 0, 0, 1, 1, 2])
    """
    ends = np.rint(np.cumsum(shares) / np.sum(shares) * count)
    part = np.searchsorted(ends, np.arange(count), side="right")
    return _filled(part, np.ones(count), len(shares))


def _greedy(table: NDArray[np.float64], wanted: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Assign each group in turn to the split that is furthest below its share."""
    sizes, owed = table.sum(1), wanted.sum(1)
    part = np.zeros(len(table), np.int64)
    for group in order.tolist():
        part[group] = chosen = int(np.argmax(owed))
        owed[chosen] -= sizes[group]
    return _filled(part, sizes, len(wanted))


def _filled(part: NDArray[np.int64], sizes: NDArray[np.float64], parts: int) -> NDArray[np.int64]:
    """Move the smallest unit of the split that has most units to each empty split."""
    for empty in np.flatnonzero(np.bincount(part, minlength=parts) == 0).tolist():
        units = np.flatnonzero(part == np.argmax(np.bincount(part, minlength=parts)))
        part[units[np.argmin(sizes[units])]] = empty
    return part


def _members(classes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the indices of the cases of each class."""
    order = np.argsort(classes, kind="stable")
    return [cases for cases in np.split(order, np.flatnonzero(np.diff(classes[order])) + 1) if len(cases)]
