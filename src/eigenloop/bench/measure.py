"""Timing: every contender in turn, round after round, so that a noisy machine slows all of them alike."""

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

#: torch's threads spin for a while after their work; the next contender should not pay for that.
REST = 0.02
#: Seconds that a contender's turn lasts at least.
TURN = 0.1


@dataclass
class Result:
    """Medians in seconds, memory in MB. `torch` and `eager` are the faster of one thread and all."""

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
        """Return everything as plain numbers, ratios included."""
        values = asdict(self)
        values["x_eager"], values["x_torch"] = self.eager / self.ours, self.torch / self.ours
        values["of_floor"] = self.floor / self.ours
        return values


def seconds(call: Callable[[], object]) -> float:
    """Time a call as it is in training, where one step follows another: the first of a turn is not counted."""
    time.sleep(REST)
    call()
    calls, start = 0, time.perf_counter()
    while calls == 0 or time.perf_counter() - start < TURN:
        call()
        calls += 1
    return (time.perf_counter() - start) / calls


def with_threads(count: int, call: Callable[[], object]) -> Callable[[], None]:
    """Make a call that runs with this many torch threads."""

    def run() -> None:
        before = torch.get_num_threads()
        torch.set_num_threads(count)
        try:
            call()
        finally:
            torch.set_num_threads(before)

    return run


def measure(row: Row, rounds: int, busy: bool) -> Result:
    """Time a row."""
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
    """Return the median seconds of each, measured in turn."""
    for call in contenders.values():
        call()  # the first call builds buffers, threads and pages
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, call in contenders.items():
            times[name].append(seconds(call))
    return {name: statistics.median(values) for name, values in times.items()}
