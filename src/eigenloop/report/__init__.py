"""The page people look at: one self-contained HTML file made from one or more training-run folders."""

from __future__ import annotations

from eigenloop.report.page import write

__all__ = ["write"]
