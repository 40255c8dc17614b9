"""Recurrent networks in few bits: QORNN's quantizer, for training with quantized weights or after training."""

from __future__ import annotations

from eigenloop.quantization.calibration import calibrate_, calibrating
from eigenloop.quantization.coded_matrices import Codes, network_codes
from eigenloop.quantization.conditioning import Departure, departure, singular_ratio
from eigenloop.quantization.layer_quantizer import Quantizer
from eigenloop.quantization.post_training import quantize_
from eigenloop.quantization.quantizer import codes, quantize
from eigenloop.quantization.size import SizeReport, size_report
from eigenloop.quantization.state_quantizer import StateQuantizer

__all__ = [
    "Codes",
    "Departure",
    "Quantizer",
    "SizeReport",
    "StateQuantizer",
    "calibrate_",
    "calibrating",
    "codes",
    "departure",
    "network_codes",
    "quantize",
    "quantize_",
    "singular_ratio",
    "size_report",
]
