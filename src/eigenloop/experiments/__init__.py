"""Every published table and figure as a file, with the code that plans and runs it and keeps its results."""

from __future__ import annotations

from eigenloop.experiments.computed import compute
from eigenloop.experiments.library import load, names
from eigenloop.experiments.plan import Planned, planned, runs_of_row
from eigenloop.experiments.records import Record
from eigenloop.experiments.reproduce import collect, reproduce
from eigenloop.experiments.schema import BUDGETS, Budget, Experiment, Row

__all__ = [
    "BUDGETS",
    "Budget",
    "Experiment",
    "Planned",
    "Record",
    "Row",
    "collect",
    "compute",
    "load",
    "names",
    "planned",
    "reproduce",
    "runs_of_row",
]
