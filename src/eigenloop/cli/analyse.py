"""``eigenloop analyse``: the papers' analyses, one command each."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from eigenloop import analysis
from eigenloop.analysis import Result

app = typer.Typer(
    help="Compute and draw the analyses of the papers.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Out = Annotated[Path, typer.Option(help="Folder for NAME.json, NAME.png and NAME.svg.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object.")]
Seed = Annotated[int, typer.Option(help="Of the draws.")]
FOLDER = Path("analysis")


@app.command()
def conditioning(
    draws: Annotated[int, typer.Option(min=1, help="Matrices.")] = 1000,
    size: Annotated[int, typer.Option(min=1, help="n.")] = 10,
    seed: Seed = 0,
    out: Out = FOLDER,
    json: Json = False,
) -> None:
    """QORNN figure 1: what k bits do to an orthogonal matrix, and its bounds (3) and (4).

    eigenloop analyse conditioning --draws 1000
    """
    _show(analysis.conditioning(draws, size, seed), out, json)


def _show(result: Result, out: Path, json: bool) -> None:
    """Write the files, and print the table and where they are."""
    paths = [str(path) for path in result.write(out)]
    if json:
        print(json_text.dumps({"name": result.name, "files": paths, **result.numbers}))
        return
    print(result.title)
    print(result.table)
    for note in result.notes:
        print(note)
    print("written: " + ", ".join(paths))
