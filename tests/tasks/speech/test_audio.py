"""Audio files: both formats give their samples, and whatever is wrong is said with the file's name."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import firwin
from tasks.speech.recordings import FORMATS, Samples, noise, riff, sphere

from eigenloop.errors import DataError
from eigenloop.tasks.speech.audio import halved, signal
from eigenloop.tasks.speech.sphere import parse

FILE = Path("dr1/fabc0/sx1.wav")
encodings = pytest.mark.parametrize("encode", FORMATS.values(), ids=FORMATS.keys())


@encodings
def test_both_formats_and_byte_orders_give_the_samples(encode: Callable[[Samples], bytes]) -> None:
    samples = noise(501)
    np.testing.assert_array_equal(signal(FILE, encode(samples)), halved(samples / 32768))


@pytest.mark.parametrize("order", ["01", "10"])
def test_sphere_gives_extreme_samples(order: str) -> None:
    samples = np.array([0, 1, -1, 256, 32767, -32768], np.int16)
    rate, found = parse(FILE, sphere(samples, order, {"sample_coding": "-s3 pcm"}) + b"more")
    assert rate == 16000
    np.testing.assert_array_equal(found, samples)


def test_halving_convolves_with_a_low_pass_filter() -> None:
    samples = noise(200) / 32768
    taps = firwin(41, 0.5, window=("kaiser", 5.0))
    full = np.convolve(samples, taps)[20 : 20 + len(samples)]
    np.testing.assert_allclose(halved(samples), full[::2], atol=1e-12)


def test_halving_keeps_a_low_tone_and_removes_a_high_one() -> None:
    time = np.arange(16000) / 16000
    low, high = (np.sin(2 * np.pi * frequency * time) for frequency in (500, 7000))
    inside = slice(100, -100)
    np.testing.assert_allclose(halved(low)[inside], low[::2][inside], atol=5e-3)
    assert np.abs(halved(high)[inside]).max() < 5e-3


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "neither a NIST SPHERE nor a RIFF"),
        (b"\0" * 100, "neither a NIST SPHERE nor a RIFF"),
        (b"RIFF", "the RIFF header is cut off"),
        (riff(noise(9), rate=8000), "8,000 samples a second where TIMIT has 16,000"),
        (riff(noise(10), channels=2), "2 x 16 bits"),
        (riff(noise(10), bits=8), "1 x 8 bits"),
        (riff(noise(0)), "holds no samples"),
        (riff(noise(40))[:-21], "40 samples are expected and 29 found"),
        (sphere(noise(40))[:-21], "40 samples are expected and 29 found"),
        (sphere(noise(0)), "holds no samples"),
        (sphere(noise(40))[:1000], "SPHERE header is cut off"),
        (b"NIST_1A\n  lots\n", "SPHERE header is cut off"),
        (sphere(noise(9), changes={"sample_coding": "-s26 pcm,embedded-shorten-v2.00"}), "embedded-shorten.*sph2pipe"),
        (sphere(noise(9), changes={"sample_coding": "-s4 ulaw"}), "coded as 'ulaw'"),
        (sphere(noise(9), changes={"channel_count": "-i 2"}), "channel_count is '2'.*should be 1"),
        (sphere(noise(9), changes={"sample_n_bytes": None}), "sample_n_bytes is missing.*should be 2"),
        (sphere(noise(9), changes={"sample_byte_format": "-s1 1"}), "sample_byte_format is '1'.*01 or 10"),
        (sphere(noise(9), changes={"sample_count": "-i -9"}), "sample_count is '-9'.*whole number"),
        (sphere(noise(9), changes={"sample_count": None}), "sample_count is missing.*whole number"),
        (sphere(noise(9), changes={"sample_rate": "-i 8000"}), "8,000 samples a second"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=f"^dr1/fabc0/sx1.wav: .*{message}"):
        signal(FILE, data)


@encodings
@given(data=st.data())
def test_truncated_files_are_refused(encode: Callable[[Samples], bytes], data: st.DataObject) -> None:
    content = encode(noise(60))
    cut = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(DataError, match=r"^dr1/fabc0/sx1.wav: "):
        signal(FILE, content[:cut])


@encodings
@given(flips=st.lists(st.tuples(st.integers(0, 1200), st.integers(1, 255)), min_size=1, max_size=8))
def test_damaged_files_are_read_or_refused(encode: Callable[[Samples], bytes], flips: list[tuple[int, int]]) -> None:
    content = bytearray(encode(noise(60)))
    for position, change in flips:
        content[position % len(content)] ^= change
    with contextlib.suppress(DataError):
        found = signal(FILE, bytes(content))
        assert 1 <= len(found) <= 600
        assert np.isfinite(found).all()


@given(
    start=st.sampled_from([b"", b"RIFF", b"RIFF\0\0\0\0WAVE", b"NIST_1A\n", b"NIST_1A\n   1024\n"]), tail=st.binary()
)
def test_random_bytes_are_refused(start: bytes, tail: bytes) -> None:
    with pytest.raises(DataError, match=r"^dr1/fabc0/sx1.wav: "):
        signal(FILE, start + tail)
