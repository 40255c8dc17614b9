"""Training by two processes that torchrun starts: the same steps as one process takes with the same batches."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from training.small import small, text_folder, weights_of

from eigenloop import registry
from eigenloop.cli.imports import VARIABLE
from eigenloop.matrices import ScaledCayley
from eigenloop.matrices.outermost import outermost
from eigenloop.runs import read_metrics
from eigenloop.training import Config, RunError, load_run, resume, train
from eigenloop.training.processes import Processes

#: Task, model and training of each comparison; 50 steps in float64.
CASES: dict[str, dict[str, Any]] = {
    "scornn": {"model": {"name": "scornn"}},
    "nnrnn with penalty": {"model": {"name": "nnrnn", "delta": 0.1}},
    "enrnn": {"task": {"name": "adding"}, "model": {"name": "enrnn"}},
    "ncgru": {"task": {"name": "parenthesis"}, "model": {"name": "ncgru"}},
    "projunn, shared sampler": {"model": {"name": "projunn"}},
    "trained initial state": {"task": {"name": "adding"}, "model": {"name": "ornn"}},
    # At its own rate this one amplifies rounding tenfold every two steps from step 35 on, in one process too.
    "complex": {"model": {"name": "eurnn"}, "optimizer": {"lr": 1e-4, "recurrent_lr": 1e-4}},
    "lstm, parts, uneven": {
        "model": {"name": "lstm"},
        "training": {"batch_size": 7, "accumulate": 2, "clip_norm": 0.1},
    },
    "truncated": {"model": {"name": "exprnn"}, "training": {"truncate": 4}},
}


#: A module of a user's own, with a matrix that all processes need.
MODULE = """
from functools import partial
from eigenloop import registry
from eigenloop.matrices import ScaledCayley
registry.MATRICES.register("halves", partial(ScaledCayley, negative=2))
"""


def torchrun(folder: Path, *arguments: str, **variables: str) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", **variables}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=500, env=environment, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stdout + done.stderr


def configuration(case: str) -> Config:
    changes = CASES[case]
    training = {"dtype": "float64", "steps": 50, "eval_every": 25, "log_every": 1, **changes.get("training", {})}
    return small(changes.get("task"), changes["model"], optimizer=changes.get("optimizer", {}), training=training)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All cases trained by the same two processes, one after the other."""
    folder = tmp_path_factory.mktemp("two")
    for number, case in enumerate(CASES):
        (folder / f"{number}.yaml").write_text(configuration(case).as_yaml())
    script = folder / "all.py"
    script.write_text(
        "from pathlib import Path\n"
        "import torch.distributed as dist\n"
        "from eigenloop.training import make_config, read_settings, train\n"
        "dist.init_process_group('gloo')\n"
        f"for number in range({len(CASES)}):\n"
        "    train(make_config(read_settings(Path(f'{number}.yaml'))), f'run-{number}')\n"
        "dist.destroy_process_group()\n"
    )
    torchrun(folder, str(script))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_two_processes_take_the_steps_of_one(case: str, two: Path, tmp_path: Path) -> None:
    train(configuration(case), tmp_path / "one")
    runs = [tmp_path / "one", two / f"run-{list(CASES).index(case)}"]
    one, other = (read_metrics(run) for run in runs)
    assert len(one) == len(other) == 50 + 2
    for mine, theirs in zip(one, other, strict=True):
        assert mine.kind == theirs.kind
        assert mine.values["loss"] == pytest.approx(theirs.values["loss"], rel=1e-9), mine.step
    # Parameters only: eigenvectors, which ENRNN carries, have no definite sign.
    mine, theirs = (dict(load_run(run, "last")[0].named_parameters()) for run in runs)
    assert mine.keys() == theirs.keys()
    for name, parameter in mine.items():
        assert torch.allclose(parameter, theirs[name], rtol=0, atol=1e-8), name


@pytest.mark.slow
def test_masked_losses_weigh_by_the_global_count(tmp_path: Path) -> None:
    """Sentences of very different lengths: an average of averages would be another number."""
    folder = text_folder(tmp_path / "data")
    config = small(
        {"name": "ptb-char", "mode": "sentences", "verify": False, "data_dir": str(folder)},
        {"name": "scornn", "embedding_size": 5, "embedding_dropout": 0.0, "input_dropout": 0.0, "output_dropout": 0.0},
        training={"dtype": "float64", "steps": 50, "eval_every": 50, "log_every": 1, "batch_size": 5},
    )
    (tmp_path / "config.yaml").write_text(config.as_yaml())
    torchrun(tmp_path, "-m", "eigenloop", "train", "config.yaml", "--out", "two")
    train(config, tmp_path / "one")
    losses = [[line.values["loss"] for line in read_metrics(tmp_path / run)] for run in ("one", "two")]
    assert losses[0] == pytest.approx(losses[1], rel=1e-9)


@pytest.mark.slow
def test_resume_with_carried_states_and_dropout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes that are stopped and taken up again end where they would have ended, bit for bit.

    Both know a matrix of the user's own, by ``--import`` or from the environment.
    """
    folder = text_folder(tmp_path / "data")
    (tmp_path / "my_matrices.py").write_text(MODULE)
    config = small(
        {"name": "ptb-char", "bptt": 5, "eval_streams": 2, "verify": False, "data_dir": str(folder)},
        {"name": "lstm", "embedding_size": 5, "output_dropout": 0.3, "recurrent": "halves"},
        training={"steps": 12, "eval_every": 4, "log_every": 3, "batch_size": 4},
    )
    (tmp_path / "config.yaml").write_text(config.as_yaml())
    common = ("-m", "eigenloop", "train")
    torchrun(tmp_path, *common, "config.yaml", "--out", "whole", "--import", "my_matrices")
    torchrun(tmp_path, *common, "config.yaml", "--out", "cut", "--steps", "7", **{VARIABLE: "my_matrices"})
    torchrun(tmp_path, *common, "--out", "cut", "--resume", "--steps", "12", "--import=my_matrices")
    assert weights_of(tmp_path / "cut", 12) == weights_of(tmp_path / "whole", 12)
    monkeypatch.setattr(registry.MATRICES, "_registered", {})
    registry.MATRICES.register("halves", partial(ScaledCayley, negative=2))
    matrix = dict(outermost(load_run(tmp_path / "whole", "last")[0]))["rnn.recurrent_l0.cell"]
    assert isinstance(matrix, ScaledCayley)
    assert matrix.negative == 2
    with pytest.raises(RunError, match="trained by 2 processes and is resumed by 1"):
        resume(tmp_path / "cut", {"training": {"steps": 13}})


def test_weights_that_differ_are_noticed() -> None:
    class Two(Processes):
        """The other process holds what this one does, except for one bit."""

        def gathered(self, tensor: torch.Tensor) -> list[torch.Tensor]:
            return [tensor, tensor ^ 1]

    with pytest.raises(RunError, match="at step 7 the processes hold different weights"):
        Two(0, 2).check_equal(torch.nn.Linear(2, 2), 7)
