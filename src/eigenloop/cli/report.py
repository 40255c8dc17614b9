"""``eigenloop report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenloop.errors import ConfigError
from eigenloop.text.json_text import json_line


def report(
    runs: Annotated[list[Path] | None, typer.Argument(help="Folders of runs.")] = None,
    published: Annotated[
        bool, typer.Option("--published", help="The papers' tables with our results: RESULTS.md, docs/results.")
    ] = False,
    results: Annotated[
        Path | None, typer.Option(help="With --published: folder that eigenloop reproduce wrote. Default: results.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File to write (default: report.html); with --published a folder (default: the current one)."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write one HTML page about runs (curves, eigenvalues, defects, a table), or the published tables with our results.

    Examples:
        eigenloop report runs/scornn runs/lstm --out report.html

        eigenloop report --published
    """
    if published and runs:
        raise ConfigError("report shows runs or, with --published, the results of experiments: give one of the two")
    if published:
        _published(results or Path("results"), out or Path(), json)
        return
    if not runs:
        raise ConfigError("report needs something to show: give folders of runs, or --published")
    if results is not None:
        raise ConfigError("--results goes with --published: leave it out for folders of runs")
    from eigenloop.report import write

    page = write(runs, out or Path("report.html"))
    print(json_line({"report": str(page), "runs": [str(run) for run in runs]}) if json else f"report: {page}")


def _published(results: Path, out: Path, json: bool) -> None:
    if out.is_file():
        raise ConfigError(
            f"{out} is a file: with --published, --out names the folder for RESULTS.md and docs/results.html"
        )
    from eigenloop import comparison as published_results

    written = published_results.write(results, out)
    if json:
        files = {"text": str(written.text), "page": str(written.page)}
        print(json_line({**files, "rows": written.rows, "filled": written.filled}))
    else:
        print(f"published: {written.filled} of {written.rows} rows filled in; {written.text}, {written.page}")
