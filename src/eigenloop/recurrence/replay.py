"""Repeats the recorded kernel call of a cell's time step with another input and state and the same weights.

A single step of a small cell costs less than the checks around it. Most checks are made once, in the recorded step;
only what can change between steps is checked again: shapes, strides, devices, the instruction set, threads.
"""

from __future__ import annotations

import torch
from torch import Tensor

from eigenloop.recurrence import kernel, kernel_calls


class Replay:
    """A recorded step that can be repeated with other inputs and states of the same shape; thread-safe.

    Args:
        recorded: the kernel call of a single time step without lengths.
        x: its input: (1, B, m).
        out: its output: (1, B, n).
    """

    def __init__(self, recorded: kernel_calls.Recorded, x: Tensor, out: Tensor) -> None:
        self._recorded, self._fields = recorded, recorded.fields()
        self._shape, self._strides, self._dtype = x.shape, x.stride(), x.dtype
        self._like = out
        self._threads = torch.get_num_threads()

    def __call__(self, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]] | None:
        """Return the output and the final state; None if the recorded call does not fit these tensors."""
        if not (
            x.shape == self._shape
            and x.stride() == self._strides
            and x.dtype == self._dtype
            and kernel.takes(x)
            and kernel.reachable(x, *state)
            and torch.get_num_threads() == self._threads
        ):
            return None
        for part in state:
            if not (part.is_contiguous() and part.is_cpu and part.dtype == self._dtype):
                return None
        # The fastest way to make a tensor.
        out, final = torch.empty_like(self._like), tuple([torch.empty_like(part) for part in state])
        self._recorded.run_with(self._fields, (x, *state, out, *final))
        return out, final


def replay_of(calls: list[kernel_calls.Recorded], x: Tensor, state: tuple[Tensor, ...], out: Tensor) -> Replay | None:
    """Return the replay of a step that made these calls, or None unless it is one call on exactly these tensors."""
    if len(calls) != 1 or len(x) != 1 or not calls[0].takes(x, *state):
        return None
    return Replay(calls[0], x, torch.empty_like(out))
