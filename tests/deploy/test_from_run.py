"""The network of a run in whole numbers: its own weights, ranges of its training part, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from training.own_data import config_of, separable

import eigenloop as el
from eigenloop.deploy.from_run import integer_of_run, integer_of_task
from eigenloop.errors import ConfigError
from eigenloop.training import load_run, train


def trained(folder: Path, **model: Any) -> Path:
    config = config_of(separable(folder / "watch.npz"), model={"hidden_size": 8, **model}, steps=3)
    train(config, folder / "run")
    return folder / "run"


@pytest.mark.parametrize("state_bits", [None, 16])
def test_ranges_are_those_of_the_training_part(tmp_path: Path, state_bits: int | None) -> None:
    made = integer_of_run(trained(tmp_path, bits=4), state_bits=state_bits)
    net, config, step = load_run(tmp_path / "run")
    task: Any = config.task
    train_cases = task.pieces["train"].case
    values = np.concatenate([task.sequences.case(case) for case in train_cases])
    largest = np.abs((values - values.mean(0)) / values.std(0)).max()
    row = made.network.report().ranges[0]
    assert (made.step, row.bits) == (step, state_bits or 12)
    assert row.range == pytest.approx(largest, rel=1e-5)
    assert row.total == values.size  # every step of every training case, and of no other
    X = task.batch_of(task.pieces["test"]).inputs
    direct = el.deploy.integer(net, calibration=task.train_batch(0, 200, 0).inputs, state_bits=state_bits)
    np.testing.assert_array_equal(made.network.sums(X), direct.sums(X))


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ({}, "train it again with --bits 4"),
        ({"name": "eurnn"}, "train a real matrix instead"),
    ],
)
def test_what_has_no_integer_form(tmp_path: Path, model: dict[str, Any], sentence: str) -> None:
    run = trained(tmp_path, **model)
    (tmp_path / "watch.npz").unlink()  # nothing is read before it is refused
    with pytest.raises(ConfigError) as error:
        integer_of_run(run)
    assert sentence in error.value.on_command_line


def test_a_width_that_does_not_exist(tmp_path: Path) -> None:
    net, config, _ = load_run(trained(tmp_path, bits=4))
    with pytest.raises(ConfigError, match="state_bits"):
        integer_of_task(net, config.task, state_bits=40)


def test_both_directions(tmp_path: Path) -> None:
    _, config, _ = load_run(trained(tmp_path, bits=4))
    net = el.Model(el.RNN(2, 8, bits=4, bidirectional=True), 3, last=True)
    with pytest.raises(ConfigError, match="train it with bidirectional=False"):
        integer_of_task(net, config.task)
