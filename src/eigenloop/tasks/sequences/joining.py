"""Joining several data sets into one, such as a training file and a test file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError
from eigenloop.tasks.sequences.data import PARTS, Origin, SequenceData
from eigenloop.tasks.sequences.kinds import as_classes
from eigenloop.tasks.sequences.labels import sorted_names


def together(datasets: Sequence[SequenceData]) -> SequenceData:
    """Concatenate data sets, copying their values.

    Raises:
        DataError: channels or kinds of labels differ, or a data set is memory-mapped.
    """
    for data in datasets:
        if data.mapped:
            raise DataError(
                data.origin.path,
                "it is read from the disk, and joining would copy it: put all cases into one .npy, and train, valid or "
                "test for each into name_parts.npy",
            )
    datasets = _agreeing(list(datasets))
    first, sizes = datasets[0], [len(data) for data in datasets]
    steps = [data.values.shape[0] * data.values.shape[1] for data in datasets]
    offsets = np.repeat(np.cumsum([0, *steps[:-1]]), sizes)
    starts = np.concatenate([data.rows * data.values.shape[1] + data.starts for data in datasets]) + offsets
    groups, group_names = _groups(datasets)
    return dataclasses.replace(
        first,
        values=_flat([data.values for data in datasets]),
        rows=np.zeros(sum(sizes), np.int64),
        starts=starts,
        lengths=np.concatenate([data.lengths for data in datasets]),
        origin=Origin(first.origin.path, tuple(dict.fromkeys(file for data in datasets for file in data.origin.files))),
        labels=_labels(datasets),
        groups=groups,
        group_names=group_names,
        parts=None,
        weights=_weights(datasets),
        times=None if any(data.times is None for data in datasets) else _flat([data.times for data in datasets]),
        lines=None,
        case_names=_case_names(datasets),
        notes=tuple(dict.fromkeys(note for data in datasets for note in data.notes)),
    )


def join(parts: Mapping[str, SequenceData]) -> SequenceData:
    """Join ``train``, ``valid`` and ``test`` data into one data set with fixed splits, copying their values.

    Raises:
        DataError: channels or kinds of labels differ, or a data set is memory-mapped.

    >>> from eigenloop.tasks.sequences import from_arrays
    >>> train, test = from_arrays(np.zeros((4, 9)), list("abab")), from_arrays(np.ones((2, 7)), list("ba"))
    >>> data = join({"train": train, "test": test})
    >>> data.parts, data.lengths, data.class_names
    (array([0, 0, 0, 0, 2, 2]), array([9, 9, 9, 9, 7, 7]), ('a', 'b'))
    """
    names = [part for part in PARTS if part in parts]
    numbers = np.repeat([PARTS.index(name) for name in names], [len(parts[name]) for name in names])
    return dataclasses.replace(together([parts[name] for name in names]), parts=numbers)


def recoded(data: SequenceData, classes: Sequence[str]) -> SequenceData:
    """Return the data with class indices in the order of `classes`, that of the network's outputs.

    Raises:
        DataError: the data have a class that is not one of `classes`.

    >>> from eigenloop.tasks.sequences import from_arrays
    >>> recoded(from_arrays(np.zeros((2, 5)), ["run", "run"]), ["rest", "run"]).labels
    array([1, 1])
    """
    if data.labels is None or data.class_names is None:
        return data
    order = {name: number for number, name in enumerate(classes)}
    if unknown := [name for name in data.class_names if name not in order]:
        raise DataError(data.origin.path, f"class {unknown[0][:40]} is not one of {', '.join(list(order)[:10])}")
    numbers = np.array([order[name] for name in data.class_names], np.int64)
    return dataclasses.replace(data, labels=numbers[data.labels], class_names=tuple(classes))


def _agreeing(datasets: list[SequenceData]) -> list[SequenceData]:
    """Return the data sets with the same class indices; raises DataError if channels or kinds of labels differ."""
    first = datasets[0]
    for data in datasets[1:]:
        if data.channel_names != first.channel_names:
            raise DataError(
                data.origin.path,
                f"the splits have different channels: {data.channels} and {first.channels} "
                f"({', '.join(data.channel_names[:5])} and {', '.join(first.channel_names[:5])})",
            )
    if any(data.labels is None for data in datasets):
        if any(data.labels is not None for data in datasets):
            raise DataError(first.origin.path, "one split has labels and another has none: give them for all")
        return datasets
    if any(data.class_names is not None for data in datasets):
        datasets = [as_classes(data) for data in datasets]
    if (
        len({(data.per_step, data.labels.shape[1 + data.per_step :]) for data in datasets if data.labels is not None})
        > 1
    ):
        raise DataError(first.origin.path, "the labels of the splits have different shapes: give the same kind for all")
    if len({data.class_names for data in datasets}) == 1:
        return datasets
    classes = sorted_names({name for data in datasets for name in data.class_names or ()})
    return [recoded(data, classes) for data in datasets]


def _flat(arrays: Sequence[Any]) -> NDArray[Any]:
    return np.concatenate([array.reshape(-1, *array.shape[2:]) for array in arrays])[None]


def _labels(datasets: list[SequenceData]) -> NDArray[Any] | None:
    labels: list[Any] = [data.labels for data in datasets]
    if labels[0] is None:
        return None
    return _flat(labels) if datasets[0].per_step else np.concatenate(labels)


def _groups(datasets: list[SequenceData]) -> tuple[NDArray[np.int64] | None, tuple[str, ...]]:
    if any(data.groups is None for data in datasets):
        return None, ()
    names = sorted({name for data in datasets for name in data.group_names})
    numbers = {name: number for number, name in enumerate(names)}
    return (
        np.array([numbers[d.group_names[g]] for d in datasets if d.groups is not None for g in d.groups]),
        tuple(names),
    )


def _weights(datasets: list[SequenceData]) -> NDArray[np.float64] | None:
    if all(data.weights is None for data in datasets):
        return None
    return np.concatenate([np.ones(len(data)) if data.weights is None else data.weights for data in datasets])


def _case_names(datasets: list[SequenceData]) -> tuple[str, ...] | None:
    if all(data.case_names is None for data in datasets):
        return None
    return tuple(data.name(case) for data in datasets for case in range(len(data)))
