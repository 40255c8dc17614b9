"""Recurrent networks in few bits: the quantizer of QORNN, in a layer while it trains or applied to a trained one."""

from __future__ import annotations

from eigenloop.quantization.in_layer import Quantizer
from eigenloop.quantization.post_training import quantize_
from eigenloop.quantization.quantizer import codes, quantize

__all__ = ["Quantizer", "codes", "quantize", "quantize_"]
