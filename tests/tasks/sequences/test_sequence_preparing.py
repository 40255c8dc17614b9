"""Normalisation, missing values, times, batches and weights against plain loops."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from eigenloop.tasks import DataError, Sequences
from eigenloop.tasks.sequences import (
    LogMel,
    as_kind,
    batch,
    class_weights,
    describe,
    from_arrays,
    kind_of,
    prepare,
    read,
    resampled,
    split,
    statistics,
    whole,
    windows,
)

RNG = np.random.default_rng(7)
X = RNG.normal(3, 2, (40, 25, 3))
Y = np.arange(40) % 4


@given(st.integers(0, 1000), st.integers(1, 5000), st.sampled_from([0.0, 0.3]), st.sampled_from(["f8", "f4", "i2"]))
def test_statistics_in_blocks(seed: int, steps: int, missing: float, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(1000, 1, (steps, 3)) if dtype != "i2" else rng.integers(-99, 99, (steps, 3))
    values = values.astype(dtype)
    if dtype != "i2":
        values[rng.random(values.shape) < missing] = np.nan
    found = statistics(from_arrays(values))
    exact = values.astype(np.float64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("eigenloop.tasks.sequences.scanning._BLOCK", 100)
        blockwise = statistics(from_arrays(values))
    for result in (found, blockwise):
        for channel in range(3):
            column = exact[:, channel][~np.isnan(exact[:, channel])]
            assert result.count[channel] == len(column)
            assert result.missing[channel] == steps - len(column)
            if len(column):
                assert result.mean[channel] == pytest.approx(column.mean(), rel=1e-12, abs=1e-10)
                assert result.deviation[channel] == pytest.approx(column.std(), rel=1e-9, abs=1e-9)
                assert (result.smallest[channel], result.largest[channel]) == (column.min(), column.max())
    assert (found.first_missing is None) == (not np.isnan(exact).any())


def test_only_the_training_part_counts() -> None:
    data = from_arrays(X, Y)
    parts = split(data)
    found = prepare(data, parts["train"])
    changed = X.copy()
    changed[np.concatenate([parts["valid"].case, parts["test"].case])] = 1e6
    again = prepare(from_arrays(changed, Y), parts["train"])
    assert np.array_equal(found.mean, again.mean)
    assert np.array_equal(found.scale, again.scale)
    inputs = batch(data, parts["train"], found, "class").inputs
    assert inputs.mean((0, 1)).abs().max() < 1e-6
    assert (inputs.std((0, 1), correction=0) - 1).abs().max() < 1e-5


def test_constant_channels_are_safe() -> None:
    values = X.copy()
    values[..., 1] = 0.1
    values[..., 2] = np.nan
    data = from_arrays(values, Y)
    found = prepare(data, whole(data), missing="previous")
    inputs = batch(data, whole(data), found, "class").inputs
    assert torch.isfinite(inputs).all()
    assert inputs[..., 1].abs().max() < 1e-6
    assert not inputs[..., 2].any()
    assert found.scale[1] == 1


def test_missing_values() -> None:
    values = np.array([[[np.nan, 1.0], [2.0, np.nan], [np.nan, 3.0], [4.0, np.nan]]])
    data = from_arrays(values, [0], layout="cases,steps,channels")
    with pytest.raises(DataError, match="4 values are missing, the first at case 0, step 0, channel 0: give missing="):
        prepare(data, whole(data))
    known = prepare(data, whole(data)[:0])
    with pytest.raises(DataError, match="a value is missing, the first at case 0, step 1, channel 1"):
        known.inputs(data, 0, 1, 3)
    before = prepare(data, whole(data), missing="previous")
    assert before.mean.tolist() == [3, 2]
    assert before.inputs(data, 0, 0, 4).tolist() == [[0, -1], [-1, -1], [-1, 1], [1, 1]]
    mask = prepare(data, whole(data), missing="mask")
    assert mask.input_size == 4
    assert mask.inputs(data, 0, 0, 4).tolist() == [[0, -1, 0, 1], [-1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]]
    # A network that normalises by itself sees the same.
    mean, scale = mask.affine
    raw = mask.inputs(data, 0, 0, 4, normalise=False)
    assert np.array_equal((raw - mean) / scale, mask.inputs(data, 0, 0, 4))


def test_the_line_of_a_missing_value(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("case,v,label\nA,1,x\nB,3,y\nA,NA,x\nB,5,y\n")
    data = read(tmp_path / "a.csv")
    with pytest.raises(DataError, match=r"a\.csv: a value is missing, the first at line 4, channel v"):
        prepare(data, whole(data))


def test_irregular_times_are_noted_with_both_remedies(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [(case, step + 0.25 * (step == 3), step) for case in range(12) for step in range(9)]
    lines = [f"{case},{time},{value},{'xy'[case % 2]}" for case, time, value in rows]
    path.write_text("\n".join(["case,Time (s),v,label", *lines]))
    note = describe(read(path))
    assert "25.0% of the time steps are not of the usual length, 1 (the first from line 4 to line 5)" in note
    assert "(--resample median)" in note
    assert "(--time-difference)" in note
    task = Sequences(data=path, resample="median")
    assert task.settled().resample == 1  # what predict takes for another file
    assert "not of the usual length" not in "".join(task.introduction())
    assert np.allclose(task.sequences.case(0)[:, 0], [0, 1, 2, 2 + 1 / 1.25, *np.arange(4, 9)])
    with pytest.raises(ValueError, match="above 0, or median"):
        Sequences(data=path, resample=0)


def test_time_differences_and_resampling() -> None:
    times = np.cumsum(RNG.choice([0.5, 1.0, 1.0, 1.0, 3.0], 50))
    values = np.stack([2 * times + 1, -times], axis=1)
    labels = (np.arange(50) // 5)[None]
    data = dataclasses.replace(from_arrays(values[None], labels, layout="cases,steps,channels"), times=times[None])
    found = prepare(data, whole(data), time_difference=True)
    assert found.input_size == 3
    expected = np.diff(times, prepend=times[0] - 1) - 1  # the usual step is 1, and normal
    assert np.allclose(found.inputs(data, 0, 0, 50)[:, 2], expected)
    assert found.inputs(data, 0, 10, 5)[0, 2] == 0
    regular = resampled(data, 0.25)
    grid = times[0] + 0.25 * np.arange(len(regular.case(0)))
    assert np.allclose(regular.case(0), np.stack([2 * grid + 1, -grid], axis=1))
    assert times[-1] - grid[-1] < 0.25
    assert regular.labels is not None
    assert regular.labels[0].tolist() == [labels[0, max(np.flatnonzero(times <= t + 1e-9))] for t in grid]
    with pytest.raises(DataError, match="larger step"):
        resampled(data, 1e-9)
    with pytest.raises(DataError, match="no times"):
        resampled(from_arrays(X, Y))
    with pytest.raises(DataError, match="no times"):
        prepare(from_arrays(X, Y), whole(data), time_difference=True)


@pytest.mark.parametrize("kind", ["class", "values", "step-class", "step-values", "forecast"])
def test_batches_against_a_loop(kind: str) -> None:
    lengths = RNG.integers(6, 26, 40)
    y = {
        "class": Y,
        "values": RNG.normal(size=(40, 2)),
        "step-class": RNG.integers(0, 3, (40, 25)),
        "step-values": RNG.normal(size=(40, 25, 2)),
        "forecast": None,
    }[kind]
    data = from_arrays(X, y, lengths=lengths)
    assert kind_of(data) == kind
    found = prepare(data, whole(data))
    pieces = windows(whole(data), 8, 4)[[3, 0, 17]]
    made = batch(data, pieces, found, kind_of(data), horizon=2)
    cut = 2 if kind == "forecast" else 0
    assert made.steps == max(pieces.length) - cut
    for number, (case, start, length) in enumerate(zip(pieces.case, pieces.start, pieces.length, strict=True)):
        normal = ((X[case, start : start + length] - found.mean) / found.scale).astype(np.float32)
        assert np.array_equal(made.inputs[: length - cut, number], normal[: length - cut])
        assert not made.inputs[length - cut :, number].any()
        if kind == "forecast":
            for step in range(length - 2):
                assert np.array_equal(made.targets[step, number], normal[step + 1 : step + 3].ravel())
        elif kind.startswith("step"):
            assert y is not None
            target = y[case, start : start + length]
            assert np.array_equal(
                made.targets[:length, number], target.astype(np.float32) if target.ndim > 1 else target
            )
        else:
            assert y is not None
            assert np.array_equal(made.targets[number], y[case].astype(np.float32))
    assert made.targets.dtype == (torch.int64 if "class" in kind else torch.float32)
    assert made.per_step == (kind not in ("class", "values"))
    expected = None if len(set(pieces.length)) == 1 else (pieces.length - cut).tolist()
    assert (None if made.lengths is None else made.lengths.tolist()) == expected


def test_too_short_for_the_horizon() -> None:
    data = from_arrays(np.arange(5.0))
    with pytest.raises(DataError, match="too short for horizon=5"):
        batch(data, whole(data), prepare(data, whole(data)), "forecast", horizon=5)


def test_kinds_may_be_chosen() -> None:
    data = from_arrays(X, Y)
    assert as_kind(data, "values").labels[:, 0].tolist() == Y.tolist()  # type: ignore[index]
    back = as_kind(as_kind(data, "values"), "class")
    assert (back.labels.tolist(), back.class_names) == (Y.tolist(), ("0", "1", "2", "3"))  # type: ignore[union-attr]
    assert as_kind(data, "forecast").labels is None
    for kind, match in (("step-class", "for each case"), ("step-values", "for each case")):
        with pytest.raises(DataError, match=match):
            as_kind(data, kind)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="not a number"):
        as_kind(from_arrays(X, ["a", "b"] * 20), "values")
    with pytest.raises(DataError, match="has no labels"):
        as_kind(from_arrays(X), "class")
    with pytest.raises(ValueError, match="kind is one of"):
        as_kind(data, "clas")  # type: ignore[arg-type]


def test_values_beyond_the_end_are_no_class() -> None:
    y = np.full((4, 25), 0.0)
    y[:, :10] = [[1.5], [2.5], [1.5], [3.5]]
    data = as_kind(from_arrays(X[:4], y, lengths=[10] * 4), "step-class")
    assert data.class_names == ("1.5", "2.5", "3.5")
    assert data.labels is not None
    assert data.labels[:, 3].tolist() == [0, 1, 0, 2]


def test_class_weights() -> None:
    steps = from_arrays(X[:2], np.array([[0] * 20 + [1] * 5] * 2), lengths=[25, 20])
    weights = class_weights(steps, whole(steps))
    assert weights == pytest.approx([45 / (2 * 40), 45 / (2 * 5)])
    with pytest.raises(DataError, match="need classes"):
        class_weights(from_arrays(X), whole(steps))


def test_log_mel_against_the_definition() -> None:
    samples = RNG.normal(size=1000) * 0.1
    frames = LogMel(bands=10)(samples, 8000)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(200) / 200)
    power = np.abs(np.fft.rfft(samples[160:360] * window)) ** 2
    mel = np.linspace(0, 2595 * np.log10(1 + 4000 / 700), 12)
    corners = 700 * (10 ** (mel / 2595) - 1)
    frequencies = np.arange(101) * 40.0
    expected = [np.log(np.interp(frequencies, corners[b : b + 3], [0, 1, 0]) @ power + 1e-6) for b in range(10)]
    assert frames.shape == (11, 10)
    assert np.allclose(frames[2], expected, rtol=1e-5)
    assert LogMel()(np.ones(3), 8000).shape == (1, 32)
