"""Reading the data of a task: one or two files, with labels for a kind of problem and channels in a given order."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from eigenloop.errors import DataError
from eigenloop.tasks.sequences.data import Origin, SequenceData
from eigenloop.tasks.sequences.formats import read
from eigenloop.tasks.sequences.joining import join, recoded
from eigenloop.tasks.sequences.kinds import Kind, as_kind, kind_of
from eigenloop.tasks.sequences.options import Options
from eigenloop.tasks.sequences.times import median_step, resampled


class Reading(NamedTuple):
    """The data that were read.

    Attributes:
        data: all cases.
        origins: the source of each of the one or two paths.
        step: the time step of resampled values; None if they were not resampled.
    """

    data: SequenceData
    origins: list[Origin]
    step: float | None


@dataclasses.dataclass(frozen=True)
class Source:
    """The files of a task, and how to read them.

    Attributes:
        data: the file or folder.
        test_data: another file or folder, whose cases are the test split.
        options: how files are read.
        kind: the kind of problem; None if the labels imply it.
        resample: the time step to which values are resampled; ``median`` is the median time step of `data`.
        channels: names of the channels in the order of the network's inputs; empty for the order of the file.
        classes: names of the classes in the order of the network's outputs; empty for the order of the file.
    """

    data: Path
    test_data: Path | None
    options: Options
    kind: Kind | None
    resample: float | Literal["median"] | None
    channels: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()

    def read(self) -> Reading:
        """Read all files."""
        first = self._named(self.data)
        step = median_step(first) if self.resample == "median" else self.resample
        first = first if step is None else resampled(first, step)
        channels, origins = first.channel_names, [first.origin]
        if self.test_data is not None:
            if first.parts is not None:
                raise DataError(
                    self.data,
                    "it fixes its splits, and a file for the test split is given too: give one of them",
                )
            second = with_channels(self._one(self.test_data, step), channels)
            first, origins = join({"train": first, "test": second}), [*origins, second.origin]
        data = as_kind(first, self.kind or kind_of(first))
        return Reading(recoded(data, self.classes) if self.classes else data, origins, step)

    def unlabelled(self, path: Path) -> SequenceData:
        """Read another file with the same channels, ignoring its labels."""
        columns = dataclasses.replace(self.options.columns, label=(), group=None, part=None, weight=None, ignore=())
        source = dataclasses.replace(self, options=dataclasses.replace(self.options, columns=columns))
        assert self.resample != "median"  # a run stores the resolved time step
        data = source._one(path, self.resample)
        return dataclasses.replace(data, labels=None, per_step=False, class_names=None, parts=None)

    def _one(self, path: Path, step: float | None) -> SequenceData:
        data = self._named(path)
        return data if step is None else resampled(data, step)

    def _named(self, path: Path) -> SequenceData:
        data = read(path, self.options)
        return with_channels(data, self.channels) if self.channels else data


def with_channels(data: SequenceData, wanted: Sequence[str]) -> SequenceData:
    """Return the data with the channels of these names in this order; unnamed channels keep the order of the file.

    Raises:
        DataError: a channel is missing.

    >>> import numpy as np
    >>> from eigenloop.tasks.sequences import from_arrays
    >>> data = from_arrays(np.array([[[1.0, 2.0]]]), [0], channels=["b", "a"], layout="cases,steps,channels")
    >>> with_channels(data, ["a", "b"]).case(0)
    array([[2., 1.]])
    """
    wanted, channels = tuple(wanted), data.channel_names
    if channels == wanted:
        return data
    if missing := [name for name in wanted if name not in channels]:
        unnamed = tuple(map(str, range(len(wanted))))
        if len(channels) == len(wanted) and unnamed in (channels, wanted):
            return dataclasses.replace(data, channel_names=wanted)
        raise DataError(
            data.origin.path,
            f"channel {missing[0]} is wanted and not there: it has {_listed(channels)}, the network takes "
            f"{_listed(wanted)}",
        )
    order = [channels.index(name) for name in wanted]
    return dataclasses.replace(data, values=data.values[..., order], channel_names=wanted)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return f"{len(names)} ({shown}, ...)" if len(names) > 8 else f"{len(names)} ({shown})"
