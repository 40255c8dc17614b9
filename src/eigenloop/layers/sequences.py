"""Converts every input format of a recurrent layer to padded (T, B, input_size) with lengths, and outputs back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from eigenloop.recurrence.time import valid_steps

Lengths = Tensor | Sequence[int]


class Batch(NamedTuple):
    """An input in the form that the recurrence takes, and a function that gives the output the form of the input.

    Attributes:
        x: (T, B, input_size), zero in the padding.
        lengths: (B,) int64 on the device of x, or None if all steps are valid.
        batched: False for a single sequence without a batch dimension.
        restore: converts an output (T, B, n) to the form of the input.
    """

    x: Tensor
    lengths: Tensor | None
    batched: bool
    restore: Callable[[Tensor], Tensor | PackedSequence]


def arrange(x: Tensor | PackedSequence, lengths: Lengths | None, batch_first: bool, name: str) -> Batch:
    """Convert a packed, padded or single sequence to the form (T, B, input_size)."""
    if isinstance(x, PackedSequence):
        if lengths is not None:
            raise ValueError("a PackedSequence brings its own lengths: leave out lengths=")
        return _unpack(x)
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} takes a tensor or a PackedSequence, got {type(x).__name__}")
    dimensions = x.dim()
    if dimensions not in (2, 3):
        raise ValueError(f"{name} takes a 2-D (single sequence) or 3-D (batch) input, got {dimensions}-D")
    if x.shape[1 if batch_first and dimensions == 3 else 0] == 0:
        raise RuntimeError(f"{name} needs at least one time step, got an input of length 0")
    if dimensions == 2:
        if lengths is not None:
            raise ValueError("lengths= is for a batch: cut a single sequence to its length instead")
        return Batch(x.unsqueeze(1), None, False, _without_batch)
    if batch_first:
        x = x.transpose(0, 1)
    checked = None if lengths is None else _check_lengths(lengths, x)
    if checked is not None:
        # Zeros in the padding: other values there, even NaN, would reach the gradient of U.
        x = torch.where(valid_steps(checked, len(x)), x, 0)
    return Batch(x, checked, True, _batch_first if batch_first else _as_it_is)


def _as_it_is(out: Tensor) -> Tensor:
    return out


def _batch_first(out: Tensor) -> Tensor:
    return out.transpose(0, 1)


def _without_batch(out: Tensor) -> Tensor:
    return out.squeeze(1)


def _check_lengths(lengths: Lengths, x: Tensor) -> Tensor:
    T, B = x.shape[:2]
    device = lengths.device if isinstance(lengths, Tensor) else "cpu"  # whatever torch's default device is
    given = torch.as_tensor(lengths, dtype=torch.int64 if B == 0 else None, device=device)
    if given.is_floating_point() or given.is_complex() or given.dtype == torch.bool:
        raise TypeError(f"lengths are whole numbers of steps, got {given.dtype}: convert with lengths.long()")
    if given.shape != (B,):
        raise RuntimeError(f"lengths needs one entry for each of the {B} sequences, got shape {tuple(given.shape)}")
    if not torch.compiler.is_compiling() and B > 0:
        low, high = int(given.min()), int(given.max())
        if low < 1:
            raise RuntimeError(f"every length must be at least 1, got {low}: leave empty sequences out of the batch")
        if high > T:
            raise RuntimeError(
                f"a length of {high} is longer than the input, which has {T} steps: pad it or cut lengths"
            )
    return given.to(x.device, torch.int64)


def _unpack(packed: PackedSequence) -> Batch:
    x, lengths = pad_packed_sequence(packed)

    def restore(out: Tensor) -> PackedSequence:
        in_order = lengths
        if packed.sorted_indices is not None:
            out = out.index_select(1, packed.sorted_indices)
            in_order = lengths[packed.sorted_indices.cpu()]
        data = pack_padded_sequence(out, in_order).data
        # In the order of the given sequence, so that rows of input and output data correspond.
        return PackedSequence(data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)

    return Batch(x, lengths.to(x.device), True, restore)
