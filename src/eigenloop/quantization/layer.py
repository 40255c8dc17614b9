"""The base of recurrent layers with quantization: their matrices are built, then quantized, then used."""

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
    #: During calibration, in which nothing is rounded: the observed tensors, by the name of their range; else None.
    observed: dict[str, list[Tensor]] | None = None

    @property
    @abstractmethod
    def state_dtype(self) -> torch.dtype:
        """The dtype of the state, complex if W is."""

    @abstractmethod
    def round_state_(self, quantizer: StateQuantizer | None) -> None:
        """Round input, state and gates with `quantizer` from now on, starting with its ranges; None: no rounding."""

    @abstractmethod
    def carried_sizes(self) -> dict[str, int]:
        """Return how many numbers each cell carries from step to step, by name; a complex number counts twice."""

    @abstractmethod
    def _matrices(self) -> Iterable[nn.Module]:
        """Return the matrices that the recurrence multiplies by, not those that are part of another matrix."""

    @abstractmethod
    def cell_matrices(self) -> Mapping[str, Mapping[str, nn.Module]]:
        """Return the recurrent matrices by cell (``"recurrent_l0"``) and gate (``".reset"``; ``""`` without gates)."""

    def active_quantizer(self) -> Quantizer | None:
        """Return the quantizer in use; a post-training quantizer is used in evaluation mode only."""
        quantizer = self.quantizer
        return None if quantizer is None or (quantizer.post_training and self.training) else quantizer

    def quantized_matrices(self) -> Iterator[Tensor]:
        """Yield q(W) of every recurrent matrix; nothing if the layer is not quantized."""
        if self.quantizer is not None:
            for matrix in self._matrices():
                yield self.quantizer.recurrent(matrix())

    def _quantized_inputs(self, U: Tensor, parts: int = 1) -> Tensor:
        """Quantize an input weight, separately for each of its `parts` (the gates of a GRU)."""
        quantizer = self.active_quantizer()
        return U if quantizer is None else _joined_rows([quantizer.input(part) for part in U.chunk(parts)])

    def _quantized(self, W: Tensor, parts: int = 1) -> Tensor:
        """Quantize a recurrent matrix, or each of several stacked ones."""
        quantizer = self.active_quantizer()
        return W if quantizer is None else _joined_rows([quantizer.recurrent(part) for part in W.chunk(parts)])


def _joined_rows(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)
