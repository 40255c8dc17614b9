"""``--import``: a module of a user's own registers things, is inherited by child processes, and is never guessed."""

import os
import sys
from pathlib import Path

import pytest
from commands import call

from eigenloop import registry
from eigenloop.cli.imports import VARIABLE
from eigenloop.errors import ConfigError

MODULE = """
from functools import partial
from pathlib import Path

from eigenloop import registry
from eigenloop.matrices import ScaledCayley

registry.MATRICES.register("halves", partial(ScaledCayley, negative=2), line="a matrix of my own")
registry.EXPERIMENTS.register("own-table", Path(__file__).with_name("own-table.yaml"))
"""
TABLE = """
paper: Mine
item: Table 1
title: halves
settings:
  task: {name: copying, delay: 3, valid_size: 4, test_size: 4}
  model: {name: scornn, hidden_size: 4, recurrent: halves}
  training: {batch_size: 4}
budgets:
  smoke: {settings: {training: {steps: 2}}}
  hour: {settings: {training: {steps: 2}}}
  full: {settings: {training: {steps: 2}}}
rows:
  own: {label: own, said: nothing}
"""
TRAIN = ["train", "copying", "--model", "scornn", "--delay", "3", "--hidden-size", "4", "--batch-size", "2"]
TRAIN += ["--set", "valid_size=4", "--set", "test_size=4"]


@pytest.fixture(autouse=True)
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a module in it, which is forgotten afterwards."""
    (tmp_path / "my_matrices.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "own-table.yaml").write_text(TABLE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setattr(sys, "path", [*sys.path])
    for kind in registry.KINDS.values():
        monkeypatch.setattr(kind, "_registered", {})
    forget()


def forget() -> None:
    sys.modules.pop("my_matrices", None)
    os.environ[VARIABLE] = ""
    for kind in registry.KINDS.values():
        kind._registered.clear()


def test_a_matrix_of_ones_own_trains_and_resumes(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("list", "matrices", "--import", "my_matrices") == 0
    assert "a matrix of my own" in capsys.readouterr().out
    forget()
    assert call("--import=my_matrices", *TRAIN, "--steps", "2", "--set", "recurrent=halves", "--out", "run") == 0
    forget()
    assert call("eval", "run") == 2
    assert "import the module that registers it first: name the module with --import" in capsys.readouterr().err
    assert "my_matrices" not in sys.modules
    assert call("train", "--resume", "--out", "run", "--steps", "4", "--import", "my_matrices") == 0
    assert call("eval", "run") == 0  # of a process that has it, as every child has


def test_child_processes_inherit_it() -> None:
    assert call("reproduce", "own-table", "--jobs", "1", "--import", "my_matrices") == 0
    assert "halves" in Path("results/own-table/own.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"),
    [
        (MODULE, ["--import", "no_such_module"], "there is no module 'no_such_module'"),
        (MODULE, ["--import"], "--import needs the name of a module"),
        ("import no_such_module", ["--import", "my_matrices"], "it needs the module 'no_such_module'"),
        ("1 / 0", ["--import", "my_matrices"], "cannot be imported (ZeroDivisionError"),
        (
            MODULE.replace('"halves"', '"cayley"'),
            ["--import", "my_matrices"],
            "'cayley' is the name of a built-in matrix",
        ),
        (MODULE + MODULE, ["--import", "my_matrices"], "there is a matrix 'halves' already"),
    ],
)
def test_what_cannot_be_imported_is_a_sentence(
    content: str, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("my_matrices.py").write_text(content, encoding="utf-8")
    assert call("list", *arguments) == 2
    assert sentence in capsys.readouterr().err


def test_a_name_is_no_way_to_import(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*TRAIN, "--steps", "2", "--set", "recurrent=my_matrices:halves", "--out", "run") == 2
    assert "recurrent='my_matrices:halves' is not known" in capsys.readouterr().err
    assert "my_matrices" not in sys.modules


@pytest.mark.parametrize("kind", registry.KINDS.values(), ids=list(registry.KINDS))
def test_names_of_ours_are_taken(kind: registry.Kind) -> None:
    with pytest.raises(ConfigError, match="is the name of a built-in"):
        kind.register(next(iter(kind)), "my_module:mine")
