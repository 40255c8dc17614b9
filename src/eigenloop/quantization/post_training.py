"""Quantizing a network that is trained already."""

from __future__ import annotations

from typing import TypeVar

from torch import nn

from eigenloop.quantization.in_layer import Quantizer, made_quantizer

M = TypeVar("M", bound=nn.Module)


def quantize_(network: M, bits: int | Quantizer | None, *, around_identity: bool = False) -> M:
    """Quantize every U and every recurrent matrix of a trained network from now on; None goes back to floating point.

    The weights themselves stay as they are, so that other widths can be tried and training can go on through it.

    >>> import eigenloop as el
    >>> net = quantize_(el.Model(el.RNN(3, 8), 2), bits=4)
    >>> len(net.rnn.recurrent_matrix().unique()) <= 16
    True
    """
    quantizer = made_quantizer(bits, around_identity)
    layers = [module for module in network.modules() if hasattr(module, "quantizer")]
    if not layers:
        raise ValueError(f"{type(network).__name__} has no recurrent layer of eigenloop to quantize")
    for layer in layers:
        if quantizer is not None and layer.state_dtype.is_complex:
            raise ValueError("a complex recurrent matrix cannot be quantized")
    for layer in layers:
        layer.quantizer = quantizer  # type: ignore[assignment]
    return network
