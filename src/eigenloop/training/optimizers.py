"""The optimizers by name, with the options that each takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from eigenloop import optim, registry
from eigenloop.errors import ConfigError

#: Each name with its class and the options that a configuration may set.
OPTIMIZERS: registry.Loaded[tuple[Callable[..., torch.optim.Optimizer], tuple[str, ...]]] = registry.Loaded(
    registry.OPTIMIZERS, lambda entry: (entry.load(), entry.options)
)


def defaults(name: str) -> dict[str, Any]:
    """Return an optimizer's options as it has them by itself."""
    made, options = OPTIMIZERS[name]
    parameters = inspect.signature(made).parameters
    option_defaults = {option: parameters[option].default for option in options}
    return {option: list(value) if isinstance(value, tuple) else value for option, value in option_defaults.items()}


def make_optimizer(section: Mapping[str, Any], net: nn.Module, seed: int) -> torch.optim.Optimizer:
    """Make the optimizer of a configuration, with the papers' two rates; a sampler starts from the seed of the run."""
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
        group["initial_lr"] = group["lr"]  # from which scaled rates are computed
    return optimizer
