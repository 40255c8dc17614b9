"""``eigenloop report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenloop.report import write


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.")],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
) -> None:
    """Make one page of runs: curves, eigenvalues, defects and a table.

    eigenloop report runs/scornn runs/lstm --out report.html
    """
    print(f"report: {write(runs, out)}")
