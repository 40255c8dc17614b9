"""Your own sequences as a task of the training loop."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from eigenloop.errors import DataError
from eigenloop.pooling import Pool
from eigenloop.tasks.base import Batch, Task
from eigenloop.tasks.order import batches_in, items_of
from eigenloop.tasks.sequences.batches import batch
from eigenloop.tasks.sequences.data import PARTS, SequenceData
from eigenloop.tasks.sequences.describing import describe
from eigenloop.tasks.sequences.kinds import Kind, kind_of
from eigenloop.tasks.sequences.objectives import Objective
from eigenloop.tasks.sequences.pieces import Pieces
from eigenloop.tasks.sequences.preparing import Preparation, prepare
from eigenloop.tasks.sequences.settings import SequenceSettings
from eigenloop.tasks.sequences.source import Reading
from eigenloop.tasks.sequences.splitting import folds, split, with_weight
from eigenloop.tasks.sequences.targets import baseline_of, objective_of, output_names, target_scaling
from eigenloop.tasks.sequences.windowing import Windowing, usual_windowing, windowing
from eigenloop.tasks.tally import Tally


@dataclass(frozen=True, kw_only=True)
class Sequences(SequenceSettings, Task):
    """Learn from your own sequences, read from a file or folder.

    Its options are those of `SequenceSettings`: the file, the kind of problem, the splits, windows, missing values, and
    how the file is read.
    """

    name: ClassVar[str] = "sequences"

    # ---------------------------------------------------------------- what was read

    @functools.cached_property
    def _read(self) -> Reading:
        return self.source.read()

    @property
    def sequences(self) -> SequenceData:
        """All sequences that were read."""
        return self._read.data

    @functools.cached_property
    def pieces(self) -> Mapping[str, Pieces]:
        """The cases, or pieces of recordings, of each split, before they are cut into windows."""
        if self.folds is None:
            parts = split(self.sequences, valid=self.valid, test=self.test, seed=self.split_seed, by=self.by)
        else:
            parts = folds(self.sequences, self.folds, valid=self.valid, seed=self.split_seed, by=self.by)[self.fold]
        return with_weight(self.sequences, parts)

    @functools.cached_property
    def preparation(self) -> Preparation:
        """The conversion of values to inputs, computed from the training split."""
        return prepare(self.sequences, self.pieces["train"], missing=self.missing, time_difference=self.time_difference)

    @functools.cached_property
    def known_kind(self) -> Kind:
        """The kind of problem, given or implied by the labels."""
        return self.kind or kind_of(self.sequences)

    @functools.cached_property
    def windowing(self) -> Windowing:
        """How recordings are cut into windows."""
        if self.window is None and self.sha256 is None:
            longest = int(self.pieces["train"].length.max(initial=1))
            return usual_windowing(self.known_kind, longest, self.steps_ahead)
        return windowing(self.known_kind, self.window, self.stride, self.steps_ahead)

    @functools.cached_property
    def _train(self) -> Pieces:
        windows = self.windowing.for_training(self.pieces["train"])
        if (weights := self.sequences.weights) is not None:
            windows = windows[weights[windows.case] > 0]
        if not len(windows):
            assert self.data is not None
            raise DataError(self.data, f"its training split has no piece longer than horizon={self.horizon}: lower it")
        return windows

    @functools.cached_property
    def _objective(self) -> Objective:
        return objective_of(self.known_kind, self.sequences, self.pieces["train"], self.balanced, self._target_scaling)

    @functools.cached_property
    def _target_scaling(self) -> tuple[Tensor, Tensor] | None:
        return target_scaling(self.known_kind, self.sequences, self.pieces["train"], self.preparation, self.steps_ahead)

    @property
    def steps_ahead(self) -> int:
        """Number of forecast steps that the network outputs at once."""
        return 1 if self.feedback else self.horizon

    # ---------------------------------------------------------------- the task

    @property
    def metric(self) -> str:  # type: ignore[override]
        """Accuracy for classes, otherwise the loss."""
        return "accuracy" if self.known_kind.endswith("class") else "loss"

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override]
        """Whether the metric is the accuracy."""
        return self.metric == "accuracy"

    @property
    def pooling(self) -> Pool | None:
        """The pooling of a sequence with one label: `pool` or its default; None if labels are per step."""
        usual: dict[Kind, Pool] = {"class": "max", "values": "last"}
        return (self.pool or usual[self.known_kind]) if self.known_kind in usual else None

    @property
    def scales(self) -> frozenset[str]:
        """``"input"`` if inputs are normalised, ``"output"`` if outputs are values."""
        values = not self.known_kind.endswith("class")
        return frozenset(["input"] * self.normalise + ["output"] * values)

    @property
    def channel_names(self) -> tuple[str, ...]:
        """Names of the channels, in the order of the network's inputs."""
        return self.channels or self.sequences.channel_names

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the outputs; empty for values."""
        return self.classes or self.sequences.class_names or ()

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs: classes, values, or channels of a forecast."""
        return output_names(self.known_kind, self.class_names, self.channel_names, self.label, self._values)

    @property
    def _values(self) -> int:
        if self.outputs is not None:
            return self.outputs
        labels = self.sequences.labels
        return 1 if labels is None or self.sequences.class_names is not None else labels.shape[-1]

    @property
    def input_size(self) -> int:
        """Number of inputs: channels, masks of missing values, time difference."""
        return len(self.channel_names) * (2 if self.missing == "mask" else 1) + self.time_difference

    @property
    def output_size(self) -> int:
        """Number of classes, of values, or of channels times forecast steps."""
        return len(self.output_names) * (self.steps_ahead if self.known_kind == "forecast" else 1)

    @property
    def splits(self) -> tuple[str, ...]:
        """The validation and test splits that are not empty."""
        sure = self.valid > 0 and (self.test > 0 or self.test_data is not None or self.folds is not None)
        if sure:  # known before a file is read
            return ("valid", "test")
        return tuple(part for part in ("valid", "test") if len(self.pieces[part]))

    def steps_per_epoch(self, batch_size: int) -> int:
        """Return the number of batches in an epoch."""
        return batches_in(len(self._train), batch_size)

    def train_batch(self, step: int, batch_size: int, seed: int) -> Batch:
        """Return the windows or cases of a training step."""
        return self.batch_of(self._train[items_of(step, batch_size, len(self._train), self.shuffle, seed)])

    def evaluation(self, split: str, batch_size: int) -> Iterator[Batch]:
        """Return the batches of a split in the order of the file; raises DataError if it is empty."""
        windows = self.windowing.for_evaluation(self.pieces[self.checked_split(split, *PARTS)])[0]
        if not len(windows):
            assert self.data is not None
            raise DataError(self.data, f"its {split} split is empty: give it a larger share")
        return (self.batch_of(windows[start : start + batch_size]) for start in range(0, len(windows), batch_size))

    def batch_of(self, pieces: Pieces) -> Batch:
        """Return pieces as a batch, in the units of the file, because the network normalises its inputs."""
        return batch(
            self.sequences, pieces, self.preparation, self.known_kind, horizon=self.steps_ahead, normalise=False
        )

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Return the sum of cross-entropies, or of squared errors in units of the training targets' deviation."""
        return self._objective.loss(outputs, batch)

    def terms(self, batch: Batch) -> float:
        """Return the total weight of the terms of the loss."""
        return self._objective.terms(batch)

    def measures(self, outputs: Tensor, batch: Batch) -> Tally:
        """Return accuracy and recalls, or errors in the units of the file, as sums with counts."""
        return self._objective.measures(outputs.detach(), batch)

    def metrics(self, means: Mapping[str, float]) -> dict[str, float]:
        """Convert means into the reported metrics."""
        return self._objective.metrics(means)

    def baseline(self) -> dict[str, float]:
        """Return the score of predicting the class frequencies, the mean value, or the last value of a forecast."""
        return self._baseline

    @functools.cached_property
    def _baseline(self) -> dict[str, float]:
        return baseline_of(self)

    def prepare(self) -> None:
        """Read the files and compute the statistics of the training split; raises DataError if something is wrong."""
        self.baseline()
        if self.known_kind == "class" and self.pooling is not None and len(self.class_names) < 2:
            raise DataError(self.source.data, f"all cases are of class {self.class_names[0]}: at least two are needed")

    def scalings(self) -> dict[str, tuple[Tensor, Tensor]]:
        """Return mean and standard deviation of inputs and targets in the training split."""
        scalings = {}
        if "input" in self.scales:
            mean, scale = self.preparation.affine
            scalings["input"] = (torch.from_numpy(mean), torch.from_numpy(scale))
        if self._target_scaling is not None:
            scalings["output"] = self._target_scaling
        return scalings

    @property
    def whole_unit(self) -> str:
        """What the splits consist of, in words."""
        train = self.pieces["train"].case
        if len(np.unique(train)) < len(train):
            return "pieces of recordings"
        return "cases" if self.windowing.window is None else "recordings"

    @property
    def counted(self) -> str | None:
        """``"windows"`` if metrics in training are over windows whose predictions are averaged later; else None."""
        return "windows" if self.windowing.votes and self.windowing.window is not None else None

    # ---------------------------------------------------------------- what a run remembers

    @property
    def short_name(self) -> str:
        """The name of the file without its extension."""
        return self.name if self.data is None else self.data.name.split(".")[0] or self.name

    def settled(self) -> Sequences:
        """Return the task with kind, windows, channels, classes and the hashes of the files as options."""
        source, data, hashes = self.source, self.sequences, self._hashes()
        task = dataclasses.replace(
            self,
            data=source.data,
            test_data=source.test_data,
            kind=self.known_kind,
            window=self.windowing.window,
            stride=self.windowing.stride,
            resample=self._read.step,
            pool=self.pooling,
            channels=data.channel_names,
            classes=data.class_names or (),
            outputs=self._values,
            sha256=hashes[0],
            test_sha256=hashes[1],
        )
        task.__dict__["_read"] = self._read  # the files need not be read again
        return task

    def _hashes(self) -> tuple[str, str | None]:
        first, *more = (origin.sha256 for origin in self._read.origins)
        return first, more[0] if more else None

    def changed_files(self) -> list[str]:
        """Return a sentence for each file whose content has changed since the run began."""
        known, paths = (self.sha256, self.test_sha256), (self.data, self.test_data)
        return [
            f"{path} was changed since this run began"
            for path, before, now in zip(paths, known, self._hashes(), strict=True)
            if before not in (None, now)
        ]

    def introduction(self) -> list[str]:
        """Return lines that describe the data and the sizes of the splits."""
        lines = describe(self.sequences).splitlines()
        counts = ", ".join(f"{part} {len(self.pieces[part]):,}" for part in PARTS)
        lines.append(f"split: {counts} {self.whole_unit}{self.windowing.described(self.pieces)}")
        return lines
