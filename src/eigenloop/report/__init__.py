"""The report on training runs: one self-contained HTML page made from one or more run folders."""

from __future__ import annotations

from eigenloop.report.page import write

__all__ = ["write"]
