"""A run that is cut off and taken up again ends, bit for bit, where it would have ended."""

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from forked import finished, started
from training.small import metrics_of, small, summary_of, text_folder, weights_of

from eigenloop.models import NAMES
from eigenloop.runs import checkpoints, read_spectra
from eigenloop.tasks import Batch
from eigenloop.training import Config, RunError, checkpoint, load_run, resume, train
from eigenloop.training.reporter import Beginning, Silent


class Cut(Silent):
    """A reporter that ends the process's work after a step, as a kill would."""

    class Killed(BaseException):
        pass

    def __init__(self, step: int) -> None:
        self.at = step

    def step(self, step: int, loss: float) -> None:
        if step == self.at:
            raise self.Killed


def cut_and_resume(config: Config, folder: Path, *steps: int) -> Path:
    with pytest.raises(Cut.Killed):
        train(config, folder, Cut(steps[0]))
    for step in steps[1:]:
        with pytest.raises(Cut.Killed):
            resume(folder, reporter=Cut(step))
    resume(folder)
    return folder


def assert_equal(cut: Path, whole: Path, step: int) -> None:
    assert weights_of(cut, step) == weights_of(whole, step)
    assert metrics_of(cut) == metrics_of(whole)
    assert summary_of(cut) == summary_of(whole)
    assert read_spectra(cut) == read_spectra(whole)


@pytest.mark.parametrize("model", NAMES)
def test_every_model(model: str, tmp_path: Path) -> None:
    config = small(model={"name": model}, training={"steps": 7})
    train(config, tmp_path / "whole")
    assert_equal(cut_and_resume(config, tmp_path / "cut", 2, 5), tmp_path / "whole", 7)


@pytest.mark.parametrize("model", ["ncgru", "gru", "lstm", "rnn"])
@pytest.mark.parametrize("steps", [(1,), (2, 5)])
def test_learned_ranges_of_rounded_states(model: str, steps: tuple[int, ...], tmp_path: Path) -> None:
    """They are calibrated once, on the first batch, and go on as they were with the optimizer's memory of them."""
    config = small(
        model={"name": model, "state_bits": 8, "bits": 4}, optimizer={"lr": 0.05}, training={"steps": 7, "log_every": 1}
    )
    train(config, tmp_path / "whole")
    assert_equal(cut_and_resume(config, tmp_path / "cut", *steps), tmp_path / "whole", 7)
    assert any("range" in name for name in weights_of(tmp_path / "whole", 7))


OPTIMIZERS = ("adam", "adamw", "rmsprop", "tf-rmsprop", "sgd", "adagrad")
SCHEDULES: tuple[dict[str, Any], ...] = (
    {"name": "factor", "factor": 0.9, "unit": "step", "every": 2},
    {"name": "plateau", "factor": 0.5, "patience": 0},
)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: schedule["name"])
def test_every_optimizer_and_schedule(optimizer: str, schedule: dict[str, Any], tmp_path: Path) -> None:
    momentum = {"momentum": 0.5} if optimizer in ("rmsprop", "tf-rmsprop", "sgd") else {}
    config = small(
        optimizer={"name": optimizer, "lr": 0.01, **momentum},
        schedule=schedule,
        training={"steps": 12, "eval_every": 2, "log_every": 5, "clip_norm": 1.0},
    )
    train(config, tmp_path / "whole")
    assert_equal(cut_and_resume(config, tmp_path / "cut", 1, 3, 8), tmp_path / "whole", 12)


def text_config(tmp_path: Path, **training: Any) -> Config:
    """A language model with everything that a checkpoint must hold: states, dropout, Neumann's inverse, a plateau."""
    return small(
        {
            "name": "ptb-char",
            "bptt": 7,
            "eval_streams": 3,
            "verify": False,
            "data_dir": str(text_folder(tmp_path / "data")),
        },
        {"name": "ncgru", "embedding_size": 6, "embedding_dropout": 0.1, "input_dropout": 0.2, "output_dropout": 0.3},
        schedule={"name": "plateau", "factor": 0.5},
        training={"batch_size": 6, "accumulate": 2, "eval_every": 4, "log_every": 3, **training},
    )


@pytest.mark.parametrize("steps", [(1,), (4,), (6, 7, 17)])
def test_carried_states_dropout_and_parts(steps: tuple[int, ...], tmp_path: Path) -> None:
    config = text_config(tmp_path, steps=30)
    train(config, tmp_path / "whole")
    assert_equal(cut_and_resume(config, tmp_path / "cut", *steps), tmp_path / "whole", 30)


@pytest.mark.slow
def test_kill_at_ten_random_moments(tmp_path: Path) -> None:
    """The command line, killed with SIGKILL ten times wherever it happens to be, then left to finish."""
    steps = 300
    config = text_config(tmp_path, steps=steps, eval_every=5, checkpoint_seconds=0.0)
    (tmp_path / "config.yaml").write_text(config.as_yaml())
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    seed = random.SystemRandom().randrange(10**9)
    moments = random.Random(seed)
    finished(["train", "config.yaml", "--out", "whole"], tmp_path)
    kills = 0
    while kills < 10:
        first = not (cut / "config.yaml").exists()
        if first:
            shutil.rmtree(cut, ignore_errors=True)
        known = newest_step(cut)
        process = started(["train", "config.yaml" if first else "--resume", "--out", "cut"], tmp_path)
        # Somewhere in the start of one of the ten, and among the steps and checkpoints of the others.
        early = kills == 3
        while not early and newest_step(cut) <= known and process.is_alive():
            time.sleep(0.005)
        time.sleep(moments.uniform(0.0, 0.3 if early else 0.1))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL, f"it ended before it was killed: make the run longer (seed {seed})"
        kills += 1
    finished(["train", "--resume", "--out", "cut"], tmp_path)
    assert_equal(cut, whole, steps)
    assert not list(cut.rglob("*.tmp"))


def newest_step(run: Path) -> int:
    return max(checkpoints.steps_in(run / "checkpoints"), default=-1)


@pytest.fixture
def _signals() -> Iterator[None]:
    """Whatever started the tests may ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_signals")
def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    class Interrupting(Silent):
        def step(self, step: int, loss: float) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert train(small(), tmp_path / "run", Interrupting())["status"] == "finished"


@pytest.mark.usefixtures("_signals")
def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path: Path) -> None:
    class Interrupting(Silent):
        def step(self, step: int, loss: float) -> None:
            if step == 4:
                os.kill(os.getpid(), signal.SIGINT)

    config = small(training={"steps": 9})
    summary = train(config, tmp_path / "run", Interrupting())
    assert summary["status"] == "stopped"
    assert summary["steps"] == 4
    assert summary["reason"] == "interrupted at step 4"
    assert newest_step(tmp_path / "run") == 4
    train(config, tmp_path / "whole")
    assert resume(tmp_path / "run")["status"] == "finished"
    assert_equal(tmp_path / "run", tmp_path / "whole", 9)


@pytest.mark.parametrize("first", [6, 7])
def test_more_steps_than_were_planned(first: int, tmp_path: Path) -> None:
    """The evaluation that ends the shorter run, off the beat, leaves rates and patience alone."""
    plateau = {"name": "plateau", "factor": 0.5}
    train(small(schedule=plateau, training={"steps": first}), tmp_path / "run")
    assert resume(tmp_path / "run", {"training": {"steps": 12}})["steps"] == 12
    train(small(schedule=plateau, training={"steps": 12}), tmp_path / "whole")
    assert weights_of(tmp_path / "run", 12) == weights_of(tmp_path / "whole", 12)
    if first == 6:
        assert_equal(tmp_path / "run", tmp_path / "whole", 12)


def test_the_time_of_earlier_sessions_is_reported(tmp_path: Path) -> None:
    class Listening(Silent):
        def begin(self, beginning: Beginning) -> None:
            told.append(beginning.seconds)

    told: list[float] = []
    first = train(small(), tmp_path / "run", Listening())
    resume(tmp_path / "run", {"training": {"steps": 9}}, Listening())
    assert told[0] == 0
    assert told[1] == pytest.approx(first["seconds"], abs=1e-3)


def test_the_same_data_in_any_order() -> None:
    config = small(task={"train_size": 20})

    def batch(step: int) -> Batch:
        return config.task.train_batch(step, 6, 3)

    forwards = [batch(step) for step in range(9)]
    for step in (8, 0, 5, 3):
        assert (batch(step).inputs == forwards[step].inputs).all()
        assert (batch(step).targets == forwards[step].targets).all()


@pytest.mark.parametrize("file", ["model.safetensors", "state.safetensors", "state.json"])
@pytest.mark.parametrize("damage", ["cut", "flip", "gone", "empty"])
def test_a_damaged_checkpoint_costs_a_sentence(file: str, damage: str, tmp_path: Path) -> None:
    class Telling(Silent):
        said = ""

        def notice(self, text: str) -> None:
            self.said += text

    config = small(training={"steps": 7})
    train(config, tmp_path / "whole")
    run = tmp_path / "run"
    with pytest.raises(Cut.Killed):
        train(config, run, Cut(7))
    path = run / "checkpoints" / "step-6" / file
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :]
        path.write_bytes({"cut": content[:middle], "flip": flipped, "empty": b""}[damage])
    reporter = Telling()
    resume(run, reporter=reporter)
    assert "step-6" in reporter.said
    assert "Resuming from step 3" in reporter.said
    assert_equal(run, tmp_path / "whole", 7)
    assert (run / "checkpoints" / "step-6.damaged").is_dir()


def test_no_whole_checkpoint_is_said(tmp_path: Path) -> None:
    train(small(), tmp_path / "run")
    for path in (tmp_path / "run" / "checkpoints").rglob("state.json"):
        path.write_text("{}")
    before = sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir())
    with pytest.raises(RunError, match="every checkpoint is damaged"):
        resume(tmp_path / "run")
    assert sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir()) == before


@pytest.mark.parametrize("model", ["lstm", "gru"])
def test_runs_from_when_lstm_and_gru_were_torchs_own(tmp_path: Path, model: str) -> None:
    """Their networks load; their optimizers are refused with a sentence, never misread."""
    config = small(model={"name": model, "hidden_size": 5}, training={"steps": 4})
    train(config, tmp_path / "run")
    net, _, step = load_run(tmp_path / "run", "last")
    place = tmp_path / "run" / "checkpoints"
    kept = checkpoint.load(place, step)
    theirs = {f"rnn.{name}": tensor for name, tensor in net.rnn.torch_state_dict().items()}
    weights = theirs | {name: tensor for name, tensor in kept.weights.items() if name.startswith("readout")}
    checkpoint.save(place, step + 1, weights, kept.state)

    old, _, _ = load_run(tmp_path / "run", step + 1)
    assert all(torch.equal(a, b) for a, b in zip(old.parameters(), net.parameters(), strict=True))
    with pytest.raises(RunError, match=r"torch's own layers.*start a new run"):
        resume(tmp_path / "run", {"training": {"steps": 9}})
