"""Comparison of models on your own data: every combination of model and bit width as ordinary runs."""

from __future__ import annotations

from eigenloop.trials.picture import draw
from eigenloop.trials.plan import Combination, Plan, Trial, planned
from eigenloop.trials.running import Watcher, run
from eigenloop.trials.table import Row, Table, tabulated

__all__ = ["Combination", "Plan", "Row", "Table", "Trial", "Watcher", "draw", "planned", "run", "tabulated"]
