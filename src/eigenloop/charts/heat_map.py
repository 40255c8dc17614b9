"""A matrix of counts as a table with shaded cells, such as a confusion matrix; screen readers read it as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from eigenloop.charts.render import render
from eigenloop.text.typography import quantity


@dataclass(frozen=True)
class Cell:
    """A count as text, and the shade of its cell in percent."""

    text: str
    shade: int


@dataclass(frozen=True)
class Matrix:
    """A heat map; a template writes ``{{ matrix }}``.

    Attributes:
        down: what the rows stand for, such as "true".
        across: what the columns stand for, such as "predicted".
        rows: the name of each row and its cells.
    """

    title: str
    down: str
    across: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]

    def __html__(self) -> Markup:
        """Return the matrix as HTML, for templates."""
        return render("matrix.html", matrix=self)


def matrix(
    counts: Sequence[Sequence[float]],
    labels: Sequence[str],
    *,
    title: str,
    down: str = "true",
    across: str = "predicted",
) -> Matrix:
    """Return the heat map of a square matrix of counts, each shaded by its share of its row.

    Raises:
        ValueError: the matrix does not fit the labels, or a count is negative.

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
    # On a shade between 42 and 69 % neither dark nor light text has a contrast of 4.5 in both themes, so these shades
    # are skipped: shares above one half are darker.
    return round(84 * share) if share <= 0.5 else round(70 + 60 * (share - 0.5))
