"""A folder from before folders had a version: four steps of scoRNN on copying, as the trainer of then wrote them."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from eigenloop import report, runs
from eigenloop.cli import main
from eigenloop.training import load_run, make_config, resume, train

FIXTURE = Path(__file__).parent / "fixtures" / "version-0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(FIXTURE, tmp_path / "run")


def test_it_is_what_it_was() -> None:
    assert not (FIXTURE / "config.yaml").read_text().startswith("version")
    run = runs.read(FIXTURE)
    assert (run.status, run.steps, run.missing()) == ("finished", 4, [])
    assert run.section("model")["name"] == "scornn"
    assert [line.step for line in run.lines["train"]] == [2, 4]
    assert [len(spectrum.after) for spectrum in run.spectra] == [4]


def test_it_is_measured_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["eval", str(folder), "--split", "test", "--json"])
    summary = runs.read_summary(folder)
    assert summary is not None
    assert summary.test is not None
    assert json.loads(capsys.readouterr().out)["test"] == pytest.approx(summary.test, rel=1e-5)


def test_it_goes_on_as_if_it_had_never_stopped(folder: Path, tmp_path: Path) -> None:
    before = runs.read_metrics(folder)
    assert resume(folder, {"training": {"steps": 6}})["steps"] == 6
    assert runs.read_metrics(folder)[: len(before)] == before
    assert (folder / "config.yaml").read_text().startswith("version: 1\n")
    train(make_config(runs.read_config(folder)), tmp_path / "whole")
    one, other = (load_run(run, "last")[0].state_dict() for run in (folder, tmp_path / "whole"))
    for name, tensor in one.items():
        # Not bit for bit: the first four steps were computed on another machine.
        assert torch.allclose(tensor, other[name], rtol=0, atol=1e-5), name


def test_it_is_reported(folder: Path, tmp_path: Path) -> None:
    assert "scoRNN on the copying task" in report.write([folder], tmp_path / "page.html").read_text(encoding="utf-8")
