"""Conversion of labels to numbers: indices of named classes, or values."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError

#: Returns the place of the n-th label in words, for messages.
Where = Callable[[int], str]
#: Up to this many distinct integers are classes even in a small data set.
_FEW = 20


def encoded(path: Path, labels: NDArray[Any], where: Where) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """Return class indices with the names of the classes, or values (..., k) with None.

    Text and booleans are classes, and so are integers with few distinct values for their number. Other numbers are
    values, and so are labels of more than one number.

    Args:
        path: for messages.
        labels: (count,), or (count, k) numbers; text as str or objects.
        where: returns the place of the n-th label, for messages.

    Raises:
        DataError: a label is missing, infinite or of another type, or labels mix text and numbers.
    """
    if labels.ndim > 1 and (labels.dtype.kind not in "biuf" or not labels.size):
        raise DataError(path, f"labels of shape {labels.shape} must be numbers; classes in words are one a label")
    if labels.dtype.kind in "OUS":
        return classes_of_text(path, [_text(label) for label in labels.ravel().tolist()], where)
    if labels.dtype.kind not in "biuf":
        raise DataError(path, f"labels are numbers or text, not {labels.dtype}: save them as such")
    if labels.dtype.kind == "f" and not (finite := np.isfinite(labels)).all():
        first = int(np.flatnonzero(~finite.reshape(len(labels), -1).all(1))[0])
        raise DataError(path, f"the label of {where(first)} is missing or infinite: give it, or leave it out")
    if labels.ndim == 1:
        distinct, numbers = np.unique(labels, return_inverse=True)
        if labels.dtype.kind == "b" or looks_like_classes(distinct, len(labels)):
            return numbers.astype(np.int64), tuple(map(number_name, distinct.tolist()))
        labels = labels[:, None]
    return labels.astype(np.float64), None


def looks_like_classes(distinct: NDArray[Any], count: int) -> bool:
    """Whether labels are classes, given their distinct values and their number."""
    return len(distinct) <= max(_FEW, count // 2) and bool((distinct == np.trunc(distinct)).all())


def number_name(number: float) -> str:
    """Return the name of a class that is a number: 3 for 3.0."""
    return str(int(number)) if number == int(number) else repr(number)


def classes_of_text(path: Path, texts: Sequence[str], where: Where) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return class indices and names of text labels; raises DataError if some are empty or only some are numbers."""
    first: dict[str, int] = {}
    for n, text in enumerate(texts):
        if text not in first:
            first[text] = n
    if "" in first:
        raise DataError(path, f"the label of {where(first[''])} is empty: give it, or leave it out")
    numeric = [name for name in first if _is_number(name)]
    if numeric and len(numeric) < len(first):
        word = next(name for name in first if name not in numeric)
        raise DataError(
            path,
            f"the labels mix text and numbers: {word[:40]!r} at {where(first[word])}, {numeric[0][:40]!r} at "
            f"{where(first[numeric[0]])}; write all of them as numbers or all as words",
        )
    names = sorted_names(first)
    numbers = {name: number for number, name in enumerate(names)}
    return np.array([numbers[text] for text in texts], np.int64), names


def sorted_names(names: Collection[str]) -> tuple[str, ...]:
    """Return names in sorted order; by value if all are numbers.

    >>> sorted_names(["10", "9"]), sorted_names(["b", "10", "9"])
    (('9', '10'), ('10', '9', 'b'))
    """
    numeric = all(map(_is_number, names))
    return tuple(sorted(names, key=(lambda name: (float(name), name)) if numeric else str))


def named(path: Path, numbers: NDArray[np.int64], names: tuple[str, ...], given: Sequence[str]) -> tuple[Any, Any]:
    """Return class indices and names, with the class names that a file lists (`given`).

    If all labels are among the listed names, they are matched by name. If there are as many names as classes, they are
    matched in order. Otherwise each label must be the index of its name, from 0.

    Raises:
        DataError: none of these applies, or two names are equal.
    """
    if len(set(given)) < len(given):
        raise DataError(path, "two of the names in classes are equal: give every class a name of its own")
    if all(name in given for name in names):
        order = {name: n for n, name in enumerate(given)}
    elif len(given) == len(names):
        return numbers, tuple(given)
    elif all(name.isdigit() and int(name) < len(given) for name in names):
        order = {name: int(name) for name in names}
    else:
        raise DataError(
            path, f"classes has {len(given)} names for {len(names)} classes ({', '.join(names[:5])}): name each of them"
        )
    return np.array([order[name] for name in names], np.int64)[numbers], tuple(given)


def _text(label: object) -> str:
    return (label.decode("utf-8", "replace") if isinstance(label, bytes) else str(label)).strip()


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
