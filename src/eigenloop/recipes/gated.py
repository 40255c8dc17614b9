"""The published models with a gated recurrence, and torch's own layers as baselines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import nn

from eigenloop import initializers
from eigenloop.layers import GRU
from eigenloop.layers.baselines import TorchGRU, TorchLSTM
from eigenloop.matrices import Free, Givens, NeumannCayley
from eigenloop.recipes.starts import (
    Generator,
    Size,
    constant_,
    parameters_of,
    uniform_,
)


def ncgru(
    input_size: int,
    hidden_size: Size,
    *,
    constrained: Sequence[str] = ("candidate",),
    negative: int | None = None,
    order: int = 2,
    reset_every: int = 50,
    tolerance: float = 1e-5,
    exact: bool = False,
    generator: Generator = None,
    **layer: Any,
) -> GRU:
    """NC-GRU: He uniform kernels, gate biases 0, modReLU's b ~ U(-0.1, 0.1) (Mucllari et al. 2022, eq. 19)."""
    matrix = partial(
        NeumannCayley,
        negative=negative,
        order=order,
        reset_every=reset_every,
        tolerance=tolerance,
        exact=exact,
        generator=generator,
    )
    layer = {"candidate": "modrelu", "reset": "before", "update": "write", **layer}
    made = GRU(input_size, hidden_size, recurrent=matrix, constrained=constrained, generator=generator, **layer)
    for cell, matrices in made.named_children():
        U = made.get_parameter(cell.replace("recurrent", "weight_ih"))
        m, n = U.shape[1], U.shape[0] // 3
        # One kernel takes [x, h] to both gates; the candidate's takes x alone.
        gates, alone = math.sqrt(6 / (m + n)), math.sqrt(6 / m)
        initializers.fill_uniform_(U[: 2 * n], -gates, gates, generator)
        initializers.fill_uniform_(U[2 * n :], -alone, alone, generator)
        for free in (module for module in matrices.modules() if isinstance(module, Free)):
            initializers.fill_uniform_(free.weight, -gates, gates, generator)
    constant_(made, "bias", 0.0)
    if made.candidate == "modrelu":
        for bias in parameters_of(made, "bias_l"):
            initializers.fill_uniform_(bias[2 * len(bias) // 3 :], -0.1, 0.1, generator)
    return made


def goru(
    input_size: int,
    hidden_size: Size,
    *,
    style: str = "tunable",
    capacity: int | None = None,
    generator: Generator = None,
    **layer: Any,
) -> GRU:
    """GORU: all kernels ~ U(-0.01, 0.01); biases: reset 2, update Glorot uniform, candidate 0.01 (Jing et al. 2019)."""
    capacity = 4 if capacity is None and style == "tunable" else capacity
    matrix = partial(Givens, style=style, capacity=capacity, generator=generator)
    layer = {"candidate": "modrelu", **layer}
    made = GRU(input_size, hidden_size, recurrent=matrix, generator=generator, **layer)
    uniform_(made, "weight_ih", 0.01, generator)
    for free in (module for module in made.modules() if isinstance(module, Free)):
        initializers.fill_uniform_(free.weight, -0.01, 0.01, generator)
    for bias in parameters_of(made, "bias_l"):
        reset, update, candidate = bias.chunk(3)
        bound = math.sqrt(3 / len(update))
        nn.init.constant_(reset, 2.0)
        initializers.fill_uniform_(update, -bound, bound, generator)
        nn.init.constant_(candidate, 0.01)
    return made


def _torch_baseline(kind: type[Any], input_size: int, hidden_size: int, generator: Generator, layer: Any) -> Any:
    made = kind(input_size, hidden_size, **layer)
    if generator is not None:
        bound = 1 / math.sqrt(hidden_size)
        for parameter in made.parameters():
            initializers.fill_uniform_(parameter, -bound, bound, generator)
    return made


def lstm(
    input_size: int, hidden_size: int, *, init: str = "torch", generator: Generator = None, **layer: Any
) -> TorchLSTM:
    """torch.nn.LSTM.

    ``init="tensorflow"`` starts it as BasicLSTMCell, with which scoRNN, ENRNN and NC-GRU compare: Glorot's uniform rule
    for the joint kernel of input and state, biases 0, that of the forget gate 1.
    """
    made: TorchLSTM = _torch_baseline(TorchLSTM, input_size, hidden_size, generator, layer)
    if _known_start(init) == "tensorflow":
        _start_as_tensorflow_(made, kernels=(range(4),), ones=range(1, 2), generator=generator)  # gates i, f, g, o
    return made


def gru(
    input_size: int, hidden_size: int, *, init: str = "torch", generator: Generator = None, **layer: Any
) -> TorchGRU:
    """torch.nn.GRU.

    ``init="tensorflow"`` starts it as GRUCell: Glorot's uniform rule for one kernel of both gates and one of the
    candidate, gate biases 1, that of the candidate 0.
    """
    made: TorchGRU = _torch_baseline(TorchGRU, input_size, hidden_size, generator, layer)
    if _known_start(init) == "tensorflow":
        _start_as_tensorflow_(made, kernels=(range(2), range(2, 3)), ones=range(2), generator=generator)  # r, z, n
    return made


def _known_start(init: str) -> str:
    if init not in ("torch", "tensorflow"):
        raise ValueError(f"init={init!r} is not known: choose 'torch' or 'tensorflow'")
    return init


@torch.no_grad()
def _start_as_tensorflow_(made: nn.RNNBase, *, kernels: tuple[range, ...], ones: range, generator: Generator) -> None:
    """Fill kernels of [x, h], each of some gates, by Glorot's uniform rule; biases become 0, of the gates `ones` 1."""
    if not made.bias:
        raise ValueError("init='tensorflow' sets biases: leave bias=True, or choose init='torch'")
    n = made.hidden_size
    for of_input, of_state, bias, second_bias in made.all_weights:
        for gates in kernels:
            rows = slice(gates.start * n, gates.stop * n)
            bound = math.sqrt(6 / (of_input.shape[1] + n + len(gates) * n))
            for weight in (of_input, of_state):
                initializers.fill_uniform_(weight[rows], -bound, bound, generator)
        bias.zero_()
        second_bias.zero_()
        bias[ones.start * n : ones.stop * n] = 1
