"""How long recordings are cut for training and for measuring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eigenloop.tasks.sequences.kinds import Kind
from eigenloop.tasks.sequences.pieces import Pieces, windows_of

#: Labels at every step, and forecasts, are learnt in windows of 256 steps where recordings are longer than 1,000.
USUAL_WINDOW, _LONG = 256, 1000


@dataclass(frozen=True)
class Windowing:
    """Windows of pieces.

    Attributes:
        window: steps of a window that the network reads; None for whole pieces.
        stride: from one window to the next, in training.
        ahead: steps that follow a window and are targets only.
        votes: in an evaluation, windows of a piece answer together; otherwise each step is answered once.
    """

    window: int | None
    stride: int | None
    ahead: int
    votes: bool

    def for_training(self, pieces: Pieces) -> Pieces:
        """Cut the training split."""
        return self._cut(pieces, self.stride, keep_rest=False)[0]

    def for_evaluation(self, pieces: Pieces) -> tuple[Pieces, NDArray[np.int64]]:
        """Cut a part that is measured; return also which piece each window is of."""
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
        """Say how many windows there are, if recordings are cut."""
        if self.window is None:
            return ""
        cut = f", cut into windows of {self.window:,} steps every {self.stride:,}: "
        if not self.votes:
            return f"{cut}{len(self.for_training(parts['train'])):,} to train on"
        counts = (f"{part} {len(self.for_evaluation(pieces)[0]):,}" for part, pieces in parts.items())
        return f"{cut}{', '.join(counts)} windows"


def windowing(kind: Kind, window: int | None, stride: int | None, horizon: int) -> Windowing:
    """Return the windows that are asked for, half overlapping if no stride is given."""
    if window is not None and stride is None:
        stride = max(1, window // 2)
    return Windowing(window, stride, horizon if kind == "forecast" else 0, kind in ("class", "values"))


def usual_windowing(kind: Kind, longest: int, horizon: int) -> Windowing:
    """Return the windows of a kind where nobody says how long they are.

    A class or values of a whole sequence may depend on any of its steps, so that is never cut.

    >>> usual_windowing("forecast", 20_000, 3)
    Windowing(window=256, stride=128, ahead=3, votes=False)
    """
    whole = kind in ("class", "values") or longest <= _LONG
    return windowing(kind, None if whole else USUAL_WINDOW, None, horizon)
