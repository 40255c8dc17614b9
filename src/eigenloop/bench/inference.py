"""Inference on complete sequences: our layers against torch.nn and onnxruntime, all with the same weights.

RNN is torch's with ReLU, GRU and LSTM are torch's; so all three compute the same function, which is checked before
timing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn

import eigenloop as el
from eigenloop.bench.measure import interleaved, with_threads
from eigenloop.bench.onnx_graph import session


@dataclass(frozen=True)
class InferenceRow:
    """T time steps, B sequences, n units, m inputs; the goal is 80 % of the speed of the matrix products alone."""

    kind: Literal["RNN", "GRU", "LSTM"]
    T: int
    B: int
    n: int
    m: int

    @property
    def flops(self) -> float:
        """Floating-point operations of the products with W and U."""
        return {"RNN": 1, "GRU": 3, "LSTM": 4}[self.kind] * 2.0 * self.T * self.B * self.n * (self.n + self.m)

    def __str__(self) -> str:
        return f"{self.kind} {self.T}, {self.B}, {self.n}, {self.m}"


INFERENCE_ROWS = (
    InferenceRow("RNN", 784, 128, 170, 1),
    InferenceRow("GRU", 784, 128, 170, 1),
    InferenceRow("LSTM", 784, 128, 170, 1),
    InferenceRow("RNN", 750, 50, 256, 10),
    InferenceRow("GRU", 750, 50, 256, 10),
    InferenceRow("LSTM", 750, 50, 256, 10),
    InferenceRow("LSTM", 150, 128, 475, 200),
)


@dataclass
class InferenceResult:
    """Median seconds; for torch and onnxruntime the faster of one thread and all.

    `onnxruntime` is None if it is not installed; `floor` is the time of the matrix products alone, at the speed of one
    large product.
    """

    row: InferenceRow
    ours: float
    torch: float
    onnxruntime: float | None
    floor: float

    def as_dict(self) -> dict[str, object]:
        """Return all numbers with the ratios, for JSON."""
        values = asdict(self)
        values["x_torch"], values["of_floor"] = self.torch / self.ours, self.floor / self.ours
        values["x_onnxruntime"] = None if self.onnxruntime is None else self.onnxruntime / self.ours
        return values


def measure_inference(row: InferenceRow, rounds: int) -> InferenceResult:
    """Time all implementations on a row, in turn.

    Raises:
        RuntimeError: their outputs differ.
    """
    torch.manual_seed(0)
    x, every = torch.randn(row.T, row.B, row.m), torch.get_num_threads()
    square = torch.randn(2048, 2048)
    theirs = _torch_layer(row)
    ours = _our_layer(row, theirs)
    sessions = {count: session(theirs, count) for count in {1, every}}

    def run_ours() -> Tensor:
        return ours(x)[0]

    def run_torch() -> Tensor:
        return theirs(x)[0]

    contenders: dict[str, Callable[[], object]] = {"ours": run_ours, "product": lambda: torch.mm(square, square)}
    with torch.inference_mode(), el.cached(ours):
        expected = run_torch()
        _must_agree("el", row, run_ours(), expected)
        for count, run_onnx in sessions.items():
            contenders[f"torch {count}"] = with_threads(count, run_torch)
            if run_onnx is not None:
                _must_agree("onnxruntime", row, run_onnx(x), expected)
                contenders[f"onnxruntime {count}"] = partial(run_onnx, x)
        times = interleaved(contenders, rounds)
    fastest = {
        name: min((time for key, time in times.items() if key.startswith(name)), default=None)
        for name in ("torch", "onnxruntime")
    }
    assert fastest["torch"] is not None
    floor = row.flops / (2 * 2048**3 / times["product"])
    return InferenceResult(row, times["ours"], fastest["torch"], fastest["onnxruntime"], floor)


def _torch_layer(row: InferenceRow) -> nn.RNNBase:
    if row.kind == "RNN":
        return nn.RNN(row.m, row.n, nonlinearity="relu").eval()
    return (nn.GRU if row.kind == "GRU" else nn.LSTM)(row.m, row.n).eval()


def _our_layer(row: InferenceRow, theirs: nn.RNNBase) -> el.RNN | el.GRU | el.LSTM:
    layer: el.RNN | el.GRU | el.LSTM
    if row.kind == "RNN":
        layer = el.RNN(row.m, row.n, nonlinearity="relu", recurrent="free")
    elif row.kind == "GRU":
        layer = el.GRU(row.m, row.n, constrained=())
    else:
        layer = el.LSTM(row.m, row.n)
    layer.load_state_dict(theirs.state_dict())
    return layer.eval()


def _must_agree(name: str, row: InferenceRow, values: Tensor, expected: Tensor) -> None:
    """Raise RuntimeError if outputs differ from torch's by more than rounding."""
    difference = (values - expected).abs().max().item()
    if not difference < 1e-3 * max(1.0, expected.abs().max().item()):
        raise RuntimeError(f"{name} and torch.nn differ by {difference:.1e} on {row}: nothing was measured")
