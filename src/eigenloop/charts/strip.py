"""Numbers as dots on a line with a reference mark, for a quick visual comparison beside a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from eigenloop.charts import scales
from eigenloop.charts.render import render
from eigenloop.charts.scales import Scale

#: The ratio from which on the scale is logarithmic; smaller than for curves, which have more room.
LOGARITHMIC = 5.0


@dataclass(frozen=True)
class Strip:
    """A scale that several rows share; each row then has ``{{ strip.dot(value) }}``.

    Attributes:
        scale: the scale.
        reference: the number with which all are compared.
        rising: whether larger is better.
    """

    scale: Scale
    reference: float | None
    rising: bool = False

    def place(self, value: float | None) -> float | None:
        """Return the position of a number in percent, with a margin at both ends so that no dot is cut off."""
        at = None if value is None else self.scale.at(value)
        return None if at is None else round(4 + 92 * min(max(at, 0.0), 1.0), 2)

    @property
    def hint(self) -> str:
        """Text with an arrow in the direction that is better; empty if the reference needs that space."""
        line = self.place(self.reference)
        if line is not None and (line > 55 if self.rising else line < 45):
            return ""
        return "better \N{RIGHTWARDS ARROW}" if self.rising else "\N{LEFTWARDS ARROW} better"

    def head(self, name: str) -> Markup:
        """Return the heading of the rows: the name of the reference, and which direction is better."""
        return render("strip.html", strip=self, name=name, dot=None, hollow=False)

    def dot(self, value: float | None, *, hollow: bool = False) -> Markup:
        """Return the line of a row with its dot, if it has a number."""
        return render("strip.html", strip=self, name="", dot=self.place(value), hollow=hollow)


def compared(values: Sequence[float | None], reference: float | None, *, rising: bool) -> Strip | None:
    """Return the strip for numbers and a reference; None if there are fewer than two different numbers."""
    known = [value for value in (*values, reference) if value is not None and abs(value) < scales.HUGE]
    if len(set(known)) < 2:
        return None
    low, high = min(known), max(known)
    if not rising and low > 0 and high / low >= LOGARITHMIC:
        return Strip(scales.logarithmic(low, high), reference, rising)
    return Strip(scales.linear(min(low, 0.0), 1.0 if rising and high <= 1 else high), reference, rising)
