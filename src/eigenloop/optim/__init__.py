"""Optimizers and parameter groups of the published systems."""

from __future__ import annotations

from eigenloop.optim.param_groups import param_groups
from eigenloop.optim.tf_rmsprop import TFRMSprop

__all__ = ["TFRMSprop", "param_groups"]
