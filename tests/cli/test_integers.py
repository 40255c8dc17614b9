"""``eval --integer``: what it says is what `deploy.integer` computes, counted here by hand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from commands import call
from torch.nn.functional import cross_entropy

import eigenloop as el
from eigenloop.training import load_run

SHORT = ["--hidden-size", "8", "--set", "valid_size=8", "--set", "test_size=30", "--set", "eval_every=3"]

pytestmark = pytest.mark.usefixtures("elsewhere")


def table(path: Path, cases: int = 60) -> Path:
    """Recordings of two channels and 4 to 6 steps; those of the last cases are ten times as large."""
    rng = np.random.default_rng(0)
    lines = ["id,speed,tilt,mood"]
    for case in range(cases):
        values = rng.normal(size=(4 + case % 3, 2)) + (2 if case % 2 else -2)
        if case >= cases - 9:  # the test part: the last 15 %
            values *= 10
        lines += [f"walk {case:02},{a:.3f},{b:.3f},{('calm', 'wild')[case % 2]}" for a, b in values]
    path.write_text("\n".join(lines) + "\n")
    return path


def said(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    capsys.readouterr()
    assert call("eval", "run", "--integer", "--split", "test", "--json", *options) == 0
    return dict(json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("state_bits", [12, 6])
def test_copying(state_bits: int, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--delay", "5", "--steps", "6", "--bits", "4", "--seed", "3", "--out", "run"]
    assert call("train", "copying", "--model", "qornn", *SHORT, *options) == 0
    result = said(capsys, "--state-bits", str(state_bits))["integer"]
    net, config, _ = load_run("run")
    calibration = config.task.train_batch(0, 200, seed=3).inputs
    whole = el.deploy.integer(net, calibration=calibration, state_bits=state_bits)
    (test,) = config.task.evaluation("test", 30)
    outputs = whole.predict(test.inputs)
    classes, targets = outputs.argmax(-1), test.targets.numpy()
    with torch.no_grad():
        before = net(test.inputs)[0].numpy()
    same = classes == before.argmax(-1)
    assert result["test"]["accuracy"] == pytest.approx(np.mean(classes[-10:] == targets[-10:]))
    loss = cross_entropy(torch.from_numpy(outputs).flatten(0, 1), test.targets.flatten())
    assert result["test"]["loss"] == pytest.approx(float(loss), rel=1e-5)
    agreement = result["test"]["agreement"]
    assert (agreement["same"], agreement["answers"]) == (same.sum(), 25 * 30)
    assert (agreement["same_sequences"], agreement["sequences"]) == (same.all(0).sum(), 30)
    assert agreement["largest"] == pytest.approx(np.abs(outputs - before).max(), rel=1e-5)
    assert (result["state_bits"], result["bytes"]) == (state_bits, whole.report().size.bytes)
    assert call("eval", "run", "--integer", "--state-bits", str(state_bits)) == 0
    out = capsys.readouterr().out
    assert f"a state of {state_bits} bits, ranges from 200 training sequences at most" in out
    assert f"  the same class: {same.sum()} of 750" in out


def test_adding_has_values_and_no_classes(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--length", "9", "--steps", "6", "--bits", "5", "--state-bits", "8", "--out", "run"]
    assert call("train", "adding", "--model", "qornn", *SHORT, *options) == 0
    result = said(capsys)["integer"]
    net, config, _ = load_run("run")
    whole = el.deploy.integer(net)  # trained with a state of 8 bits: ranges of its own
    (test,) = config.task.evaluation("test", 30)
    errors = whole.predict(test.inputs) - test.targets.numpy()
    assert result["test"]["loss"] == pytest.approx(np.mean(errors**2), rel=1e-5)
    assert result["state_bits"] == 8
    assert call("eval", "run", "--integer") == 0
    out = capsys.readouterr().out
    assert "a state of 8 bits, ranges as trained" in out
    assert "largest difference of an output" in out
    assert "the same class" not in out


def test_own_data(capsys: pytest.CaptureFixture[str]) -> None:
    data = table(Path("walks.csv"))
    options = ["--label", "mood", "--by", "order", "--hidden-size", "8", "--steps", "40", "--out", "run"]
    assert call("fit", str(data), "--case", "id", *options) == 0
    assert call("eval", "run", "--integer") == 2  # fit trains in floating point
    assert "floating point, and an integer network needs quantized ones: add --bits 8" in capsys.readouterr().err
    result = said(capsys, "--bits", "8", "--state-bits", "9")
    net, config, _ = load_run("run")
    el.quantization.quantize_(net, 8)
    task: Any = config.task
    train, test = (task.batch_of(task.pieces[part]) for part in ("train", "test"))
    whole = el.deploy.integer(net, calibration=train.inputs, lengths=train.lengths.tolist(), state_bits=9)
    classes = whole.predict(test.inputs, lengths=test.lengths.tolist()).argmax(-1)
    measures = result["integer"]["test"]
    assert measures["accuracy"] == np.mean(classes == test.targets.numpy())
    with torch.no_grad():
        before = net(test.inputs, lengths=test.lengths)[0].argmax(-1).numpy()
    assert result["test"]["accuracy"] == np.mean(before == test.targets.numpy())
    agreement = measures["agreement"]
    assert (agreement["same"], agreement["answers"]) == (np.sum(classes == before), len(classes))
    assert measures["confusion"] == np.histogram2d(test.targets, classes, bins=2, range=[[0, 2]] * 2)[0].tolist()
    # Ranges know the training part alone, so the large values of the test part saturate.
    assert net.input_scaling is not None
    valid = torch.arange(len(test.inputs))[:, None] < test.lengths
    seen = net.input_scaling(test.inputs)[valid].double().numpy()
    row = whole.report().ranges[0]
    codes = np.floor(seen / row.step + 0.5)
    beyond = int(np.sum((codes < -256) | (codes > 255)))
    assert beyond > 10
    assert measures["saturated"]["input"] == {"count": beyond, "of": seen.size}


def test_own_data_trained_in_few_bits(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--label", "mood", "--case", "id", "--hidden-size", "8", "--steps", "20", "--out", "run"]
    assert call("fit", str(table(Path("walks.csv"))), *options, "--bits", "4", "--state-bits", "8") == 0
    capsys.readouterr()
    result = said(capsys)
    net, config, _ = load_run("run")
    task: Any = config.task
    test = task.batch_of(task.pieces["test"])
    classes = el.deploy.integer(net).predict(test.inputs, lengths=test.lengths.tolist()).argmax(-1)
    assert result["integer"]["test"]["accuracy"] == np.mean(classes == test.targets.numpy())
    assert (result["integer"]["state_bits"], result["integer"]["ranges"]) == (8, "ranges as trained")


def test_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("train", "adding", "--model", "eurnn", *SHORT, "--steps", "3", "--length", "5", "--out", "run") == 0
    for options, sentence in (
        (["--integer"], "train a real matrix instead"),
        (["--state-bits", "8"], "--state-bits goes with --integer"),
        (["--integer", "--state-bits", "5"], "greater than or equal to 6"),
    ):
        capsys.readouterr()
        assert call("eval", "run", *options) == 2
        assert sentence in capsys.readouterr().err
