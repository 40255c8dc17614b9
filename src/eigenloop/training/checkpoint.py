"""Checkpoints: the weights in one safetensors file, and the rest of what a run needs to resume in others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from eigenloop.runs import atomic
from eigenloop.runs.checkpoints import DamagedError, folder_of, read_index, steps_in, write_index
from eigenloop.training.packing import load_tensors, pack, save_tensors, unpack

_WEIGHTS, _TENSORS = "model.safetensors", "state.safetensors"


@dataclass(frozen=True)
class Checkpoint:
    """The content of a checkpoint: the network's state_dict, and the state of everything else."""

    weights: dict[str, Tensor]
    state: dict[str, Any]

    @property
    def of_torchs_layers(self) -> bool:
        """Whether it predates our own lstm and gru: then they were torch's layers, with other optimizer parameters."""
        return any(name.startswith("rnn.weight_hh") for name in self.weights)


def save(checkpoints: Path, step: int, weights: Mapping[str, Tensor], state: Mapping[str, Any]) -> Path:
    """Write a checkpoint atomically and return its folder."""
    path = folder_of(checkpoints, step)
    with atomic.new_folder(path) as scratch:
        tensors: dict[str, Tensor] = {}
        packed = pack(state, tensors)
        save_tensors(scratch / _WEIGHTS, weights)
        save_tensors(scratch / _TENSORS, tensors)
        write_index(scratch, packed)
    return path


def load(checkpoints: Path, step: int) -> Checkpoint:
    """Read a checkpoint and verify its checksums; nothing in it is executed.

    Raises:
        DamagedError: it is incomplete or differs from what was written.
    """
    path = folder_of(checkpoints, step)
    try:
        state = read_index(path)
        tensors = load_tensors(path / _TENSORS)
        return Checkpoint(load_tensors(path / _WEIGHTS), unpack(state, tensors))
    except DamagedError:
        raise
    except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise DamagedError(f"{path} is damaged ({error})") from error


def is_whole(checkpoints: Path, step: int) -> bool:
    """Whether a checkpoint is undamaged."""
    try:
        load(checkpoints, step)
    except DamagedError:
        return False
    return True


def newest(checkpoints: Path) -> tuple[int, Checkpoint, list[str]] | None:
    """Return the step of the newest undamaged checkpoint, its content, and the problems of newer ones.

    Returns None if there are no checkpoints.

    Raises:
        DamagedError: all checkpoints are damaged.
    """
    problems: list[str] = []
    for step in reversed(steps_in(checkpoints)):
        try:
            return step, load(checkpoints, step), problems
        except DamagedError as error:
            problems.append(str(error))
    if problems:
        raise DamagedError("every checkpoint is damaged: " + "; ".join(problems))
    return None
