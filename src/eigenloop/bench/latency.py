"""One step of one sequence with carried state, as in streaming: our layers beside torch's layers and cells."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch

import eigenloop as el

SIZES = (32, 128, 512)
INPUTS = 10


def latencies(rounds: int = 5, calls: int = 200) -> list[dict[str, float | str | int]]:
    """Measure microseconds a step, interleaved, on one thread; W built once (`eigenloop.cached`)."""
    results: list[dict[str, float | str | int]] = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for n in SIZES:
            rnn, gru = el.RNN(INPUTS, n).eval(), el.build("ncgru", INPUTS, n).eval()
            theirs, their_gru = torch.nn.RNN(INPUTS, n).eval(), torch.nn.GRU(INPUTS, n).eval()
            cell, gru_cell = torch.nn.RNNCell(INPUTS, n).eval(), torch.nn.GRUCell(INPUTS, n).eval()
            with torch.inference_mode(), el.cached(rnn), el.cached(gru):
                for kind, ours, layer, step in (("RNN", rnn, theirs, cell), ("GRU", gru, their_gru, gru_cell)):
                    x, h = torch.randn(1, 1, INPUTS), torch.zeros(1, 1, n)
                    found = _interleaved(
                        {
                            "ours": lambda f=ours, x=x, h=h: f(x, h),
                            "layer": lambda f=layer, x=x, h=h: f(x, h),
                            "cell": lambda f=step, x=x, h=h: f(x[0], h[0]),
                        },
                        rounds,
                        calls,
                    )
                    results.append({"recurrence": kind, "n": n, **found})
    finally:
        torch.set_num_threads(threads)
    return results


def _interleaved(steps: dict[str, Callable[[], object]], rounds: int, calls: int) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            step()
            start = time.perf_counter()
            for _ in range(calls):
                step()
            times[name].append((time.perf_counter() - start) / calls * 1e6)
    return {name: statistics.median(values) for name, values in times.items()}
