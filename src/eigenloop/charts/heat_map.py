"""A matrix of counts as a table with shaded cells, such as a confusion matrix; screen readers read it as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from eigenloop.charts.render import render
from eigenloop.text.typography import quantity


@dataclass(frozen=True)
class Cell:
    """A count as text, and how dark its cell is, in percent."""

    text: str
    shade: int


@dataclass(frozen=True)
class Matrix:
    """A heat map; a template writes ``{{ matrix }}``.

    Attributes:
        down: what the rows are, and `across` the columns.
        rows: the name of each row and its cells.
    """

    title: str
    down: str
    across: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]

    def __html__(self) -> Markup:
        """Return it as HTML."""
        return render("matrix.html", matrix=self)


def matrix(
    counts: Sequence[Sequence[float]],
    labels: Sequence[str],
    *,
    title: str,
    down: str = "true",
    across: str = "predicted",
) -> Matrix:
    """Shade the counts of a square matrix by their share of their row.

    >>> [[cell.shade for cell in cells] for _, cells in matrix([[3, 1], [0, 0]], ["a", "b"], title="").rows]
    [[85, 21], [0, 0]]
    """
    if len(counts) != len(labels) or any(len(row) != len(labels) for row in counts):
        raise ValueError(f"a matrix with {len(labels)} labels needs as many rows and columns")
    if any(count < 0 for row in counts for count in row):
        raise ValueError("a count cannot be negative")
    rows = []
    for label, row in zip(labels, counts, strict=True):
        total = sum(row) or 1
        rows.append((label, tuple(Cell(quantity(count), _shade(count / total)) for count in row)))
    return Matrix(title, down, across, tuple(labels), tuple(rows))


def _shade(share: float) -> int:
    # On a shade between 42 and 69 % neither dark nor light letters have a contrast of 4.5 in both themes, so a majority
    # is set off by a jump.
    return round(84 * share) if share <= 0.5 else round(70 + 60 * (share - 0.5))
