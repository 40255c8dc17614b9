"""The targets of your own sequences: their names, their scale in the training split, and the baseline."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eigenloop.tasks.sequences.batches import class_counts, class_weights
from eigenloop.tasks.sequences.data import SequenceData
from eigenloop.tasks.sequences.kinds import Kind
from eigenloop.tasks.sequences.objectives import Classes, Objective, Values
from eigenloop.tasks.sequences.pieces import Pieces
from eigenloop.tasks.sequences.preparing import Preparation

if TYPE_CHECKING:
    from eigenloop.tasks.sequences.task import Sequences

#: Maximum number of windows on which the naive forecast is evaluated.
_GUESSED = 512


def objective_of(
    kind: Kind, data: SequenceData, train: Pieces, balanced: bool, scaling: tuple[Tensor, Tensor] | None
) -> Objective:
    """Return the training objective: squared error if targets are scaled values, otherwise cross-entropy."""
    if scaling is not None:
        return Values(scaling[1].float())
    if not balanced:
        return Classes()
    weights = class_weights(data, train)
    return Classes(torch.from_numpy(np.where(weights == 0, np.float32(1), weights)))


def target_scaling(
    kind: Kind, data: SequenceData, train: Pieces, preparation: Preparation, ahead: int
) -> tuple[Tensor, Tensor] | None:
    """Return mean and standard deviation of the targets in the training split, in float64; None for classes."""
    if kind.endswith("class"):
        return None
    if kind == "forecast":
        mean, scale = np.tile(preparation.mean, ahead), np.tile(preparation.scale, ahead)
    else:
        mean, deviation = _moments(data, train)
        scale = np.where(deviation > 1e-12 * np.maximum(np.abs(mean), 1e-290), deviation, 1.0)
    return torch.from_numpy(mean), torch.from_numpy(scale)


def _moments(data: SequenceData, train: Pieces) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of the labels."""
    assert data.labels is not None
    if not data.per_step:
        labels = data.labels[train.case].astype(np.float64)
        return labels.mean(0), labels.std(0)
    where = list(zip(train.case.tolist(), train.start.tolist(), train.length.tolist(), strict=True))

    def pieces() -> list[NDArray[np.float64]]:
        labels = data.labels
        assert labels is not None
        return [labels[data.steps(case, start, start + size)] for case, start, size in where]

    count = int(train.length.sum())
    mean = sum(piece.sum(0, dtype=np.float64) for piece in pieces()) / count
    squares = sum(np.square(piece - mean).sum(0) for piece in pieces())
    return np.asarray(mean), np.sqrt(np.asarray(squares) / count)


def output_names(
    kind: Kind, classes: tuple[str, ...], channels: tuple[str, ...], label: tuple[str, ...], values: int
) -> tuple[str, ...]:
    """Return the names of the outputs: classes, channels of a forecast, or columns of the values.

    >>> output_names("values", (), ("ax",), (), 2)
    ('value 0', 'value 1')
    """
    if kind.endswith("class"):
        return classes
    if kind == "forecast":
        return channels
    if len(label) == values:
        return label
    return ("value",) if values == 1 else tuple(f"value {number}" for number in range(values))


def class_shares(data: SequenceData, train: Pieces) -> NDArray[np.float64]:
    """Return the relative frequency of each class in the training split."""
    counts = class_counts(data, train)
    return counts / counts.sum()


def baseline_of(task: Sequences) -> dict[str, float]:
    """Return the score of predicting the class frequencies, the mean of the values, or the last value of a forecast."""
    if task.known_kind.endswith("class"):
        return _class_baseline(task)
    scaling = task.scalings()["output"]
    if task.known_kind == "forecast":
        return _naive_baseline(task)
    assert task.sequences.labels is not None
    deviation = _moments(task.sequences, task.pieces["train"])[1]
    scaled = deviation / scaling[1].numpy()
    return {"loss": float(np.square(scaled).mean()), "rmse": math.sqrt(np.square(deviation).mean())}


def _class_baseline(task: Sequences) -> dict[str, float]:
    """Return the loss of the best constant prediction, with class weights, and the accuracy of the largest class."""
    shares = class_shares(task.sequences, task.pieces["train"])
    weighted = shares
    if task.balanced:
        weighted = shares * class_weights(task.sequences, task.pieces["train"])
        weighted = weighted / weighted.sum()
    seen = weighted[weighted > 0]
    return {
        "loss": float(-(seen * np.log(seen)).sum()),
        "accuracy": float(shares.max()),
        "balanced_accuracy": 1 / len(seen),
    }


def _naive_baseline(task: Sequences) -> dict[str, float]:
    """Return the score of repeating the last value, on windows of the validation split or else the training split."""
    part = task.pieces["valid"] if len(task.pieces["valid"]) else task.pieces["train"]
    windows = task.windowing.for_evaluation(part)[0]
    if not len(windows):
        windows = task.windowing.for_training(task.pieces["train"])
    chosen = windows[np.unique(np.linspace(0, len(windows) - 1, min(_GUESSED, len(windows))).astype(np.int64))]
    scale = task.scalings()["output"][1].float()
    loss = squares = absolute = terms = count = 0.0
    objective = Values(scale)
    for start in range(0, len(chosen), 32):
        batch = task.batch_of(chosen[start : start + 32])
        guess = batch.inputs[..., : task.sequences.channels].repeat(1, 1, task.steps_ahead)
        loss, terms = loss + float(objective.loss(guess, batch)), terms + objective.terms(batch)
        sums = objective.measures(guess, batch).items()
        squares, absolute, count = squares + sums["rmse"][0], absolute + sums["mae"][0], count + sums["rmse"][1]
    return {"loss": loss / terms, "rmse": math.sqrt(squares / count), "mae": absolute / count}
