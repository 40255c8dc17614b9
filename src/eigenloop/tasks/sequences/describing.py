"""A description of sequence data in a few lines."""

from __future__ import annotations

import numpy as np

from eigenloop.tasks.sequences.data import PARTS, SequenceData
from eigenloop.tasks.sequences.kinds import kind_of
from eigenloop.tasks.sequences.scanning import statistics

#: Maximum number of classes and channels that are listed; further ones are only counted.
_LISTED = 12
_KINDS = {
    "class": "a class for each case",
    "values": "values for each case",
    "step-class": "a class at every step",
    "step-values": "values at every step",
    "forecast": "none, so the next values are forecast",
}


def describe(data: SequenceData) -> str:
    """Describe data in words: cases, channels, lengths, labels, groups, splits, missing values and notes.

    >>> from eigenloop.tasks.sequences import from_arrays
    >>> print(describe(from_arrays([[1.0, 2.0, 5.0], [3.0, 4.0, np.nan]], ["run", "walk"], groups=["Ann", "Bob"])))
    arrays: 2 cases, 3 steps each, 1 channel, float64
    labels: a class for each case: run (1), walk (1)
    groups: 2
    missing values: 1, the first at case 1, step 2, channel 0
    note: only one case of class run, walk: it can be in the training or the test split, not in both
    """
    low, high = int(data.lengths.min()), int(data.lengths.max())
    steps = f"{_count(low, 'step')} each" if low == high else f"{low:,} to {high:,} steps"
    if len(data) == 1:
        steps = _count(low, "step")
    where = ", read from the disk as needed" if data.mapped else ""
    lines = [
        f"{data.origin.path.name}: {_count(len(data), 'case')}, {steps}, {_count(data.channels, 'channel')}"
        f"{_channels(data)}, {data.values.dtype}{where}",
        f"labels: {_KINDS[kind_of(data)]}{_classes(data)}",
    ]
    if data.groups is not None:
        lines.append(f"groups: {len(data.group_names):,}")
    if data.weights is not None:
        lines.append(f"weights: from {data.weights.min():g} to {data.weights.max():g}")
    if data.parts is not None:
        counts = np.bincount(data.parts, minlength=len(PARTS)).tolist()
        given = [f"{name} {count:,}" for name, count in zip(PARTS, counts, strict=True) if count]
        lines.append(f"splits given by the file: {', '.join(given)}")
    lines.append(f"missing values: {_missing(data)}")
    return "\n".join([*lines, *(f"note: {note}" for note in data.notes)])


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _channels(data: SequenceData) -> str:
    if data.channel_names == tuple(map(str, range(data.channels))):
        return ""
    more = ", ..." if data.channels > _LISTED else ""
    return f" ({', '.join(data.channel_names[:_LISTED])}{more})"


def _classes(data: SequenceData) -> str:
    if data.labels is None:
        return ""
    if data.class_names is None:
        return f", {data.labels.shape[-1]} a label" if data.labels.shape[-1] > 1 else ""
    if data.per_step:
        labels = np.concatenate([data.labels[data.steps(case)] for case in range(len(data))])
    else:
        labels = data.labels
    counts = np.bincount(labels, minlength=len(data.class_names)).tolist()
    named = [f"{name} ({count:,})" for name, count in zip(data.class_names, counts, strict=True)]
    return f": {', '.join(named[:_LISTED])}" + (f" and {len(named) - _LISTED} more" if len(named) > _LISTED else "")


def _missing(data: SequenceData) -> str:
    if data.mapped:
        return "not looked for, since the values are on the disk; preparing the training split does"
    channel_statistics = statistics(data)
    count = int(channel_statistics.missing.sum())
    return "none" if not count else f"{count:,}, the first at {channel_statistics.first_missing}"
