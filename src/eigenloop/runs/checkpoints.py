"""The folder of checkpoints: listing and pruning them, and verifying them with checksums."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from eigenloop.runs.schema import CheckpointIndex

_INDEX = "state.json"


class DamagedError(ValueError):
    """A checkpoint differs from what was written."""


def folder_of(checkpoints: Path, step: int) -> Path:
    """Return the folder of the checkpoint of a step."""
    return checkpoints / f"step-{step}"


def steps_in(checkpoints: Path) -> list[int]:
    """Return the steps that have a checkpoint, in ascending order."""
    names = (path.name.removeprefix("step-") for path in checkpoints.glob("step-*") if path.is_dir())
    return sorted(int(name) for name in names if name.isdecimal())


def last_in(checkpoints: Path) -> int | None:
    """Return the step of the last checkpoint, or None if there is none."""
    return max(steps_in(checkpoints), default=None)


def write_index(folder: Path, state: Any) -> None:
    """Write the state of a checkpoint apart from its tensors, with the checksums of all other files in its folder."""
    index = CheckpointIndex(state=state, sha256={file.name: _sha256(file) for file in sorted(folder.iterdir())})
    content = json.dumps(index.model_dump())
    sealed = json.dumps({"sha256": hashlib.sha256(content.encode()).hexdigest(), "content": content})
    (folder / _INDEX).write_text(sealed + "\n", encoding="utf-8")


def read_index(folder: Path) -> Any:
    """Verify the checksums of all files of a checkpoint and return the state that `write_index` was given.

    Raises:
        DamagedError: a checksum does not match.
    """
    sealed = json.loads((folder / _INDEX).read_text(encoding="utf-8"))
    content = sealed["content"]
    if hashlib.sha256(content.encode()).hexdigest() != sealed["sha256"]:
        raise DamagedError(f"{folder / _INDEX} is damaged (its checksum does not match)")
    index = CheckpointIndex.model_validate(json.loads(content))
    for name, expected in index.sha256.items():
        if _sha256(folder / name) != expected:
            raise DamagedError(f"{folder / name} is damaged (its checksum does not match)")
    return index.state


def set_aside(checkpoints: Path, after: int) -> None:
    """Rename the checkpoints newer than a step, which are damaged, so that they are neither used nor lost."""
    for step in steps_in(checkpoints):
        if step > after:
            path = folder_of(checkpoints, step)
            target = path.with_name(path.name + ".damaged")
            shutil.rmtree(target, ignore_errors=True)
            path.rename(target)


def prune(checkpoints: Path, keep: set[int]) -> None:
    """Remove all checkpoints except the last two and those of the steps in `keep`."""
    for step in steps_in(checkpoints)[:-2]:
        if step not in keep:
            shutil.rmtree(folder_of(checkpoints, step), ignore_errors=True)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
