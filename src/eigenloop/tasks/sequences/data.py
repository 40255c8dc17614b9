"""Sequences read from files: cases of different lengths in one array, with labels, groups and names."""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenloop.tasks.sequences import bounded

#: The splits of a data set, in the order in which a recording is cut in time.
PARTS = ("train", "valid", "test")


@dataclass(frozen=True)
class Origin:
    """The source of data.

    Attributes:
        path: the file or folder that the user gave.
        files: all files that were read.
    """

    path: Path
    files: tuple[Path, ...] = ()

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the file; for several files, that of the list of their hashes and names.

        It is computed on first access, because that takes seconds for a large memory-mapped file.
        """
        if len(self.files) == 1:
            return bounded.sha256(self.files[0])
        lines = sorted(f"{bounded.sha256(file)}  {file.name}\n" for file in self.files)
        return hashlib.sha256("".join(lines).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class SequenceData:
    """Cases: sequences of steps with the same channels.

    Case i is ``values[rows[i], starts[i] : starts[i] + lengths[i]]``. An array of (cases, steps, channels) is thus used
    without a copy, even if it is padded, transposed or memory-mapped, and ragged cases are concatenated in a single
    row.

    Attributes:
        values: (rows, steps, channels), in the precision of the file; NaN for a missing value.
        rows, starts, lengths: (cases,), the position of each case in `values`.
        origin: the files.
        channel_names: names of the channels.
        labels: (cases,) class indices or (cases, k) values; with `per_step` (rows, steps) or (rows, steps, k), aligned
            with `values`; None if there are none.
        per_step: there is a label at every time step.
        groups: (cases,) indices into `group_names`; None if there are no groups.
        parts: (cases,) indices into `PARTS`; None if the file does not fix the splits.
        weights: (cases,) weight of each case in the loss; None for equal weights.
        times: (rows, steps) times in seconds or in the unit of the file; None if it has none.
        lines: (rows, steps) line numbers in the file, for messages.
        case_names: names of the cases; None if they are only numbered.
        class_names: names of the classes; None if labels are values.
        group_names: names of the groups.
        notes: what the user should know about how the file was interpreted.
    """

    values: NDArray[Any]
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    origin: Origin
    channel_names: tuple[str, ...]
    labels: NDArray[Any] | None = None
    per_step: bool = False
    groups: NDArray[np.int64] | None = None
    parts: NDArray[np.int64] | None = None
    weights: NDArray[np.float64] | None = None
    times: NDArray[np.float64] | None = None
    lines: NDArray[np.uint32] | None = None
    case_names: tuple[str, ...] | None = None
    class_names: tuple[str, ...] | None = None
    group_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def channels(self) -> int:
        """Number of channels."""
        return self.values.shape[2]

    @property
    def mapped(self) -> bool:
        """Whether the values are memory-mapped from the disk."""
        return memory_map(self.values) is not None

    def steps(self, case: int, start: int = 0, stop: int | None = None) -> tuple[int, slice]:
        """Return the index of steps `start` to `stop` of a case in `values`, `times` and per-step labels."""
        first, stop = int(self.starts[case]), int(self.lengths[case]) if stop is None else stop
        return int(self.rows[case]), slice(first + start, first + stop)

    def case(self, case: int) -> NDArray[Any]:
        """Return the values of a case, (steps, channels)."""
        return self.values[self.steps(case)]

    def name(self, case: int) -> str:
        """Return the name of a case, or its number as text if it has none."""
        return str(case) if self.case_names is None else self.case_names[case]

    def place(self, case: int, step: int, channel: int) -> str:
        """Return the place of a value in words, for messages."""
        what = f"case {self.name(case)}, step {step}"
        if self.lines is not None:
            what = f"line {self.lines[self.steps(case, step)[0], self.starts[case] + step]}"
        return f"{what}, channel {self.channel_names[channel]}"


def stacked(cases: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return `rows` and `starts` for cases that have one row each."""
    return np.arange(cases), np.zeros(cases, np.int64)


def ragged(lengths: Sequence[int] | NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return `rows` and `starts` for cases that are concatenated in a single row.

    >>> ragged([3, 1, 2])
    (array([0, 0, 0]), array([0, 3, 4]))
    """
    starts = np.cumsum(np.concatenate(([0], np.asarray(lengths, np.int64)[:-1])), dtype=np.int64)
    return np.zeros(len(lengths), np.int64), starts


def memory_map(values: NDArray[Any]) -> Any:
    """Return the memory map behind an array, or None if it is in memory."""
    array: Any = values
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap) and array._mmap is not None:  # type: ignore[attr-defined]
            return array._mmap  # type: ignore[attr-defined]
        array = array.base
    return None


def release(values: NDArray[Any]) -> None:
    """Release the pages of a memory map that were read; they stay in the system's cache, but not in the process."""
    if (mapped := memory_map(values)) is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)
