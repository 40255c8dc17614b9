"""Cutting recordings into windows for training and for evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eigenloop.tasks.sequences.kinds import Kind
from eigenloop.tasks.sequences.pieces import Pieces, windows_of

#: By default, recordings longer than 1,000 steps are cut into windows of 256 for per-step labels and forecasts.
USUAL_WINDOW, _LONG = 256, 1000


@dataclass(frozen=True)
class Windowing:
    """How pieces are cut into windows.

    Attributes:
        window: number of input steps of a window; None for whole pieces.
        stride: steps between the starts of windows.
        ahead: steps after a window that are targets only.
        votes: evaluation averages the predictions of the windows of a piece, cut as in training; otherwise windows do
            not overlap, so that each step is predicted once.
    """

    window: int | None
    stride: int | None
    ahead: int
    votes: bool

    def for_training(self, pieces: Pieces) -> Pieces:
        """Return the windows of the training split."""
        return self._cut(pieces, self.stride, keep_rest=False)[0]

    def for_evaluation(self, pieces: Pieces) -> tuple[Pieces, NDArray[np.int64]]:
        """Return the windows of a split for evaluation, and the index of the piece to which each belongs."""
        if self.votes:
            return self._cut(pieces, self.stride, keep_rest=False)
        return self._cut(pieces, self.window, keep_rest=True)

    def _cut(self, pieces: Pieces, stride: int | None, keep_rest: bool) -> tuple[Pieces, NDArray[np.int64]]:
        windows, owner = pieces, np.arange(len(pieces))
        if self.window is not None:
            windows, owner = windows_of(pieces, self.window + self.ahead, stride, keep_rest=keep_rest)
        long = windows.length > self.ahead
        return windows[long], owner[long]

    def described(self, parts: Mapping[str, Pieces]) -> str:
        """Return in words how many windows there are; empty if recordings are not cut."""
        if self.window is None:
            return ""
        cut = f", cut into windows of {self.window:,} steps every {self.stride:,}: "
        if not self.votes:
            return f"{cut}{len(self.for_training(parts['train'])):,} to train on"
        counts = (f"{part} {len(self.for_evaluation(pieces)[0]):,}" for part, pieces in parts.items())
        return f"{cut}{', '.join(counts)} windows"


def windowing(kind: Kind, window: int | None, stride: int | None, horizon: int) -> Windowing:
    """Return the windowing with given window and stride; without a stride, windows overlap by half."""
    if window is not None and stride is None:
        stride = max(1, window // 2)
    return Windowing(window, stride, horizon if kind == "forecast" else 0, kind in ("class", "values"))


def usual_windowing(kind: Kind, longest: int, horizon: int) -> Windowing:
    """Return the default windowing of a kind of problem, for pieces of up to `longest` steps.

    A class or values of a whole sequence may depend on any of its steps, so such sequences are not cut.

    >>> usual_windowing("forecast", 20_000, 3)
    Windowing(window=256, stride=128, ahead=3, votes=False)
    """
    whole = kind in ("class", "values") or longest <= _LONG
    return windowing(kind, None if whole else USUAL_WINDOW, None, horizon)
