"""Errors raised by the matrices; each composes its own message."""

from __future__ import annotations


class NotInSetError(ValueError):
    """A given matrix is not in the set that the map can represent.

    Args:
        name: the matrix class, with the options that matter.
        holds: what it holds.
        found: what the given matrix does instead, with the number.
        distance: how far the given matrix is from the set.
        allowed: the largest distance that counts as rounding.
        fix: what to do.
    """

    def __init__(self, name: str, holds: str, found: str, distance: float, allowed: float, fix: str) -> None:
        super().__init__(
            f"{name} holds {holds}, but the given matrix {found} (at most {allowed:.0e} counts as rounding): {fix}"
        )
        self.distance = distance


class NotFiniteError(RuntimeError):
    """The parameters, and with them W, contain NaN or inf."""

    def __init__(self, name: str) -> None:
        self.problem = f"the recurrent matrix built by {name} holds NaN or inf, or its parameters do"
        super().__init__(
            f"{self.problem}: go back to the last good state and lower the learning rate or clip the gradient"
        )


class OffSetError(RuntimeError):
    """An unsuitable optimizer has moved a matrix out of its set."""

    def __init__(self, name: str, distance: float, optimizer: str) -> None:
        super().__init__(
            f"the matrix of {name} is off its set by about {distance:.1g}: an ordinary optimizer moved it; train it "
            f"with {optimizer}, or use ScaledCayley or Exponential, which any optimizer may move"
        )


def next_even(n: int) -> str:
    """Return the advice to use the adjacent even sizes instead of an odd n.

    >>> next_even(7), next_even(1)
    ('use 6 or 8', 'use 2')
    """
    return f"use {n - 1} or {n + 1}" if n > 1 else "use 2"
