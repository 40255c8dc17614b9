"""Short-time Fourier transform as in Wisdom et al. 2016, its inverse, and power in decibels.

Windows have 256 samples (periodic Hann) and start every 128. The signal is padded with zeros to a multiple of 128, and
with 256 more at either end, so that every sample lies in two windows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

#: Samples in a window, samples between the starts of windows, and frequencies of a frame.
WINDOW, HOP, BINS = 256, 128, 129
#: Added to the power before the logarithm; it determines the decibels of silence.
FLOOR = 1e-5
SILENCE = 10 * math.log10(FLOOR)

_HANN = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)


def stft(signal: NDArray[np.float64]) -> NDArray[np.complex128]:
    """Return the transform of a signal of L samples: ceil(L / 128) + 3 frames of 129 complex numbers.

    >>> stft(np.ones(300)).shape
    (6, 129)
    """
    padded = np.pad(signal, (WINDOW, WINDOW + -len(signal) % HOP))
    windows = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP]
    return np.fft.rfft(windows * _HANN)


def inverse(frames: NDArray[np.complex128], length: int) -> NDArray[np.float64]:
    """Return the signal of `length` samples whose `stft` is nearest to the frames (Griffin, Lim 1984, eq. 6).

    Each frame is multiplied by the window again, and the overlapping sum is divided by that of the squared windows.
    """
    pieces = np.fft.irfft(frames, WINDOW) * _HANN
    signal = np.zeros((len(frames) + 1, HOP))
    signal[:-1] += pieces[:, :HOP]
    signal[1:] += pieces[:, HOP:]
    signal /= _HANN[:HOP] ** 2 + _HANN[HOP:] ** 2
    return signal.ravel()[WINDOW : WINDOW + length]


def decibels(frames: NDArray[np.complex128]) -> NDArray[np.float32]:
    """Return 10 log10(1e-5 + |X|^2), the input features of the network."""
    power = frames.real**2 + frames.imag**2
    return (10 * np.log10(FLOOR + power)).astype(np.float32)


def magnitude(features: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return sqrt(10^(dB / 10)), as in the papers: the floor of `decibels` is not subtracted."""
    with np.errstate(over="ignore"):
        return 10 ** (features.astype(np.float64) / 20)
