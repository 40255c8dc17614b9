"""The checkpoint that is asked for, or an error: never another one."""

from pathlib import Path

import pytest
from training.small import small

from eigenloop.cli import main
from eigenloop.runs import read_summary
from eigenloop.training import ConfigError, RunError, checkpoint, load_run, resume, train


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with checkpoints of steps 0, 3 and 6, of which the last is the best."""
    train(small(), tmp_path / "run")
    assert load_run(tmp_path / "run")[2] == 6
    return tmp_path / "run"


def make_best(run: Path, step: int) -> None:
    """Let the last checkpoint say that an earlier one was the best, better than any to come."""
    kept = checkpoint.load(run / "checkpoints", 6)
    kept.state["progress"]["best"] |= {"step": step, "loss": 0.0}
    checkpoint.save(run / "checkpoints", 6, kept.weights, kept.state)


@pytest.mark.parametrize("file", ["model.safetensors", "state.safetensors", "state.json"])
@pytest.mark.parametrize("which", ["best", "last", 6])
def test_a_damaged_checkpoint_is_an_error(file: str, which: str | int, run: Path) -> None:
    flip(run / "checkpoints/step-6" / file)
    with pytest.raises(RunError, match=rf"step-6/{file} is damaged .*choose another checkpoint of this run: 0, 3$"):
        load_run(run, which)
    assert load_run(run, 3)[2] == 3  # what is whole can still be had


def test_a_damaged_best_one_where_the_last_is_whole(run: Path) -> None:
    make_best(run, 3)
    flip(run / "checkpoints/step-3/model.safetensors")
    with pytest.raises(RunError, match=r"step-3/model.safetensors is damaged .*: last, 0, 6$"):
        load_run(run)
    assert load_run(run, "last")[2] == 6


@pytest.mark.parametrize("command", [["eval"], ["analyse", "gradients"], ["analyse", "schur"]])
def test_on_the_command_line(command: list[str], run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_best(run, 3)
    flip(run / "checkpoints/step-3/model.safetensors")
    with pytest.raises(SystemExit) as ended:
        main([*command, str(run)])
    assert ended.value.code == 1
    captured = capsys.readouterr()
    assert not captured.out
    assert "step-3/model.safetensors is damaged" in captured.err
    assert "choose another one with --checkpoint last or 0 or 6" in captured.err


def test_a_best_one_that_is_gone_is_not_offered(run: Path) -> None:
    make_best(run, 2)
    with pytest.raises(RunError, match=r"has no checkpoint of step 2: there are 0, 3, 6$"):
        load_run(run)


@pytest.mark.parametrize("which", ["newest", True, 1.5])
def test_what_is_no_checkpoint(which: object, run: Path) -> None:
    with pytest.raises(ConfigError, match="'best', 'last' or the number of a step"):
        load_run(run, which)  # type: ignore[arg-type]


def test_the_test_part_is_not_measured_with_another_network(run: Path) -> None:
    make_best(run, 3)
    flip(run / "checkpoints/step-3/model.safetensors")
    with pytest.raises(RunError, match=r"the best one is lost .*step-3.*: measure the last network with load_run"):
        resume(run, {"training": {"steps": 8}})
    summary = read_summary(run)
    assert summary is not None
    assert (summary.status, summary.steps, summary.test) == ("finished", 8, None)
    assert "test split was not measured" in summary.reason
    assert load_run(run, "last")[2] == 8
