"""The quality of resynthesised speech: segmental SNR, STOI and PESQ, at 8 kHz."""

from __future__ import annotations

import importlib.util
import math
import warnings
from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from eigenloop.tasks.speech.audio import RATE
from eigenloop.tasks.tally import Tally

#: Measures that need a library, with its name.
LIBRARIES = {"stoi": "pystoi", "pesq": "pesq"}
#: Limit of the SNR of a frame in decibels, and samples in a frame of 10 ms.
SNR_LIMIT, SNR_FRAME = 100.0, RATE // 100


def missing_libraries() -> str | None:
    """Return a sentence that says which measures need a library that is not installed; None if all are available."""
    missing = {measure: library for measure, library in LIBRARIES.items() if importlib.util.find_spec(library) is None}
    if not missing:
        return None
    measures, libraries = (" and ".join(names) for names in (map(str.upper, missing), missing.values()))
    return f"{measures} left out, because {libraries} is not installed: pip install 'eigenloop[speech]'"


def mean_scores(pairs: Iterable[tuple[NDArray[np.float64], NDArray[np.float64]]]) -> dict[str, float]:
    """Return the mean of each measure over pairs of reference and estimate.

    Pairs for which STOI or PESQ is not defined are skipped, and counted as `stoi_skipped` and `pesq_skipped`.
    """
    tally, skipped = Tally(), Counter[str]()
    for reference, estimate in pairs:
        for measure, value in scores(reference, estimate).items():
            tally.add(Tally(**{measure: (0.0, 0.0) if value is None else (value, 1.0)}))
            if measure in LIBRARIES:
                skipped[f"{measure}_skipped"] += value is None
    return tally.means() | {name: float(count) for name, count in skipped.items()}


def scores(reference: NDArray[np.float64], estimate: NDArray[np.float64]) -> dict[str, float | None]:
    """Return all measures whose libraries are installed; None for one that is not defined for these signals.

    All measures of an estimate with infinities or NaN are NaN.
    """
    installed = [name for name, library in LIBRARIES.items() if importlib.util.find_spec(library) is not None]
    if not np.isfinite(estimate).all():
        return dict.fromkeys(("segsnr", *installed), math.nan)
    measures: dict[str, float | None] = {"segsnr": segmental_snr(reference, estimate)}
    for name in installed:
        measures[name] = {"stoi": stoi, "pesq": pesq}[name](reference, estimate)
    return measures


def segmental_snr(reference: NDArray[np.float64], estimate: NDArray[np.float64]) -> float:
    """Return the mean of 10 log10(sum r^2 / sum (s - r)^2) over complete frames of 10 ms.

    The value of a frame is limited to +-100 dB: 100 without any error, -100 if the reference is silent. This is
    voicebox's `snrseg` in its mode ``"wz"``. The papers use its default mode ``"Vq"``, which leaves out frames without
    speech and shifts each frame by up to a sample, so their figures are not on the same scale.

    >>> speech = np.sin(np.arange(8000.0))
    >>> round(segmental_snr(speech, 0.9 * speech), 6)
    20.0
    """
    count = len(reference) // SNR_FRAME * SNR_FRAME
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        power = np.square(reference[:count]).reshape(-1, SNR_FRAME).sum(1)
        error = np.square(estimate[:count] - reference[:count]).reshape(-1, SNR_FRAME).sum(1)
        ratios = 10 * np.log10(power / error)
    ratios[power == 0], ratios[error == 0] = -SNR_LIMIT, SNR_LIMIT
    return float(ratios.clip(-SNR_LIMIT, SNR_LIMIT).mean()) if count else math.nan


def stoi(reference: NDArray[np.float64], estimate: NDArray[np.float64]) -> float | None:
    """Return the short-time objective intelligibility (Taal et al. 2011); None for less than 0.4 s of speech."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pystoi

        warnings.filterwarnings("error", "Not enough STFT frames")
        try:
            return float(pystoi.stoi(reference, estimate, RATE))
        except (RuntimeWarning, ValueError):  # pystoi slices an empty array if there is less than a frame
            return None


def pesq(reference: NDArray[np.float64], estimate: NDArray[np.float64]) -> float | None:
    """Return narrow-band PESQ (ITU-T P.862) as MOS-LQO (P.862.1), at most 4.55; None if there is no speech."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pesq import PesqError
        from pesq import pesq as score

        try:
            return float(score(RATE, reference, estimate, "nb"))
        except (PesqError, ValueError):  # a silent estimate makes pesq convert NaN to an integer
            return None
