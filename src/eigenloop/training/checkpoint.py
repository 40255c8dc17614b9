"""Checkpoints: the weights in one safetensors file, and everything else that a run needs to go on beside it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from eigenloop.training import atomic
from eigenloop.training.packing import load_tensors, pack, save_tensors, unpack

_WEIGHTS, _TENSORS, _STATE = "model.safetensors", "state.safetensors", "state.json"


class DamagedError(ValueError):
    """A checkpoint is not what was written."""


@dataclass(frozen=True)
class Checkpoint:
    """What is in a checkpoint: the network's state_dict, and the state of everything else."""

    weights: dict[str, Tensor]
    state: dict[str, Any]

    @property
    def of_torchs_layers(self) -> bool:
        """Whether it is from when models lstm and gru were torch's own layers, whose optimizer had other parameters."""
        return any(name.startswith("rnn.weight_hh") for name in self.weights)


def folder_of(checkpoints: Path, step: int) -> Path:
    """Return where the checkpoint of a step stands."""
    return checkpoints / f"step-{step}"


def steps_in(checkpoints: Path) -> list[int]:
    """Return the steps of which there is a checkpoint, in order."""
    names = (path.name.removeprefix("step-") for path in checkpoints.glob("step-*") if path.is_dir())
    return sorted(int(name) for name in names if name.isdecimal())


def last_in(checkpoints: Path) -> int | None:
    """Return the step of the last checkpoint; None where there is none."""
    return max(steps_in(checkpoints), default=None)


def save(checkpoints: Path, step: int, weights: Mapping[str, Tensor], state: Mapping[str, Any]) -> Path:
    """Write a checkpoint, entirely or not at all."""
    path = folder_of(checkpoints, step)
    with atomic.new_folder(path) as scratch:
        tensors: dict[str, Tensor] = {}
        packed = pack(state, tensors)
        save_tensors(scratch / _WEIGHTS, weights)
        save_tensors(scratch / _TENSORS, tensors)
        content = json.dumps({"state": packed, "sha256": {n: _sha256(scratch / n) for n in (_WEIGHTS, _TENSORS)}})
        sealed = json.dumps({"sha256": hashlib.sha256(content.encode()).hexdigest(), "content": content})
        (scratch / _STATE).write_text(sealed + "\n", encoding="utf-8")
    return path


def load(checkpoints: Path, step: int) -> Checkpoint:
    """Read a checkpoint and check every byte of it; nothing in it is executed."""
    path = folder_of(checkpoints, step)
    try:
        sealed = json.loads((path / _STATE).read_text(encoding="utf-8"))
        content = sealed["content"]
        if hashlib.sha256(content.encode()).hexdigest() != sealed["sha256"]:
            raise DamagedError(f"{path / _STATE} is damaged (its checksum does not fit)")
        found = json.loads(content)
        for name, expected in found["sha256"].items():
            if _sha256(path / name) != expected:
                raise DamagedError(f"{path / name} is damaged (its checksum does not fit)")
        tensors = load_tensors(path / _TENSORS)
        return Checkpoint(load_tensors(path / _WEIGHTS), unpack(found["state"], tensors))
    except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, DamagedError):
            raise
        raise DamagedError(f"{path} is damaged ({error})") from error


def is_whole(checkpoints: Path, step: int) -> bool:
    """Whether every byte of a checkpoint is as it was written."""
    try:
        load(checkpoints, step)
    except DamagedError:
        return False
    return True


def newest(checkpoints: Path) -> tuple[int, Checkpoint, list[str]] | None:
    """Return the newest checkpoint that is whole, its step, and what is wrong with newer ones."""
    problems: list[str] = []
    for step in reversed(steps_in(checkpoints)):
        try:
            return step, load(checkpoints, step), problems
        except DamagedError as error:
            problems.append(str(error))
    if problems:
        raise DamagedError("no checkpoint is whole: " + "; ".join(problems))
    return None


def set_aside(checkpoints: Path, after: int) -> None:
    """Rename checkpoints newer than a step, which turned out damaged, so that they are neither used nor lost."""
    for step in steps_in(checkpoints):
        if step > after:
            path = folder_of(checkpoints, step)
            target = path.with_name(path.name + ".damaged")
            shutil.rmtree(target, ignore_errors=True)
            path.rename(target)


def prune(checkpoints: Path, keep: set[int]) -> None:
    """Remove all checkpoints but those of certain steps and the last two."""
    for step in steps_in(checkpoints)[:-2]:
        if step not in keep:
            shutil.rmtree(folder_of(checkpoints, step), ignore_errors=True)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
