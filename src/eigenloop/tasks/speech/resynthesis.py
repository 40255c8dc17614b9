"""Sound from predicted frames: their magnitudes with the phases of the true ones (Wisdom et al. 2016, section 5.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from eigenloop.tasks.speech.spectrogram import decibels, inverse, magnitude, stft


def resynthesis(net: Callable[[Tensor], tuple[Tensor, Any]], signal: NDArray[np.float64]) -> NDArray[np.float64]:
    """Let a network predict every frame but the first, which is the true one, from those before, and add them up.

    Not even a perfect prediction gives the signal back, because the floor under the power is never taken off.

    Args:
        net: takes (T, 1, 129) in dB and returns outputs of that shape and anything else.
        signal: the true one, at 8 kHz.
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
    """Put the inputs where a module has its parameters, in their precision."""
    parameters = net.parameters() if isinstance(net, nn.Module) else ()
    return next((inputs.to(parameter) for parameter in parameters if parameter.is_floating_point()), inputs)
