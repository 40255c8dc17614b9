"""Where the numbers of an analysis come from: the run that was looked at."""

from __future__ import annotations

from pathlib import Path

from eigenloop.training.run_folder import RunFolder


def origin(run: Path, step: int) -> dict[str, str | int | None]:
    """Return the folder as it was named, the commit that it was trained with if it says so, and the checkpoint."""
    summary = RunFolder(run).read_json("summary.json") or {}
    return {"folder": run.as_posix(), "commit": summary.get("commit"), "checkpoint": step}
