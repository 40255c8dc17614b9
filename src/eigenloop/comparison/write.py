"""Write all files: ``RESULTS.md``, a page for each paper in ``docs/results``, and ``docs/results.html``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from eigenloop import experiments
from eigenloop.comparison import page, paper_page, summary
from eigenloop.comparison.papers import with_others
from eigenloop.comparison.table import compare
from eigenloop.experiments import Experiment
from eigenloop.runs import atomic
from eigenloop.training import RunError


@dataclass(frozen=True)
class Written:
    """The files that were written, the number of rows, and how many of them have a result."""

    text: Path
    page: Path
    rows: int
    filled: int


def write(results: Path, out: Path, chosen: Iterable[Experiment] | None = None) -> Written:
    """Write the comparison of the results in a folder with the published tables; all experiments by default.

    Raises:
        RunError: the folder does not exist, a result is damaged, or `out` cannot be written.
    """
    if chosen is None:
        chosen = [experiments.load(name) for name in experiments.names()]
    sheets = compare(chosen, Path(results))
    files = {
        Path(out) / "RESULTS.md": summary.render(sheets),
        Path(out) / "docs" / "results.html": page.render(sheets),
    }
    for paper in with_others(sheet.experiment.paper for sheet in sheets):
        if own := [sheet for sheet in sheets if sheet.experiment.paper == paper.name]:
            files[Path(out) / summary.page_of(paper.name)] = paper_page.render(paper, own)
    for path, content in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic.write_text(path, content)
        except OSError as error:
            raise RunError(f"{path} cannot be written: {error.strerror or error}") from error
    text, html, *_ = files
    rows = sum(len(sheet.lines) for sheet in sheets)
    return Written(text, html, rows, sum(sheet.filled for sheet in sheets))
