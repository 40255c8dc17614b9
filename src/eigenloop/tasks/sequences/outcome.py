"""What a network answers on own sequences: a row for each case, step or forecast, with the truth where it is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenloop.tasks.sequences import measures
from eigenloop.tasks.sequences.kinds import Kind


@dataclass(frozen=True, eq=False)
class Outcome:
    """Answers beside truths; N rows.

    Attributes:
        kind: what was asked.
        case: (N,) numbers of the cases.
        step: (N,) the step of the case that an answer is for; of a whole piece its first, of a forecast the last one
            that was seen.
        predicted: (N, classes) probabilities, (N, k) values, or (N, horizon, channels) of a forecast.
        names: of classes, values or channels.
        case_names: of all cases.
        truth: (N,) classes, (N, k) or (N, horizon, channels); None where it is not known.
        guess: what answers without looking would be, in the shape of `predicted` or one that broadcasts to it: shares
            of the classes, the mean of the training split, the last value that was seen.
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
        """Return how good the answers are: plain numbers, lists and mappings, as they stand in JSON."""
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
        """Return how wrong each row is, (N,): -log p(truth), or the root mean square of its errors.

        The hardest cases are ``np.argsort(-outcome.difficulty())``.
        """
        if self.truth is None:
            raise ValueError("without the truth nothing can be measured: the data have no labels")
        if self.kind.endswith("class"):
            chosen = np.take_along_axis(self.predicted, self.truth[:, None], axis=1)[:, 0]
            return np.asarray(-np.log(np.maximum(chosen, 1e-300)))
        errors = (self.predicted - self.truth).reshape(len(self), -1)
        return np.asarray(np.sqrt(np.square(errors).mean(1)))

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the answers as columns of a table.

        A class: case, prediction and the probability of each class. Values: case and the values. At every step there is
        a column of steps, and of a forecast one that says how many steps ahead.
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
    """Return the name of a column that is not taken."""
    return f"predicted {name}" if name in taken else name
