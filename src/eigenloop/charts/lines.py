"""What is drawn: lines with the points that they go through, and the entries of the legend that they belong to."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Values = tuple[float | None, ...]
#: How a line is drawn: strong, thin or faint; dotted; as dots that are joined, or that are not (a scatter plot), filled
#: or as rings; or as one seed among several, which is neither read out nor listed.
Weight = Literal["strong", "thin", "faint", "dotted", "dots", "cloud", "rings", "seed"]


@dataclass(frozen=True)
class Key:
    """An entry of the legend.

    Attributes:
        index: its number; lines with the same one are shown and hidden together.
        style: the classes of the style sheet that give it its colour, `c0` to `c7`.
        short: its label where there is little room.
    """

    index: int
    style: str
    label: str
    short: str = ""


@dataclass(frozen=True)
class Line:
    """A line through points.

    Attributes:
        x: places along the axis, ascending except in a cloud; None where it is not known.
        y: heights; None where nothing finite was measured, which ends the line with a cross.
        low: the least value that each point stands for, and `high` the largest: a band around the line. May be empty.
        name: what it is beside the other lines of its key, such as "validation".
        names: of a scatter plot, what each point is; may be empty.
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
        """Its full name."""
        return f"{self.key.label}, {self.name}" if self.name else self.key.label

    @property
    def scattered(self) -> bool:
        """Whether its points are not joined."""
        return self.weight in ("cloud", "rings")

    @property
    def read(self) -> bool:
        """Whether its values are listed."""
        return self.weight != "seed"

    def points(self) -> Iterator[tuple[float, float]]:
        """Give the points that are known."""
        return ((x, y) for x, y in zip(self.x, self.y, strict=True) if x is not None and y is not None)

    def heights(self) -> list[float]:
        """Return the heights that are known."""
        return [y for y in self.y if y is not None]
