"""Metrics of predicted classes, values and forecasts, as scikit-learn defines them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def confusion(truth: NDArray[np.int64], predicted: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """Return how often class i (row) was predicted as class j (column).

    >>> confusion(np.array([0, 0, 1]), np.array([0, 1, 1]), 2)
    array([[1, 1],
           [0, 1]])
    """
    counts = np.bincount(truth * classes + predicted, minlength=classes * classes)
    return np.asarray(counts.reshape(classes, classes), np.int64)


def of_classes(truth: NDArray[np.int64], predicted: NDArray[np.int64], names: Sequence[str]) -> dict[str, Any]:
    """Return accuracy, balanced accuracy, macro F1, precision, recall and F1 of each class, and the confusion matrix.

    With tp correct predictions of a class: precision = tp / predicted, recall = tp / actual, F1 = 2 tp / (predicted +
    actual), each 0 if the denominator is 0. Macro F1 averages over the classes that occur in truth or predictions,
    balanced accuracy averages the recall over those that occur in the truth.
    """
    table = confusion(truth, predicted, len(names))
    right, there, said = np.diag(table), table.sum(1), table.sum(0)
    precision, recall, f1 = _ratio(right, said), _ratio(right, there), _ratio(2 * right, there + said)
    seen, used = there > 0, (there + said) > 0
    return {
        "accuracy": float(right.sum() / max(1, table.sum())),
        "balanced_accuracy": float(recall[seen].mean()) if seen.any() else 0.0,
        "f1": float(f1[used].mean()) if used.any() else 0.0,
        "count": int(table.sum()),
        "classes": {
            name: {
                "precision": float(precision[k]),
                "recall": float(recall[k]),
                "f1": float(f1[k]),
                "count": int(there[k]),
            }
            for k, name in enumerate(names)
        },
        "confusion": table.tolist(),
    }


def of_values(truth: Floats, predicted: Floats, names: Sequence[str], guess: Floats | None = None) -> dict[str, Any]:
    """Return RMSE, mean absolute error and R^2 of (N, k) values, in total and by output, and the errors of a baseline.

    R^2 = 1 - sum (y - t)^2 / sum (t - mean t)^2, averaged over outputs; for a constant target it is 1 if all
    predictions are exact and otherwise 0. `guess` is the baseline's prediction.
    """
    scores: dict[str, Any] = _errors(truth, predicted)
    if len(names) > 1:
        scores["outputs"] = {
            name: _errors(truth[:, [k]], predicted[:, [k]]) | {"r2": r_squared(truth[:, k], predicted[:, k])}
            for k, name in enumerate(names)
        }
    scores["r2"] = float(np.mean([r_squared(truth[:, k], predicted[:, k]) for k in range(truth.shape[1])]))
    scores["count"] = len(truth)
    if guess is not None:
        scores["guess"] = _errors(truth, np.broadcast_to(guess, truth.shape))
    return scores


def of_forecasts(truth: Floats, predicted: Floats, names: Sequence[str], naive: Floats | None = None) -> dict[str, Any]:
    """Return the errors of (N, horizon, channels) forecasts, in total and by steps ahead, and those of a baseline.

    The baseline, `naive`, predicts that every channel keeps its last value. `skill` is 1 - MSE / MSE of the baseline:
    above 0 is better than the baseline.
    """
    scores: dict[str, Any] = _errors(truth, predicted)
    if len(names) > 1:
        scores["outputs"] = {name: _errors(truth[..., k], predicted[..., k]) for k, name in enumerate(names)}
    scores["count"] = len(truth)
    guessed = None if naive is None else np.broadcast_to(naive, truth.shape)
    if guessed is not None:
        scores["guess"] = _errors(truth, guessed)
        mse = scores["guess"]["rmse"] ** 2
        scores["skill"] = 1 - scores["rmse"] ** 2 / mse if mse > 0 else 0.0
    scores["ahead"] = [
        _errors(truth[:, step], predicted[:, step])
        | ({} if guessed is None else {"guess": _errors(truth[:, step], guessed[:, step])})
        for step in range(truth.shape[1])
    ]
    return scores


def r_squared(truth: Floats, predicted: Floats) -> float:
    """Return R^2, the fraction of the variance that is explained.

    >>> r_squared(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]))
    0.5
    """
    residual, total = float(np.square(truth - predicted).sum()), float(np.square(truth - truth.mean()).sum())
    if total == 0:
        return float(residual == 0)
    return 1 - residual / total


def _errors(truth: Floats, predicted: Floats) -> dict[str, float]:
    errors = predicted - truth
    return {"rmse": float(np.sqrt(np.square(errors).mean())), "mae": float(np.abs(errors).mean())}


def _ratio(part: NDArray[np.int64], whole: NDArray[np.int64]) -> Floats:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
