"""Assembling the content of a file: labels become numbers, sizes are checked, and suspicious data get a note."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError
from eigenloop.tasks.sequences.data import PARTS, Origin, SequenceData
from eigenloop.tasks.sequences.labels import Where, encoded, named
from eigenloop.tasks.sequences.scanning import statistics

#: Other accepted names of the splits.
_SPELLINGS = {"training": "train", "validation": "valid", "val": "valid", "dev": "valid", "testing": "test"}
#: With a larger weight of one case, the others would vanish in 32-bit floats.
_LARGEST_WEIGHT = 1e6
#: Maximum number of names listed in a note.
_LISTED = 5


def built(
    *,
    origin: Origin,
    values: NDArray[Any],
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    channel_names: Sequence[str] | None = None,
    labels: NDArray[Any] | None = None,
    per_step: bool = False,
    groups: Sequence[Any] | NDArray[Any] | None = None,
    parts: Sequence[Any] | NDArray[Any] | None = None,
    weights: Sequence[Any] | NDArray[Any] | None = None,
    times: NDArray[np.float64] | None = None,
    lines: NDArray[np.uint32] | None = None,
    case_names: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    where: Where | None = None,
    notes: Sequence[str] = (),
) -> SequenceData:
    """Make sequence data from the content of a file, with labels, groups and parts as in the file.

    Labels are (cases,) or (cases, k), or with `per_step` (rows, steps) or (rows, steps, k); `where` returns the place
    of a case's label in the file, for messages.

    Raises:
        DataError: values are not numbers or infinite, sizes do not agree, or a label, group, part or weight is wrong.
    """
    path = origin.path
    if values.dtype.kind not in "biuf":
        raise DataError(path, f"the values are {values.dtype}, not numbers: save them as floats or integers")
    if not len(lengths) or not values.size:
        raise DataError(path, "it holds no values: at least one case with one step and one channel is needed")
    names = tuple(map(str, range(values.shape[2]))) if channel_names is None else tuple(channel_names)
    if len(names) != values.shape[2]:
        raise DataError(path, f"{len(names)} names for {values.shape[2]} channels: name each of them")
    group_numbers, group_names = _grouped(path, groups, len(lengths))
    data = SequenceData(
        values=values,
        rows=rows,
        starts=starts,
        lengths=lengths,
        origin=origin,
        channel_names=names,
        per_step=per_step,
        groups=group_numbers,
        group_names=group_names,
        parts=_parts(path, parts, len(lengths)),
        weights=_weights(path, weights, len(lengths)),
        times=times,
        lines=lines,
        case_names=None if case_names is None else tuple(case_names),
        notes=tuple(notes),
    )
    if labels is not None:
        data = _labelled(data, labels, classes, where or (lambda case: f"case {data.name(case)}"))
    return data if data.mapped else _noted(data)


def _labelled(data: SequenceData, labels: NDArray[Any], classes: Sequence[str] | None, where: Where) -> SequenceData:
    path = data.origin.path
    if not data.per_step:
        numbers, names = encoded(path, labels, where)
    else:
        # Labels beyond the end of a case are padding and may have any value.
        valid = inside(data)
        valid_numbers, names = encoded(path, labels[valid], lambda n: _step(data, valid, n))
        numbers = np.zeros(labels.shape[:2] + valid_numbers.shape[1:], valid_numbers.dtype)
        numbers[valid] = valid_numbers
    if classes is not None:
        if names is None:
            raise DataError(path, "classes are named, but the labels are values: give whole numbers, or no names")
        numbers, names = named(path, numbers, names, classes)
    return dataclasses.replace(data, labels=numbers, class_names=names)


def inside(data: SequenceData) -> NDArray[np.bool_]:
    """Return a mask of the steps that belong to a case, (rows, steps)."""
    valid = np.zeros(data.values.shape[:2], bool)
    for case in range(len(data)):
        valid[data.steps(case)] = True
    return valid


def _step(data: SequenceData, valid: NDArray[np.bool_], number: int) -> str:
    row, step = (int(index[number]) for index in np.nonzero(valid))
    if data.lines is not None:
        return f"line {data.lines[row, step]}"
    case = int(np.flatnonzero((data.rows == row) & (data.starts <= step) & (step < data.starts + data.lengths))[0])
    return f"case {data.name(case)}, step {step - data.starts[case]}"


def _grouped(path: Path, groups: Any, cases: int) -> tuple[NDArray[np.int64] | None, tuple[str, ...]]:
    if groups is None:
        return None, ()
    texts = [str(group).strip() for group in _listed(path, "groups", groups, cases)]
    if "" in texts:
        raise DataError(path, f"case number {texts.index('')} has no group: give every case one")
    names, numbers = np.unique(np.array(texts, object), return_inverse=True)
    return numbers.astype(np.int64), tuple(names.tolist())


def _parts(path: Path, parts: Any, cases: int) -> NDArray[np.int64] | None:
    if parts is None:
        return None
    texts = [str(part).strip().lower() for part in _listed(path, "parts", parts, cases)]
    known = {**{name: name for name in PARTS}, **_SPELLINGS}
    for case, text in enumerate(texts):
        if text not in known:
            raise DataError(path, f"the split of case number {case} is {text[:40]!r}: it must be train, valid or test")
    return np.array([PARTS.index(known[text]) for text in texts], np.int64)


def _weights(path: Path, weights: Any, cases: int) -> NDArray[np.float64] | None:
    if weights is None:
        return None
    try:
        case_weights = np.array([float(weight) for weight in _listed(path, "weights", weights, cases)])
    except (TypeError, ValueError) as error:
        raise DataError(path, f"the weight of a case is a number: {str(error)[:80]}") from error
    if len(wrong := np.flatnonzero(~((case_weights >= 0) & (case_weights <= _LARGEST_WEIGHT)))):
        case = int(wrong[0])
        raise DataError(
            path, f"the weight of case number {case} is {case_weights[case]:g}: it is 0 or more, and finite"
        )
    if not case_weights.any():
        raise DataError(path, "all weights of cases are 0, so nothing would be learned: make some of them larger")
    return case_weights


def _listed(path: Path, what: str, given: Any, cases: int) -> list[Any]:
    entries = given.tolist() if isinstance(given, np.ndarray) else list(given)
    if (isinstance(given, np.ndarray) and given.ndim != 1) or len(entries) != cases:
        raise DataError(path, f"{what} has {len(entries)} entries for {cases} cases: give one per case")
    return entries


def _noted(data: SequenceData) -> SequenceData:
    """Check all values for infinities, and add notes on constant channels and classes with a single case."""
    notes = list(data.notes)
    constant = np.flatnonzero(statistics(data).constant)
    if len(constant):
        notes.append(f"the same value everywhere in channel {_some([data.channel_names[c] for c in constant])}")
    if data.class_names is not None and not data.per_step and data.labels is not None:
        counts = np.bincount(data.labels, minlength=len(data.class_names))
        if alone := [name for name, count in zip(data.class_names, counts, strict=True) if count == 1]:
            notes.append(
                f"only one case of class {_some(alone)}: it can be in the training or the test split, not in both"
            )
    return dataclasses.replace(data, notes=tuple(notes))


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
