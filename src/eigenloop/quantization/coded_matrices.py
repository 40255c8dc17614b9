"""The integer codes and steps of a quantized network's matrices, as a device stores them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from eigenloop.quantization.layer import QuantizableLayer
from eigenloop.quantization.layer_quantizer import Quantizer
from eigenloop.quantization.quantizer import codes
from eigenloop.quantization.readout import QuantizableReadout


@dataclass(frozen=True)
class Codes:
    """A quantized matrix: numbers * step, plus I if it is quantized around the identity, divided by `divisor`.

    Attributes:
        numbers: integer codes in -2^(k-1) .. 2^(k-1) - 1, as int32.
        step: step of the matrix, (), or of each row, (rows, 1).
        bits: k.
        divisor: the norm or spectral radius by which the matrix is divided (`Quantizer.normalise`), or None.
        around_identity: whether I is added, before the division.
    """

    numbers: Tensor
    step: Tensor
    bits: int
    divisor: Tensor | None = None
    around_identity: bool = False

    def matrix(self) -> Tensor:
        """Return the matrix that the network uses, bit for bit."""
        weights = self.numbers.to(self.step.dtype) * self.step
        if self.around_identity:
            weights = torch.eye(len(weights), dtype=weights.dtype, device=weights.device) + weights
        return weights if self.divisor is None else weights / self.divisor


@torch.no_grad()
def network_codes(network: nn.Module) -> dict[str, Codes]:
    """Return the codes of every matrix that a network quantizes in evaluation, by the names in `size_report`.

    Quantizing `recurrent_matrix()` again may give other codes: that matrix is already quantized, and if its largest
    entry was clamped, the new step is smaller.

    >>> import eigenloop as el
    >>> rnn = el.RNN(3, 8, bits=4)
    >>> matrix_codes = network_codes(rnn)
    >>> list(matrix_codes)
    ['weight_ih_l0', 'recurrent_l0']
    >>> torch.equal(matrix_codes["recurrent_l0"].matrix(), rnn.recurrent_matrix())
    True
    """
    matrix_codes: dict[str, Codes] = {}
    for name, module in network.named_modules():
        prefix = f"{name}." if name else ""
        if isinstance(module, QuantizableLayer) and module.quantizer is not None:
            matrix_codes |= {prefix + key: value for key, value in _layer(module, module.quantizer).items()}
        if isinstance(module, QuantizableReadout) and module.readout_bits is not None:
            matrix_codes[f"{prefix}readout.weight"] = _coded(module.readout.weight, Quantizer(module.readout_bits))
    if not matrix_codes:
        name = type(network).__name__
        raise ValueError(f"this {name} is not quantized: build it with bits=, or call quantization.quantize_ first")
    return matrix_codes


def _layer(layer: QuantizableLayer, quantizer: Quantizer) -> dict[str, Codes]:
    matrix_codes = {}
    for name, matrices in layer.cell_matrices().items():
        inputs = name.replace("recurrent", "weight_ih")
        if hasattr(layer, inputs):
            for ending, U in zip(matrices, getattr(layer, inputs).chunk(len(matrices)), strict=True):
                matrix_codes[inputs + ending] = _coded(U, quantizer)
        for ending, matrix in matrices.items():
            matrix_codes[name + ending] = _recurrent(matrix(), quantizer)
    return matrix_codes


def _coded(U: Tensor, quantizer: Quantizer) -> Codes:
    numbers, step = codes(U, quantizer.bits, quantizer.per_row)
    return Codes(numbers.to(torch.int32), step, quantizer.bits)


def _recurrent(W: Tensor, quantizer: Quantizer) -> Codes:
    eye = torch.eye(len(W), dtype=W.dtype, device=W.device)
    around = quantizer.around_identity
    coded = _coded(W - eye if around else W, quantizer)
    undivided = Codes(coded.numbers, coded.step, coded.bits, None, around)
    return Codes(coded.numbers, coded.step, coded.bits, quantizer.divisor(undivided.matrix()), around)
