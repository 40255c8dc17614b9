"""Sound from .wav files: integer samples of 8, 16, 24 or 32 bits; several channels are averaged."""

from __future__ import annotations

import io
import wave
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError
from eigenloop.tasks.sequences import bounded


def samples(path: Path, limit: int) -> tuple[NDArray[np.float64], int]:
    """Return the samples, between -1 and 1, and the sample rate; raises DataError if the file is damaged."""
    data = bounded.content(path, limit)
    try:
        with wave.open(io.BytesIO(data)) as file:
            rate, channels, width = file.getframerate(), file.getnchannels(), file.getsampwidth()
            expected = file.getnframes()
            content = file.readframes(min(expected, len(data)))
    except Exception as error:  # chunks that end beyond the file raise other errors than wave.Error
        reason = f" ({error})" if str(error) else ""
        raise DataError(
            path, f"it is not a WAV file of whole numbers, or it is damaged{reason[:200]}: save it as 16-bit PCM"
        ) from error
    if not 1 <= width <= 4:
        raise DataError(path, f"it has {8 * width} bits a sample: save it with 8, 16, 24 or 32")
    frames = len(content) // (width * channels)
    if not 0 < frames == expected or not 100 <= rate <= 768_000:
        raise DataError(
            path,
            f"{expected:,} samples are expected and {frames:,} found, {rate:,} a second: it is cut off or damaged",
        )
    return _scaled(content[: frames * width * channels], width).reshape(frames, channels).mean(1), rate


def _scaled(content: bytes, width: int) -> NDArray[np.float64]:
    if width == 1:  # the only unsigned width
        return (np.frombuffer(content, np.uint8).astype(np.float64) - 128) / 128
    if width == 3:  # becomes the three high bytes of 32 bits
        wide = np.zeros((len(content) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(content, np.uint8).reshape(-1, 3)
        content, width = wide.tobytes(), 4
    whole = np.frombuffer(content, f"<i{width}").astype(np.float64)
    whole /= 2.0 ** (8 * width - 1)
    return whole
