"""The times of steps: reading them from a column, checking them, and resampling to regular steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError
from eigenloop.tasks.sequences.columns import is_text, numbers
from eigenloop.tasks.sequences.data import SequenceData, ragged

#: Time steps that differ from the median by more than this fraction are irregular.
_TOLERANCE = 0.01
#: Identifies the note about irregular steps, which resampling removes.
_IRREGULAR = "of the time steps are not of the usual length"
#: Limit of the factor by which resampling may lengthen the data.
_GROWTH = 100


def column(path: Path, table: Any, name: str, row: Callable[[int], str]) -> NDArray[np.float64]:
    """Return a column of numbers unchanged, or dates and times of day as seconds since the first entry.

    Raises:
        DataError: an entry is text, missing or infinite.
    """
    import pyarrow as pa
    import pyarrow.types as types

    kind = table.schema.field(name).type
    if is_text(table, name):
        raise DataError(path, f"column {name} holds text, not times: write numbers, or dates as 2024-05-31 12:00:00")
    if types.is_temporal(kind) and not types.is_interval(kind):
        times = table.column(name)
        if types.is_timestamp(kind):
            times = times.cast(pa.timestamp("us"), safe=False)
        elif types.is_date(kind):
            times = times.cast(pa.timestamp("s"))
        elif types.is_time(kind):
            times = times.cast(pa.time64("us"), safe=False)
        unit = 1.0 if types.is_date(kind) else 1e-6
        if types.is_duration(kind):
            times = times.cast(pa.duration("us"), safe=False)
        whole = times.cast(pa.int64())
        missing = whole.is_null().to_numpy()
        exact = whole.fill_null(0).to_numpy()
        seconds = (exact - exact[0]) * unit
        seconds[missing] = np.nan
    else:
        seconds = numbers(path, table, name, row)
    if not (finite := np.isfinite(seconds)).all():
        first = int(np.flatnonzero(~finite)[0])
        raise DataError(path, f"the time in {row(first)}, column {name} is missing or infinite: give it")
    return seconds


def checked(
    path: Path,
    clock: NDArray[np.float64],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    place: Callable[[int], str],
) -> tuple[str, ...]:
    """Return a note if time steps are irregular; raises DataError if times do not increase within a case."""
    gaps = np.diff(clock)
    within = np.ones(len(gaps), bool)
    within[starts[1:] - 1] = False
    if len(wrong := np.flatnonzero(within & (gaps <= 0))):
        step = int(wrong[0])
        raise DataError(
            path,
            f"the times are out of order: {clock[step]:.12g} at {place(step)}, then {clock[step + 1]:.12g} at "
            f"{place(step + 1)} in the same case; sort the rows by time, and keep one row for each time",
        )
    share = irregularity(gaps[within])
    if share == 0:
        return ()
    usual = float(np.median(gaps[within]))
    first = int(np.flatnonzero(within & (np.abs(gaps - usual) > _TOLERANCE * usual))[0])
    return (
        f"{share:.1%} {_IRREGULAR}, {usual:g} (the first from {place(first)} to {place(first + 1)}): resample "
        "(--resample median), or add a channel of time differences (--time-difference)",
    )


def irregularity(gaps: NDArray[np.float64]) -> float:
    """Return the fraction of time steps that differ from the median.

    >>> irregularity(np.array([1.0, 1.0, 1.0, 2.0]))
    0.25
    """
    if not len(gaps):
        return 0.0
    median = float(np.median(gaps))
    return float((np.abs(gaps - median) > _TOLERANCE * median).mean())


def median_step(data: SequenceData) -> float:
    """Return the median time step.

    >>> from eigenloop.tasks.sequences import from_arrays
    >>> median_step(dataclasses.replace(from_arrays([[0.0, 1.0, 2.0]], [1]), times=np.array([[0, 1, 3.0]])))
    1.5
    """
    gaps = np.concatenate([np.diff(clock) for clock in _clocks(data)])
    return float(np.median(gaps)) if len(gaps) else 1.0


def _clocks(data: SequenceData) -> list[NDArray[np.float64]]:
    """Return the times of each case."""
    if data.times is None:
        raise DataError(
            data.origin.path,
            "it has no times to resample by",
            "name the column of times",
            flags="name the column of times with --time, or leave out --resample",
        )
    return [data.times[data.steps(case)] for case in range(len(data))]


def resampled(data: SequenceData, step: float | None = None) -> SequenceData:
    """Return the data resampled to regular time steps by linear interpolation; default: the median time step.

    Per-step labels are those of the last original step. Values next to a missing value become missing.

    Raises:
        ValueError: `step` is not positive.
        DataError: the data have no times, or would have too many steps.

    >>> from eigenloop.tasks.sequences import from_arrays
    >>> data = dataclasses.replace(from_arrays([[0.0, 1.0, 2.0, 4.0]], [1]), times=np.array([[0, 1, 2, 4.0]]))
    >>> resampled(data).case(0)[:, 0]
    array([0., 1., 2., 3., 4.])
    """
    path, clocks = data.origin.path, _clocks(data)
    if step is None:
        step = median_step(data)
    if not step > 0:
        raise ValueError(f"the time from step to step is above 0, got {step}")
    counts = np.array([np.floor((clock[-1] - clock[0]) / step * (1 + 1e-9)) + 1 for clock in clocks])
    if counts.sum() > _GROWTH * data.lengths.sum() + 1000:
        raise DataError(
            path,
            f"with a value every {step:g} it would have {counts.sum():,.0f} steps: take a larger step for resampling",
        )
    lengths = counts.astype(np.int64)
    rows, starts = ragged(lengths)
    values = np.empty((1, int(lengths.sum()), data.channels))
    labels = data.labels
    if data.per_step and data.labels is not None:
        labels = np.empty((1, values.shape[1], *data.labels.shape[2:]), data.labels.dtype)
    for case, clock in enumerate(clocks):
        grid = clock[0] + step * np.arange(lengths[case])
        new = (0, slice(starts[case], starts[case] + lengths[case]))
        for channel, signal in enumerate(data.case(case).T):
            values[new][:, channel] = np.interp(grid, clock, signal)
        if data.per_step and data.labels is not None and labels is not None:
            before = np.searchsorted(clock, grid + 1e-9 * step, side="right") - 1
            labels[new] = data.labels[data.steps(case)][before]
    return dataclasses.replace(
        data,
        values=values,
        rows=rows,
        starts=starts,
        lengths=lengths,
        labels=labels,
        times=None,
        lines=None,
        notes=(*(note for note in data.notes if _IRREGULAR not in note), f"resampled to a value every {step:g}"),
    )
