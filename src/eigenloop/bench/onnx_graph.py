"""torch's RNN (ReLU), GRU or LSTM as one ONNX operator, run by onnxruntime if it is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

#: The indices of torch's gates in the order of ONNX: GRU r, u, c -> u, r, c; LSTM i, f, g, o -> i, o, f, g.
_ONNX_ORDER = {"RNN": (0,), "GRU": (1, 0, 2), "LSTM": (0, 3, 1, 2)}
#: The names of the states.
_CARRIED = {"RNN": ("h",), "GRU": ("h",), "LSTM": ("h", "c")}


def session(layer: nn.RNNBase, threads: int) -> Callable[[Tensor], Tensor] | None:
    """Return a function from x to the outputs of all time steps; None without onnx and onnxruntime."""
    run = _loaded(layer, threads, carried=False)
    if run is None:
        return None

    def call(x: Tensor) -> Tensor:
        return torch.from_numpy(run.run(None, {"x": x.numpy()})[0])[:, 0]

    return call


def step_session(layer: nn.RNNBase) -> Callable[[Tensor], Tensor] | None:
    """Return a function from x, (1, B, m), to h that keeps its state, on one thread; None without onnxruntime."""
    run = _loaded(layer, 1, carried=True)
    if run is None:
        return None
    names = _CARRIED[type(layer).__name__]
    state: dict[str, Any] = {}

    def call(x: Tensor) -> Tensor:
        nonlocal state
        if not state:
            state = {name: torch.zeros(1, x.shape[1], layer.hidden_size).numpy() for name in names}
        state = dict(zip(names, run.run(None, {"x": x.numpy(), **state}), strict=True))
        return torch.from_numpy(state["h"])

    return call


def _loaded(layer: nn.RNNBase, threads: int, *, carried: bool) -> Any:
    """Return a session of onnxruntime; None if it is not installed."""
    try:
        import onnx  # noqa: F401
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(_graph(layer, carried), options, providers=["CPUExecutionProvider"])


def _graph(layer: nn.RNNBase, carried: bool) -> bytes:
    """Return a model from x (T, B, m) to Y (T, 1, B, n); with `carried` from x and states (1, B, n) to new states."""
    from onnx import TensorProto, helper, numpy_helper

    kind, n = type(layer).__name__, layer.hidden_size
    options: dict[str, dict[str, Any]] = {
        "RNN": {"activations": ["Relu" if getattr(layer, "nonlinearity", "") == "relu" else "Tanh"]},
        "GRU": {"linear_before_reset": 1},
        "LSTM": {},
    }

    def weight(name: str) -> Tensor:
        stacked: Tensor = getattr(layer, f"{name}_l0").detach()
        gates = stacked.split(n)
        return torch.cat([gates[k] for k in _ONNX_ORDER[kind]])[None]

    bias = torch.cat([weight("bias_ih"), weight("bias_hh")], dim=1)
    constants = {"W": weight("weight_ih"), "R": weight("weight_hh"), "B": bias}
    float_, m = TensorProto.FLOAT, layer.input_size
    states = _CARRIED[kind] if carried else ()
    inputs = ["x", "W", "R", "B", *([""] if states else []), *states]
    outputs = ["", *(f"{name}_after" for name in states)] if states else ["Y"]
    kept: list[str | int | None] = [1, "B", n]
    every: list[str | int | None] = ["T", 1, "B", n]
    graph = helper.make_graph(
        [helper.make_node(kind, inputs, outputs, hidden_size=n, **options[kind])],
        "layer",
        [
            helper.make_tensor_value_info("x", float_, ["T", "B", m]),
            *(helper.make_tensor_value_info(name, float_, kept) for name in states),
        ],
        [helper.make_tensor_value_info(name, float_, kept if states else every) for name in outputs if name],
        [numpy_helper.from_array(value.numpy(), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    serialized: bytes = model.SerializeToString()
    return serialized
