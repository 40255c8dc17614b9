"""``eigenloop predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenloop.cli.checkpoints import which
from eigenloop.text.json_text import json_line


def predict(
    run: Annotated[Path, typer.Argument(help="Folder of a run on your own data.")],
    data: Annotated[Path, typer.Argument(help="A file or folder with the same channels; labels are not needed.")],
    out: Annotated[Path, typer.Option(help="File for the predictions: .csv, .npz or .parquet.")] = Path(
        "predictions.csv"
    ),
    checkpoint: Annotated[str, typer.Option(help="best, last or a step.")] = "best",
    batch_size: Annotated[int, typer.Option(min=1, help="Sequences per batch.")] = 128,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, ... Default: as in training.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Predict with a trained network: a class or values for each case or step, or the next values.

    Examples:
        eigenloop predict runs/watch new.csv --out predictions.csv
    """
    from eigenloop.training import predict as answers
    from eigenloop.training.tables import checked_ending, write_columns

    checked_ending(out)
    predictions = answers(run, data, which=which(checkpoint), batch_size=batch_size, device=device)
    columns = predictions.columns()
    write_columns(out, columns)
    rows = len(next(iter(columns.values())))
    if json:
        told = {"run": str(run), "data": str(data), "out": str(out), "rows": rows, "columns": list(columns)}
        print(json_line(told))
        return
    cases = len(set(predictions.case.tolist()))
    print(f"{out}: {rows:,} rows of {cases:,} {'case' if cases == 1 else 'cases'}, columns {', '.join(columns)}")
