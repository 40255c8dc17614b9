"""Starting a run, going on with one, and loading what one learned."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eigenloop.readout import Model
from eigenloop.training import checkpoint
from eigenloop.training.config import Config, make_config, read_settings
from eigenloop.training.errors import ConfigError, RunError
from eigenloop.training.network import build_network
from eigenloop.training.processes import Processes, joined
from eigenloop.training.reporter import Reporter, Silent
from eigenloop.training.run_folder import RunFolder
from eigenloop.training.trainer import Trainer

#: Settings that may change when a run goes on: how long it lasts and how it is watched, not what it computes.
_MAY_CHANGE = (
    "task.data_dir",
    "training.steps",
    "training.epochs",
    "training.max_seconds",
    "training.until",
    "training.patience",
    "training.log_every",
    "training.checkpoint_seconds",
    "training.tensorboard",
)


def train(config: Config, out: Path | str | None = None, reporter: Reporter | None = None) -> dict[str, Any]:
    """Train in a new folder, ``runs/TASK-MODEL`` if none is named; return the summary that is written there.

    >>> import tempfile
    >>> config = make_config({
    ...     "task": {"name": "adding", "length": 5, "valid_size": 10, "test_size": 10},
    ...     "model": {"name": "scornn", "hidden_size": 8},
    ...     "training": {"steps": 3},
    ... })
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     train(config, folder)["status"]
    'finished'
    """
    with joined(config.training.device) as processes:
        config.task.prepare()
        path = Path(processes.told(str(out if out is not None else _free_folder(config))))
        folder = RunFolder(path)
        try:
            if processes.first:
                folder.create(config)
            processes.wait()
            return Trainer(config, folder, _told_by_first(reporter, processes), processes).run()
        finally:
            folder.close()


def resume(
    out: Path | str, changes: Mapping[str, Any] | None = None, reporter: Reporter | None = None
) -> dict[str, Any]:
    """Go on with the run in a folder, with settings that may change changed; return the summary."""
    folder = RunFolder(Path(out))
    stored = folder.stored()
    config = changed(stored, changes or {})
    with joined(config.training.device) as processes:
        try:
            if processes.first:
                folder.open()
                if config != stored:
                    folder.write_config(config)
            processes.wait()
            return Trainer(config, folder, _told_by_first(reporter, processes), processes).run(resume=True)
        finally:
            folder.close()


def _told_by_first(reporter: Reporter | None, processes: Processes) -> Reporter:
    return reporter if reporter is not None and processes.first else Silent()


def _free_folder(config: Config) -> Path:
    """Return the first of runs/TASK-MODEL, runs/TASK-MODEL-2, ... that is not there."""
    name = f"{config.task.name}-{config.network.name}"
    numbered = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(path for path in (Path("runs") / name for name in numbered) if not path.exists())


def changed(config: Config, changes: Mapping[str, Any]) -> Config:
    """Return a stored configuration with other settings; refuse those that would make it another run."""
    wanted = config.as_dict()
    for section, values in changes.items():
        for key, value in (values or {}).items():
            before = wanted.get(section, {}).get(key)
            if before == value:
                continue
            if f"{section}.{key}" not in _MAY_CHANGE:
                raise ConfigError(
                    f"{section}.{key} is {before!r} in this run and cannot become {value!r} when it goes on: leave it "
                    "out, or start another run"
                )
            wanted[section][key] = value
            other = {"steps": "epochs", "epochs": "steps"}.get(key)
            if other:
                wanted[section][other] = None
    return make_config(wanted)


def load_run(folder: Path | str, which: str | int = "best") -> tuple[Model, Config, int]:
    """Return the network of a run, its configuration, and the step it is from.

    Args:
        folder: the run's folder.
        which: ``"best"``, ``"last"`` or a step; the last where nothing was chosen.
    """
    path = Path(folder)
    if not (path / "config.yaml").is_file():
        raise RunError(f"{path} is not the folder of a run: it holds no config.yaml")
    config = make_config(read_settings(path / "config.yaml"))
    checkpoints = path / "checkpoints"
    try:
        found = checkpoint.newest(checkpoints)
        if found is None:
            raise RunError(f"{path} holds no checkpoint yet")
        step, kept, _ = found
        if which == "best":
            best = kept.state["progress"]["best"]
            which = step if best is None else int(best["step"])
        if which != "last" and which != step:
            if which not in checkpoint.steps_in(checkpoints):
                steps = ", ".join(map(str, checkpoint.steps_in(checkpoints)))
                raise RunError(f"{path} has no checkpoint of step {which}: there are best, last, {steps}")
            step, kept = int(which), checkpoint.load(checkpoints, int(which))
    except checkpoint.DamagedError as error:
        raise RunError(str(error)) from error
    net = build_network(config)
    net.load_state_dict(kept.weights)
    return net.eval(), config, step
