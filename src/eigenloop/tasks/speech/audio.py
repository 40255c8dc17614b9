"""Reading 16-bit mono audio, NIST SPHERE or RIFF whatever the file name, and resampling it from 16 to 8 kHz."""

from __future__ import annotations

import io
import wave
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError
from eigenloop.tasks.speech import sphere

#: Samples per second: of the corpus, and after resampling.
CORPUS_RATE, RATE = 16000, 8000


def signal(path: Path, data: bytes) -> NDArray[np.float64]:
    """Return the audio in the content of a file at 8 kHz, with full scale 1; `path` is for messages only.

    Raises:
        DataError: it is not 16-bit mono audio at 16 kHz, or is damaged.
    """
    if data.startswith(sphere.MAGIC):
        rate, samples = sphere.parse(path, data)
    elif data.startswith(b"RIFF"):
        rate, samples = _riff(path, data)
    else:
        raise DataError(path, "this is neither a NIST SPHERE nor a RIFF (wav) file: get it again")
    if rate != CORPUS_RATE:
        raise DataError(path, f"it has {rate:,} samples a second where TIMIT has {CORPUS_RATE:,}: use the original")
    if not samples.size:
        raise DataError(path, "it holds no samples: get it again")
    return halved(samples / 32768)


def halved(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the samples at half the rate, with the low-pass filter of Matlab's `resample` (Kaiser window, beta 5)."""
    # Importing scipy.signal takes as long as importing torch, and only speech needs it.
    from scipy.signal import resample_poly

    return resample_poly(samples, 1, CORPUS_RATE // RATE)


def _riff(path: Path, data: bytes) -> tuple[int, NDArray[np.int16]]:
    try:
        with wave.open(io.BytesIO(data)) as file:
            rate, expected = file.getframerate(), file.getnframes()
            shape = (file.getnchannels(), file.getsampwidth())
            content = file.readframes(expected)
    except (wave.Error, EOFError, RuntimeError) as error:  # the last from chunks that end beyond the file
        reason = f" ({error})" if str(error) else ""
        raise DataError(path, f"the RIFF header is cut off or damaged{reason}: get the file again") from error
    if shape != (1, 2):
        raise DataError(path, f"{shape[0]} x {8 * shape[1]} bits a sample where TIMIT has 1 x 16: use the original")
    available = len(content) // 2
    if available < expected:
        raise DataError(path, f"it is cut off: {expected:,} samples are expected and {available:,} found; get it again")
    return rate, np.frombuffer(content, np.int16, available)
