"""Checks of a layer's options; each error says what was given, what is wanted and how to fix it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

import torch

from eigenloop import matrices, registry
from eigenloop.matrices import Matrix
from eigenloop.matrices.base import made_by

T = TypeVar("T")
Recurrent = str | Callable[[int], Matrix]


def hidden_sizes(hidden_size: int | Sequence[int], num_layers: int) -> tuple[int, ...]:
    """Return the hidden size of each layer; raises ValueError or TypeError if the arguments are invalid.

    >>> hidden_sizes(8, 2), hidden_sizes((4, 8, 4), 1)
    ((8, 8), (4, 8, 4))
    """
    whole_number("num_layers", num_layers)
    if isinstance(hidden_size, (tuple, list)):
        sizes = tuple(hidden_size)
        if num_layers not in (1, len(sizes)) or not sizes:
            raise ValueError(
                f"hidden_size={sizes} describes {len(sizes)} layers, but num_layers={num_layers}: leave num_layers out"
            )
    elif isinstance(hidden_size, int):
        sizes = (hidden_size,) * num_layers
    else:
        raise TypeError(f"hidden_size is an int or a tuple with one entry a layer, got {type(hidden_size).__name__}")
    for n in sizes:
        whole_number("hidden_size", n)
    return sizes


def whole_number(name: str, value: int) -> None:
    """Raise TypeError or ValueError unless `value` is an int of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is an int, got {type(value).__name__}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")


def one_of(name: str, value: str, known: Iterable[str]) -> None:
    """Raise ValueError, with a list of the valid names, unless `value` is one of them."""
    known = list(known)
    if value not in known:
        raise ValueError(f"{name}={value!r} is not known: choose one of {', '.join(known)}")


def registered(setting: str, name: str, things: registry.Loaded[T]) -> T:
    """Return what is registered under a name; raises ConfigError if nothing is."""
    if name not in things:
        raise things.kind.unknown(name, setting)
    return things[name]


def check_dropout(dropout: float, num_layers: int) -> float:
    """Return `dropout`; raises ValueError unless it is a probability, and warns if there is only one layer."""
    if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
        raise ValueError(f"dropout is a probability between 0 and 1, got {dropout!r}")
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            f"dropout={dropout} acts between layers and this network has one: use num_layers=2 or more, "
            "or put a torch.nn.Dropout behind it",
            stacklevel=4,
        )
    return float(dropout)


def real_dtype(dtype: torch.dtype | None) -> torch.dtype:
    """Return `dtype`, or torch's default if None; raises TypeError unless it is a real floating-point type."""
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if not dtype.is_floating_point:
        raise TypeError(
            f"dtype is a floating-point type, got {dtype}; for a complex state choose a complex matrix as `recurrent`"
        )
    return dtype


def make_matrix(
    recurrent: Recurrent,
    n: int,
    generator: torch.Generator | None,
    device: torch.device | str | None,
    dtype: torch.dtype,
) -> Matrix:
    """Return the matrix that `recurrent` describes, on a device and in a real dtype (or its complex counterpart)."""
    if isinstance(recurrent, str):
        factory = registered("recurrent", recurrent, matrices.NAMES)
        return made_by(partial(factory, generator=generator), f"recurrent={recurrent!r}", n, device, dtype)
    return made_by(recurrent, "recurrent", n, device, dtype)


def check_slope(negative_slope: float) -> None:
    """Raise ValueError unless the slope is positive: the backward pass takes the sign of z from that of f(z)."""
    if not negative_slope > 0:
        raise ValueError(f"negative_slope, leaky_relu's slope below zero, must be positive, got {negative_slope}")
