"""How a file of sequences is to be read, where what it says itself is not enough."""

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
    """The columns of a table, by name; those left out are guessed from the usual names.

    Attributes:
        case: which sequence a row belongs to; without one every group, or else the table, is a single recording.
        time: numbers or dates, increasing within a case.
        label: the class or value; several columns are several values.
        group: whom a case comes from, a person say, who must not be in two parts.
        part: ``train``, ``valid`` or ``test``, where these are fixed.
        weight: what a case counts in the loss; never guessed, since it may well be a channel.
        channels: what the network sees; if left out, all other columns.
        ignore: columns that are none of these.
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
    """What may be said about a file.

    Attributes:
        columns: of CSV and Parquet.
        layout: the axes of X in ``.npz`` and ``.npy``; if left out they are guessed, and `describe` says how.
        per_step: there is a label at every step; if left out the shape of the labels decides.
        audio: how sound becomes channels; None for its samples.
        max_bytes: the largest file that is read into memory, unpacked.
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
