"""What a recurrent layer is to a quantizer: its matrices are built first, and quantized before they are used."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping

import torch
from torch import Tensor, nn

from eigenloop.quantization.layer_quantizer import Quantizer
from eigenloop.quantization.state_quantizer import StateQuantizer


class QuantizableLayer(nn.Module):
    """A recurrent layer whose matrices can be quantized; the base of every layer of eigenloop."""

    #: How the matrices are quantized; None for floating point.
    quantizer: Quantizer | None
    #: How input, state and gates are rounded; None for floating point.
    state_quantizer: StateQuantizer | None
    #: While ranges are chosen: the tensors that were seen, by the name of the range that they need. Nothing is rounded.
    observed: dict[str, list[Tensor]] | None = None

    @property
    @abstractmethod
    def state_dtype(self) -> torch.dtype:
        """The dtype of the state, complex if W is."""

    @abstractmethod
    def round_state_(self, quantizer: StateQuantizer | None) -> None:
        """Round input, state and gates in this way from now on, with the ranges that it starts with."""

    @abstractmethod
    def carried_sizes(self) -> dict[str, int]:
        """Return how many numbers each cell carries from step to step, a complex one counting twice, by name."""

    @abstractmethod
    def _matrices(self) -> Iterable[nn.Module]:
        """Return the outermost matrices: those that the recurrence multiplies with."""

    @abstractmethod
    def cell_matrices(self) -> Mapping[str, Mapping[str, nn.Module]]:
        """Return the matrices of every cell, ``"recurrent_l0"``, by the rest of their names: ``""`` or ``".reset"``."""

    def active_quantizer(self) -> Quantizer | None:
        """Return the quantizer that is at work now; one for after training is so in evaluation only."""
        quantizer = self.quantizer
        return None if quantizer is None or (quantizer.post_training and self.training) else quantizer

    def quantized_matrices(self) -> Iterator[Tensor]:
        """Yield q(W) of every recurrent matrix; nothing where the layer is not quantized."""
        if self.quantizer is not None:
            for matrix in self._matrices():
                yield self.quantizer.recurrent(matrix())

    def _quantized_inputs(self, U: Tensor, parts: int = 1) -> Tensor:
        """Quantize an input weight, each of its parts (those of a GRU's gates) by itself."""
        quantizer = self.active_quantizer()
        return U if quantizer is None else _joined_rows([quantizer.input(part) for part in U.chunk(parts)])

    def _quantized(self, W: Tensor, parts: int = 1) -> Tensor:
        """Quantize a recurrent matrix, or each of several that stand one above the other."""
        quantizer = self.active_quantizer()
        return W if quantizer is None else _joined_rows([quantizer.recurrent(part) for part in W.chunk(parts)])


def _joined_rows(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)
