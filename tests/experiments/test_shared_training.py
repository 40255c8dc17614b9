"""Rows that share a training: it is done once, and every row measures the same network in its own way."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from eigenloop import RNN
from eigenloop.experiments import Experiment, Planned, Record, collect, planned, records, reproduce
from eigenloop.experiments.reproduce import folder_of
from eigenloop.experiments.schema import Row
from eigenloop.quantization import quantize_
from eigenloop.training import RunError, evaluate, load_run

FLOAT = {"name": "qornn", "hidden_size": 8, "strategy": "ptq-projunn", "bits": None}
OPTIMIZER = {"name": "projunn", "lr": 1e-3, "recurrent_lr": 1e-3}


def experiment(**again: object) -> Experiment:
    """A network in floating point, and the same in four bits and in three around the identity."""
    rows = {
        "float": {"settings": {"model": FLOAT, "optimizer": OPTIMIZER}},
        "four": {"trained_as": "float", "settings": {"model": {**FLOAT, "bits": 4}, "optimizer": OPTIMIZER}},
        "three": {
            "trained_as": "float",
            "settings": {"model": {**FLOAT, "bits": 3, "around_identity": True, **again}, "optimizer": OPTIMIZER},
        },
    }
    return Experiment(
        name="made-up",
        paper="QORNN",
        item="Figure 0",
        title="made up",
        settings={
            "task": {"name": "copying", "delay": 3, "valid_size": 8, "test_size": 8},
            "training": {"batch_size": 4, "eval_every": 2, "log_every": 1, "steps": 4},
        },
        budgets={"smoke": {}, "hour": {}, "full": {}},
        rows={name: {"label": name, "said": "works", **row} for name, row in rows.items()},
    )


class Trained:
    """Remembers which runs found no training before them."""

    def __init__(self) -> None:
        self.first: list[str] = []
        self.done: list[str] = []

    def skipped(self, run: Planned, record: Record) -> None:
        pass

    def started(self, run: Planned, resumed: bool) -> None:
        if not resumed:
            self.first.append(run.row_name)

    def waiting(self, running: Mapping[str, Path]) -> None:
        assert len(set(running.values())) == len(running), "two trainings in one folder"

    def finished(self, run: Planned, record: Record | None, problem: str | None) -> None:
        assert record is not None, problem
        self.done.append(run.row_name)


@pytest.mark.parametrize("jobs", [0, pytest.param(3, marks=pytest.mark.slow)])
def test_one_training_serves_all_its_rows(tmp_path: Path, jobs: int) -> None:
    runs = planned(experiment(), "smoke")
    results, work, watcher = tmp_path / "results", tmp_path / "work", Trained()
    assert reproduce(runs, results, work, watcher, jobs=jobs)
    assert watcher.first == ["float"]
    assert sorted(watcher.done) == ["float", "four", "three"]
    assert [path.name for path in (work / "made-up").iterdir() if path.is_dir()] == ["float-smoke-0"]
    found = {name: records.read(results, "made-up", name)[0] for name in watcher.done}
    net, config, _ = load_run(folder_of(runs[0], work))
    assert found["float"].value == pytest.approx(evaluate(net, config.task, "test", 4)["loss"], rel=1e-6)
    for name, bits, around in (("four", 4, False), ("three", 3, True)):
        net, _, _ = load_run(folder_of(runs[0], work))
        quantize_(net, bits, around_identity=around)
        assert found[name].value == pytest.approx(evaluate(net, config.task, "test", 4)["loss"], rel=1e-6)
        assert found[name].curve == found[name].train_curve == []
        assert found[name].config["model"]["bits"] == bits
        assert found[name].steps == 4
    assert len({record.value for record in found.values()}) == 3
    assert len({record.config_hash for record in found.values()}) == 3


def test_a_trained_matrix_is_measured_in_place_of_its_task(tmp_path: Path) -> None:
    """Against W itself: its eigenvalues and singular values, not its parameters."""
    schur = {"settings": {"model": {"name": "nnrnn", "hidden_size": 8}}}
    bits = {"settings": {"model": {"name": "qornn", "hidden_size": 8, "strategy": "ste-bjorck", "bits": 3}}}
    rows = {
        "schur": schur,
        "normal": {**schur, "trained_as": "schur", "metric": "non_normality"},
        "gamma": {**schur, "trained_as": "schur", "metric": "mean_gamma"},
        "bits": bits,
        "ratio": {**bits, "trained_as": "bits", "metric": "singular_ratio"},
    }
    made = experiment().model_copy(update={"rows": {n: Row(label=n, said="is so", **row) for n, row in rows.items()}})
    runs = planned(made, "smoke")
    assert reproduce(runs, tmp_path / "results", tmp_path / "work", Trained(), jobs=0)
    found = {name: records.read(tmp_path / "results", "made-up", name)[0].value for name in rows}
    net, _, _ = load_run(folder_of(runs[0], tmp_path / "work"))
    assert isinstance(net.rnn, RNN)
    W = net.rnn.recurrent_matrix().detach().double()
    normal = 1 - float(torch.linalg.eigvals(W).abs().square().sum() / W.square().sum())
    assert found["normal"] == pytest.approx(max(normal, 0.0) ** 0.5, abs=1e-4)
    assert found["gamma"] == pytest.approx(net.rnn.get_parameter("recurrent_l0.gamma").mean().item(), rel=1e-5)
    net, _, _ = load_run(folder_of(runs[3], tmp_path / "work"))
    assert isinstance(net.rnn, RNN)
    sigma = torch.linalg.svdvals(net.rnn.recurrent_matrix().detach().double())
    assert found["ratio"] == pytest.approx(float(sigma[-1] / sigma[0]), rel=1e-4)


def test_a_row_alone_trains_what_it_needs(tmp_path: Path) -> None:
    watcher = Trained()
    results, work = tmp_path / "results", tmp_path / "work"
    assert reproduce(planned(experiment(), "smoke", ["four"]), results, work, watcher, jobs=0)
    assert (watcher.first, watcher.done) == (["four"], ["four"])
    assert records.read(results, "made-up", "float") == []
    assert [run.row_name for run, _ in collect(planned(experiment(), "smoke"), results, work)] == [
        "float",
        "four",
        "three",
    ]


def test_other_weights_cannot_be_measured_again(tmp_path: Path) -> None:
    runs = planned(experiment(hidden_size=9), "smoke", ["three"])
    with pytest.raises(RunError, match="row three of made-up cannot hold the network"):
        reproduce(runs, tmp_path / "results", tmp_path / "work", Trained(), jobs=0)
