"""Own sequences as a task: nothing of a held-out part is trained on, weights are read, guesses are what they say."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from writing import csv_text

from eigenloop.errors import ConfigError, DataError
from eigenloop.tasks import Sequences

KINDS = st.sampled_from(["class", "step-class", "forecast"])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=KINDS,
    lengths=st.lists(st.integers(25, 60), min_size=3, max_size=16),
    window=st.none() | st.integers(2, 20),
    stride=st.integers(1, 9),
    horizon=st.integers(1, 3),
    grouped=st.booleans(),
    seed=st.integers(0, 3),
)
def test_no_step_is_trained_and_tested(
    kind: str,
    lengths: list[int],
    window: int | None,
    stride: int,
    horizon: int,
    grouped: bool,
    seed: int,
    tmp_path: Path,
) -> None:
    """Every step has a number of its own, and no number of a test batch is in a training batch."""
    values = np.arange(sum(lengths), dtype=np.float64)
    y = np.arange(len(lengths)) % 2 if kind == "class" else values.astype(int) % 2
    groups = {"groups": np.arange(len(lengths)) // 2} if grouped and len(lengths) >= 6 else {}
    labels = {} if kind == "forecast" else {"y": y}
    np.savez(tmp_path / "steps.npz", X=values[:, None], lengths=np.array(lengths), **labels, **groups)
    task = Sequences(
        data=tmp_path / "steps.npz",
        window=window,
        stride=None if window is None else stride,
        horizon=horizon,
        split_seed=seed,
    )
    seen: dict[str, set[float]] = {}
    for part in ("train", "valid", "test"):
        seen[part] = set()
        for batch in task.evaluation(part, 7):
            for column in range(batch.size):
                length = batch.steps if batch.lengths is None else int(batch.lengths[column])
                seen[part] |= set(batch.inputs[:length, column, 0].tolist())
                if kind == "forecast":
                    seen[part] |= set(batch.targets[:length, column].flatten().tolist())
    assert not seen["train"] & seen["test"]
    assert not seen["train"] & seen["valid"]
    assert not seen["valid"] & seen["test"]
    trained = set()
    for step in range(task.steps_per_epoch(5)):
        batch = task.train_batch(step, 5, 0)
        for column in range(batch.size):
            length = batch.steps if batch.lengths is None else int(batch.lengths[column])
            trained |= set(batch.inputs[:length, column, 0].tolist())
    assert not trained & (seen["test"] | seen["valid"])


def test_weights_from_every_kind_of_file(tmp_path: Path) -> None:
    weights = [0.5, 1.0, 2.0, 0.0] * 5
    X = np.zeros((20, 3, 1)) + np.arange(20)[:, None, None]
    np.savez(tmp_path / "a.npz", X=X, y=np.arange(20) % 2, weights=weights)
    rows = [[case, float(case), "ab"[case % 2], weights[case]] for case in range(20) for _ in range(3)]
    (tmp_path / "a.csv").write_bytes(csv_text([["id", "x", "label", "trust"], *rows]))
    arrays, table = Sequences(data=tmp_path / "a.npz"), Sequences(data=tmp_path / "a.csv", weight="trust")
    for task in (arrays, table):
        assert task.channel_names in (("0",), ("x",))
        batch = next(iter(task.evaluation("train", 100)))
        assert batch.weights is not None
        assert batch.weights.tolist() == [weights[int(value)] for value in batch.inputs[0, :, 0]]
    assert "weights: from 0 to 2" in arrays.introduction()
    # A case that counts nothing is not trained on: a batch of such cases alone would have no loss.
    trained = [float(w) for step in range(3) for w in arrays.train_batch(step, 8, 0).weights]  # type: ignore[union-attr]
    assert 0.0 not in trained
    for wrong, sentence in ([-1.0] + [1.0] * 19, "it is 0 or more"), ([0.0] * 20, "nothing would be learned"):
        np.savez(tmp_path / "b.npz", X=X, y=np.arange(20) % 2, weights=wrong)
        with pytest.raises(DataError, match=sentence):
            Sequences(data=tmp_path / "b.npz").prepare()


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", X=np.zeros((20, 5, 1)), y=np.arange(20) % 2)
    task = Sequences(data=tmp_path / "data.npz", valid=0)
    with pytest.raises(ConfigError, match="sequences has no split 'dev': choose train or valid or test"):
        task.evaluation("dev", 1)
    with pytest.raises(DataError, match="its valid split is empty: give it a larger share"):
        task.evaluation("valid", 1)


def test_guesses(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.array([0, 0, 0, 1] * 10)
    np.savez(tmp_path / "a.npz", X=rng.normal(size=(40, 5, 1)), y=y)
    task = Sequences(data=tmp_path / "a.npz", valid=0, test=0)
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    expected = {"loss": entropy, "accuracy": 0.75, "balanced_accuracy": 0.5}
    assert task.baseline() == pytest.approx(expected)
    balanced = Sequences(data=tmp_path / "a.npz", valid=0, test=0, balanced=True)
    assert balanced.baseline()["loss"] == pytest.approx(math.log(2))
    values = rng.normal(size=(40, 2)) * [1, 100]
    np.savez(tmp_path / "v.npz", X=rng.normal(size=(40, 5, 1)), y=values)
    found = Sequences(data=tmp_path / "v.npz", valid=0, test=0).baseline()
    assert found["loss"] == pytest.approx(1)
    assert found["rmse"] == pytest.approx(np.sqrt(values.var(0).mean()))
    walk = np.cumsum(rng.normal(size=400))
    np.savez(tmp_path / "w.npz", X=walk[:, None])
    found = Sequences(data=tmp_path / "w.npz", valid=0, test=0, horizon=2, window=50, stride=50).baseline()
    assert found["rmse"] == pytest.approx(math.sqrt(1.5), rel=0.15)  # 1 and 2 steps of variance 1


def test_what_a_run_remembers(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(30, 4, 2))
    np.savez(tmp_path / "a.npz", X=X, y=np.array(["no", "yes"])[np.arange(30) % 2], channels=np.array(["u", "v"]))
    task = Sequences(data=tmp_path / "a.npz").settled()
    assert (task.kind, task.channels, task.classes) == ("class", ("u", "v"), ("no", "yes"))
    assert task.changed_files() == []
    assert task.settled() == task
    (tmp_path / "a.npz").unlink()
    elsewhere = dataclasses.replace(task)  # which has read nothing
    assert (elsewhere.input_size, elsewhere.output_size, elsewhere.metric) == (2, 2, "accuracy")
    assert elsewhere.splits == ("valid", "test")
    assert elsewhere.pooling == "max"


@pytest.mark.parametrize("empty", ["train", "valid", "test"])
def test_a_part_without_weight_is_refused(tmp_path: Path, empty: str) -> None:
    parts = np.array(["train", "valid", "test"] * 6)
    X, y = np.random.default_rng(0).normal(size=(18, 4, 1)), np.arange(18) // 3 % 2
    np.savez(tmp_path / "a.npz", X=X, y=y, parts=parts, weights=(parts != empty).astype(float))
    with pytest.raises(DataError, match=f"all 6 cases of the {empty} split have weight 0"):
        Sequences(data=tmp_path / "a.npz").introduction()


def test_the_readout_is_that_of_the_kind_unless_it_is_said(tmp_path: Path) -> None:
    X, y = np.random.default_rng(0).normal(size=(20, 5, 1)), np.arange(20) % 2
    np.savez(tmp_path / "a.npz", X=X, y=y)
    read_out = {kind: Sequences(data=tmp_path / "a.npz", kind=kind).pooling for kind in ("class", "values", "forecast")}
    assert read_out == {"class": "max", "values": "last", "forecast": None}
    assert Sequences(data=tmp_path / "a.npz").settled().pool == "max"  # a run keeps it, whatever becomes the default
    assert Sequences(data=tmp_path / "a.npz", pool="mean").pooling == "mean"
