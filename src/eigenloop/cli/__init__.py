"""The command line: train, eval, list, report, bench."""

from __future__ import annotations

from eigenloop.cli.app import main

__all__ = ["main"]
