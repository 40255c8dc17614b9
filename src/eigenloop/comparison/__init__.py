"""Compare our results with every published table and figure, as Markdown and as an HTML page."""

from __future__ import annotations

from eigenloop.comparison.outcomes import Outcome, Progress
from eigenloop.comparison.table import Line, Sheet, compare
from eigenloop.comparison.write import Written, write

__all__ = ["Line", "Outcome", "Progress", "Sheet", "Written", "compare", "write"]
