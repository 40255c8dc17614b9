"""Sequences from arrays: determines the meaning of each axis, and whether labels are per case or per step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError
from eigenloop.tasks.sequences.building import built
from eigenloop.tasks.sequences.data import Origin, SequenceData, ragged, stacked
from eigenloop.tasks.sequences.options import Layout

_MEMORY = Origin(Path("arrays"))


def from_arrays(
    X: Any,
    y: Any = None,
    *,
    lengths: Any = None,
    groups: Any = None,
    parts: Any = None,
    weights: Any = None,
    channels: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    layout: Layout | None = None,
    per_step: bool | None = None,
    origin: Origin = _MEMORY,
) -> SequenceData:
    """Make sequence data from arrays, without copying values.

    Args:
        X: (cases, steps, channels) or (cases, channels, steps); (cases, steps) for one channel; (steps,) or, without
            labels, (steps, channels) for a single recording; (all steps, channels) for concatenated cases, if the sum
            of `lengths` is the number of all steps.
        y: labels per case, (cases,) or (cases, k), or per step, (cases, steps) or (cases, steps, k).
        lengths: number of valid steps of each case, if X is padded or concatenated.
        groups: the group of each case, such as a person; a group is never split.
        parts: ``train``, ``valid`` or ``test`` for each case.
        weights: weight of each case in the loss.
        channels: names of the channels.
        classes: names of the classes.
        layout: the axes of X; default: guessed from its shape, with a note where that is uncertain.
        per_step: whether y has a label per step; default: decided by its shape.
        origin: where the data come from, for messages.

    Raises:
        DataError: shapes do not fit together, or values are not numbers.

    >>> data = from_arrays(np.random.rand(10, 128, 3), ["run", "walk"] * 5)
    >>> len(data), data.channels, data.class_names
    (10, 3, ('run', 'walk'))
    """
    path, values = origin.path, np.asanyarray(X)
    labels = None if y is None else np.asarray(y)
    counts = None if lengths is None else _lengths(path, lengths)
    notes: list[str] = []
    if counts is not None and values.ndim == 2 and layout is None and int(counts.sum()) == len(values) != len(counts):
        values, (rows, starts) = values[None], ragged(counts)
        if labels is not None and len(labels) == values.shape[1]:
            labels = labels[None]
    else:
        axes, note = _axes(path, values.shape, layout, labels, channels, counts)
        notes += [note] if note else []
        values = _ordered(values, axes)
        if "cases" not in axes and labels is not None and len(labels) == values.shape[1]:
            labels = labels[None]
        counts = np.full(len(values), values.shape[1]) if counts is None else counts
        rows, starts = stacked(len(values))
        _fits(path, counts, values.shape)
    labels, at_steps = _label_shape(path, labels, values.shape[:2], len(counts), per_step)
    return built(
        origin=origin,
        values=values,
        rows=rows,
        starts=starts,
        lengths=counts,
        channel_names=channels,
        labels=labels,
        per_step=at_steps,
        groups=groups,
        parts=parts,
        weights=weights,
        classes=classes,
        notes=notes,
    )


def _axes(
    path: Path,
    shape: tuple[int, ...],
    layout: Layout | None,
    labels: NDArray[Any] | None,
    channels: Sequence[str] | None,
    lengths: NDArray[np.int64] | None,
) -> tuple[str, str | None]:
    """Return the axes of X as a layout, and a note if they are a guess."""
    if layout is not None:
        if len(shape) != layout.count(",") + 1:
            raise DataError(path, f"X has {len(shape)} axes, layout={layout} names others: give a layout that fits")
        return layout, None
    if len(shape) == 1:
        return "steps", None
    if len(shape) == 2:
        if (labels is None and lengths is None) or (channels is not None and len(channels) == shape[1]):
            return "steps,channels", "X was taken as one recording (steps, channels); layout= says otherwise"
        return "cases,steps", None
    if len(shape) != 3:
        raise DataError(path, f"X has the shape {shape}: (cases, steps, channels) is wanted")
    if channels is not None and (len(channels) == shape[1]) != (len(channels) == shape[2]):
        return ("cases,channels,steps" if len(channels) == shape[1] else "cases,steps,channels"), None
    if labels is not None and labels.ndim > 1 and (labels.shape[1] == shape[1]) != (labels.shape[1] == shape[2]):
        return ("cases,steps,channels" if labels.shape[1] == shape[1] else "cases,channels,steps"), None
    if lengths is not None and lengths.max(initial=0) > min(shape[1:]):
        return ("cases,steps,channels" if shape[1] > shape[2] else "cases,channels,steps"), None
    axes = "cases,channels,steps" if shape[1] < shape[2] else "cases,steps,channels"
    return axes, f"X was taken as ({axes.replace(',', ', ')}), more steps than channels; layout= says otherwise"


def _ordered(values: NDArray[Any], axes: str) -> NDArray[Any]:
    """View X as (cases, steps, channels)."""
    names = axes.split(",")
    if "channels" not in names:
        values, names = values[..., None], [*names, "channels"]
    if "cases" not in names:
        values, names = values[None], ["cases", *names]
    return values.transpose([names.index(name) for name in ("cases", "steps", "channels")])


def _lengths(path: Path, lengths: Any) -> NDArray[np.int64]:
    steps = np.asarray(lengths)
    if steps.ndim != 1 or steps.dtype.kind not in "iu":
        raise DataError(path, f"lengths is {steps.dtype} of shape {steps.shape}: give a whole number for each case")
    counts = steps.astype(np.int64)
    if len(counts) and counts.min() < 1:
        raise DataError(path, f"the length of case {int(counts.argmin())} is {counts.min()}: at least 1 is wanted")
    return counts


def _fits(path: Path, lengths: NDArray[np.int64], shape: tuple[int, ...]) -> None:
    if len(lengths) != shape[0]:
        raise DataError(path, f"lengths has {len(lengths)} entries for {shape[0]} cases: give one per case")
    if len(lengths) and lengths.max() > shape[1]:
        case = int(lengths.argmax())
        raise DataError(
            path, f"the length of case {case} is {lengths[case]}, but X has {shape[1]} steps: give the valid ones"
        )


def _label_shape(
    path: Path, labels: NDArray[Any] | None, grid: tuple[int, ...], cases: int, per_step: bool | None
) -> tuple[NDArray[Any] | None, bool]:
    """Return labels as (cases,), (cases, k) or (rows, steps[, k]), and whether they are per step, the latter."""
    if labels is None:
        return None, False
    at_cases = labels.ndim in (1, 2) and len(labels) == cases
    at_steps = labels.ndim in (2, 3) and labels.shape[:2] == grid
    chosen = at_steps if per_step is None else per_step
    if not (at_steps if chosen else at_cases):
        wanted = f"({grid[0]}, {grid[1]})" if per_step else f"({cases},), or ({grid[0]}, {grid[1]}) for every step"
        raise DataError(
            path, f"y has the shape {labels.shape} for {cases} cases of {grid[1]} steps: {wanted} is wanted"
        )
    if labels.ndim == (3 if chosen else 2) and labels.shape[-1] == 1:
        labels = labels[..., 0]
    return labels, chosen
