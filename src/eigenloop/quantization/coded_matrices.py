"""The whole numbers that a quantized network computes with, and their steps: what a device stores."""

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
    """A quantized matrix, numbers * step / divisor, plus I where it was quantized around the identity.

    Attributes:
        numbers: -2^(k-1) .. 2^(k-1) - 1, as int32.
        step: of the whole matrix, (), or of every row, (rows, 1).
        bits: k.
        divisor: the norm or radius by which the matrix is divided (`Quantizer.normalise`); None where it is not.
        around_identity: whether I is added, before the division.
    """

    numbers: Tensor
    step: Tensor
    bits: int
    divisor: Tensor | None = None
    around_identity: bool = False

    def matrix(self) -> Tensor:
        """Return the matrix that the network uses, to the last bit."""
        weights = self.numbers.to(self.step.dtype) * self.step
        if self.around_identity:
            weights = torch.eye(len(weights), dtype=weights.dtype, device=weights.device) + weights
        return weights if self.divisor is None else weights / self.divisor


@torch.no_grad()
def network_codes(network: nn.Module) -> dict[str, Codes]:
    """Return the codes of every matrix that a network quantizes in evaluation, by the names of `size_report`.

    Quantizing `recurrent_matrix()` again need not give them: that matrix is quantized already, and a largest entry
    that was cut off makes the next step smaller.

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
