"""How good answers are: of classes, of values and of forecasts, as scikit-learn defines the measures."""

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
    """Return accuracy, balanced accuracy, the mean of the F1, these by class, and the confusion matrix.

    precision = right / predicted as the class, recall = right / of the class, F1 = 2 right / (predicted + of the
    class), each 0 where nothing is divided. Means are over the classes that are there or were predicted; of the recall,
    over those that are there.
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
    """Return root mean square, mean absolute error and R^2 of (N, k) values, these by output, and those of a guess.

    R^2 = 1 - sum (y - t)^2 / sum (t - mean t)^2, averaged over outputs; of a constant output it is 1 if all is
    right and else 0.
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
    """Return errors of (N, horizon, channels) forecasts, in all and by steps ahead, beside those of the naive guess.

    The naive guess is that every channel stays as it is. `skill` is 1 - MSE / MSE of the naive guess: above 0 is
    better.
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
    """Return the share of the variance that is explained.

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
