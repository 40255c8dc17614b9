"""torch's RNN (ReLU), GRU or LSTM as one ONNX operator, run by onnxruntime where that is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

#: Where ONNX has a gate that stands k-th in torch: GRU r, u, c -> u, r, c; LSTM i, f, g, o -> i, o, f, g.
_ONNX_ORDER = {"RNN": (0,), "GRU": (1, 0, 2), "LSTM": (0, 3, 1, 2)}


def session(layer: nn.RNNBase, threads: int) -> Callable[[Tensor], Tensor] | None:
    """Return a call x -> output of all steps, or None without onnx and onnxruntime."""
    try:
        import onnx  # noqa: F401
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    run = onnxruntime.InferenceSession(_graph(layer), options, providers=["CPUExecutionProvider"])

    def call(x: Tensor) -> Tensor:
        return torch.from_numpy(run.run(None, {"x": x.numpy()})[0])[:, 0]

    return call


def _graph(layer: nn.RNNBase) -> bytes:
    """Return a model with x (T, B, m) -> Y (T, 1, B, n)."""
    from onnx import TensorProto, helper, numpy_helper

    kind, n = type(layer).__name__, layer.hidden_size
    options: dict[str, dict[str, Any]] = {
        "RNN": {"activations": ["Relu"]},
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
    graph = helper.make_graph(
        [helper.make_node(kind, ["x", "W", "R", "B"], ["Y"], hidden_size=n, **options[kind])],
        "layer",
        [helper.make_tensor_value_info("x", float_, ["T", "B", m])],
        [helper.make_tensor_value_info("Y", float_, ["T", 1, "B", n])],
        [numpy_helper.from_array(value.numpy(), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    serialized: bytes = model.SerializeToString()
    return serialized
