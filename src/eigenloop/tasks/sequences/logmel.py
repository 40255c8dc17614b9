"""Log-mel features: the logarithm of the energy of sound in mel bands, frame by frame."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eigenloop.tasks.options import at_least

#: Added to the energies before the logarithm, for samples between -1 and 1: silence is -13.8, not minus infinity.
FLOOR = 1e-6


@dataclass(frozen=True, kw_only=True)
class LogMel:
    """Frames of log-mel energies: log(M |FFT(w x)|^2 + 1e-6), with a Hann window w.

    Attributes:
        bands: number of triangular bands of M, equally spaced in mel (2595 log10(1 + f / 700)) from 0 to half the
            sample rate.
        frame_ms: length of a frame in milliseconds.
        hop_ms: time from one frame to the next in milliseconds.

    >>> LogMel(bands=20)(np.zeros(8000), rate=8000).shape
    (98, 20)
    """

    bands: int = 32
    frame_ms: float = 25.0
    hop_ms: float = 10.0

    def __post_init__(self) -> None:
        at_least("bands", self.bands, 1)
        for name, value in (("frame_ms", self.frame_ms), ("hop_ms", self.hop_ms)):
            if not 1 <= value <= 10_000:
                raise ValueError(f"{name} is between 1 and 10,000 milliseconds, got {value}")

    def __call__(self, samples: NDArray[np.float64], rate: int) -> NDArray[np.float32]:
        """Return the features, (frames, bands), of samples between -1 and 1; less than a frame is padded with zeros."""
        frame, hop = (max(1, round(rate * ms / 1000)) for ms in (self.frame_ms, self.hop_ms))
        padded = np.pad(samples, (0, max(0, frame - len(samples))))
        frames = np.lib.stride_tricks.sliding_window_view(padded, frame)[::hop]
        window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(frame) / frame)
        result = np.empty((len(frames), self.bands), np.float32)
        weights = _triangles(self.bands, frame, rate)
        for start in range(0, len(frames), 1024):  # in blocks, because all spectra of a long recording are large
            spectra = np.fft.rfft(frames[start : start + 1024] * window)
            power = spectra.real**2 + spectra.imag**2
            result[start : start + 1024] = np.log(power @ weights + FLOOR)
        return result


@functools.lru_cache(maxsize=4)
def _triangles(bands: int, frame: int, rate: int) -> NDArray[np.float64]:
    """Return M, (frequencies, bands): each rises from the previous band's centre to its own and falls to the next."""
    mels = np.linspace(0, 2595 * np.log10(1 + rate / 2 / 700), bands + 2)
    corners = 700 * (10 ** (mels / 2595) - 1)
    frequencies = np.fft.rfftfreq(frame, 1 / rate)[:, None]
    rising = (frequencies - corners[:-2]) / (corners[1:-1] - corners[:-2])
    falling = (corners[2:] - frequencies) / (corners[2:] - corners[1:-1])
    triangles = np.maximum(0, np.minimum(rising, falling))
    # A band narrower than the spacing of the frequencies may contain none of them: it gets the nearest.
    empty = np.flatnonzero(triangles.sum(0) == 0)
    triangles[np.abs(frequencies - corners[1:-1]).argmin(0)[empty], empty] = 1.0
    triangles.flags.writeable = False
    return triangles
