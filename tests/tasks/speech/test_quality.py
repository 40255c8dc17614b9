"""Segmental SNR in closed form, STOI and PESQ at their ends, and what happens without the libraries."""

import itertools
import math
import sys

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tasks.speech.recordings import real_data
from torch import Tensor, nn

from eigenloop.tasks.speech.corpus import find_corpus
from eigenloop.tasks.speech.quality import mean_scores, missing_libraries, pesq, scores, segmental_snr, stoi
from eigenloop.tasks.speech.resynthesis import resynthesis
from eigenloop.tasks.speech.spectrogram import decibels, inverse, magnitude, stft

Signal = NDArray[np.float64]


@pytest.fixture
def speech() -> Signal:
    """Noise in syllables, two seconds."""
    time = np.arange(16000) / 8000
    return np.random.default_rng(0).normal(size=16000) * 0.1 * (1.1 + np.sin(2 * np.pi * 4 * time))


@pytest.mark.parametrize(("scale", "expected"), [(0.9, 20), (1.1, 20), (0, 0), (0.5, 20 * math.log10(2)), (2, 0)])
def test_segmental_snr_of_a_scaled_signal(speech: Signal, scale: float, expected: float) -> None:
    assert segmental_snr(speech, scale * speech) == pytest.approx(expected, abs=1e-9)


def test_segmental_snr_against_a_loop(speech: Signal) -> None:
    reference, estimate = speech[:1234], speech[:1234] + np.random.default_rng(1).normal(size=1234) * 0.05
    frames = []
    for start in range(0, 1200, 80):
        r, s = reference[start : start + 80], estimate[start : start + 80]
        frames.append(10 * math.log10(sum(r**2) / sum((s - r) ** 2)))
    assert segmental_snr(reference, estimate) == pytest.approx(sum(frames) / 15, rel=1e-9)


@pytest.mark.parametrize(
    ("reference", "estimate", "expected"),
    [(0.0, 0.0, 100), (0.0, 1.0, -100), (1.0, 1.0, 100), (1.0, 1 + 1e-9, 100), (1.0, 1e9, -100), (1.0, 1e200, -100)],
)
def test_segmental_snr_is_bounded(reference: float, estimate: float, expected: float) -> None:
    assert segmental_snr(np.full(160, reference), np.full(160, estimate)) == expected


def test_the_signal_itself_scores_the_most(speech: Signal) -> None:
    pytest.importorskip("pystoi")
    pytest.importorskip("pesq")
    found = mean_scores([(speech, speech), (speech, 0.5 * speech)])
    assert found["stoi"] == pytest.approx(1, abs=1e-9)
    # P.862.1 maps the raw maximum of 4.5 to this.
    assert found["pesq"] == pytest.approx(0.999 + 4 / (1 + math.exp(-1.4945 * 4.5 + 4.6607)), abs=1e-4)
    assert found["segsnr"] == pytest.approx((100 + 20 * math.log10(2)) / 2)
    assert found["stoi_skipped"] == found["pesq_skipped"] == 0


def test_more_noise_scores_less(speech: Signal) -> None:
    error = np.random.default_rng(1).normal(size=len(speech))
    found = [scores(speech, speech + scale * error) for scale in (0.01, 0.1, 1.0)]
    for measure in found[0]:
        one, two, three = (score[measure] for score in found)
        assert one is not None
        assert two is not None
        assert three is not None
        assert one > two > three


@pytest.mark.parametrize("length", [1, 100, 500, 1000])
def test_what_is_too_short_is_skipped_and_counted(speech: Signal, length: int) -> None:
    pytest.importorskip("pystoi")
    pytest.importorskip("pesq")
    short = speech[:length]
    assert stoi(short, short) is None
    assert pesq(short, short) is None
    found = mean_scores([(short, short), (speech, speech)])
    assert found["stoi"] == pytest.approx(1, abs=1e-9)
    assert found["stoi_skipped"] == found["pesq_skipped"] == 1


def test_silence_has_no_pesq(speech: Signal) -> None:
    pytest.importorskip("pesq")
    assert pesq(np.zeros(8000), np.zeros(8000)) is None
    assert pesq(speech, np.zeros_like(speech)) is None


@pytest.mark.parametrize("library", ["pystoi", "pesq"])
def test_without_a_library_its_measure_is_absent(monkeypatch: pytest.MonkeyPatch, speech: Signal, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    measure = library.removeprefix("py")
    assert measure not in mean_scores([(speech, speech)])
    sentence = missing_libraries()
    assert sentence is not None
    assert measure.upper() in sentence
    assert "pip install 'eigenloop[speech]'" in sentence


def test_with_all_libraries_nothing_is_missing() -> None:
    pytest.importorskip("pystoi")
    pytest.importorskip("pesq")
    assert missing_libraries() is None


def test_true_magnitudes_and_phases_give_the_signal_back(speech: Signal) -> None:
    frames = stft(speech)
    again = inverse(np.abs(frames) * np.exp(1j * np.angle(frames)), len(speech))
    found = scores(speech, again)
    assert found["segsnr"] == 100
    assert found.get("stoi", 1.0) == pytest.approx(1, abs=1e-9)


def test_a_network_that_knows_the_next_frame_gives_the_signal_back(speech: Signal) -> None:
    """Up to the floor under the power, which its decibels keep: about 1e-5 against 0.01 x 96."""
    following = torch.from_numpy(decibels(stft(speech)))[1:, None]
    estimate = resynthesis(lambda inputs: (following, None), speech)
    found = scores(speech, estimate)
    assert found["segsnr"] is not None
    assert found["segsnr"] > 40
    assert found.get("stoi", 1.0) == pytest.approx(1, abs=1e-3)


def test_resynthesis_is_its_definition(speech: Signal) -> None:
    """Repeating the frame before: magnitudes of frame t - 1, phases of frame t, frame 0 as it is."""
    frames = stft(speech)
    built = [frames[0]]
    for before, now in itertools.pairwise(frames):
        phase = np.where(now == 0, 1, now / np.where(now == 0, 1, np.abs(now)))
        built.append(np.sqrt(10 ** (decibels(before).astype(float) / 10)) * phase)
    window = np.sin(np.pi * np.arange(256) / 256) ** 2
    signal, weight = np.zeros((2, 128 * (len(built) + 1)))
    for number, frame in enumerate(built):
        signal[128 * number : 128 * number + 256] += window * np.fft.irfft(frame)
        weight[128 * number : 128 * number + 256] += window**2
    expected = (signal / np.maximum(weight, 1e-9))[256 : 256 + len(speech)]
    np.testing.assert_allclose(resynthesis(lambda inputs: (inputs, None), speech), expected, atol=1e-6)


def test_a_module_gets_its_inputs_in_its_precision_and_no_gradient(speech: Signal) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(129, 129, dtype=torch.float64)

        def forward(self, inputs: Tensor) -> tuple[Tensor, None]:
            outputs = self.inner(inputs)
            assert not outputs.requires_grad
            return outputs, None

    assert np.isfinite(resynthesis(Net(), speech)).all()


def test_outputs_of_another_shape_are_refused(speech: Signal) -> None:
    with pytest.raises(ValueError, match=r"must return \(127, 1, 129\) for as much, got \(1, 129\)"):
        resynthesis(lambda inputs: (inputs[-1], None), speech)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_network_that_diverged_scores_nan(speech: Signal, value: float) -> None:
    estimate = resynthesis(lambda inputs: (torch.full_like(inputs, value), None), speech)
    assert all(score is not None and math.isnan(score) for score in scores(speech, estimate).values())


@pytest.mark.parametrize("value", [-1e9, 1000.0, 6000.0])
def test_absurd_outputs_raise_no_error(speech: Signal, value: float) -> None:
    estimate = resynthesis(lambda inputs: (torch.full_like(inputs, value), None), speech)
    assert "segsnr" in scores(speech, estimate)


def test_true_magnitudes_give_real_speech_back() -> None:
    for utterance in find_corpus(real_data()).parts["test"][:2]:
        signal = utterance.signal()
        frames = stft(signal)
        again = inverse(np.abs(frames) * np.exp(1j * np.angle(frames)), len(signal))
        found = scores(signal, again)
        assert found["segsnr"] == 100
        assert found.get("stoi", 1.0) == pytest.approx(1, abs=1e-9)
        assert found.get("pesq", 4.5486) == pytest.approx(4.5486, abs=1e-3)
        assert magnitude(decibels(frames)).shape == frames.shape
