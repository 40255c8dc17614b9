"""Batches of pieces: padded inputs, time first, with the targets of the kind of problem."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eigenloop.errors import DataError
from eigenloop.tasks.base import Batch
from eigenloop.tasks.options import at_least
from eigenloop.tasks.sequences.data import SequenceData, release
from eigenloop.tasks.sequences.kinds import Kind
from eigenloop.tasks.sequences.pieces import Pieces
from eigenloop.tasks.sequences.preparing import Preparation


def batch(
    data: SequenceData,
    pieces: Pieces,
    preparation: Preparation,
    kind: Kind,
    *,
    horizon: int = 1,
    normalise: bool = True,
) -> Batch:
    """Return pieces as a batch.

    Targets are (B,) classes or (B, k) values, or (T, B) and (T, B, k) if they are per step. For a forecast the target
    of step t is the concatenation of the channels at t + 1, ..., t + `horizon`, (T, B, horizon * channels), normalised
    if inputs are; the last `horizon` steps of a piece are targets only.

    Raises:
        DataError: a piece is too short for the horizon, or there are no labels.

    >>> from eigenloop.tasks.sequences import from_arrays, prepare, whole
    >>> data = from_arrays(np.random.rand(4, 20, 3), [0, 1, 0, 1])
    >>> two_cases = batch(data, whole(data)[:2], prepare(data, whole(data)), "class")
    >>> two_cases.inputs.shape, two_cases.targets
    (torch.Size([20, 2, 3]), tensor([0, 1]))
    """
    cut = horizon if kind == "forecast" else 0
    at_least("horizon", horizon, 1)
    if len(pieces) and int(pieces.length.min()) <= cut:
        raise DataError(data.origin.path, f"a piece of {pieces.length.min()} steps is too short for horizon={horizon}")
    where = list(zip(pieces.case.tolist(), pieces.start.tolist(), pieces.length.tolist(), strict=True))
    inputs = _inputs(data, pieces, preparation, normalise)
    lengths = pieces.length - cut
    per_step = kind not in ("class", "values")
    if kind == "forecast":
        targets = _padded([_next(values[:, : data.channels], horizon) for values in inputs], lengths)
        inputs = [values[:-horizon] for values in inputs]
    elif per_step:
        labels = _labels(data)
        targets = _padded([labels[data.steps(case, start, start + size)] for case, start, size in where], lengths)
    else:
        targets = _labels(data)[pieces.case]
    return Batch(
        torch.from_numpy(_padded(inputs, lengths)),
        torch.from_numpy(targets.astype(np.int64 if kind.endswith("class") else np.float32)),
        per_step=per_step,
        lengths=_differing(lengths),
        weights=None if data.weights is None else torch.from_numpy(data.weights[pieces.case].astype(np.float32)),
    )


def inputs_of(data: SequenceData, pieces: Pieces, preparation: Preparation) -> tuple[Tensor, Tensor | None]:
    """Return the inputs without targets, (T, B, m), in the units of the file, and their lengths if they differ."""
    inputs = _inputs(data, pieces, preparation, normalise=False)
    return torch.from_numpy(_padded(inputs, pieces.length)), _differing(pieces.length)


def class_weights(data: SequenceData, train: Pieces) -> NDArray[np.float32]:
    """Return the weight n / (classes * count) of every class: 1 for equal classes, more for rare ones, 0 for unseen.

    >>> from eigenloop.tasks.sequences import from_arrays, whole
    >>> data = from_arrays(np.zeros((4, 5)), ["a", "a", "a", "b"])
    >>> class_weights(data, whole(data))
    array([0.6666667, 2.       ], dtype=float32)
    """
    counts = class_counts(data, train)
    weights = np.divide(counts.sum(), len(counts) * counts, out=np.zeros(len(counts)), where=counts > 0)
    return weights.astype(np.float32)


def class_counts(data: SequenceData, pieces: Pieces) -> NDArray[np.float64]:
    """Return the number of pieces, or of their steps if labels are per step, of each class."""
    if data.class_names is None:
        raise DataError(data.origin.path, "its labels are values, and class weights need classes: leave them out")
    counts = np.zeros(len(data.class_names))
    labels = _labels(data)
    if not data.per_step:
        return counts + np.bincount(labels[pieces.case], minlength=len(counts))
    for case, start, size in zip(pieces.case.tolist(), pieces.start.tolist(), pieces.length.tolist(), strict=True):
        counts += np.bincount(labels[data.steps(case, start, start + size)], minlength=len(counts))
    return counts


def _inputs(data: SequenceData, pieces: Pieces, preparation: Preparation, normalise: bool) -> list[NDArray[np.float32]]:
    where = zip(pieces.case.tolist(), pieces.start.tolist(), pieces.length.tolist(), strict=True)
    inputs = [preparation.inputs(data, *piece, normalise=normalise) for piece in where]
    release(data.values)
    return inputs


def _differing(lengths: NDArray[np.int64]) -> Tensor | None:
    return None if not len(lengths) or (lengths == lengths[0]).all() else torch.from_numpy(lengths)


def _labels(data: SequenceData) -> NDArray[Any]:
    if data.labels is None:
        raise DataError(data.origin.path, "it has no labels: only a forecast does without")
    return data.labels


def _next(values: NDArray[np.float32], horizon: int) -> NDArray[np.float32]:
    """Return the next `horizon` values after each step, (steps - horizon, horizon * channels)."""
    steps = len(values) - horizon
    return np.concatenate([values[1 + ahead : 1 + ahead + steps] for ahead in range(horizon)], axis=1)


def _padded(pieces: list[NDArray[Any]], lengths: NDArray[np.int64]) -> NDArray[Any]:
    """Return (T, B, ...), zero beyond the end of each piece."""
    result = np.zeros((int(lengths.max(initial=0)), len(pieces), *pieces[0].shape[1:]), pieces[0].dtype)
    for number, piece in enumerate(pieces):
        result[: len(piece), number] = piece
    return result
