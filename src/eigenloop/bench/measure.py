"""Timing: implementations take turns, round after round, so that a noisy machine slows all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch

from eigenloop.bench.busy import busy_cores
from eigenloop.bench.contenders import Problem
from eigenloop.bench.memory import peak_megabytes
from eigenloop.bench.rows import Row

#: Seconds of rest before a turn: torch's threads spin for a while after their work and would slow the next turn.
REST = 0.02
#: The least seconds of a turn.
TURN = 0.1


@dataclass
class Result:
    """Median seconds, and peak memory in MB; `torch` and `eager` are the faster of one thread and all.

    `floor` is the time of the matrix products alone, at the speed of one large product; `busy` and `torch_busy` are
    measured while every core is busy.
    """

    row: Row
    ours: float
    eager: float
    torch: float
    floor: float
    ours_memory: float | None
    torch_memory: float | None
    busy: float | None = None
    torch_busy: float | None = None

    def as_dict(self) -> dict[str, object]:
        """Return all numbers with the ratios, for JSON."""
        values = asdict(self)
        values["x_eager"], values["x_torch"] = self.eager / self.ours, self.torch / self.ours
        values["of_floor"] = self.floor / self.ours
        return values


def seconds(call: Callable[[], object]) -> float:
    """Return the mean seconds of a call over a turn of repeated calls, as in training; the first is not counted."""
    time.sleep(REST)
    call()
    calls, start = 0, time.perf_counter()
    while calls == 0 or time.perf_counter() - start < TURN:
        call()
        calls += 1
    return (time.perf_counter() - start) / calls


def with_threads(count: int, call: Callable[[], object]) -> Callable[[], None]:
    """Return a function that makes a call with `count` torch threads."""

    def run() -> None:
        before = torch.get_num_threads()
        torch.set_num_threads(count)
        try:
            call()
        finally:
            torch.set_num_threads(before)

    return run


def measure(row: Row, rounds: int, busy: bool) -> Result:
    """Time all implementations on a row, with `busy` also on a busy machine, and measure memory."""
    problem, every = Problem(row), torch.get_num_threads()
    square = torch.randn(2048, 2048)
    contenders: dict[str, Callable[[], object]] = {
        "ours": problem.ours,
        "eager 1": with_threads(1, problem.eager),
        "torch 1": with_threads(1, problem.torch),
        "product": lambda: torch.mm(square, square),
    }
    if every > 1:
        contenders["eager"] = problem.eager
        contenders["torch"] = problem.torch
    times = interleaved(contenders, rounds)
    memory = [peak_megabytes(step) for step in (problem.ours, problem.torch)]
    result = Result(
        row,
        times["ours"],
        min(times["eager 1"], times.get("eager", torch.inf)),
        min(times["torch 1"], times.get("torch", torch.inf)),
        row.flops / (2 * 2048**3 / times["product"]),
        memory[0],
        memory[1],
    )
    if busy:
        with busy_cores():
            shared = interleaved({"ours": problem.ours, "torch 1": with_threads(1, problem.torch)}, rounds)
        result.busy, result.torch_busy = shared["ours"], shared["torch 1"]
    return result


def interleaved(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median seconds of each call over `rounds` turns."""
    for call in contenders.values():
        call()  # the first call allocates buffers and starts threads
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, call in contenders.items():
            times[name].append(seconds(call))
    return {name: statistics.median(values) for name, values in times.items()}
