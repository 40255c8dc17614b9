"""The versions of the arithmetic (`eigenloop.numerics`) that a training uses."""

from __future__ import annotations

import json

import torch
from torch import nn

from eigenloop.layers.base import RecurrentLayer
from eigenloop.matrices import Matrix
from eigenloop.numerics import versions
from eigenloop.training.network import build_layer
from eigenloop.training.optimizers import make_optimizer
from eigenloop.training.settings.config import Config


def numerics_in(net: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, int]:
    """Return the versions of the recurrences and matrices of a network and of its optimizer."""
    parts = {_part(module) for module in net.modules() if isinstance(module, (RecurrentLayer, Matrix))}
    name = type(optimizer).__name__
    parts.add(name)
    if any(p.is_complex() for group in optimizer.param_groups for p in group["params"]):
        parts.add(f"{name}, complex parameters")
    return versions(parts)


def _part(module: nn.Module) -> str:
    if isinstance(module, RecurrentLayer):
        return module.recurrence
    return type(module).__name__


def numerics_of(config: Config) -> dict[str, int]:
    """Return the versions that a training with these settings would use now.

    Only the recurrent layer is built for this, which needs neither the data nor the rest of the network.
    """
    settings = config.as_dict()
    key = json.dumps([settings["model"], settings["optimizer"]], sort_keys=True)
    if key not in _known:
        layer = build_layer(config, config.network.embedding_size or 1)
        _known[key] = numerics_in(layer, make_optimizer(config.optimizer, layer, seed=0))
    return dict(_known[key])


#: Cached versions by the settings of model and optimizer; the rest of a configuration does not matter.
_known: dict[str, dict[str, int]] = {}
