"""Run folders and disks: what is there is left alone, what cannot be written is said, and nothing is lost."""

import errno
import math
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from training.small import metrics_of, small, text_folder, weights_of

from eigenloop.runs import atomic, checkpoints
from eigenloop.runs.reading import METRICS
from eigenloop.tasks import DataError
from eigenloop.training import ConfigError, RunError, checkpoint, evaluate, load_run, resume, train
from eigenloop.training.reporter import Silent


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    train(small(), tmp_path / "run")
    with pytest.raises(RunError, match="is there already: resume that run, or name another folder"):
        train(small(), tmp_path / "run")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RunError, match="is a file, and a run is a folder: name another") as caught:
        train(small(), tmp_path / "file")
    assert caught.value.on_command_line.endswith("choose another --out")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/photo.jpg").touch()
    with pytest.raises(RunError, match="is there already: name another folder"):  # there is no run to resume
        train(small(), tmp_path / "other")
    assert (tmp_path / "file").read_text() == "mine"
    with pytest.raises(RunError, match="holds no run to continue"):
        resume(tmp_path / "nowhere")
    with pytest.raises(RunError, match=r"there is no folder .*nowhere: give the folder"):
        load_run(tmp_path / "nowhere")
    with pytest.raises(RunError, match="no checkpoint of step 99"):
        load_run(tmp_path / "run", 99)


def test_settings_that_would_make_another_run_are_refused(tmp_path: Path) -> None:
    train(small(), tmp_path / "run")
    with pytest.raises(ConfigError, match=r"optimizer\.lr is 0\.001 in this run and cannot become 0\.5"):
        resume(tmp_path / "run", {"optimizer": {"lr": 0.5}})


def test_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    class Intruding(Silent):
        refused = False

        def step(self, step: int, loss: float) -> None:
            with pytest.raises(RunError, match="another process is training"):
                resume(tmp_path / "run")
            self.refused = True

    reporter = Intruding()
    train(small(training={"steps": 1}), tmp_path / "run", reporter)
    assert reporter.refused


def test_what_cannot_be_built_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="even"):
        train(small(model={"name": "nnrnn", "hidden_size": 7}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_start_that_was_killed_does_not_block_the_folder(tmp_path: Path) -> None:
    (tmp_path / "run/checkpoints").mkdir(parents=True)
    (tmp_path / "run/.lock").touch()
    (tmp_path / "run/.config.yaml.x.tmp").touch()
    assert train(small(), tmp_path / "run")["status"] == "finished"


def test_a_mistake_in_resuming_does_not_stay(tmp_path: Path) -> None:
    folder = text_folder(tmp_path / "data")
    task = {"name": "ptb-char", "bptt": 5, "eval_streams": 2, "verify": False, "data_dir": str(folder)}
    train(small(task, {"embedding_size": 4}), tmp_path / "run")
    before = (tmp_path / "run/config.yaml").read_text()
    with pytest.raises(DataError, match="nowhere"):
        resume(tmp_path / "run", {"task": {"data_dir": str(tmp_path / "nowhere")}})
    with pytest.raises(ConfigError, match=r"did you mean 'training\.steps'"):
        resume(tmp_path / "run", {"training": {"step": 100}})
    assert (tmp_path / "run/config.yaml").read_text() == before
    folder.rename(tmp_path / "moved")
    net, config, _ = load_run(tmp_path / "run", data_dir=tmp_path / "moved")
    assert math.isfinite(evaluate(net, config.task, "test", 2)["bpc"])
    assert resume(tmp_path / "run", {"task": {"data_dir": str(tmp_path / "moved")}})["status"] == "finished"


def test_a_configuration_that_no_longer_fits_is_said(tmp_path: Path) -> None:
    train(small(), tmp_path / "run")
    path = tmp_path / "run/config.yaml"
    path.write_text(path.read_text().replace("hidden_size: 8", "hidden_size: 6"))
    with pytest.raises(RunError, match=r"do not fit .*config.yaml"):
        load_run(tmp_path / "run")
    with pytest.raises(RunError, match=r"does not fit the network of .*config.yaml"):
        resume(tmp_path / "run")


class Full:
    """A disk that is full from some write on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
        self.left, self.sync = after, os.fsync
        monkeypatch.setattr(os, "fsync", self)

    def __call__(self, descriptor: int) -> None:
        if self.left == 0 and stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.left -= self.left > 0
        self.sync(descriptor)


@pytest.mark.parametrize("after", [*range(0, 30, 3), 60])
def test_a_full_disk_costs_a_sentence_and_nothing_else(
    after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small(training={"steps": 9})
    with monkeypatch.context() as patch:
        Full(patch, after)
        if after < 60:
            with pytest.raises(RunError, match="No space left on device"):
                train(config, tmp_path / "run")
        else:
            train(config, tmp_path / "run")
    if not (tmp_path / "run/config.yaml").exists():
        train(config, tmp_path / "run2")
        return
    assert not list((tmp_path / "run").rglob("*.tmp"))
    resume(tmp_path / "run")
    train(config, tmp_path / "whole")
    assert weights_of(tmp_path / "run", 9) == weights_of(tmp_path / "whole", 9)
    assert metrics_of(tmp_path / "run") == metrics_of(tmp_path / "whole")


def test_the_system_refuses_to_write_a_checkpoint(tmp_path: Path) -> None:
    """Real writes that fail: files may not grow beyond some bytes, which stops the second checkpoint's."""
    config = small(model={"hidden_size": 30}, optimizer={"name": "adam"}, training={"steps": 9})
    train(config, tmp_path / "whole")
    first, second = (
        max(path.stat().st_size for path in (tmp_path / f"whole/checkpoints/step-{step}").iterdir()) for step in (0, 9)
    )
    assert first < second  # Adam's moments come with the first step
    (tmp_path / "config.yaml").write_text(config.as_yaml())
    script = (
        "import resource; from eigenloop.cli import main\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({second - 1}, resource.RLIM_INFINITY))\n"
        f"main(['train', {str(tmp_path / 'config.yaml')!r}, '--out', {str(tmp_path / 'run')!r}])\n"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # as in this process: the order of sums depends on it
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert "Everything up to step 0 is saved" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "run").rglob("*.tmp"))
    resume(tmp_path / "run")
    assert weights_of(tmp_path / "run", 9) == weights_of(tmp_path / "whole", 9)


class Acting(Silent):
    """Does something after a step, and keeps the messages."""

    def __init__(self, at: int, act: Callable[[], None]) -> None:
        self.at, self.act, self.said = at, act, ""

    def step(self, step: int, loss: float) -> None:
        if step == self.at:
            self.act()

    def notice(self, text: str) -> None:
        self.said += text


def test_the_run_folder_is_deleted(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with pytest.raises(RunError, match=rf"deleted or replaced.* Nothing of the run is left in {run}: start it again"):
        train(small(training={"steps": 9}), run, Acting(4, lambda: shutil.rmtree(run)))
    assert not run.exists()


def test_the_checkpoints_are_deleted(tmp_path: Path) -> None:
    run = tmp_path / "run"
    config = small(training={"steps": 9})
    with pytest.raises(RunError, match=r"No such file.* No checkpoint is saved: correct that, then resume"):
        train(config, run, Acting(4, lambda: shutil.rmtree(run / "checkpoints")))
    train(config, tmp_path / "whole")
    resume(run)  # from its beginning
    assert weights_of(run, 9) == weights_of(tmp_path / "whole", 9)
    assert metrics_of(run) == metrics_of(tmp_path / "whole")


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_the_metrics_are_lost(how: str, tmp_path: Path) -> None:
    """The next line that is due says so: not one step more than that."""
    run = tmp_path / "run"
    path = run / METRICS

    def lose() -> None:
        content = path.read_bytes()
        path.rename(tmp_path / "kept")
        if how == "replaced":
            path.write_bytes(content)

    reporter = Acting(4, lose)
    with pytest.raises(RunError, match=rf"{METRICS} could not be written: it was deleted or .*up to step 3 is saved"):
        train(small(training={"steps": 60}), run, reporter)
    assert checkpoints.last_in(run / "checkpoints") == 3
    (tmp_path / "kept").replace(path)
    assert resume(run)["steps"] == 60


def test_the_configuration_is_deleted(tmp_path: Path) -> None:
    run = tmp_path / "run"
    reporter = Acting(4, (run / "config.yaml").unlink)
    train(small(training={"steps": 9}), run, reporter)
    assert "config.yaml was deleted, and is written again" in reporter.said
    assert load_run(run, "last")[2] == 9


def test_no_checkpoint_could_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save", refuse)
        with pytest.raises(RunError, match="No checkpoint is saved: correct that"):
            train(small(), tmp_path / "run")
    assert resume(tmp_path / "run")["status"] == "finished"


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write anywhere, so the refusal is simulated where the system would give it."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(atomic, "write_text", refuse)
    with pytest.raises(RunError, match="cannot be made: Permission denied"):
        train(small(), tmp_path / "run")


def test_a_failed_write_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    atomic.write_text(path, "old")
    with monkeypatch.context() as patch:
        Full(patch, 0)
        with pytest.raises(OSError, match="No space"):
            atomic.write_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]
    assert stat.S_IMODE(path.stat().st_mode) & 0o044 == 0o044 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_tensorboard_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'eigenloop\[tensorboard\]'"):
        train(small(training={"tensorboard": True}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX")
    train(small(training={"tensorboard": True}), tmp_path / "run")
    files = list((tmp_path / "run/tensorboard").iterdir())
    assert len(files) == 1
    assert b"train/loss" in files[0].read_bytes()
    assert b"valid/accuracy" in files[0].read_bytes()
