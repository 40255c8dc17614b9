"""Optimizers and parameter groups of the published models."""

from __future__ import annotations

from eigenloop.optim.param_groups import param_groups
from eigenloop.optim.projunn import ProjUNN
from eigenloop.optim.tf_rmsprop import TFRMSprop
from eigenloop.optim.unitary_cayley import UnitaryCayley

__all__ = ["ProjUNN", "TFRMSprop", "UnitaryCayley", "param_groups"]
