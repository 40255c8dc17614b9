"""Predictions on your own sequences: a row for each case, time step or forecast, with the target if it is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenloop.tasks.sequences import measures
from eigenloop.tasks.sequences.kinds import Kind


@dataclass(frozen=True, eq=False)
class Outcome:
    """Predictions with their targets, in N rows.

    Attributes:
        kind: the kind of problem.
        case: (N,) indices of the cases.
        step: (N,) the time step of the case that a prediction is for; the first step of a whole piece, the last input
            step of a forecast.
        predicted: (N, classes) probabilities, (N, k) values, or (N, horizon, channels) forecasts.
        names: names of the classes, values or channels.
        case_names: names of all cases.
        truth: (N,) classes, (N, k) values or (N, horizon, channels); None if unknown.
        guess: predictions of the baseline, which broadcast to the shape of `predicted`: the class frequencies or the
            mean of the training split, or for a forecast the last input value.
    """

    kind: Kind
    case: NDArray[np.int64]
    step: NDArray[np.int64]
    predicted: NDArray[np.float64]
    names: tuple[str, ...]
    case_names: tuple[str, ...]
    truth: NDArray[Any] | None = None
    guess: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.case)

    @property
    def classes(self) -> NDArray[np.int64]:
        """The most probable class of each row."""
        return np.asarray(self.predicted.argmax(-1), np.int64)

    def measures(self) -> dict[str, Any]:
        """Return the metrics as plain numbers, lists and mappings that JSON can hold.

        Raises:
            ValueError: the targets are not known.
        """
        if self.truth is None:
            raise ValueError("without the truth nothing can be measured: the data have no labels")
        if self.kind.endswith("class"):
            scores = measures.of_classes(self.truth, self.classes, self.names)
            if self.guess is not None:
                scores["guess"] = {"accuracy": float((self.truth == int(self.guess.argmax())).mean())}
            return scores
        predicted, truth = self.predicted, self.truth.astype(np.float64)
        if self.kind != "forecast":
            return measures.of_values(truth, predicted, self.names, self.guess)
        return measures.of_forecasts(truth, predicted, self.names, self.guess)

    def difficulty(self) -> NDArray[np.float64]:
        """Return the error of each row, (N,): -log p(truth), or the root mean square of its errors.

        The rows with the largest errors first are ``np.argsort(-outcome.difficulty())``.

        Raises:
            ValueError: the targets are not known.
        """
        if self.truth is None:
            raise ValueError("without the truth nothing can be measured: the data have no labels")
        if self.kind.endswith("class"):
            chosen = np.take_along_axis(self.predicted, self.truth[:, None], axis=1)[:, 0]
            return np.asarray(-np.log(np.maximum(chosen, 1e-300)))
        errors = (self.predicted - self.truth).reshape(len(self), -1)
        return np.asarray(np.sqrt(np.square(errors).mean(1)))

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the predictions as columns of a table.

        For classes: case, prediction and the probability of each class. For values: case and the values. Predictions
        per step have a column ``step``, forecasts have columns ``from_step`` and ``ahead``, the number of steps ahead.
        """
        names = np.asarray(self.case_names)[self.case] if len(self.case) else np.zeros(0, "U1")
        columns: dict[str, NDArray[Any]] = {"case": names}
        if self.kind == "forecast":
            horizon = self.predicted.shape[1]
            columns = {"case": np.repeat(names, horizon), "from_step": np.repeat(self.step, horizon)}
            columns["ahead"] = np.tile(np.arange(1, horizon + 1), len(self))
            flat = self.predicted.reshape(len(self) * horizon, -1)
            return columns | {_free(name, columns): flat[:, number] for number, name in enumerate(self.names)}
        if self.kind.startswith("step-"):
            columns["step"] = self.step
        if self.kind.endswith("class"):
            columns["prediction"] = np.asarray(self.names)[self.classes]
            return columns | {f"p({name})": self.predicted[:, number] for number, name in enumerate(self.names)}
        names_of = ("prediction",) if self.names == ("value",) else self.names
        return columns | {_free(name, columns): self.predicted[:, number] for number, name in enumerate(names_of)}


def _free(name: str, taken: dict[str, NDArray[Any]]) -> str:
    """Return a name for a column that is not in use."""
    return f"predicted {name}" if name in taken else name
