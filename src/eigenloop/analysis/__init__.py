"""The papers' analyses. Each is a function that returns a `Result`: numbers, a table and a figure."""

from __future__ import annotations

from eigenloop.analysis.bounds import bounds
from eigenloop.analysis.conditioning import conditioning
from eigenloop.analysis.fisher import fisher
from eigenloop.analysis.gradients import gradients
from eigenloop.analysis.neumann import neumann
from eigenloop.analysis.result import Result, Table
from eigenloop.analysis.schur import schur
from eigenloop.analysis.sensitivity import sensitivity
from eigenloop.analysis.transients import transients

__all__ = [
    "Result",
    "Table",
    "bounds",
    "conditioning",
    "fisher",
    "gradients",
    "neumann",
    "schur",
    "sensitivity",
    "transients",
]
