"""From values to what a network sees: missing values filled, channels normalised, masks and time differences added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError
from eigenloop.tasks.options import one_of
from eigenloop.tasks.sequences.data import SequenceData
from eigenloop.tasks.sequences.pieces import Pieces
from eigenloop.tasks.sequences.scanning import Statistics, statistics

#: Missing values are an error, are those of the step before, or are the mean with channels that mark them.
Missing = Literal["error", "previous", "mask"]


@dataclass(frozen=True, eq=False)
class Preparation:
    """How values become inputs, learnt from the training split alone.

    Attributes:
        mean, scale: (channels,), float64: an input is (value - mean) / scale; the scale of a constant channel is 1.
        missing: what becomes of missing values.
        time_unit: the usual time from step to step, if a channel with the time since the step before is added.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    missing: Missing = "error"
    time_unit: float | None = None

    @property
    def input_size(self) -> int:
        """Channels of the inputs: values, then masks, then time difference."""
        return len(self.mean) * (2 if self.missing == "mask" else 1) + (self.time_unit is not None)

    @property
    def affine(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and scale of all inputs, for a network that normalises by itself."""
        more = self.input_size - len(self.mean)
        mean, scale = np.zeros(more), np.ones(more)
        if self.time_unit is not None:
            mean[-1] = scale[-1] = self.time_unit
        return np.concatenate((self.mean, mean)), np.concatenate((self.scale, scale))

    def inputs(
        self, data: SequenceData, case: int, start: int, length: int, *, normalise: bool = True
    ) -> NDArray[np.float32]:
        """Return (length, input_size) of a piece; without `normalise` as `affine` would then make it.

        A value that is missing from the beginning of a piece on, and every one with ``missing="mask"``, is the mean.
        """
        values = np.asarray(data.values[data.steps(case, start, start + length)], np.float64)
        seen = ~np.isnan(values)
        if not seen.all():
            if self.missing == "error":
                step, channel = (int(index[0]) for index in np.nonzero(~seen))
                raise missing_error(data, data.place(case, start + step, channel))
            values = _previous(values, seen) if self.missing == "previous" else values
            values = np.where(np.isnan(values), self.mean, values)
        parts = [values, seen] if self.missing == "mask" else [values]
        if self.time_unit is not None:
            clock = _clock(data, case, start, length)
            parts.append(np.diff(clock, prepend=clock[0] - self.time_unit)[:, None])
        inputs = np.concatenate(parts, axis=1)
        if normalise:
            mean, scale = self.affine
            inputs = (inputs - mean) / scale
        return inputs.astype(np.float32)


def prepare(
    data: SequenceData, train: Pieces, *, missing: Missing = "error", time_difference: bool = False
) -> Preparation:
    """Learn mean and deviation of every channel from the training split, in float64.

    Give the part before it is cut into windows, so that every step counts once.

    >>> from eigenloop.tasks.sequences import from_arrays, whole
    >>> data = from_arrays(np.array([[1.0, 3.0], [2.0, 2.0], [100.0, 100.0]]), [0, 1, 0])
    >>> preparation = prepare(data, whole(data, [0, 1]))
    >>> preparation.mean, preparation.inputs(data, 0, 0, 2)[:, 0]
    (array([2.]), array([-1.4142135,  1.4142135], dtype=float32))
    """
    one_of("missing", missing, get_args(Missing))
    train_statistics = statistics(data, train)
    if missing == "error" and train_statistics.first_missing is not None:
        raise missing_error(data, train_statistics.first_missing, int(train_statistics.missing.sum()))
    unit = _time_unit(data, train) if time_difference else None
    return Preparation(train_statistics.mean, scale_of(train_statistics), missing, unit)


def scale_of(channel_statistics: Statistics) -> NDArray[np.float64]:
    """Return the deviations, and 1 where nothing deviates.

    Of values that differ by less than their rounding the deviation may be zero, or too small to divide by.
    """
    tiny = channel_statistics.deviation <= 1e-12 * np.maximum(np.abs(channel_statistics.mean), 1e-290)
    return np.where(channel_statistics.constant | tiny, 1.0, channel_statistics.deviation)


def missing_error(data: SequenceData, place: str, count: int = 1) -> DataError:
    """Say that values are missing and what can be done."""
    what = "a value is" if count == 1 else f"{count:,} values are"
    return DataError(
        data.origin.path,
        f"{what} missing, the first at {place}",
        "give missing='previous' to repeat the value before, or missing='mask' to add channels that mark them",
        "give --missing previous to repeat the value before, or --missing mask to add channels that mark them",
    )


def _previous(values: NDArray[np.float64], seen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Repeat the last value that is there; NaN stays where there is none before."""
    last = np.maximum.accumulate(np.where(seen, np.arange(len(values))[:, None], 0), axis=0)
    return np.take_along_axis(values, last, axis=0)


def _time_unit(data: SequenceData, train: Pieces) -> float:
    gaps = [np.diff(_clock(data, *piece)) for piece in zip(train.case, train.start, train.length, strict=True)]
    together = np.concatenate(gaps) if gaps else np.ones(0)
    return float(np.median(together)) if len(together) else 1.0


def _clock(data: SequenceData, case: int, start: int, length: int) -> NDArray[np.float64]:
    if data.times is None:
        raise DataError(
            data.origin.path, "it has no times, and a channel of time differences is wanted: name the column"
        )
    return data.times[data.steps(case, start, start + length)]
