"""``eigenloop bench``."""

from __future__ import annotations

from typing import Annotated

import typer

from eigenloop.errors import ConfigError


def bench(
    rounds: Annotated[int, typer.Option(min=1, help="Repetitions of each measurement; medians are shown.")] = 5,
    only: Annotated[list[int] | None, typer.Option(help="Row to measure, counted from 1. May be repeated.")] = None,
    busy: Annotated[
        bool, typer.Option("--busy", help="Measure a second time while another process uses every core.")
    ] = False,
    inference: Annotated[
        bool,
        typer.Option("--inference", help="Time inference on whole sequences against torch.nn and onnxruntime."),
    ] = False,
    steps: Annotated[
        bool, typer.Option("--steps", help="Time single steps alone, integer networks in C among them.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per row.")] = False,
) -> None:
    """Time a training step against torch.nn, an eager loop and the bare arithmetic.

    eigenloop bench --rounds 9
    """
    from eigenloop.bench.rows import ROWS
    from eigenloop.bench.table import print_inference, print_latencies, print_table

    for number in only or ():
        if not 1 <= number <= len(ROWS):
            raise ConfigError(f"--only takes rows 1 to {len(ROWS)}, got {number}")
    if inference:
        if only or busy or steps:
            raise ConfigError("--inference has rows of its own: leave out --only, --busy and --steps")
        print_inference(rounds, json)
        return
    if steps:
        if only or busy:
            raise ConfigError("--steps has rows of its own: leave out --only and --busy")
        print_latencies(json)
        return
    print_table(rounds, only or (), busy, json)
