"""Export the network of a run as C source."""

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
    """The result of an export.

    Attributes:
        folder, name: the folder, and the prefix of the file names.
        run: the run with its network for values in the units of the data.
        network: the network that was written, which takes integers.
        counts: counts per unit of the data, for each channel; empty for tokens.
        classes: the names of the classes; empty if the outputs are not classes.
        measured: the measurements on the requested cores.
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
    """Write the network of a run as C; errors are raised before anything is written.

    Args:
        run: the run's folder.
        folder: is created; or contains only an earlier export of this name, which is replaced.
        name: a C identifier, the prefix of every file and public symbol; default: made from the run's name.
        which: ``"best"``, ``"last"`` or the step of a checkpoint.
        state_bits: width of states; default: the width that the network was trained with, or 12.
        counts: sensor counts per unit of the data, one number or one for each channel; default: 1 for a channel of
            integers, a power of ten for others.
        cores: Cortex-M cores on which the network is measured in QEMU.
        data: the new path of the user's data file, if it has moved.
        data_dir: the new folder of other data, if it has moved.

    Raises:
        ConfigError: an argument is wrong, tools for `cores` are not installed, or the network has no integer form.
        RuntimeError: the network on a core computes other sums than the reference.
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
    """Return the folder; raise ConfigError for wrong arguments before the run is read."""
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
    """Return the network for integer inputs, and the counts per unit of each channel; empty for tokens."""
    inputs, task = run.network.inputs, run.config.task
    try:
        if counts is not None:
            factors = np.asarray(counts if len(counts) != 1 else counts[0], np.float64)
        elif not isinstance(inputs, Values):
            return run.network, ()
        else:
            batch = task.train_batch(0, SEQUENCES, run.config.training.seed)
            factors = usual_counts(run.network, inputs_for(run.net, task, batch))
        network = in_counts(run.network, factors)
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
    """Return the sentences that say when a sequence begins and when to read out."""
    task, pool = run.config.task, run.network.readout.pool
    if pool is None:
        return f"There is an answer after every step. Call `{name}_init` where a new recording begins."
    read = {"last": "the last state", "mean": "the mean of all states", "max": "the largest states"}[pool]
    told = f"An answer is of a whole sequence and read off {read}: call `{name}_init` before each."
    if not isinstance(task, Sequences):
        return told
    lengths = task.windowing.for_training(task.pieces["train"]).length
    steps = f"{lengths.min():,}" if lengths.min() == lengths.max() else f"{lengths.min():,} to {lengths.max():,}"
    return f"{told} Sequences had {steps} steps in training."
