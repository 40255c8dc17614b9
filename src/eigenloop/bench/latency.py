"""Latency of single time steps, as in streaming: our layers and integer networks against torch and onnxruntime."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import torch
from torch import nn

import eigenloop as el
from eigenloop.bench.onnx_graph import step_session
from eigenloop.deploy.c.compiled import CompiledNetwork

SIZES = (32, 128, 512)
INPUTS = 10
#: The number of sequences in a batch, and of time steps in a sequence.
BATCH, STEPS = 32, 100
#: The implementations that are timed, in the order of the table.
CONTENDERS = {
    "stream": "el.Stream",
    "ours": "layer, cached",
    "layer": "torch.nn layer",
    "cell": "torch.nn cell",
    "onnxruntime": "onnxruntime",
    "compiled": "integers, compiled",
    "c": "the C alone",
}
BATCH_CONTENDERS = {"ours": "layer, cached", "layer": "torch.nn layer", "compiled": "integers, compiled"}

Entry = dict[str, float | str | int]


def latencies(rounds: int = 50, calls: int = 20, sizes: tuple[int, ...] = SIZES) -> list[Entry]:
    """Return microseconds per time step, measured in turn on one thread; NaN if something is not installed.

    The integer network has 4-bit weights and an 8-bit state. ``compiled`` is its step called from Python, ``c`` a step
    of a sequence that runs in C from end to end.
    """
    results: list[Entry] = []
    with _one_thread():
        for n in sizes:
            for kind in ("RNN", "GRU", "LSTM"):
                ours, layer, cell = _layer(kind, n), getattr(nn, kind)(INPUTS, n), getattr(nn, kind + "Cell")(INPUTS, n)
                x, h = torch.randn(1, 1, INPUTS), torch.zeros(1, 1, n)
                whole, single = ((h, h), (h[0], h[0])) if kind == "LSTM" else (h, h[0])
                steps: dict[str, Callable[[], object]] = {
                    "stream": partial(el.Stream(ours), x[0]),
                    "ours": partial(ours.eval(), x, whole),
                    "layer": partial(layer.eval(), x, whole),
                    "cell": partial(cell.eval(), x[0], single),
                }
                if (onnx_step := step_session(layer)) is not None:
                    steps["onnxruntime"] = partial(onnx_step, x)
                if (compiled := _compiled(kind, n)) is not None:
                    steps["compiled"] = partial(compiled.step, x[0].numpy(), compiled.states())
                with torch.inference_mode(), el.cached(ours):
                    times = _interleaved(steps, rounds, calls)
                if compiled is not None:
                    many = torch.randn(STEPS, 1, INPUTS).numpy()
                    times["c"] = _interleaved({"c": partial(compiled.sums, many)}, rounds, 1)["c"] / STEPS
                results.append({"recurrence": kind, "n": n, **dict.fromkeys(CONTENDERS, math.nan), **times})
    return results


def batch_latencies(rounds: int = 7, calls: int = 1, sizes: tuple[int, ...] = SIZES[:2]) -> list[Entry]:
    """Return microseconds per time step of a batch of `BATCH` sequences, measured in turn on one thread."""
    results: list[Entry] = []
    with _one_thread():
        for n in sizes:
            for kind in ("RNN", "GRU", "LSTM"):
                ours, layer = _layer(kind, n).eval(), getattr(nn, kind)(INPUTS, n).eval()
                x = torch.randn(STEPS, BATCH, INPUTS)
                runs: dict[str, Callable[[], object]] = {"ours": partial(ours, x), "layer": partial(layer, x)}
                if (compiled := _compiled(kind, n)) is not None:
                    runs["compiled"] = partial(compiled.sums, x.numpy())
                with torch.inference_mode(), el.cached(ours):
                    times = {name: time / STEPS for name, time in _interleaved(runs, rounds, calls).items()}
                results.append(
                    {"recurrence": kind, "n": n, "B": BATCH, **dict.fromkeys(BATCH_CONTENDERS, math.nan), **times}
                )
    return results


@contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _layer(kind: str, n: int, bits: int | None = None) -> el.RNN | el.GRU | el.LSTM:
    if kind == "GRU":
        layer = el.build("ncgru", INPUTS, n, bits=bits)
        assert isinstance(layer, el.GRU)
        return layer
    return el.RNN(INPUTS, n, bits=bits) if kind == "RNN" else el.LSTM(INPUTS, n, bits=bits)


def _compiled(kind: str, n: int) -> CompiledNetwork | None:
    """Return an integer network of one layer as compiled C; None without a C compiler."""
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(30, 4, INPUTS, generator=generator)
    whole = el.deploy.integer(_layer(kind, n, bits=4), calibration=X, state_bits=8)
    try:
        return whole.compiled()
    except RuntimeError:
        return None


def _interleaved(steps: dict[str, Callable[[], object]], rounds: int, calls: int) -> dict[str, float]:
    """Return median microseconds over many short turns, most of which no other process interrupts."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            step()
            start = time.perf_counter()
            for _ in range(calls):
                step()
            times[name].append((time.perf_counter() - start) / calls * 1e6)
    return {name: statistics.median(values) for name, values in times.items()}
