"""Speech from predicted frames: their magnitudes with the phases of the true ones (Wisdom et al. 2016, section 5.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from eigenloop.tasks.speech.spectrogram import decibels, inverse, magnitude, stft


def resynthesis(net: Callable[[Tensor], tuple[Tensor, Any]], signal: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the signal synthesised from the frames that a network predicts, each from the true frames before it.

    The first frame is the true one. Even a perfect prediction does not reproduce the signal exactly, because the floor
    that `decibels` adds to the power is not removed.

    Args:
        net: maps (T, 1, 129) in dB to a tuple whose first entry is outputs of that shape.
        signal: the true signal, at 8 kHz.

    Raises:
        ValueError: the outputs have another shape.
    """
    frames = stft(signal)
    inputs = torch.from_numpy(decibels(frames[:-1]))[:, None]
    with torch.no_grad():
        outputs = net(_moved(inputs, net))[0]
    if outputs.shape != inputs.shape:
        raise ValueError(f"the network must return {tuple(inputs.shape)} for as much, got {tuple(outputs.shape)}")
    predicted = magnitude(outputs[:, 0].double().cpu().numpy())
    phases = np.exp(1j * np.angle(frames[1:]))
    with np.errstate(invalid="ignore", over="ignore"):
        return inverse(np.concatenate([frames[:1], predicted * phases]), len(signal))


def _moved(inputs: Tensor, net: object) -> Tensor:
    """Return the inputs on the device and with the dtype of a module's parameters."""
    parameters = net.parameters() if isinstance(net, nn.Module) else ()
    return next((inputs.to(parameter) for parameter in parameters if parameter.is_floating_point()), inputs)
