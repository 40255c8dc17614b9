"""Own data of every kind, with answers that are known: trained by the one loop, measured beside a guess."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from training.own_data import adding, config_of, copying, henon, separable, wave
from training.test_resume import assert_equal, cut_and_resume

from eigenloop.tasks import Sequences
from eigenloop.tasks.sequences import Outcome, read
from eigenloop.training import Config, ConfigError, load_run, predict, run_outcome, train


def measured(config: Config, run: Path, split: str = "test") -> Outcome:
    train(config, run)
    return run_outcome(run, split)


def test_a_class_for_each_case(tmp_path: Path) -> None:
    found = measured(config_of(separable(tmp_path / "watch.npz", cases=150), steps=150), tmp_path / "run")
    assert found.names == ("high", "low", "middle")
    assert found.measures()["accuracy"] > 0.9
    assert np.allclose(found.predicted.sum(1), 1)
    assert run_outcome(tmp_path / "run", "train").measures()["count"] == 105
    with pytest.raises(ConfigError, match="choose train or valid or test"):
        run_outcome(tmp_path / "run", "tets")


def test_values_for_each_case_are_in_their_units(tmp_path: Path) -> None:
    """The sum of two of eight numbers; the guess of the mean misses it by 50 sqrt(2 / 12) = 20.4."""
    config = config_of(adding(tmp_path / "adding.npz", length=8), steps=500, eval_every=100, batch_size=64)
    found = measured(config, tmp_path / "run").measures()
    assert found["guess"]["rmse"] == pytest.approx(50 * np.sqrt(2 / 12), rel=0.2)
    assert found["rmse"] < 0.25 * found["guess"]["rmse"]
    assert found["r2"] > 0.9


def test_a_class_at_every_step(tmp_path: Path) -> None:
    """The symbol of two steps ago."""
    config = config_of(copying(tmp_path / "copying.npz"), {"kind": "step-class"}, steps=250, batch_size=64)
    found = measured(config, tmp_path / "run")
    assert found.measures()["accuracy"] > 0.95
    assert len(found) == 10 * 60
    assert found.measures()["guess"]["accuracy"] < 0.4


@pytest.mark.parametrize("feedback", [False, True])
def test_a_forecast_beats_the_naive_guess(feedback: bool, tmp_path: Path) -> None:
    config = config_of(
        wave(tmp_path / "wave.npz"), {"horizon": 5, "feedback": feedback, "window": 60}, steps=200, batch_size=16
    )
    found = measured(config, tmp_path / "run")
    assert found.predicted.shape[1:] == (5, 1)
    all_measures = found.measures()
    assert all_measures["skill"] > 0.9
    # The naive guess of a sine misses by 3 sqrt(2) |sin(pi k / 25)| in the mean square.
    for ahead, row in enumerate(all_measures["ahead"], start=1):
        assert row["guess"]["rmse"] == pytest.approx(3 * np.sqrt(2) * np.sin(np.pi * ahead / 25), rel=0.1)
    # What follows after the end of a file, which the sine tells too.
    after = predict(tmp_path / "run", wave(tmp_path / "more.npz", 700)).predicted[0, :, 0]
    assert after == pytest.approx(10 + 3 * np.sin(2 * np.pi * np.arange(700, 705) / 25), abs=1.0)


def test_a_chaotic_series(tmp_path: Path) -> None:
    """Two steps ahead the map is known; that all stays as it is, the naive guess, is worse than the mean."""
    config = config_of(henon(tmp_path / "henon.npz"), {"horizon": 2, "window": 60}, steps=500, batch_size=16)
    measures = measured(config, tmp_path / "run").measures()
    series = np.load(tmp_path / "henon.npz")["X"][-225:, 0]  # the last 15 % of the recording test
    assert measures["ahead"][0]["guess"]["rmse"] == pytest.approx(np.sqrt(np.mean(np.diff(series) ** 2)), rel=0.05)
    assert measures["ahead"][0]["rmse"] < 0.15 * measures["ahead"][0]["guess"]["rmse"]
    assert measures["ahead"][1]["rmse"] < 0.3 * measures["ahead"][1]["guess"]["rmse"]


def test_values_at_every_step(tmp_path: Path) -> None:
    """The running sum of the last two inputs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    np.savez(tmp_path / "sums.npz", X=X, y=5 * (X + np.pad(X, ((0, 0), (1, 0)))[:, :-1]))
    found = measured(config_of(tmp_path / "sums.npz", steps=300, batch_size=64), tmp_path / "run")
    assert found.kind == "step-values"
    assert found.measures()["r2"] > 0.95


def shuffled_within_groups(path: Path, rng: np.random.Generator) -> Path:
    """Cases of which each person has a style that tells nothing about the class."""
    groups = np.repeat(np.arange(20), 24)
    y = np.concatenate([rng.permutation(np.arange(24) % 2) for _ in range(20)])
    X = rng.normal(size=(480, 8, 2)) + 3 * rng.normal(size=(20, 1, 2))[groups]
    np.savez(path, X=X, y=y, groups=groups)
    return path


def test_labels_shuffled_within_groups_fall_to_chance(tmp_path: Path) -> None:
    """A network that is tested on people it was trained with would do better than chance; here it cannot."""
    data = shuffled_within_groups(tmp_path / "people.npz", np.random.default_rng(1))
    config = config_of(data, {"test": 0.4}, steps=150, patience=1000)
    found = measured(config, tmp_path / "run").measures()
    assert abs(found["accuracy"] - 0.5) < 4 * np.sqrt(0.25 / found["count"])


def test_windows_of_a_case_vote(tmp_path: Path) -> None:
    """The probabilities of a case are the mean of those of its windows."""
    data = separable(tmp_path / "watch.npz")
    found = measured(config_of(data, {"window": 5, "stride": 3}, steps=40), tmp_path / "run")
    net, config, _ = load_run(tmp_path / "run")
    task = config.task
    assert isinstance(task, Sequences)
    values = read(data)
    for row, case in enumerate(found.case[:4].tolist()):
        cuts = [values.case(case)[start : start + 5] for start in (0, 3, 6)]
        with torch.no_grad():
            votes = [net(torch.tensor(cut, dtype=torch.float32)[:, None])[0].double().softmax(-1)[0] for cut in cuts]
        assert found.predicted[row] == pytest.approx(torch.stack(votes).mean(0).numpy(), abs=1e-6)


MISSING: list[dict[str, Any]] = [{"missing": "previous"}, {"missing": "mask"}, {"missing": "mask", "normalise": False}]


@pytest.mark.parametrize("options", MISSING, ids=str)
def test_prediction_prepares_as_training_does(options: dict[str, Any], tmp_path: Path) -> None:
    """Answers to the file of the training equal those of its parts, although `predict` looks at the network only."""
    rng = np.random.default_rng(0)
    X = 50 + 10 * rng.normal(size=(60, 9, 2))
    X[rng.random(X.shape) < 0.1] = np.nan
    np.savez(tmp_path / "gaps.npz", X=X, y=np.arange(60) % 2)
    truth = measured(config_of(tmp_path / "gaps.npz", options, steps=10), tmp_path / "run")
    answers = predict(tmp_path / "run", tmp_path / "gaps.npz")
    assert len(answers) == 60
    assert np.array_equal(answers.predicted[truth.case], truth.predicted)


def test_the_scaling_is_that_of_the_training_part(tmp_path: Path) -> None:
    config = config_of(adding(tmp_path / "adding.npz", cases=40), steps=5)
    train(config, tmp_path / "run")
    net, config, _ = load_run(tmp_path / "run")
    task = config.task
    assert isinstance(task, Sequences)
    with np.load(tmp_path / "adding.npz") as arrays:
        X, y = arrays["X"][task.pieces["train"].case], arrays["y"][task.pieces["train"].case]
    assert net.input_scaling is not None
    assert net.output_scaling is not None
    assert net.input_scaling.mean.numpy() == pytest.approx(X.mean((0, 1)), rel=1e-6)
    assert net.input_scaling.scale.numpy() == pytest.approx(X.std((0, 1)), rel=1e-6)
    assert float(net.output_scaling.mean) == pytest.approx(y.mean(), rel=1e-6)
    assert float(net.output_scaling.scale) == pytest.approx(y.std(), rel=1e-5)


def test_prediction_needs_neither_the_data_nor_their_order_of_channels(tmp_path: Path) -> None:
    data = separable(tmp_path / "watch.npz")
    train(config_of(data, steps=10), tmp_path / "run")
    expected = predict(tmp_path / "run", data).predicted
    with np.load(data) as arrays:
        np.savez(tmp_path / "other.npz", X=arrays["X"][..., ::-1], channels=np.array(["ay", "ax"]))
        np.savez(tmp_path / "unnamed.npz", X=arrays["X"], layout="cases,steps,channels")
        np.savez(tmp_path / "wrong.npz", X=arrays["X"], channels=np.array(["ax", "az"]))
    data.unlink()
    assert np.array_equal(predict(tmp_path / "run", tmp_path / "other.npz").predicted, expected)
    assert np.array_equal(predict(tmp_path / "run", tmp_path / "unnamed.npz").predicted, expected)
    with pytest.raises(ValueError, match=r"channel ay is wanted and not there: it has 2 \(ax, az\)"):
        predict(tmp_path / "run", tmp_path / "wrong.npz")


def test_a_case_alone_is_answered_as_in_a_batch_of_longer_ones(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, 12, 40)
    X = rng.normal(size=(int(lengths.sum()), 2))
    np.savez(tmp_path / "ragged.npz", X=X, y=np.arange(40) % 2, lengths=lengths)
    for pool in ("last", "mean", "max"):
        run = tmp_path / pool
        train(config_of(tmp_path / "ragged.npz", {"pool": pool}, steps=10), run)
        together = predict(run, tmp_path / "ragged.npz")
        alone = predict(run, tmp_path / "ragged.npz", batch_size=1)
        assert together.predicted == pytest.approx(alone.predicted, abs=1e-6)


def test_a_cut_run_goes_on_bit_for_bit(tmp_path: Path) -> None:
    """With all that is drawn or learnt from the data: shuffled windows, weights of classes, scaled inputs, dropout."""
    data = separable(tmp_path / "watch.npz", groups=9)
    options = {"window": 5, "stride": 2, "balanced": True, "pool": "max"}
    model = {"bits": 4, "output_dropout": 0.2}
    config = config_of(data, options, model, steps=30, eval_every=10, log_every=7, batch_size=16)
    train(config, tmp_path / "whole")
    assert_equal(cut_and_resume(config, tmp_path / "cut", 3, 17), tmp_path / "whole", 30)


def test_folds_cover_every_case_once(tmp_path: Path) -> None:
    data = separable(tmp_path / "watch.npz", groups=9)
    tests = [Sequences(data=data, folds=3, fold=fold).pieces["test"].case for fold in range(3)]
    assert sorted(np.concatenate(tests).tolist()) == list(range(90))
    assert dataclasses.replace(Sequences(data=data), folds=3).splits == ("valid", "test")
