"""Sequences as they were read: cases of different lengths in one array, with labels, groups and names."""

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

#: The parts of a data set, in the order in which a recording is cut.
PARTS = ("train", "valid", "test")


@dataclass(frozen=True)
class Origin:
    """Where data came from.

    Attributes:
        path: what the user gave.
        files: all files that were read.
    """

    path: Path
    files: tuple[Path, ...] = ()

    @cached_property
    def sha256(self) -> str:
        """The hash of the file; of several files, the hash of the list of their hashes and names.

        It is computed when it is first asked for, since that takes seconds for a large memory map.
        """
        if len(self.files) == 1:
            return bounded.sha256(self.files[0])
        lines = sorted(f"{bounded.sha256(file)}  {file.name}\n" for file in self.files)
        return hashlib.sha256("".join(lines).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class SequenceData:
    """Cases: sequences of steps with the same channels.

    Case i is ``values[rows[i], starts[i] : starts[i] + lengths[i]]``. So an array of (cases, steps, channels) is kept
    as it is, be it padded, transposed or memory-mapped, and ragged cases stand one after another in a single row.

    Attributes:
        values: (rows, steps, channels), in the file's own precision; NaN where a value is missing.
        rows, starts, lengths: (cases,), where each case stands.
        origin: the files.
        labels: (cases,) class numbers or (cases, k) values; with `per_step` (rows, steps) or (rows, steps, k), beside
            `values`; None if there are none.
        per_step: there is a label at every step.
        groups: (cases,) numbers into `group_names`.
        parts: (cases,) numbers into `PARTS` where the file fixes them.
        weights: (cases,) what each case counts in the loss; None where all count alike.
        times: (rows, steps) seconds or whatever the file counts in; None if it gives none.
        lines: (rows, steps) line numbers in the file, for messages.
        case_names: None if cases are known by their numbers.
        class_names: of the class numbers; None where labels are values.
        notes: what the user should know about how the file was understood.
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
        """Values at a step."""
        return self.values.shape[2]

    @property
    def mapped(self) -> bool:
        """Whether the values are still on the disk."""
        return memory_map(self.values) is not None

    def steps(self, case: int, start: int = 0, stop: int | None = None) -> tuple[int, slice]:
        """Return the index of some steps of a case into `values`, `times` and labels at every step."""
        first, stop = int(self.starts[case]), int(self.lengths[case]) if stop is None else stop
        return int(self.rows[case]), slice(first + start, first + stop)

    def case(self, case: int) -> NDArray[Any]:
        """Return the values of a case, (steps, channels)."""
        return self.values[self.steps(case)]

    def name(self, case: int) -> str:
        """Return what a case is called."""
        return str(case) if self.case_names is None else self.case_names[case]

    def place(self, case: int, step: int, channel: int) -> str:
        """Say where a value stands, for messages."""
        what = f"case {self.name(case)}, step {step}"
        if self.lines is not None:
            what = f"line {self.lines[self.steps(case, step)[0], self.starts[case] + step]}"
        return f"{what}, channel {self.channel_names[channel]}"


def stacked(cases: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and starts of cases that each have a row of their own."""
    return np.arange(cases), np.zeros(cases, np.int64)


def ragged(lengths: Sequence[int] | NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and starts of cases that stand one after another in a single row.

    >>> ragged([3, 1, 2])
    (array([0, 0, 0]), array([0, 3, 4]))
    """
    starts = np.cumsum(np.concatenate(([0], np.asarray(lengths, np.int64)[:-1])), dtype=np.int64)
    return np.zeros(len(lengths), np.int64), starts


def memory_map(values: NDArray[Any]) -> Any:
    """Return the memory map that an array looks into, or None."""
    array: Any = values
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap) and array._mmap is not None:  # type: ignore[attr-defined]
            return array._mmap  # type: ignore[attr-defined]
        array = array.base
    return None


def release(values: NDArray[Any]) -> None:
    """Let go of the pages of a memory map that were looked at: they stay in the system's cache, not in the process."""
    if (mapped := memory_map(values)) is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)
