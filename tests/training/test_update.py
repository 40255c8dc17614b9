"""One update: the step against a step written out, parts and truncation, what it leaves alone."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from training.small import metrics_of, small, text_folder, weights

import eigenloop as el
from eigenloop.tasks import Batch
from eigenloop.training import load_run, resume, train
from eigenloop.training.network import build_network
from eigenloop.training.optimizers import make_optimizer
from eigenloop.training.processes import Processes
from eigenloop.training.update import Updater


def test_the_loop_written_out(tmp_path: Path) -> None:
    """Five steps with two rates, a penalty, clipping and a schedule, beside the same in plain torch."""
    config = small(
        model={"name": "nnrnn", "delta": 0.5},
        optimizer={"name": "adam", "lr": 0.01, "recurrent_lr": 0.001},
        schedule={"name": "factor", "factor": 0.5, "unit": "step", "every": 2},
        training={"steps": 5, "dtype": "float64", "clip_norm": 0.05, "seed": 4},
    )
    train(config, tmp_path / "run")

    net = build_network(config)
    optimizer = torch.optim.Adam(el.optim.param_groups(net, 0.01, 0.001))
    rates = [group["lr"] for group in optimizer.param_groups]
    for step in range(5):
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * 0.5 ** (step // 2)
        batch = config.task.train_batch(step, 6, 4)
        y, _ = net(batch.inputs.double())
        loss = nn.functional.cross_entropy(y.reshape(-1, 9), batch.targets.reshape(-1)) + net.penalty()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.05)
        optimizer.step()
    trained = weights(tmp_path / "run")
    for name, tensor in net.named_parameters():
        assert torch.allclose(trained[name], tensor, rtol=0, atol=1e-12), name


@pytest.mark.parametrize("model", ["scornn", "enrnn", "lstm"])
@pytest.mark.parametrize("parts", [2, 5])
def test_parts_change_nothing(model: str, parts: int, tmp_path: Path) -> None:
    for number in (1, parts):
        config = small(
            model={"name": model}, training={"dtype": "float64", "batch_size": 7, "accumulate": number, "steps": 8}
        )
        train(config, tmp_path / str(number))
    one, many = weights(tmp_path / "1"), weights(tmp_path / str(parts))
    for name, tensor in one.items():
        assert torch.allclose(tensor, many[name], rtol=0, atol=1e-10), name


def gradients(config: Any, batch: Batch) -> dict[str, torch.Tensor]:
    """The gradient of one update, before the optimizer uses it."""
    net = build_network(config)
    optimizer = make_optimizer({"name": "sgd", "lr": 0.0, "recurrent_lr": 0.0}, net, 0)
    Updater(net, config.task, optimizer, config.training, Processes()).step(batch)
    return {name: p.grad for name, p in net.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("task", ["copying", "adding"])
@pytest.mark.parametrize("length", [1, 4, 7, 100])
def test_truncation_stops_the_gradient_and_not_the_state(task: str, length: int) -> None:
    config = small({"name": task}, {"name": "exprnn"}, training={"dtype": "float64", "truncate": length})
    batch = config.task.train_batch(0, 6, 0)
    found = gradients(config, batch)

    net = build_network(config)
    x = batch.inputs.double()
    state, outputs = None, []
    for start in range(0, len(x), length):
        y, state = net(x[start : start + length], None if state is None else state.detach())
        outputs.append(y)
    if task == "copying":
        y = torch.cat(outputs)
        loss = nn.functional.cross_entropy(y.reshape(-1, 9), batch.targets.reshape(-1))
    else:
        loss = nn.functional.mse_loss(outputs[-1], batch.targets.double())
    loss.backward()
    for name, parameter in net.named_parameters():
        assert torch.allclose(found[name], parameter.grad, rtol=0, atol=1e-12), name


def test_states_are_carried_within_an_epoch(tmp_path: Path) -> None:
    """Streams cut into segments give the losses of the whole streams when nothing is learned."""
    folder = text_folder(tmp_path / "data")
    task = {"name": "ptb-char", "bptt": 11, "eval_streams": 2, "verify": False, "data_dir": str(folder)}
    config = small(
        task,
        {"name": "scornn", "embedding_size": 4, "embedding_dropout": 0.0, "input_dropout": 0.0, "output_dropout": 0.0},
        optimizer={"name": "sgd", "lr": 0.0, "recurrent_lr": 0.0},
        schedule={"name": "constant"},
        training={"epochs": 2, "batch_size": 3, "eval_every": 1000, "log_every": 10**6, "dtype": "float64"},
    )
    train(config, tmp_path / "run")
    net = build_network(config)
    steps = config.task.steps_per_epoch(3)
    whole = [config.task.train_batch(step, 3, 0) for step in range(steps)]
    inputs, targets = (torch.cat([getattr(batch, side) for batch in whole]) for side in ("inputs", "targets"))
    with torch.no_grad():
        expected = float(nn.functional.cross_entropy(net(inputs)[0].flatten(0, 1), targets.flatten()))
    trained = [line for line in metrics_of(tmp_path / "run") if line["kind"] == "train"]
    assert trained[-1]["loss"] == pytest.approx(expected, rel=1e-12)
    assert trained[-1]["bpc"] == pytest.approx(expected / math.log(2), rel=1e-12)
    assert trained[-1]["epoch"] == 2


@pytest.mark.parametrize("model", ["scornn", "eurnn"])
def test_clip_value(model: str) -> None:
    config = small(model={"name": model}, training={"clip_value": 1e-4, "dtype": "float64"})
    found = gradients(config, config.task.train_batch(0, 6, 0)).values()
    real = [torch.view_as_real(gradient) if gradient.is_complex() else gradient for gradient in found]
    assert max(float(gradient.abs().max()) for gradient in real) == pytest.approx(1e-4)


@pytest.mark.parametrize("task", ["copying", "denoise"])
@pytest.mark.parametrize("length", [3, 10, 11])
def test_truncation_does_not_change_what_is_measured(task: str, length: int) -> None:
    found = []
    for truncate in (None, length):
        config = small({"name": task}, training={"truncate": truncate, "dtype": "float64"})
        net = build_network(config)
        updater = Updater(net, config.task, make_optimizer(config.optimizer, net, 0), config.training, Processes())
        tally, _ = updater.step(config.task.train_batch(0, 6, 0))
        found.append(tally.items())
    assert found[0]["accuracy"] == found[1]["accuracy"]
    assert found[0]["accuracy"][1] == 60
    assert found[0]["loss"] == pytest.approx(found[1]["loss"])


@pytest.mark.parametrize("model", ["eurnn", "urnn-full", "ncgru", "lstm"])
def test_dropout_trains(model: str, tmp_path: Path) -> None:
    summary = train(small(model={"name": model, "output_dropout": 0.5, "input_dropout": 0.2}), tmp_path / "run")
    assert summary["status"] == "finished"


def test_torch_is_left_as_it_was(tmp_path: Path) -> None:
    torch.manual_seed(3)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    train(small(training={"threads": threads + 1}), tmp_path / "run")
    load_run(tmp_path / "run")
    resume(tmp_path / "run", {"training": {"steps": 7}})
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
