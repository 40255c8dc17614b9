"""The loop: its rates, what it measures, and why it stops."""

import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from training.small import metrics_of, small, summary_of, text_folder, weights, weights_of

from eigenloop.runs import read_spectra, read_summary
from eigenloop.tasks import Adding, Batch, DataError
from eigenloop.training import ConfigError, DivergedError, evaluate, load_run, resume, train
from eigenloop.training.network import build_network
from eigenloop.training.optimizers import OPTIMIZERS, make_optimizer
from eigenloop.training.processes import Processes
from eigenloop.training.reporter import Silent
from eigenloop.training.schedule import Schedule
from eigenloop.training.settings.sections import ScheduleSection
from eigenloop.training.update import Updater

# -------------------------------------------------------------------- schedules and optimizers


def test_plateau_halves_after_misses() -> None:
    schedule = Schedule(ScheduleSection(name="plateau", factor=0.5, patience=1))
    factors = []
    for improved in (True, False, False, True, False, False, False, False):
        schedule.observe(improved)
        factors.append(schedule.factor(0, None))
    assert factors == [1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125]


@pytest.mark.parametrize(
    ("section", "per_epoch", "expected"),
    [
        ({"name": "constant"}, 3, [1] * 7),
        ({"name": "factor", "factor": 0.5, "unit": "epoch"}, 3, [1, 1, 1, 0.5, 0.5, 0.5, 0.25]),
        ({"name": "factor", "factor": 0.5, "unit": "epoch", "every": 2}, 3, [1, 1, 1, 1, 1, 1, 0.5]),
        ({"name": "factor", "factor": 0.1, "unit": "step", "every": 5}, None, [1, 1, 1, 1, 1, 0.1, 0.1]),
    ],
)
def test_factors(section: dict[str, Any], per_epoch: int | None, expected: list[float]) -> None:
    schedule = Schedule(ScheduleSection(**section))
    assert [schedule.factor(step, per_epoch) for step in range(7)] == pytest.approx(expected)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_two_rates_reach_every_optimizer(optimizer: str) -> None:
    model = {"projunn": "projunn", "unitary-cayley": "urnn-full"}.get(optimizer, "scornn")
    config = small(model={"name": model}, optimizer={"name": optimizer, "lr": 0.3, "recurrent_lr": 0.004})
    groups = make_optimizer(config.optimizer, build_network(config), 0).param_groups
    rates = {group["name"]: group["lr"] for group in groups}
    assert rates["other"] == 0.3
    assert rates.get("recurrent", rates.get("projected")) == 0.004


def test_the_sampler_follows_the_seed(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        config = small(model={"name": "projunn"}, training={"seed": seed})
        train(config, tmp_path / name)
    assert weights_of(tmp_path / "a", 6) == weights_of(tmp_path / "b", 6)
    assert weights_of(tmp_path / "a", 6) != weights_of(tmp_path / "c", 6)


# -------------------------------------------------------------------- measuring


def test_evaluation_is_a_mean_over_all_sequences() -> None:
    config = small({"name": "parenthesis", "length": 9, "valid_size": 11}, training={"dtype": "float64"})
    net = build_network(config)
    found = evaluate(net, config.task, "valid", 4)
    batch = next(config.task.evaluation("valid", 11))
    with torch.no_grad():
        y, _ = net(batch.inputs.double())
    wanted = nn.functional.one_hot(batch.targets, 6).flatten(2).double()
    assert found["loss"] == pytest.approx(float(nn.functional.mse_loss(y, wanted)), rel=1e-12)
    right = (y.unflatten(-1, (3, 6)).argmax(-1) == batch.targets).double().mean()
    assert found["accuracy"] == pytest.approx(float(right))
    assert net.training


def test_lines_are_means_since_the_line_before(tmp_path: Path) -> None:
    config = small(optimizer={"name": "sgd", "lr": 0.0, "recurrent_lr": 0.0}, training={"steps": 6, "log_every": 3})
    losses: list[float] = []

    class Listening(Silent):
        def step(self, step: int, loss: float) -> None:
            losses.append(loss)

    train(config, tmp_path / "run", Listening())
    lines = [line for line in metrics_of(tmp_path / "run") if line["kind"] == "train"]
    assert [line["step"] for line in lines] == [3, 6]
    assert lines[0]["loss"] == pytest.approx(np.mean(losses[:3]))
    assert lines[1]["loss"] == pytest.approx(np.mean(losses[3:]))
    assert lines[0]["defect"] < 1e-6
    assert {"lr", "recurrent_lr", "gradient_norm", "penalty", "accuracy", "epoch"} <= lines[0].keys()


def test_conditioning_and_eigenvalues_are_those_of_the_quantized_matrix(tmp_path: Path) -> None:
    for bits in (3, None):
        config = small(model={"name": "qornn", "hidden_size": 6, "bits": bits}, training={"steps": 2, "log_every": 1})
        train(config, tmp_path / str(bits))
        last = [line for line in metrics_of(tmp_path / str(bits)) if line["kind"] == "train"][-1]
        net, _, _ = load_run(tmp_path / str(bits), "last")
        W = net.rnn.recurrent_matrix().detach().double()
        if bits is None:
            assert "singular_ratio" not in last
        else:
            sigma = np.linalg.svd(W.numpy(), compute_uv=False)
            assert last["singular_ratio"] == pytest.approx(sigma[-1] / sigma[0], rel=1e-5)
        (found,) = read_spectra(tmp_path / str(bits)).after.values()
        expected = sorted(abs(np.linalg.eigvals(W.numpy())))
        assert sorted(abs(complex(*pair)) for pair in found) == pytest.approx(expected, abs=1e-6)


def test_what_a_run_leaves_behind(tmp_path: Path) -> None:
    config = small({"valid_size": 50}, optimizer={"name": "adam", "lr": 0.05}, training={"steps": 20, "eval_every": 4})
    summary = train(config, tmp_path / "run")
    assert read_summary(tmp_path / "run").model_dump() == summary
    evaluations = [line for line in metrics_of(tmp_path / "run") if line["kind"] == "valid"]
    assert [line["step"] for line in evaluations] == [4, 8, 12, 16, 20]
    best = min(evaluations, key=lambda line: line["loss"])
    assert summary["best"]["step"] == best["step"]
    assert summary["best"]["loss"] == best["loss"]
    net, _, step = load_run(tmp_path / "run", "best")
    assert step == best["step"]
    assert evaluate(net, config.task, "valid", 6)["loss"] == best["loss"]
    assert evaluate(net, config.task, "test", 6) == summary["test"]
    assert summary["baseline"] == config.task.baseline()
    assert summary["parameters"] == sum(p.numel() for p in net.parameters())
    (spectrum,) = read_spectra(tmp_path / "run").by_matrix()
    for values in (spectrum.before, spectrum.after):
        assert np.abs(values) == pytest.approx(np.ones(8), abs=1e-5)
    expected = np.linalg.eigvals(load_run(tmp_path / "run", "last")[0].rnn.recurrent_matrix().detach().double().numpy())
    assert np.sort_complex(values) == pytest.approx(np.sort_complex(expected), abs=1e-5)
    assert not list((tmp_path / "run").rglob("*.tmp"))


def test_the_configuration_of_a_run_runs_again(tmp_path: Path) -> None:
    train(small(training={"steps": 6}), tmp_path / "one")
    _, config, _ = load_run(tmp_path / "one")
    train(config, tmp_path / "two")
    assert weights_of(tmp_path / "one", 6) == weights_of(tmp_path / "two", 6)
    assert metrics_of(tmp_path / "one") == metrics_of(tmp_path / "two")


def test_tied_and_complex_weights_survive_a_checkpoint(tmp_path: Path) -> None:
    folder = str(text_folder(tmp_path / "data"))
    task = {"name": "ptb-char", "bptt": 5, "eval_streams": 2, "verify": False, "data_dir": folder}
    train(small(task, {"name": "scornn", "embedding_size": 8, "tied": True}), tmp_path / "tied")
    net, config, _ = load_run(tmp_path / "tied")
    assert net.embedding is not None
    assert net.readout.weight is net.embedding.weight
    assert math.isfinite(evaluate(net, config.task, "valid", 2)["bpc"])
    train(small(model={"name": "urnn-full"}), tmp_path / "complex")
    assert load_run(tmp_path / "complex")[0].rnn.recurrent_matrix().is_complex()


# -------------------------------------------------------------------- reasons to stop


def test_until_stops_when_solved(tmp_path: Path) -> None:
    summary = train(small(training={"until": 1e6, "steps": 50}), tmp_path / "run")
    assert summary["status"] == "solved"
    assert summary["steps"] == 3  # the first evaluation


def test_patience_stops(tmp_path: Path) -> None:
    config = small(
        optimizer={"name": "sgd", "lr": 0.0, "recurrent_lr": 0.0},
        training={"steps": 50, "eval_every": 2, "patience": 3},
    )
    summary = train(config, tmp_path / "run")
    assert summary["steps"] == 2 + 3 * 2
    assert "no improvement in 3 evaluations" in summary["reason"]


def test_time_stops_and_is_measured(tmp_path: Path) -> None:
    summary = train(small(training={"steps": 10**6, "max_seconds": 0.3, "eval_every": 10**5}), tmp_path / "run")
    assert summary["steps"] < 10**6
    assert "seconds are over" in summary["reason"]
    assert summary["best"]["step"] == summary["steps"]
    assert [line["kind"] for line in metrics_of(tmp_path / "run")][-1] == "valid"


#: Where NaN shows first: in the loss, in the gradient, in building W for a line of metrics or an evaluation.
DIVERGING = [
    ("copying", "scornn", 1),
    ("copying", "rnn", 1),
    ("adding", "lstm", 1),
    ("adding", "exprnn", 1),
    ("adding", "exprnn", 50),
]


@pytest.mark.parametrize(("task", "model", "log_every"), DIVERGING)
def test_nan_names_the_step_and_the_last_good_checkpoint(task: str, model: str, log_every: int, tmp_path: Path) -> None:
    config = small(
        {"name": task},
        {"name": model},
        optimizer={"name": "sgd", "lr": 1e30, "recurrent_lr": 1e30},
        training={"steps": 500, "eval_every": 400, "log_every": log_every, "checkpoint_seconds": 0.0},
    )
    with pytest.raises(
        DivergedError, match=r"stopped after step \d+: .*The last good checkpoint is .*step-\d+"
    ) as caught:
        train(config, tmp_path / "run")
    assert "optimizer.lr" in str(caught.value)
    assert "--lr" in caught.value.on_command_line
    assert "learning rate" not in str(caught.value)  # the advice stands there once
    summary = summary_of(tmp_path / "run")
    assert summary["status"] == "diverged"
    for tensor in weights(tmp_path / "run").values():
        assert torch.isfinite(tensor).all()
    # The way on that the sentence names; not allowed where nothing went wrong.
    with pytest.raises(ConfigError, match="cannot become"):
        resume(tmp_path / "run", {"optimizer": {"name": "adam"}})
    for path in (tmp_path / "run/checkpoints").glob("step-[1-9]*"):
        shutil.rmtree(path)  # weights of 1e30 are finite, but no start for anything
    changes = {"optimizer": {"lr": 1e-3, "recurrent_lr": 1e-4}, "training": {"clip_norm": 1.0, "steps": 6}}
    assert resume(tmp_path / "run", changes)["status"] == "finished"
    assert metrics_of(tmp_path / "run")[-2]["lr"] == 1e-3


def test_nan_in_the_data_is_noticed_before_the_weights_are_touched() -> None:
    config = small(training={"dtype": "float64"})
    net = build_network(config)
    optimizer = make_optimizer(config.optimizer, net, 0)
    updater = Updater(net, config.task, optimizer, config.training, Processes())
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    batch = config.task.train_batch(0, 6, 0)
    batch.inputs[3, 2, 1] = math.nan
    with pytest.raises(
        DataError, match="copying: a batch to train on holds NaN or inf, so the data are at fault: correct"
    ):
        updater.step(batch)
    assert all(torch.equal(tensor, before[name]) for name, tensor in net.state_dict().items())


@pytest.mark.parametrize("where", ["training", "validation"])
def test_nan_in_the_data_is_not_blamed_on_the_rates(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = Adding.draw

    def broken(self: Adding, generators: Sequence[Any]) -> Batch:
        batch = draw(self, generators)
        if (batch.size == 3) == (where == "training"):  # a batch to train on has 3 sequences, of 8 in the other parts
            batch.inputs[1, 0, 0] = math.nan
        return batch

    config = small({"name": "adding"}, training={"batch_size": 3, "eval_batch_size": 8})
    monkeypatch.setattr(Adding, "draw", broken)
    what = "a batch to train on" if where == "training" else "the valid split"
    with pytest.raises(DataError, match=f"adding: {what} holds NaN") as caught:
        train(config, tmp_path / "run")
    assert "lr" not in caught.value.on_command_line
    assert read_summary(tmp_path / "run") is None
