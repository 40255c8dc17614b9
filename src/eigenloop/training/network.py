"""Building the network of a configuration."""

from __future__ import annotations

from typing import Any

import torch

from eigenloop import models
from eigenloop.errors import ConfigError
from eigenloop.layers.base import RecurrentLayer
from eigenloop.matrices import Matrix
from eigenloop.optim.projected import ProjectedOptimizer
from eigenloop.readout import Model
from eigenloop.tasks import Task
from eigenloop.training.memory import is_out_of_memory
from eigenloop.training.optimizers import OPTIMIZERS
from eigenloop.training.settings.config import Config


def build_network(config: Config) -> Model:
    """Build the network of a configuration, on its device.

    The initial weights depend only on the configuration's seed, and torch's global generator is not changed.

    Raises:
        ConfigError: the settings do not go together, or the network does not fit on the device.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.training.seed)
        net = _built(config)
    _check_projected(net, config.optimizer["name"], config.network.name)
    try:
        net = net.to(config.training.device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        problem = str(error).splitlines()[0]
        raise ConfigError(f"training.device={config.training.device!r} is refused: {problem}") from error
    if net.readout.weight.is_meta:
        raise ConfigError("training.device='meta' is refused: nothing can be trained without data")
    return net


def _built(config: Config) -> Model:
    task, network = config.task, config.network
    input_size = network.embedding_size if network.embedding_size is not None else task.input_size
    tokens = task.input_size if network.embedding_size is not None else None
    output_size = task.output_size
    if config.training.truncate is not None and task.pooling in ("mean", "max"):
        raise ConfigError(
            f"training.truncate cuts a sequence, and pool={task.pooling} reads all of it at once: set task.pool=last, "
            "or leave truncate out"
        )
    try:
        return Model(
            build_layer(config, input_size),
            output_size,
            embedding=tokens,
            tied=network.tied,
            pool=task.pooling,
            embedding_dropout=network.embedding_dropout,
            input_dropout=network.input_dropout,
            output_dropout=network.output_dropout,
            readout_bits=network.readout_bits,
            scale_inputs="input" in task.scales,
            scale_outputs="output" in task.scales,
        )
    except ConfigError:
        raise
    except (TypeError, ValueError) as error:
        raise ConfigError(f"model {network.name}: {error}") from error
    except (RuntimeError, MemoryError) as error:
        if is_out_of_memory(error):
            raise ConfigError(f"model {network.name} of size {network.hidden_size} does not fit into memory") from error
        raise


def take_scalings_(net: Model, task: Task) -> None:
    """Set the input and output scaling of a network to the mean and scale of the training split."""
    for name, (mean, scale) in task.scalings().items():
        scaling = {"input": net.input_scaling, "output": net.output_scaling}[name]
        assert scaling is not None  # the network was built for this task
        scaling.set_(mean, scale)


def build_layer(config: Config, input_size: int) -> RecurrentLayer:
    """Build the recurrent layer of a configuration for inputs of a given size."""
    options: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in config.options.items()}
    options["dtype"] = getattr(torch, config.training.dtype)
    options["generator"] = torch.Generator().manual_seed(config.training.seed)
    return models.build(config.network.name, input_size, config.network.hidden_size, **options)


def _check_projected(net: Model, optimizer: str, model: str) -> None:
    """Raise a ConfigError if W is trained directly and the optimizer does not keep it in its set, or vice versa."""
    projected = any(m.projected_parameters() for m in net.modules() if isinstance(m, Matrix))
    made, _ = OPTIMIZERS[optimizer]
    keeps = isinstance(made, type) and issubclass(made, ProjectedOptimizer)
    if projected and not keeps:
        raise ConfigError(
            f"model {model} trains the orthogonal matrix itself, and {optimizer} would not keep it orthogonal: use the "
            "optimizer projunn (real matrices) or unitary-cayley"
        )
    if keeps and not projected:
        raise ConfigError(
            f"optimizer {optimizer} is for a matrix that is trained itself (models projunn and urnn-full), which "
            f"{model} with these settings does not have: choose adam or rmsprop"
        )
