"""One step of one sequence with carried state, as in streaming: our layers beside torch's layers and cells."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import torch

import eigenloop as el

SIZES = (32, 128, 512)
INPUTS = 10


def latencies(rounds: int = 5, calls: int = 200) -> list[dict[str, float | str | int]]:
    """Measure microseconds a step, interleaved, on one thread: `Stream`, the layer inside `cached`, and torch's own."""
    results: list[dict[str, float | str | int]] = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for n in SIZES:
            for kind, ours, layer, cell in (
                ("RNN", el.RNN(INPUTS, n), torch.nn.RNN(INPUTS, n), torch.nn.RNNCell(INPUTS, n)),
                ("GRU", _ncgru(n), torch.nn.GRU(INPUTS, n), torch.nn.GRUCell(INPUTS, n)),
                ("LSTM", el.LSTM(INPUTS, n), torch.nn.LSTM(INPUTS, n), torch.nn.LSTMCell(INPUTS, n)),
            ):
                x, h = torch.randn(1, 1, INPUTS), torch.zeros(1, 1, n)
                whole, single = ((h, h), (h[0], h[0])) if kind == "LSTM" else (h, h[0])
                steps: dict[str, Callable[[], object]] = {
                    "stream": partial(el.Stream(ours), x[0]),
                    "ours": partial(ours.eval(), x, whole),
                    "layer": partial(layer.eval(), x, whole),
                    "cell": partial(cell.eval(), x[0], single),
                }
                with torch.inference_mode(), el.cached(ours):
                    results.append({"recurrence": kind, "n": n, **_interleaved(steps, rounds, calls)})
    finally:
        torch.set_num_threads(threads)
    return results


def _ncgru(n: int) -> el.GRU:
    layer = el.build("ncgru", INPUTS, n)
    assert isinstance(layer, el.GRU)
    return layer


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
