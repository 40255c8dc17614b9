"""``eigenloop report``."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from eigenloop.report import write


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.")],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Make one page of runs: curves, eigenvalues, defects and a table.

    eigenloop report runs/scornn runs/lstm --out report.html
    """
    page = write(runs, out)
    print(json_text.dumps({"report": str(page), "runs": [str(run) for run in runs]}) if json else f"report: {page}")
