"""The data of charts: lines through points, and the legend entries that they belong to."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Values = tuple[float | None, ...]
#: How a line is drawn: strong, thin or faint; dotted; as joined dots ("dots"); as the points of a scatter plot, filled
#: ("cloud") or as rings; or as one seed of several, which has no label and is not in the table of values.
Weight = Literal["strong", "thin", "faint", "dotted", "dots", "cloud", "rings", "seed"]


@dataclass(frozen=True)
class Key:
    """An entry of the legend.

    Attributes:
        index: its number; lines with the same number are shown and hidden together.
        style: the CSS classes for its colour, `c0` to `c7`.
        short: its label where space is limited.
    """

    index: int
    style: str
    label: str
    short: str = ""


@dataclass(frozen=True)
class Line:
    """A line through points.

    Attributes:
        x: horizontal values, ascending except in a scatter plot; None where it is not known.
        y: vertical values; None where the value is not finite, which ends the line with a cross.
        low, high: the smallest and the largest value that each point stands for, a band around the line; may be empty.
        name: what distinguishes it from other lines of its key, such as "validation".
        names: the names of a scatter plot's points; may be empty.
    """

    key: Key
    x: Values
    y: Values
    low: Values = ()
    high: Values = ()
    weight: Weight = "strong"
    name: str = ""
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        sizes = [len(values) for values in (self.y, self.low or self.y, self.high or self.y, self.names or self.y)]
        if any(size != len(self.x) for size in sizes):
            raise ValueError(f"{self.label}: {len(self.x)} places, but {', '.join(map(str, sizes))} heights")
        if any(value is not None and not math.isfinite(value) for value in (*self.x, *self.y, *self.low, *self.high)):
            raise ValueError(f"{self.label}: give None for a value that is not finite")

    @property
    def label(self) -> str:
        """Its full name: that of its key and its own."""
        return f"{self.key.label}, {self.name}" if self.name else self.key.label

    @property
    def scattered(self) -> bool:
        """Whether its points are not joined."""
        return self.weight in ("cloud", "rings")

    @property
    def read(self) -> bool:
        """Whether it is named and its values are listed; not for a single seed."""
        return self.weight != "seed"

    def points(self) -> Iterator[tuple[float, float]]:
        """Return the points of which both values are known."""
        return ((x, y) for x, y in zip(self.x, self.y, strict=True) if x is not None and y is not None)

    def heights(self) -> list[float]:
        """Return the vertical values that are known."""
        return [y for y in self.y if y is not None]
