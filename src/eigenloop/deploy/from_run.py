"""Build the integer network of a run, with ranges from its training split."""

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

#: Training sequences from which ranges are measured; also the number behind the results in docs/integers.md.
SEQUENCES = 200


@dataclass(frozen=True, eq=False)
class IntegerRun:
    """A run with its integer network.

    Attributes:
        network: the integer network, for inputs in the units of the task's data.
        net: the trained network.
        config: the run's settings.
        step: the training step of the checkpoint.
    """

    network: IntegerNetwork
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
    """Load the network of a run and return it with its integer network.

    Args:
        run: the run's folder.
        which: ``"best"``, ``"last"`` or the step of a checkpoint.
        state_bits: width of states; default: the width that the network was trained with, or 12.
        data: the new path of the user's data file, if it has moved.
        data_dir: the new folder of other data, if it has moved.

    Raises:
        ConfigError: the network has no integer form.
    """
    net, config, step = load_run(run, which, data=data, data_dir=data_dir, device="cpu")
    network = integer_of_task(net, config.task, state_bits=state_bits, seed=config.training.seed)
    return IntegerRun(network, net, config, step)


def integer_of_task(
    net: Model, task: Task, *, state_bits: int | None = None, sequences: int = SEQUENCES, seed: int = 0
) -> IntegerNetwork:
    """Return the integer network of a quantized network, with ranges from the training split of its task.

    Args:
        net: trained on the task; it is not changed.
        task: only its training split is used.
        state_bits: as in `integer`.
        sequences: how many training sequences are used.
        seed: selects them, if the task generates or shuffles its data.

    Raises:
        ConfigError: the network has no integer form.
    """
    layer = layer_of(net)
    try:
        cells_of(layer)  # raises for a network without an integer form, before data are read
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
