"""The base of el.GRU and el.LSTM: a recurrent matrix for each gate, stacked in torch's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from eigenloop.layers import options
from eigenloop.layers.base import RecurrentLayer
from eigenloop.matrices import Matrix


class Gates(nn.Module):
    """The recurrent matrices of one cell (nn.ModuleDict cannot hold an entry named ``update``)."""

    def __init__(self, matrices: Mapping[str, Matrix]) -> None:
        super().__init__()
        for name, matrix in matrices.items():
            self.add_module(name, matrix)

    def values(self) -> list[Matrix]:
        """Return the matrices in stacking order."""
        return [matrix for matrix in self.children() if isinstance(matrix, Matrix)]

    def forward(self) -> Tensor:
        """Build the matrices and stack them as torch does: (gates * n, n)."""
        return torch.cat([matrix() for matrix in self.values()])


class GatedLayer(RecurrentLayer):
    """A layer with several gates, each with a recurrent matrix that is constrained or free."""

    #: The gates in the order of torch's stacked weights.
    GATES: ClassVar[tuple[str, ...]]
    constrained: tuple[str, ...]

    def _choose_gates(self, constrained: Sequence[str] | str) -> None:
        self.constrained = (constrained,) if isinstance(constrained, str) else tuple(constrained)
        for gate in self.constrained:
            options.one_of("constrained gate", gate, self.GATES)

    def _add_gates(
        self,
        recurrent: options.Recurrent,
        generator: torch.Generator | None,
        device: torch.device | str | None,
        real: torch.dtype,
        biases: Sequence[str],
    ) -> None:
        """Create the parameters and matrices of every cell; `biases` are the names of its (gates * n,) biases."""
        count = len(self.GATES)
        for layer, _, cell in self._cells():
            m, n = self._sizes(layer)
            shapes: dict[str, tuple[tuple[int, ...], torch.dtype]] = {f"weight_ih{cell}": ((count * n, m), real)}
            for name in biases:
                shapes[name + cell] = ((count * n,), real)
            for name in self.CARRIED * self.train_initial_state:
                shapes[name + cell] = ((n,), real)
            self._add_parameters(device, shapes)
            wanted = {gate: recurrent if gate in self.constrained else "free" for gate in self.GATES}
            made = {gate: options.make_matrix(one, n, generator, device, real) for gate, one in wanted.items()}
            if any(matrix.is_complex for matrix in made.values()):
                raise ValueError(
                    f"gates are real, so el.{type(self).__name__} needs a real matrix: use el.RNN for a complex one"
                )
            self.add_module(f"recurrent{cell}", Gates(made))

    def _input_weight(self, cell: str) -> Tensor:
        return self._quantized_inputs(getattr(self, f"weight_ih{cell}"), parts=len(self.GATES))

    def _weight_hh(self, cell: str) -> Tensor:
        return self._quantized(getattr(self, f"recurrent{cell}")(), parts=len(self.GATES))

    def _matrix_of(self, layer: int, reverse: bool, gate: str) -> Tensor:
        options.one_of("gate", gate, self.GATES)
        W: Tensor = getattr(getattr(self, f"recurrent{self._cell_name(layer, reverse)}"), gate)()
        return self._quantized(W).clone()

    def _assign_weight_hh(self, matrices: nn.Module, weight: Tensor) -> None:
        assert isinstance(matrices, Gates)
        gates, name = matrices.values(), type(self).__name__
        n, rows = gates[0].n, gates[0].n * len(gates)
        if not isinstance(weight, Tensor):
            raise TypeError(f"a tensor is needed there, got {type(weight).__name__}")
        if weight.shape != (rows, n):
            raise ValueError(f"a {name} of hidden_size {n} has a {rows} x {n} matrix there, got {tuple(weight.shape)}")
        for gate, matrix, W in zip(self.GATES, gates, weight.chunk(len(gates)), strict=True):
            try:
                matrix.assign_(W)
            except ValueError as error:
                raise ValueError(f"{gate} gate: {error}") from error
