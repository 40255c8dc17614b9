"""Preparing inputs: missing values are filled, channels normalised, masks and time differences added."""

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

#: A missing value is an error, repeats the previous value, or becomes the mean with a channel that marks it.
Missing = Literal["error", "previous", "mask"]


@dataclass(frozen=True, eq=False)
class Preparation:
    """The conversion of values to inputs, computed from the training split only.

    Attributes:
        mean, scale: (channels,), float64: an input is (value - mean) / scale; the scale of a constant channel is 1.
        missing: how missing values are treated.
        time_unit: the median time step, if a channel with the time since the previous step is added; otherwise None.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    missing: Missing = "error"
    time_unit: float | None = None

    @property
    def input_size(self) -> int:
        """Number of inputs: channels, then masks of missing values, then the time difference."""
        return len(self.mean) * (2 if self.missing == "mask" else 1) + (self.time_unit is not None)

    @property
    def affine(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and scale of all inputs, for a network that normalises its inputs."""
        more = self.input_size - len(self.mean)
        mean, scale = np.zeros(more), np.ones(more)
        if self.time_unit is not None:
            mean[-1] = scale[-1] = self.time_unit
        return np.concatenate((self.mean, mean)), np.concatenate((self.scale, scale))

    def inputs(
        self, data: SequenceData, case: int, start: int, length: int, *, normalise: bool = True
    ) -> NDArray[np.float32]:
        """Return the inputs of a piece, (length, input_size); without `normalise`, as they are before `affine`.

        A missing value becomes the mean with ``missing="mask"``, and with ``missing="previous"`` if the piece has no
        previous value.

        Raises:
            DataError: a value is missing and `missing` is ``"error"``.
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
    """Compute mean and standard deviation of every channel in the training split, in float64.

    Args:
        data: the sequences.
        train: the training split before it is cut into windows, so that every step counts once.
        missing: how missing values are treated.
        time_difference: add a channel with the time since the previous step.

    Raises:
        DataError: a value is missing and `missing` is ``"error"``, or times are needed and there are none.

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
    """Return the standard deviations, with 1 for constant channels.

    The deviation of values that differ by rounding errors only may be zero or too small to divide by.
    """
    tiny = channel_statistics.deviation <= 1e-12 * np.maximum(np.abs(channel_statistics.mean), 1e-290)
    return np.where(channel_statistics.constant | tiny, 1.0, channel_statistics.deviation)


def missing_error(data: SequenceData, place: str, count: int = 1) -> DataError:
    """Return the error for missing values, with the options to treat them."""
    what = "a value is" if count == 1 else f"{count:,} values are"
    return DataError(
        data.origin.path,
        f"{what} missing, the first at {place}",
        "give missing='previous' to repeat the value before, or missing='mask' to add channels that mark them",
        "give --missing previous to repeat the value before, or --missing mask to add channels that mark them",
    )


def _previous(values: NDArray[np.float64], seen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Replace missing values by the previous one; NaN stays if there is none."""
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
