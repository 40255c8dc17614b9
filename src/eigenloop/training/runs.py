"""Starting a run, going on with one, and loading what one learned."""

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

#: Settings with these effects may change when a run resumes: how long it lasts and how it is watched, not what it
#: computes.
_MAY_CHANGE = frozenset({Effect.LENGTH, Effect.LOG, Effect.PLACE})
#: The files of own sequences may move: their contents are known by hashes.
_MAY_MOVE = ("task.data", "task.test_data")
#: What may change too where the training reached NaN: a departure from the run as it was planned, and the only way on.
_AFTER_DIVERGENCE = ("optimizer.lr", "optimizer.recurrent_lr", "training.clip_norm", "training.clip_value")


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
    """Go on with the run in a folder, with settings that may change changed; return the summary."""
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
    """Give torch's generator and number of threads back to the caller as they were."""
    random, threads = torch.get_rng_state(), torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_rng_state(random)
        torch.set_num_threads(threads)


def _told_by_first(reporter: Reporter | None, processes: Processes) -> Reporter:
    return reporter if reporter is not None and processes.first else Silent()


def _free_folder(config: Config) -> Path:
    """Return the first of runs/TASK-MODEL, runs/TASK-MODEL-2, ... that is not there."""
    name = f"{config.task.short_name}-{config.network.name}"
    numbered = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(path for path in (Path("runs") / name for name in numbered) if not path.exists())


def changed(config: Config, changes: Mapping[str, Any], besides: Collection[str] = ()) -> Config:
    """Return a stored configuration with other settings; refuse those that would make it another run.

    Args:
        config: as it is stored.
        changes: by section.
        besides: further settings, ``section.key``, that may change here.
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
    """Return the network of a run, its configuration, and the step it is from.

    Args:
        folder: the run's folder.
        which: ``"best"``, ``"last"`` or a step; the last where nothing was chosen.
        data_dir: where the data are now, if they have moved.
        data: the same for a file of own sequences.
        device: where the network shall be, if not where it was trained.
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
    """Return the versions of the arithmetic that the run in a folder began with; empty where it does not say."""
    path = Path(folder)
    summary = read_summary(path)
    if summary is not None and summary.numerics:
        return dict(summary.numerics)
    newest = _newest(path)
    return {} if newest is None else dict(newest.state["progress"].get("numerics", {}))


def can_go_on(folder: Path | str) -> bool:
    """Whether `resume` takes the newest checkpoint of a run as it is, where there is one."""
    newest = _newest(Path(folder))
    return newest is None or not newest.of_torchs_layers


def _newest(path: Path) -> checkpoint.Checkpoint | None:
    """Read the newest checkpoint of a run; None if there is none that is whole."""
    try:
        newest = checkpoint.newest(path / "checkpoints")
    except checkpoints.DamagedError:
        return None
    return None if newest is None else newest[1]


def _chosen(path: Path, which: str | int) -> tuple[int, checkpoint.Checkpoint]:
    """Read the checkpoint that is asked for, or say why it cannot be had: never another one."""
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
    """Return the step of the checkpoint that is meant; the last one knows which is the best."""
    if which == "best":
        best = checkpoint.load(place, last).state["progress"]["best"]
        return last if best is None else int(best["step"])
    if which == "last":
        return last
    if isinstance(which, bool) or not isinstance(which, int):
        raise ConfigError(f"a checkpoint is 'best', 'last' or the number of a step, got {which!r}")
    return which
