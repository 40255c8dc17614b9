"""Post-training quantization of the weights."""

from __future__ import annotations

from typing import TypeVar

from torch import nn

from eigenloop import bit_widths
from eigenloop.quantization.layer import QuantizableLayer
from eigenloop.quantization.layer_quantizer import Quantizer, made_quantizer
from eigenloop.quantization.readout import QuantizableReadout

M = TypeVar("M", bound=nn.Module)


def quantize_(
    network: M, bits: int | Quantizer | None, *, around_identity: bool = False, readout_bits: int | None = None
) -> M:
    """Quantize every U and every recurrent matrix of a trained network from now on.

    The underlying weights do not change, so that other widths can be tried, and training can continue with the
    quantized weights.

    Args:
        network: a layer or Model, changed in place and returned.
        bits: the bit width, 2 to 16, or a `Quantizer` with further options; None restores floating point.
        around_identity: the recurrent matrix becomes I + q(W - I).
        readout_bits: the bit width of the read-out of an `eigenloop.Model`; default: floating point, as in QORNN.

    Raises:
        ValueError: there is no recurrent layer of eigenloop, its matrix is complex, or there is no read-out.

    >>> import eigenloop as el
    >>> net = quantize_(el.Model(el.RNN(3, 8), 2), bits=4)
    >>> len(net.rnn.recurrent_matrix().unique()) <= 16
    True
    """
    quantizer = made_quantizer(bits, around_identity)
    layers = [module for module in network.modules() if isinstance(module, QuantizableLayer)]
    if not layers:
        raise ValueError(f"{type(network).__name__} has no recurrent layer of eigenloop to quantize")
    for layer in layers:
        if quantizer is not None and layer.state_dtype.is_complex:
            raise ValueError("a complex recurrent matrix cannot be quantized")
    readouts = [module for module in network.modules() if isinstance(module, QuantizableReadout)]
    if readout_bits is not None:
        bit_widths.WEIGHTS.checked(readout_bits, "readout_bits")
        if not readouts:
            raise ValueError("readout_bits is for an eigenloop.Model, and this is a layer without a read-out")
    for layer in layers:
        layer.quantizer = quantizer
    for model in readouts:
        model.readout_bits = readout_bits
    return network
