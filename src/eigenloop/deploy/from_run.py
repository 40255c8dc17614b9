"""The network of a run in whole numbers, with ranges that its training split shows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eigenloop.deploy.building import integer
from eigenloop.deploy.describing import cells_of, layer_of
from eigenloop.deploy.network import IntegerNetwork
from eigenloop.errors import ConfigError, EigenloopError
from eigenloop.readout import Model
from eigenloop.tasks import Task
from eigenloop.training import Config, load_run
from eigenloop.training.forward import inputs_for

#: Training sequences from which ranges are read; docs/integers.md measures with as many.
SEQUENCES = 200


@dataclass(frozen=True, eq=False)
class IntegerRun:
    """A run and its network in whole numbers.

    Attributes:
        whole: the network in whole numbers, for inputs in the units of the task's data.
        net: the same network as it was trained.
        config: of the run.
        step: of the checkpoint.
    """

    whole: IntegerNetwork
    net: Model
    config: Config
    step: int


def integer_of_run(
    run: Path | str,
    which: str | int = "best",
    *,
    state_bits: int | None = None,
    data: Path | None = None,
    data_dir: Path | None = None,
) -> IntegerRun:
    """Load the network of a run and make it whole numbers.

    Args:
        run: the run's folder.
        which: ``"best"``, ``"last"`` or a step.
        state_bits: width of states; as the network was trained, or 12 if left out.
        data: where the file of own sequences is now, if it has moved.
        data_dir: the same for other data.
    """
    net, config, step = load_run(run, which, data=data, data_dir=data_dir, device="cpu")
    whole = integer_of_task(net, config.task, state_bits=state_bits, seed=config.training.seed)
    return IntegerRun(whole, net, config, step)


def integer_of_task(
    net: Model, task: Task, *, state_bits: int | None = None, sequences: int = SEQUENCES, seed: int = 0
) -> IntegerNetwork:
    """Make a quantized network whole numbers, with ranges from sequences of its task's training split.

    Args:
        net: trained on the task; it is left as it is.
        task: whose training split is looked at, never another.
        state_bits: as in `integer`.
        sequences: how many of them.
        seed: which of them, where the task draws or shuffles.
    """
    layer = layer_of(net)
    try:
        cells_of(layer)  # what has no integer form is refused before data are read
        batch = task.train_batch(0, sequences, seed)
        lengths = None if batch.lengths is None else batch.lengths.tolist()
        return integer(net, calibration=inputs_for(net, task, batch), lengths=lengths, state_bits=state_bits)
    except EigenloopError:
        raise
    except (TypeError, ValueError) as error:
        real = layer.quantizer is None and not layer.state_dtype.is_complex and not layer.bidirectional
        problem, _, fix = str(error).partition(": ")
        flags = "train it again with --bits 4, or more where that costs accuracy" if real else ""
        raise ConfigError(problem, fix, flags=flags) from error
