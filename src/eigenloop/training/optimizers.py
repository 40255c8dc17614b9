"""The optimizers by name, with their options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from eigenloop import optim, registry
from eigenloop.errors import ConfigError

#: The class of each optimizer and the options that a configuration may set, by name.
OPTIMIZERS: registry.Loaded[tuple[Callable[..., torch.optim.Optimizer], tuple[str, ...]]] = registry.Loaded(
    registry.OPTIMIZERS, lambda entry: (entry.load(), entry.options)
)


def defaults(name: str) -> dict[str, Any]:
    """Return the default values of an optimizer's options."""
    made, options = OPTIMIZERS[name]
    parameters = inspect.signature(made).parameters
    option_defaults = {option: parameters[option].default for option in options}
    return {option: list(value) if isinstance(value, tuple) else value for option, value in option_defaults.items()}


def make_optimizer(section: Mapping[str, Any], net: nn.Module, seed: int) -> torch.optim.Optimizer:
    """Make the optimizer of a network, with separate learning rates for recurrent and other parameters.

    Args:
        section: the settings of the section ``optimizer``.
        net: the network.
        seed: the seed for ProjUNN's sampler.

    Raises:
        ConfigError: the optimizer rejects an option.
    """
    options = dict(section)
    name, lr, recurrent_lr = options.pop("name"), options.pop("lr"), options.pop("recurrent_lr")
    made, _ = OPTIMIZERS[name]
    groups = optim.param_groups(net, lr, recurrent_lr, options.pop("weight_decay", None))
    if "betas" in options:
        options["betas"] = tuple(options["betas"])
    if made is optim.ProjUNN:
        options["seed"] = seed
    try:
        optimizer = made(groups, lr=lr, **options)
    except ValueError as error:
        raise ConfigError(f"optimizer {name}: {error}") from error
    for group in optimizer.param_groups:
        group["initial_lr"] = group["lr"]  # schedules multiply this rate
    return optimizer
