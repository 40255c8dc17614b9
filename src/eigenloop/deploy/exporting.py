"""From the folder of a run to a folder of C."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eigenloop.deploy.c.about import About
from eigenloop.deploy.c.qemu import BOARDS, Measured, measure, missing_tools
from eigenloop.deploy.c.text import name_from
from eigenloop.deploy.c.writing import checked_target, write_c
from eigenloop.deploy.counts import in_counts, usual_counts
from eigenloop.deploy.from_run import SEQUENCES, IntegerRun, integer_of_run
from eigenloop.deploy.inputs import Values
from eigenloop.deploy.network import IntegerNetwork
from eigenloop.errors import ConfigError
from eigenloop.tasks import Sequences, Task
from eigenloop.training.forward import inputs_for


@dataclass(frozen=True, eq=False)
class Exported:
    """What was written.

    Attributes:
        folder, name: where, and with what the files begin.
        run: the run with its network for values in the units of the data.
        network: the network that was written, which takes whole numbers.
        counts: how many counts one unit of the data is, for each channel; empty for tokens.
        classes: names of the outputs where they are classes.
        measured: what it needs on the cores that were asked for.
    """

    folder: Path
    name: str
    run: IntegerRun
    network: IntegerNetwork
    counts: tuple[float, ...]
    classes: tuple[str, ...]
    measured: tuple[Measured, ...]


def export_c(
    run: Path | str,
    folder: str | os.PathLike[str],
    *,
    name: str | None = None,
    which: str | int = "best",
    state_bits: int | None = None,
    counts: Sequence[float] | None = None,
    cores: Sequence[str] = (),
    data: Path | None = None,
    data_dir: Path | None = None,
) -> Exported:
    """Write the network of a run as C; whatever is wrong is said before anything is written.

    Args:
        run: the run's folder.
        folder: made new; or one that holds nothing but an earlier export of this name, which is replaced.
        name: a C identifier, with which every file and public symbol begins; that of the run if left out.
        which: ``"best"``, ``"last"`` or the step of a checkpoint.
        state_bits: width of states; as the network was trained, or 12 if left out.
        counts: how many counts of the sensor one unit of the data is, one number or one for each channel; 1 where the
            data are whole numbers and a power of ten elsewhere if left out.
        cores: Cortex-M cores on which it is measured in QEMU.
        data: where the file of own sequences is now, if it has moved.
        data_dir: the same for other data.
    """
    name = name_from(Path(run).resolve().name) if name is None else name
    target = _checked(folder, name, cores)
    made = integer_of_run(run, which, state_bits=state_bits, data=data, data_dir=data_dir)
    task = made.config.task
    network, used = _in_counts(made, counts)
    classes = task.class_names if isinstance(task, Sequences) else ()
    measured = tuple(measure(network, core) for core in cores)
    for one in measured:
        if one.different:
            raise RuntimeError(f"{one.different} sums on {one.core} differ from the reference: nothing was written")
    channels = _channels(task) if used else ()
    about = About(
        f"The network of the run {made.config.task.short_name}-{made.config.network.name} after {made.step:,} steps.",
        _use(made, name),
        channels,
        used if channels else (),
        () if classes else _outputs(task),
        measured,
    )
    write_c(network, target, name=name, classes=classes, about=about)
    return Exported(target, name, made, network, used, classes, measured)


def _checked(folder: str | os.PathLike[str], name: str, cores: Sequence[str]) -> Path:
    """Refuse what is known to be wrong before the run is read."""
    for core in cores:
        if core not in BOARDS:
            raise ConfigError(f"core {core!r} is not known: choose {', '.join(BOARDS)}")
    if cores and (missing := missing_tools()):
        raise ConfigError(
            f"{', '.join(missing)} not installed, and cores are measured with them: on Debian and Ubuntu, apt-get "
            "install gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm"
        )
    try:
        return checked_target(folder, name)
    except (ValueError, FileExistsError) as error:
        raise ConfigError(str(error)) from error


def _in_counts(run: IntegerRun, counts: Sequence[float] | None) -> tuple[IntegerNetwork, tuple[float, ...]]:
    """Return the network for whole inputs with the counts of each channel; one for tokens stays as it is."""
    inputs, task = run.whole.inputs, run.config.task
    try:
        if counts is not None:
            factors = np.asarray(counts if len(counts) != 1 else counts[0], np.float64)
        elif not isinstance(inputs, Values):
            return run.whole, ()
        else:
            batch = task.train_batch(0, SEQUENCES, run.config.training.seed)
            factors = usual_counts(run.whole, inputs_for(run.net, task, batch))
        network = in_counts(run.whole, factors)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    assert isinstance(network.inputs, Values)
    return network, tuple(np.broadcast_to(factors, network.inputs.mean.shape).tolist())


def _channels(task: Task) -> tuple[str, ...]:
    """Return the names of all inputs: values, then masks, then the time difference."""
    if not isinstance(task, Sequences):
        return ()
    names = task.channel_names
    masks = tuple(f"1 where {name} is there, else 0" for name in names) if task.missing == "mask" else ()
    return names + masks + (("time since the step before",) if task.time_difference else ())


def _outputs(task: Task) -> tuple[str, ...]:
    if not isinstance(task, Sequences):
        return ()
    if task.known_kind != "forecast":
        return task.output_names
    return tuple(f"{name}, {ahead} ahead" for ahead in range(1, task.steps_ahead + 1) for name in task.output_names)


def _use(run: IntegerRun, name: str) -> str:
    """Say when a sequence begins and when to read out."""
    task, pool = run.config.task, run.whole.readout.pool
    if pool is None:
        return f"There is an answer after every step. Call `{name}_init` where a new recording begins."
    read = {"last": "the last state", "mean": "the mean of all states", "max": "the largest states"}[pool]
    told = f"An answer is of a whole sequence and read off {read}: call `{name}_init` before each."
    if not isinstance(task, Sequences):
        return told
    lengths = task.windowing.for_training(task.pieces["train"]).length
    steps = f"{lengths.min():,}" if lengths.min() == lengths.max() else f"{lengths.min():,} to {lengths.max():,}"
    return f"{told} Sequences had {steps} steps in training."
