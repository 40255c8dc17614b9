"""The published models with a gated recurrence, and their baselines GRU and LSTM."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from eigenloop import initializers
from eigenloop.layers import GRU, LSTM
from eigenloop.layers.gated import GatedLayer, Gates
from eigenloop.matrices import Free, Givens, NeumannCayley
from eigenloop.recipes.own_matrix import own_matrix, with_matrix
from eigenloop.recipes.starts import (
    Generator,
    Size,
    constant_,
    parameters_of,
    uniform_,
)


@own_matrix("negative", "order", "reset_every", "tolerance", "exact")
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
    made = GRU(input_size, hidden_size, constrained=constrained, generator=generator, **with_matrix(matrix, layer))
    for cell, matrices in made.named_children():
        U = made.get_parameter(cell.replace("recurrent", "weight_ih"))
        m, n = U.shape[1], U.shape[0] // 3
        # The kernel of both gates acts on [x, h], that of the candidate on x alone.
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


@own_matrix("style", "capacity")
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
    made = GRU(input_size, hidden_size, generator=generator, **with_matrix(matrix, layer))
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


def lstm(input_size: int, hidden_size: Size, *, init: str = "torch", generator: Generator = None, **layer: Any) -> LSTM:
    """The papers' LSTM baseline: torch's equations and initialisation.

    ``init="tensorflow"`` initialises it like BasicLSTMCell, the baseline of scoRNN, ENRNN and NC-GRU: Glorot uniform
    for the joint kernel of input and state, biases 0, except for 1 in the forget gate.
    """
    layer = {"constrained": ("cell",) * ("recurrent" in layer), **layer}
    made = _unstarted(LSTM, input_size, hidden_size, generator, layer)
    _start_(made, init, kernels=(range(4),), ones=range(1, 2), generator=generator)  # gates i, f, g, o
    return made


def gru(input_size: int, hidden_size: Size, *, init: str = "torch", generator: Generator = None, **layer: Any) -> GRU:
    """The papers' GRU baseline: torch's equations and initialisation, all matrices free.

    ``init="tensorflow"`` initialises it like GRUCell: Glorot uniform for one joint kernel of both gates and one of the
    candidate, gate biases 1, the candidate's bias 0.
    """
    layer = {"constrained": ("candidate",) * ("recurrent" in layer), **layer}
    made = _unstarted(GRU, input_size, hidden_size, generator, layer)
    _start_(made, init, kernels=(range(2), range(2, 3)), ones=range(2), generator=generator)  # r, z, n
    return made


L = TypeVar("L", bound=GatedLayer)


def _unstarted(
    kind: Callable[..., L], input_size: int, hidden_size: Size, generator: Generator, layer: dict[str, Any]
) -> L:
    """Return a layer whose weights will be drawn again, except those of constrained gates."""
    if layer.get("constrained"):
        return kind(input_size, hidden_size, generator=generator, **layer)
    with torch.random.fork_rng(devices=[]):
        return kind(input_size, hidden_size, **layer)


@torch.no_grad()
def _start_(made: GatedLayer, init: str, *, kernels: tuple[range, ...], ones: range, generator: Generator) -> None:
    """Draw all weights, except those of constrained gates, by torch's rule and in its order, or by TensorFlow's rule.

    torch's rule is U(-1/sqrt n, 1/sqrt n) for all. TensorFlow's is Glorot uniform for each kernel, which acts on [x, h]
    and belongs to one or several gates; biases are 0, except for 1 in the gates `ones`.
    """
    if init not in ("torch", "tensorflow"):
        raise ValueError(f"init={init!r} is not known: choose 'torch' or 'tensorflow'")
    if init == "tensorflow" and not hasattr(made, "bias_ih_l0"):
        raise ValueError("init='tensorflow' sets torch's two biases: leave bias and tanh, or choose init='torch'")
    cells = [_Stacked(made, name) for name, _ in made.named_children()]
    for cell in cells:  # as torch's layers do from torch's generator, so that later draws agree too
        for parameter in cell.parameters():
            parameter.uniform_(-1 / math.sqrt(cell.n), 1 / math.sqrt(cell.n))
    for cell in cells if generator is not None else ():
        for parameter in cell.parameters():
            initializers.fill_uniform_(parameter, -1 / math.sqrt(cell.n), 1 / math.sqrt(cell.n), generator)
    for cell in cells if init == "tensorflow" else ():
        for gates in kernels:
            rows = slice(gates.start * cell.n, gates.stop * cell.n)
            bound = math.sqrt(6 / (cell.of_input.shape[1] + cell.n + len(gates) * cell.n))
            for weight in (cell.of_input, cell.of_state):
                initializers.fill_uniform_(weight[rows], -bound, bound, generator)
        for bias in cell.biases:
            bias.zero_()
        cell.biases[0][ones.start * cell.n : ones.stop * cell.n] = 1
    for cell in cells:
        cell.unstack_()


class _Stacked:
    """The weights of one cell in torch's layout: U, the stacked W, and the biases."""

    def __init__(self, layer: GatedLayer, name: str) -> None:
        gates = layer.get_submodule(name)
        assert isinstance(gates, Gates)
        self._matrices = gates.values()
        self.n = self._matrices[0].n
        self.of_input = layer.get_parameter(name.replace("recurrent", "weight_ih"))
        self.of_state = self.of_input.new_empty(len(self.of_input), self.n)
        names = (name.replace("recurrent", bias) for bias in ("bias_ih", "bias_hh"))
        self.biases = [layer.get_parameter(bias) for bias in names if hasattr(layer, bias)]

    def parameters(self) -> list[Tensor]:
        """Return the weights in torch's order."""
        return [self.of_input, self.of_state, *self.biases]

    def unstack_(self) -> None:
        """Copy the stacked W to the matrices of the free gates."""
        for matrix, W in zip(self._matrices, self.of_state.chunk(len(self._matrices)), strict=True):
            if isinstance(matrix, Free):
                matrix.weight.copy_(W)
