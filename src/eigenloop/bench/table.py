"""The tables of ``eigenloop bench``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch

from eigenloop.bench.inference import INFERENCE_ROWS, InferenceResult, measure_inference
from eigenloop.bench.latency import BATCH, BATCH_CONTENDERS, CONTENDERS, Entry, batch_latencies, latencies
from eigenloop.bench.measure import Result, measure
from eigenloop.bench.rows import ROWS
from eigenloop.recurrence import kernel
from eigenloop.text.json_text import json_line

_COLUMNS = ("recurrence, T, B, n, m", "ours ms", "x eager (goal)", "x torch.nn (goal)", "of floor", "MB ours / torch")
_INFERENCE_COLUMNS = ("layer, T, B, n, m", "ours ms", "x torch.nn", "x onnxruntime", "of floor (80%)")


def print_table(rounds: int, only: Sequence[int], busy: bool, as_json: bool) -> None:
    """Measure and print training steps and latencies; with `only`, just the training steps of these rows, from 1."""
    if not as_json:
        print(f"training step (forward + backward, loss on h_n), {_machinery()}")
        print(_line((*_COLUMNS, "busy: x alone") if busy else _COLUMNS))
    for number, row in enumerate(ROWS, 1):
        if not only or number in only:
            result = measure(row, rounds, busy)
            print(json_line(result.as_dict()) if as_json else _line(_cells(result)), flush=True)
    if not only:
        print_latencies(as_json)


def print_inference(rounds: int, as_json: bool) -> None:
    """Measure and print inference on complete sequences."""
    if not as_json:
        print(f"whole sequences without gradient, {_machinery()}")
        print(_line(_INFERENCE_COLUMNS))
    for row in INFERENCE_ROWS:
        result = measure_inference(row, rounds)
        print(json_line(result.as_dict()) if as_json else _line(_inference_cells(result)), flush=True)


def _machinery() -> str:
    loaded = kernel.library()
    which = "reference path" if loaded is None else f"kernel: {loaded.variant}"
    return f"{torch.get_num_threads()} threads, {which}"


def _inference_cells(result: InferenceResult) -> tuple[str, ...]:
    onnxruntime = "not installed" if result.onnxruntime is None else f"{result.onnxruntime / result.ours:.1f}"
    return (
        str(result.row),
        f"{result.ours * 1e3:.1f}",
        f"{result.torch / result.ours:.1f}",
        onnxruntime,
        f"{result.floor / result.ours:.0%}",
    )


def _cells(result: Result) -> tuple[str, ...]:
    row = result.row
    cells = [
        str(row),
        f"{result.ours * 1e3:.1f}",
        f"{result.eager / result.ours:.1f} ({row.eager_goal:g})",
        f"{result.torch / result.ours:.1f} ({row.torch_goal:g})",
        f"{result.floor / result.ours:.0%}",
        " / ".join("?" if used is None else f"{used:.0f}" for used in (result.ours_memory, result.torch_memory)),
    ]
    if result.busy is not None and result.torch_busy is not None:
        cells.append(f"{result.busy / result.ours:.1f} (torch, 1 thread {result.torch_busy / result.torch:.1f})")
    return tuple(cells)


def _line(cells: tuple[str, ...]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, (31, 8, 15, 18, 9, 16, 10), strict=False)).rstrip()


def print_latencies(as_json: bool) -> None:
    """Measure and print the latency of single time steps, of one sequence and of a batch."""
    _print_steps(latencies(), CONTENDERS, "one step, one sequence, one thread: microseconds", as_json)
    title = f"{BATCH} sequences side by side, one thread: microseconds a step of all"
    _print_steps(batch_latencies(), BATCH_CONTENDERS, title, as_json)


def _print_steps(entries: list[Entry], names: Mapping[str, str], title: str, as_json: bool) -> None:
    if as_json:
        for entry in entries:
            print(json_line(entry))
        return
    print(f"\n{title}")
    print("  ".join(["recurrence, n".ljust(13), *(name.rjust(14) for name in names.values())]))
    for entry in entries:
        times = [entry[key] for key in names]
        cells = ["not installed" if math.isnan(float(time)) else f"{float(time):.1f}" for time in times]
        label = f"{entry['recurrence']} {entry['n']}".ljust(13)
        print(
            "  ".join(
                [label, *(cell.rjust(max(14, len(name))) for cell, name in zip(cells, names.values(), strict=True))]
            )
        )
