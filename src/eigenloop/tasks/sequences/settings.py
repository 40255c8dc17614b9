"""The options of the task `sequences`: what is read, how it is split and cut, and what a run stores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from eigenloop.errors import DataError
from eigenloop.pooling import Pool, checked_pool
from eigenloop.tasks.options import at_least, one_of
from eigenloop.tasks.sequences.kinds import Kind
from eigenloop.tasks.sequences.logmel import LogMel
from eigenloop.tasks.sequences.options import Columns, Layout, Options
from eigenloop.tasks.sequences.preparing import Missing
from eigenloop.tasks.sequences.source import Source
from eigenloop.tasks.sequences.splitting import By


@dataclass(frozen=True, kw_only=True)
class SequenceSettings:
    """The options of `Sequences`.

    Args:
        data: a file (.npz, .npy, .csv, .parquet, .ts) or folder, see docs/data.md.
        test_data: another file or folder, whose cases are the test split.
        kind: ``class``, ``values``, ``step-class``, ``step-values`` or ``forecast``; default: implied by the labels.
        valid, test: fractions of the cases in the validation and test splits, unless the file fixes the splits.
        by: ``cases``, ``order`` or ``time``, see `split`.
        split_seed: random seed of the split.
        folds: number of cross-validation folds; the test split is then the fold with index `fold`.
        window, stride: cut recordings into windows of this many steps, one every `stride` steps; predictions of the
            windows of a case are averaged.
        horizon: number of steps to forecast.
        feedback: forecast one step at a time and feed the prediction back as input, instead of all steps at once.
        missing: how missing values are treated: ``error``, ``previous`` or ``mask``.
        time_difference: add a channel with the time since the previous step.
        resample: resample to this time step, or ``median``, the median time step of the file.
        normalise: normalise channels by the mean and standard deviation of the training split, inside the network.
        pool: pooling of the hidden states of a sequence with one label: ``last``, or ``mean`` or ``max`` over time;
            default: the maximum for a class (benchmarks/results/own-data.txt says why), the last state for values.
        balanced: weight classes inversely to their frequency in the loss.
        shuffle: draw a new order of the training split for every epoch.
        case, time, label, group, part, weight, channels, ignore, layout, per_step: how files are read, see `Options`.
        audio: ``logmel`` features, with `bands` bands, or ``samples`` of WAV files.
        classes, outputs, sha256, test_sha256: facts about the files that a run stores; set when it begins.
    """

    data: Path | None = None
    test_data: Path | None = None
    kind: Kind | None = None
    valid: float = 0.15
    test: float = 0.15
    by: By | None = None
    split_seed: int = 0
    folds: int | None = None
    fold: int = 0
    window: int | None = None
    stride: int | None = None
    horizon: int = 1
    feedback: bool = False
    missing: Missing = "error"
    time_difference: bool = False
    resample: float | Literal["median"] | None = None
    normalise: bool = True
    pool: Pool | None = None
    balanced: bool = False
    shuffle: bool = True
    case: str | None = None
    time: str | None = None
    label: tuple[str, ...] = ()
    group: str | None = None
    part: str | None = None
    weight: str | None = None
    channels: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    layout: Layout | None = None
    per_step: bool | None = None
    audio: Literal["logmel", "samples"] = "logmel"
    bands: int = 32
    classes: tuple[str, ...] = ()
    outputs: int | None = None
    sha256: str | None = None
    test_sha256: str | None = None

    def __post_init__(self) -> None:
        for name in ("data", "test_data"):
            if isinstance(given := getattr(self, name), str):
                object.__setattr__(self, name, Path(given))
        if self.kind is not None:
            one_of("kind", self.kind, get_args(Kind))
        one_of("missing", self.missing, get_args(Missing))
        checked_pool(self.pool)
        at_least("horizon", self.horizon, 1)
        at_least("bands", self.bands, 1)
        for name in ("window", "stride", "folds"):
            if getattr(self, name) is not None:
                at_least(name, getattr(self, name), 2 if name == "folds" else 1)
        if isinstance(self.resample, float | int) and not self.resample > 0:
            raise ValueError(f"resample is a time above 0, or median, got {self.resample:g}")
        if self.stride is not None and self.window is None:
            raise ValueError("stride is the distance of windows: give window too")
        if not 0 <= self.fold < (self.folds or 1):
            raise ValueError(f"fold counts from 0 to folds - 1, got {self.fold} of {self.folds}")

    @property
    def source(self) -> Source:
        """The files, and how they are read; raises DataError if no data are named."""
        if self.data is None:
            fix = "set task.data"
            raise DataError(
                "sequences", "no data are named", fix, flags="name a file: eigenloop fit FILE, or --data FILE"
            )
        columns = Columns(
            case=self.case,
            time=self.time,
            label=self.label,
            group=self.group,
            part=self.part,
            weight=self.weight,
            channels=self.channels,
            ignore=self.ignore,
        )
        audio = LogMel(bands=self.bands) if self.audio == "logmel" else None
        options = Options(columns=columns, layout=self.layout, per_step=self.per_step, audio=audio)
        paths = (self.data, self.test_data)
        first, second = (None if path is None else path.expanduser().absolute() for path in paths)
        assert first is not None
        return Source(first, second, options, self.kind, self.resample, self.channels, self.classes)
