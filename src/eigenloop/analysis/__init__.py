"""The papers' analyses: each a function that computes, prints and draws."""

from __future__ import annotations

from eigenloop.analysis.conditioning import conditioning
from eigenloop.analysis.result import Result, Table

__all__ = ["Result", "Table", "conditioning"]
