"""The transform against explicit sums and scipy's, and its inverse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import ShortTimeFFT
from scipy.signal.windows import hann
from tasks.speech.recordings import noise

from eigenloop.tasks.speech.spectrogram import SILENCE, decibels, inverse, magnitude, stft


def test_the_transform_is_the_sum_of_its_definition() -> None:
    signal = noise(333) / 32768
    padded = np.concatenate([np.zeros(256), signal, np.zeros(51 + 256)])
    times = np.arange(256)
    window = 0.5 * (1 - np.cos(2 * np.pi * times / 256))
    frames = [
        [(padded[start : start + 256] * window * np.exp(-2j * np.pi * k * times / 256)).sum() for k in range(129)]
        for start in range(0, len(padded) - 255, 128)
    ]
    np.testing.assert_allclose(stft(signal), frames, atol=1e-12)


def test_the_transform_is_scipys() -> None:
    signal = noise(1000) / 32768
    padded = np.pad(signal, (256, 256 + 24))
    transform = ShortTimeFFT(hann(256, sym=False), 128, 8000, phase_shift=None)
    theirs = transform.stft(padded, p0=1, p1=len(padded) // 128).T
    np.testing.assert_allclose(stft(signal), theirs, atol=1e-12)


@given(length=st.integers(1, 2000), seed=st.integers(0, 9))
def test_the_inverse_is_exact(length: int, seed: int) -> None:
    signal = noise(length, seed) / 32768
    frames = stft(signal)
    assert frames.shape == (-(-length // 128) + 3, 129)
    np.testing.assert_allclose(inverse(frames, length), signal, atol=1e-12)


def test_decibels_of_silence_and_of_a_known_power() -> None:
    assert SILENCE == -50
    found = decibels(np.array([0, 3 + 4j, 1e-3j]))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [-50, 10 * np.log10(25.00001), 10 * np.log10(1.1e-5)], rtol=1e-6)
    np.testing.assert_allclose(magnitude(found) ** 2, [1e-5, 25.00001, 1.1e-5], rtol=1e-5)


def test_a_frame_of_zeros_stands_at_either_end() -> None:
    features = decibels(stft(noise(512) / 32768))
    assert (features[[0, -1]] == -50).all()
    assert (features[1:-1] > -50).all()


@pytest.mark.parametrize("value", [4000.0, 1e9])
def test_huge_features_overflow_without_a_warning(value: float) -> None:
    assert magnitude(np.array([value]))[0] > 1e100
