"""Models beside each other on one file: equal parts, honest scores, sizes that match, and going on after a kill."""

import dataclasses
import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import call
from training.own_data import separable, wave

from eigenloop import trials
from eigenloop.errors import ConfigError
from eigenloop.runs import read_summary
from eigenloop.runs.reading import SUMMARY
from eigenloop.tasks import Sequences
from eigenloop.training import load_run, outcome
from eigenloop.training.network import build_network
from eigenloop.training.summary import count_parameters

QUICK = ["--hidden-size", "4", "--steps", "12", "--set", "eval_every=6"]

pytestmark = pytest.mark.usefixtures("elsewhere")


def settings(data: Path, **task: Any) -> dict[str, dict[str, Any]]:
    return {
        "task": {"data": str(data), **task},
        "model": {"hidden_size": 4},
        "training": {"steps": 12, "eval_every": 6},
    }


def test_folds_are_scored_where_nothing_was_trained(capsys: pytest.CaptureFixture[str]) -> None:
    data = separable(Path("watch.npz"), cases=60, groups=6)
    command = ["compare", str(data), "--models", "ncgru,lstm", "--bits", "float,4", "--folds", "3", "--jobs", "0"]
    assert call(*command, *QUICK) == 0
    out = capsys.readouterr().out
    assert "4 combinations, 12 runs" in out
    assert "held-out fold decides the order" in out
    found = json.loads(Path("compare/watch/compare.json").read_text())
    assert [(row["model"], row["bits"]) for row in found["rows"]] != []
    assert {(row["model"], row["bits"]) for row in found["rows"]} == {
        (model, bits) for model in ("ncgru", "lstm") for bits in (None, 4)
    }
    means = [row["score"]["mean"] for row in found["rows"]]
    assert means == sorted(means, reverse=True)
    parts = set()
    for row in found["rows"]:
        scores, tested = [], []
        for run in row["runs"]:
            net, config, _ = load_run(Path("compare/watch") / run["folder"])
            assert isinstance(config.task, Sequences)
            answers = outcome(net, config.task, "test")
            scores.append((answers.classes == answers.truth).mean())
            tested.append(tuple(sorted(config.task.pieces["test"].case.tolist())))
            groups = config.task.sequences.groups
            assert groups is not None
            held, trained = (set(groups[config.task.pieces[part].case]) for part in ("test", "train"))
            assert not held & trained
        assert row["score"]["mean"] == pytest.approx(np.mean(scores))
        assert row["score"]["deviation"] == pytest.approx(np.std(scores, ddof=1))
        assert "test" not in row
        assert sorted(itertools.chain(*tested)) == list(range(60))  # every case is held out once
        parts.add(tuple(tested))
    assert len(parts) == 1  # the same for all models
    assert Path("compare/watch/compare.png").read_bytes().startswith(b"\x89PNG")

    # The same command does nothing again, and a run that is missing is the only one that is made.
    before = {path: path.stat().st_mtime_ns for path in Path("compare/watch/runs").glob(f"*/{SUMMARY}")}
    (Path("compare/watch/runs/lstm-fold1-seed0") / SUMMARY).unlink()
    assert call(*command, *QUICK) == 0
    out = capsys.readouterr().out
    assert out.count("done before") == 11
    assert "lstm-fold1-seed0: resumes" in out
    after = {path: path.stat().st_mtime_ns for path in before}
    assert [path.parent.name for path in before if before[path] != after[path]] == ["lstm-fold1-seed0"]
    again = json.loads(Path("compare/watch/compare.json").read_text())
    assert [row["score"] for row in again["rows"]] == [row["score"] for row in found["rows"]]

    # Other settings are other runs; what was there is kept.
    assert call(*command, *QUICK, "--set", "lr=0.5") == 0
    assert "now in compare/watch/runs/ncgru-fold0-seed0-old" in capsys.readouterr().out


def test_validation_decides_and_test_is_only_shown(tmp_path: Path) -> None:
    plan = trials.planned(settings(separable(tmp_path / "watch.npz")), ["ncgru", "gru"], [None], seeds=2)
    watcher = Recorder()
    assert trials.run(list(plan.trials()), tmp_path, watcher, jobs=0)
    forged = {"ncgru": (0.9, 0.1), "gru": (0.2, 0.8)}
    for trial in plan.trials():
        file = tmp_path / "runs" / trial.name / SUMMARY
        summary = json.loads(file.read_text())
        valid, test = forged[trial.combination.model]
        summary["best"]["accuracy"], summary["test"]["accuracy"] = valid + trial.seed / 100, test
        file.write_text(json.dumps(summary))
    table = trials.tabulated(plan, tmp_path)
    assert [row.combination.model for row in table.rows] == ["ncgru", "gru"]
    assert table.decided_by == "validation"
    assert table.rows[0].score.values == (0.9, 0.91)
    assert table.rows[0].test.mean == pytest.approx(0.1)

    summary["status"] = "diverged"
    file.write_text(json.dumps(summary))
    assert trials.tabulated(plan, tmp_path).rows[1].missing == 1
    with pytest.raises(ConfigError, match="without folds a comparison is decided by the validation split"):
        trials.planned(
            settings(tmp_path / "watch.npz", valid=0) | {"schedule": {"name": "constant"}}, ["ncgru"], [None], seeds=2
        )


def test_sizes(tmp_path: Path) -> None:
    data = separable(tmp_path / "watch.npz")
    wanted = {"task": {"data": str(data)}}
    plan = trials.planned(wanted, ["ncgru", "scornn", "lstm"], [None, 4], parameters=1500)
    for combination in plan.combinations:
        assert combination.parameters <= 1500
        size = combination.config.network.hidden_size
        assert isinstance(size, int)
        more = combination.config.network.model_copy(update={"hidden_size": size + 1})
        larger = build_network(dataclasses.replace(combination.config, network=more))
        assert count_parameters(larger) > 1500
    matched = trials.planned(wanted | {"model": {"hidden_size": 10}}, ["gru"], [None]).combinations[0]
    first, second = trials.planned(wanted, ["gru", "lstm"], [None], match_parameters=True).combinations
    assert first.config.network.hidden_size == 64  # what fit takes
    assert second.parameters <= first.parameters
    assert matched.parameters == 3 * 10 * (10 + 2 + 2) + 3 * 10 + 3
    bounded = trials.planned(wanted, ["ncgru"], [None, 4], max_bytes=3000).combinations
    assert all(combination.bytes <= 3000 for combination in bounded)
    assert bounded[1].parameters > bounded[0].parameters
    for bad in ({"parameters": 10}, {"parameters": 900, "max_bytes": 900}, {"max_bytes": 10}):
        with pytest.raises(ConfigError):
            trials.planned(wanted, ["ncgru"], [None], **bad)
    for models, widths in (([], [None]), (["gru", "gru"], [None]), (["gru"], [4, 4]), (["nothing"], [None])):
        with pytest.raises(ConfigError):
            trials.planned(wanted, models, widths)


def test_forecasts_are_compared_by_their_errors(capsys: pytest.CaptureFixture[str]) -> None:
    data = wave(Path("wave.npz"), steps=400)
    assert call("compare", str(data), "--models", "gru,lstm", "--seeds", "2", "--jobs", "0", *QUICK) == 0
    assert "rmse, mean ± standard deviation over seeds; validation decides the order" in capsys.readouterr().out
    rows = json.loads(Path("compare/wave/compare.json").read_text())["rows"]
    assert rows[0]["score"]["mean"] <= rows[1]["score"]["mean"]
    assert rows[0]["test"]["count"] == 2


@pytest.mark.skipif(sys.platform == "win32", reason="kill")
def test_it_goes_on_after_kill_9(tmp_path: Path) -> None:
    data = separable(tmp_path / "watch.npz")
    command = [sys.executable, "-m", "eigenloop", "compare", str(data), "--models", "ncgru", "--seeds", "2"]
    command += ["--jobs", "1", "--hidden-size", "4", "--steps", "400", "--set", "eval_every=50", "--out", "cut"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    first = tmp_path / "cut" / "runs" / "ncgru-seed0"
    deadline = time.monotonic() + 120
    while not any(first.glob("checkpoints/*")) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    process.kill()  # SIGKILL; its training lives on, and is waited for
    process.wait()
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "failed" not in ended.stdout
    for seed in (0, 1):
        summary = read_summary(tmp_path / "cut" / "runs" / f"ncgru-seed{seed}")
        assert summary is not None
        assert summary.status == "finished"
    assert len(json.loads((tmp_path / "cut" / "compare.json").read_text())["rows"][0]["runs"]) == 2


class Recorder:
    """A watcher that says nothing."""

    def skipped(self, trial: trials.Trial) -> None: ...
    def set_aside(self, trial: trials.Trial, folder: Path) -> None: ...
    def held(self, trial: trials.Trial) -> None: ...
    def started(self, trial: trials.Trial, resumed: bool) -> None: ...
    def waiting(self, running: Any) -> None: ...
    def finished(self, trial: trials.Trial, folder: Path, problem: str | None) -> None:
        assert problem is None


def test_float_is_float_for_a_model_that_has_bits_of_its_own(tmp_path: Path) -> None:
    wanted = {"task": {"data": str(separable(tmp_path / "watch.npz"))}}
    in_float, in_four = trials.planned(wanted, ["qornn"], [None, 4]).combinations
    assert in_float.bytes > 4 * in_float.parameters > 4 * in_four.bytes
    layers = [build_network(each.config).rnn for each in (in_float, in_four)]
    assert [None if layer.quantizer is None else layer.quantizer.bits for layer in layers] == [None, 4]
