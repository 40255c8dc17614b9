"""Initial and final states in torch's layout: (layers * directions, B, n), or one tensor per layer if sizes differ."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

State = Tensor | Sequence[Tensor]


def split_state(
    hx: State, sizes: Sequence[int], directions: int, uniform: bool, batch: int, batched: bool
) -> Sequence[Tensor]:
    """Check a given state and split it into one (B, n) tensor for each layer and direction.

    Args:
        hx: (L * D, B, n), or without B for a single sequence; with `uniform` False one (D, B, n_l) tensor per layer.
        sizes: hidden size of each layer.
        directions: 1 or 2.
        uniform: whether all layers share one size and the state is one tensor.
        batch: B.
        batched: whether the input has a batch dimension.
    """
    if uniform:
        if not isinstance(hx, Tensor):
            raise TypeError(f"the initial state is one tensor, got {type(hx).__name__}")
        return _cut(hx, len(sizes) * directions, batch, sizes[0], batched)
    if isinstance(hx, Tensor) or len(hx) != len(sizes):
        given = "one tensor" if isinstance(hx, Tensor) else f"{len(hx)} tensors"
        raise RuntimeError(f"layers of sizes {tuple(sizes)} take a list of {len(sizes)} initial states, got {given}")
    return [part for h, n in zip(hx, sizes, strict=True) for part in _cut(h, directions, batch, n, batched)]


def _cut(h: Tensor, parts: int, batch: int, n: int, batched: bool) -> Sequence[Tensor]:
    wanted = (parts, batch, n) if batched else (parts, n)
    if h.shape != wanted:
        if h.dim() != len(wanted):
            kind = "a batch" if batched else "a single sequence"
            raise RuntimeError(f"for {kind} the initial state has {len(wanted)} dimensions {wanted}, got {h.dim()}")
        raise RuntimeError(f"the initial state must have shape {wanted}, got {tuple(h.shape)}")
    if not batched:
        h = h.unsqueeze(1)
    return (h.squeeze(0),) if parts == 1 else h.unbind()


def join_state(parts: Sequence[Tensor], directions: int, uniform: bool, batched: bool) -> Tensor | tuple[Tensor, ...]:
    """Join final states (B, n), one for each layer and direction, into the layout of `hx` in `split_state`."""
    if not batched:
        parts = [h.squeeze(0) for h in parts]
    if uniform:
        return parts[0].unsqueeze(0) if len(parts) == 1 else torch.stack(list(parts))
    return tuple(torch.stack(list(parts[i : i + directions])) for i in range(0, len(parts), directions))
