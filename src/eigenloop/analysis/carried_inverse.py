"""The error of an inverse updated by a Neumann series, and the time of an update (NC-GRU figures 6 and 8)."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from eigenloop.analysis import published_neumann
from eigenloop.analysis.neumann_training import LR, Training, gram_distance
from eigenloop.analysis.published_neumann import series
from eigenloop.matrices import triangle

#: Sizes that are timed; least seconds for which a method is timed in each round; number of rounds.
SIZES, TURN, ROUNDS = (56, 118, 256, 512), 0.01, 25


@dataclass(frozen=True)
class Drift:
    """The error of the updated Z after each of K steps, in double precision, so that it is truncation error only.

    Attributes:
        inverse_error: ||Z - (I + A)^-1||_F.
        defect: ||U^T U - I||_F of U = Z (I - A) D (algorithm 1).
        step_norm: ||Z deltaA||_2 of each update; the series converges below 1 (figure 8).
    """

    inverse_error: list[float]
    defect: list[float]
    step_norm: list[float]


def exact_inverse(A: Tensor) -> Tensor:
    """Return (I + A)^-1."""
    return torch.linalg.inv(torch.eye(len(A), dtype=A.dtype, device=A.device) + A)


def replay(training: Training, order: int, reset_every: int | None, *, published: bool = False) -> Drift:
    """Update Z along the recorded A's of a training and return its errors.

    Args:
        training: the recorded A's and gradients.
        order: order of the series.
        reset_every: steps between two exact inverses; None for no resets.
        published: update Z with lr times the gradient, as the authors' code does, instead of the actual step of A.
    """
    n = len(training.signs)
    A = triangle.skew(training.skews[0], n)
    Z = exact_inverse(A)
    drift = Drift([], [], [])
    for step, (entries, gradient) in enumerate(zip(training.skews[1:], training.gradients, strict=True), 1):
        after = triangle.skew(entries, n)
        moved = LR * triangle.skew(gradient, n) if published else A - after
        drift.step_norm.append(float(torch.linalg.matrix_norm(Z @ moved, ord=2)))
        A, truth = after, exact_inverse(after)
        Z = truth if reset_every is not None and step % reset_every == 0 else series(Z, moved, order)
        drift.inverse_error.append(float(torch.linalg.matrix_norm(Z - truth)))
        drift.defect.append(gram_distance((Z - Z @ A) * training.signs))
    return drift


def replays(training: Training, reset_every: int) -> dict[str, Drift]:
    """Return `replay` for every order, with and without resets, and for the authors' code."""
    drifts = {}
    for order in (1, 2, 3):
        drifts[f"order {order}"] = replay(training, order, reset_every)
        drifts[f"order {order}, no reset"] = replay(training, order, None)
    drifts["published code"] = replay(training, 2, published_neumann.RESET_EVERY, published=True)
    return drifts


def update_seconds(n: int, rounds: int = ROUNDS, turn: float = TURN) -> dict[str, float]:
    """Return the median seconds of one update of Z by each method.

    The methods take turns, so that other load on the machine slows all of them alike.
    """
    generator = torch.Generator().manual_seed(n)
    entries = torch.randn(triangle.triangle_size(n), generator=generator) / n**0.5
    A, step = triangle.skew(entries, n), triangle.skew(LR * torch.sign(entries), n)
    wide, eye, Z = A.double(), torch.eye(n, dtype=torch.float64), exact_inverse(A)
    ways: dict[str, Callable[[], object]] = {
        "least squares": lambda: torch.linalg.lstsq(eye + wide, eye).solution.float(),
        "exact inverse": lambda: exact_inverse(wide).float(),
        "exact, float32": lambda: exact_inverse(A),
        "order 1": lambda: series(Z, step, 1),
        "order 2": lambda: series(Z, step, 2),
        "order 3": lambda: series(Z, step, 3),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for call in ways.values():
        call()
    for _ in range(rounds):
        for name, call in ways.items():
            times[name] += _seconds(call, turn)
    return {name: statistics.median(values) for name, values in times.items()}


def _seconds(call: Callable[[], object], turn: float) -> list[float]:
    """Time single calls, each short enough to be rarely interrupted, for at least `turn` seconds in total."""
    durations: list[float] = []
    while sum(durations) < turn or not durations:
        start = time.perf_counter()
        call()
        durations.append(time.perf_counter() - start)
    return durations
