"""Where the numbers of an analysis come from: the run folder, commit and checkpoint."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from pathlib import Path

from eigenloop.runs import read_summary


def origin(run: Path, step: int) -> dict[str, str | int | None]:
    """Return the folder as it was given, the commit of the training (None if not recorded), and the checkpoint."""
    summary = read_summary(run)
    return {"folder": run.as_posix(), "commit": summary.commit if summary else None, "checkpoint": step}


def label_for(name: str, run: Path, others: Collection[str]) -> str:
    """Return a label not in `others`: `name`, with the folder added if that is taken, and a number if both are.

    >>> label_for("gru on adding", Path("runs/one"), ["gru on adding"])
    'gru on adding (one)'
    """
    wanted = itertools.chain((name, f"{name} ({run.name})"), (f"{name} ({run.name}, {i})" for i in itertools.count(2)))
    return next(label for label in wanted if label not in others)
