"""Starting a run, resuming one, and loading the network of one."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from eigenloop.errors import ConfigError, RunError
from eigenloop.readout import Model
from eigenloop.runs import RunFolder, checkpoints, read_config, read_summary
from eigenloop.runs.effects import Effect, effect
from eigenloop.training import checkpoint
from eigenloop.training.network import build_network
from eigenloop.training.processes import Processes, joined
from eigenloop.training.reporter import Reporter, Silent
from eigenloop.training.settings.config import Config, make_config, with_data, with_data_dir
from eigenloop.training.settings.keys import checked_sections, known_keys, refuse_unknown
from eigenloop.training.settings.merging import merged
from eigenloop.training.trainer import Trainer

#: Settings with these effects may change when a run resumes: its length and what it logs, not what it computes.
_MAY_CHANGE = frozenset({Effect.LENGTH, Effect.LOG, Effect.PLACE})
#: The files of your own sequences may move, because their contents are identified by hashes.
_MAY_MOVE = ("task.data", "task.test_data")
#: Settings that may also change after a divergence: a departure from the planned run, but the only way to continue.
_AFTER_DIVERGENCE = ("optimizer.lr", "optimizer.recurrent_lr", "training.clip_norm", "training.clip_value")


def train(config: Config, out: Path | str | None = None, reporter: Reporter | None = None) -> dict[str, Any]:
    """Train in a new run folder and return the summary that is written there.

    Args:
        config: the configuration.
        out: the folder; default: ``runs/TASK-MODEL``, with a number if that exists.
        reporter: receives the progress; default: nothing is shown.

    Raises:
        ConfigError: the settings do not go together.
        DataError: the data cannot be read, or hold NaN or inf.
        RunError: the folder cannot be written, or memory ran out.
        DivergedError: the loss, the gradient or a weight became NaN or inf.

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
    config = dataclasses.replace(config, task=config.task.settled())
    with joined(config.training.device) as processes, _left_as_it_was():
        path = Path(processes.told(str(out if out is not None else _free_folder(config))))
        folder = RunFolder(path)
        try:
            trainer = Trainer(config, folder, _told_by_first(reporter, processes), processes)
            if processes.first:
                folder.create(config.as_dict())
            processes.wait()
            return trainer.run()
        finally:
            folder.close()


def resume(
    out: Path | str, changes: Mapping[str, Any] | None = None, reporter: Reporter | None = None
) -> dict[str, Any]:
    """Resume the run in a folder from its newest checkpoint and return the summary.

    Args:
        out: the run folder.
        changes: new values of settings, by section; only those that do not change what is computed, such as
            ``training.steps``, and after a divergence also learning rates and clipping.
        reporter: receives the progress; default: nothing is shown.

    Raises:
        ConfigError: a setting in `changes` cannot change.
        DataError: the data cannot be read, or hold NaN or inf.
        RunError: there is no run to resume, its data have changed, or the folder cannot be written.
        DivergedError: the loss, the gradient or a weight became NaN or inf.
    """
    folder = RunFolder(Path(out))
    if not folder.has_config():
        raise RunError(
            f"{folder.path} holds no run to continue (no config.yaml)",
            "start one with train",
            flags="leave out --resume to start one",
        )
    summary = read_summary(folder.path)
    after = _AFTER_DIVERGENCE if summary is not None and summary.status == "diverged" else ()
    config = changed(stored_config(folder.path), changes or {}, _MAY_MOVE + after)
    for sentence in config.task.changed_files():
        raise RunError(
            f"{sentence}, and a training resumes with the data that it started with: restore the file",
            "or start another run with train",
            flags="or start another run with another --out",
        )
    with joined(config.training.device) as processes, _left_as_it_was():
        try:
            trainer = Trainer(config, folder, _told_by_first(reporter, processes), processes)
            if processes.first:
                folder.open()
            processes.wait()
            return trainer.run(resume=True)
        finally:
            folder.close()


@contextmanager
def _left_as_it_was() -> Iterator[None]:
    """Restore torch's random state and number of threads when the block ends."""
    random, threads = torch.get_rng_state(), torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_rng_state(random)
        torch.set_num_threads(threads)


def _told_by_first(reporter: Reporter | None, processes: Processes) -> Reporter:
    return reporter if reporter is not None and processes.first else Silent()


def _free_folder(config: Config) -> Path:
    """Return the first of runs/TASK-MODEL, runs/TASK-MODEL-2, ... that does not exist."""
    name = f"{config.task.short_name}-{config.network.name}"
    numbered = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(path for path in (Path("runs") / name for name in numbered) if not path.exists())


def changed(config: Config, changes: Mapping[str, Any], besides: Collection[str] = ()) -> Config:
    """Return a stored configuration with changed settings.

    Args:
        config: the stored configuration.
        changes: the new values, by section.
        besides: settings, ``section.key``, that may change in addition to those with an effect in `_MAY_CHANGE`.

    Raises:
        ConfigError: a setting is unknown, or cannot change.
    """
    stored = config.as_dict()
    known = known_keys(stored)
    given = checked_sections(changes)
    for section, values in given.items():
        refuse_unknown(section, values, known[section], f"this run's section {section}")
        for key, value in values.items():
            place, before = f"{section}.{key}", stored[section].get(key)
            if before != value and effect(place) not in _MAY_CHANGE and place not in besides:
                raise ConfigError(
                    f"{place} is {before!r} in this run and cannot become {value!r} on resuming: leave it out, or "
                    "start another run"
                )
    return make_config(merged(stored, given), papers=False)


def stored_config(folder: Path) -> Config:
    """Return the configuration of the run in a folder."""
    return make_config(read_config(folder), papers=False)


def load_run(
    folder: Path | str,
    which: str | int = "best",
    *,
    data_dir: Path | None = None,
    data: Path | None = None,
    device: str | None = None,
) -> tuple[Model, Config, int]:
    """Return the network of a run in evaluation mode, its configuration, and the step of its checkpoint.

    Args:
        folder: the run folder.
        which: the checkpoint: ``"best"``, ``"last"`` or a step; ``"best"`` is the last one without a validation split.
        data_dir: the folder of the data, if they have moved.
        data: the same for a file of your own sequences.
        device: the device of the network; default: that of the training.

    Raises:
        RunError: the run or the checkpoint does not exist or cannot be read.
    """
    path = Path(folder)
    config = stored_config(path)
    if data_dir is not None:
        config = with_data_dir(config, data_dir)
    if data is not None:
        config = with_data(config, data)
    if device is not None:
        config = dataclasses.replace(config, training=config.training.model_copy(update={"device": device}))
    step, kept = _chosen(path, which)
    net = build_network(config)
    try:
        net.load_state_dict(kept.weights)
    except RuntimeError as error:
        raise RunError(f"the weights of step {step} do not fit {path / 'config.yaml'}, which was changed") from error
    return net.eval(), config, step


def numerics_of_run(folder: Path | str) -> dict[str, int]:
    """Return the versions of the arithmetic with which the run in a folder began; empty if it did not record them."""
    path = Path(folder)
    summary = read_summary(path)
    if summary is not None and summary.numerics:
        return dict(summary.numerics)
    newest = _newest(path)
    return {} if newest is None else dict(newest.state["progress"].get("numerics", {}))


def can_go_on(folder: Path | str) -> bool:
    """Whether `resume` can continue a run: its newest checkpoint, if any, fits today's layers."""
    newest = _newest(Path(folder))
    return newest is None or not newest.of_torchs_layers


def _newest(path: Path) -> checkpoint.Checkpoint | None:
    """Return the newest undamaged checkpoint of a run, or None if there is none."""
    try:
        newest = checkpoint.newest(path / "checkpoints")
    except checkpoints.DamagedError:
        return None
    return None if newest is None else newest[1]


def _chosen(path: Path, which: str | int) -> tuple[int, checkpoint.Checkpoint]:
    """Return the step and content of the requested checkpoint; raise a RunError rather than return another one."""
    place = path / "checkpoints"
    steps = checkpoints.steps_in(place)
    if not steps:
        raise RunError(f"{path} holds no checkpoint yet")
    try:
        step = _step_of(place, steps[-1], which)
        if step not in steps:
            raise RunError(f"{path} has no checkpoint of step {step}: there are {', '.join(map(str, steps))}")
        return step, checkpoint.load(place, step)
    except checkpoints.DamagedError as error:
        whole = [step for step in steps if checkpoint.is_whole(place, step)]
        names = ["last"] * (steps[-1] in whole) + [str(step) for step in whole]
        fix = f"choose another checkpoint of this run: {', '.join(names)}" if names else "train the run again"
        flags = f"choose another one with --checkpoint {' or '.join(names)}" if names else ""
        raise RunError(str(error), fix, flags=flags) from error


def _step_of(place: Path, last: int, which: str | int) -> int:
    """Return the step of the requested checkpoint; the last checkpoint records which is the best."""
    if which == "best":
        best = checkpoint.load(place, last).state["progress"]["best"]
        return last if best is None else int(best["step"])
    if which == "last":
        return last
    if isinstance(which, bool) or not isinstance(which, int):
        raise ConfigError(f"a checkpoint is 'best', 'last' or the number of a step, got {which!r}")
    return which
