"""Options for reading a file of sequences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from eigenloop.tasks.options import at_least, one_of
from eigenloop.tasks.sequences.logmel import LogMel

Layout = Literal[
    "cases,steps,channels", "cases,channels,steps", "cases,steps", "steps,channels", "channels,steps", "steps"
]


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The names of the columns of a table by role; roles that are not given are guessed from common names.

    Attributes:
        case: identifies the sequence to which a row belongs; without one each group, or else the whole table, is a
            single recording.
        time: numbers or dates, increasing within a case.
        label: the class or value; several columns are several values.
        group: the group of a case, such as a person; a group is never in two splits.
        part: ``train``, ``valid`` or ``test``, if the splits are fixed.
        weight: weight of a case in the loss; never guessed, because a column of that name may be a channel.
        channels: the inputs of the network; default: all other columns.
        ignore: columns that are not used.
    """

    case: str | None = None
    time: str | None = None
    label: tuple[str, ...] = ()
    group: str | None = None
    part: str | None = None
    weight: str | None = None
    channels: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to read a file.

    Attributes:
        columns: the columns of CSV and Parquet files.
        layout: the axes of X in ``.npz`` and ``.npy``; default: guessed, and `describe` says how.
        per_step: whether there is a label at every time step; default: decided by the labels.
        audio: the features of WAV files; None for the samples themselves.
        max_bytes: limit on the unpacked size of a file that is read into memory.
    """

    columns: Columns = field(default_factory=Columns)
    layout: Layout | None = None
    per_step: bool | None = None
    audio: LogMel | None = field(default_factory=LogMel)
    max_bytes: int = 4 * 2**30

    def __post_init__(self) -> None:
        if self.layout is not None:
            one_of("layout", self.layout, get_args(Layout))
        at_least("max_bytes", self.max_bytes, 1)
