"""The kinds of problem: a class or values, per sequence or per time step, or a forecast of the next values."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError
from eigenloop.tasks.options import one_of
from eigenloop.tasks.sequences.building import inside
from eigenloop.tasks.sequences.data import SequenceData
from eigenloop.tasks.sequences.labels import number_name

#: A class or values per sequence, a class or values per time step, or a forecast of the next values.
Kind = Literal["class", "values", "step-class", "step-values", "forecast"]


def kind_of(data: SequenceData) -> Kind:
    """Return the kind of problem that the labels imply; without labels, a forecast.

    >>> from eigenloop.tasks.sequences import from_arrays
    >>> kind_of(from_arrays(np.zeros((4, 9)), [0.5, 0.1, 0.2, 0.9])), kind_of(from_arrays(np.zeros(100)))
    ('values', 'forecast')
    """
    if data.labels is None:
        return "forecast"
    if data.per_step:
        return "step-values" if data.class_names is None else "step-class"
    return "values" if data.class_names is None else "class"


def as_kind(data: SequenceData, kind: Kind) -> SequenceData:
    """Return the data with labels for a kind of problem: numbers can be classes or values; a forecast needs no labels.

    Raises:
        DataError: the labels do not fit the kind.

    >>> from eigenloop.tasks.sequences import from_arrays
    >>> data = from_arrays(np.zeros((3, 9)), [10, 20, 10])
    >>> kind_of(data), as_kind(data, "values").labels.tolist()
    ('class', [[10.0], [20.0], [10.0]])
    """
    one_of("kind", kind, get_args(Kind))
    if kind == "forecast":
        return dataclasses.replace(data, labels=None, per_step=False, class_names=None)
    if data.labels is None:
        raise DataError(data.origin.path, f"it has no labels, which kind={kind} needs: only kind=forecast does without")
    if data.per_step != kind.startswith("step-"):
        place = "at every step" if data.per_step else "for each case"
        raise DataError(data.origin.path, f"its labels stand {place}, which does not fit kind={kind}: see per_step")
    return as_classes(data) if kind.endswith("class") else as_values(data)


def as_classes(data: SequenceData) -> SequenceData:
    """Return the data with each distinct value of the labels as a class."""
    if data.labels is None or data.class_names is not None:
        return data
    if data.labels.shape[-1] != 1:
        raise DataError(data.origin.path, f"{data.labels.shape[-1]} values a label cannot be one class: give one")
    values = data.labels[..., 0]
    distinct = np.unique(values[inside(data)] if data.per_step else values)
    numbers = np.searchsorted(distinct, values).clip(max=len(distinct) - 1)  # any class for padding
    return dataclasses.replace(data, labels=numbers, class_names=tuple(map(number_name, distinct.tolist())))


def as_values(data: SequenceData) -> SequenceData:
    """Return the data with classes whose names are numbers converted to values; raises DataError for other names."""
    if data.labels is None or data.class_names is None:
        return data
    try:
        values = np.array([float(name) for name in data.class_names])
    except ValueError:
        word = next(name for name in data.class_names if not name.strip("+-.").isdigit())
        raise DataError(
            data.origin.path, f"the label {word[:40]} is not a number, so labels cannot be values"
        ) from None
    labels: NDArray[Any] = values[data.labels][..., None]
    return dataclasses.replace(data, labels=labels, class_names=None)
