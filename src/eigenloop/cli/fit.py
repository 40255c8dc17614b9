"""``eigenloop fit``: ``train`` with your own data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenloop.cli.training import Settings, run_training
from eigenloop.cli.widths import BITS_HELP, STATE_BITS_HELP


def fit(
    data: Annotated[
        Path | None, typer.Argument(help="A file (.npz, .npy, .csv, .parquet, .ts) or a folder of .csv or .wav.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="A model (eigenloop list models). Default: ncgru.")] = None,
    bits: Annotated[str | None, typer.Option(help=BITS_HELP)] = None,
    state_bits: Annotated[int | None, typer.Option(help=STATE_BITS_HELP)] = None,
    hidden_size: Annotated[int | None, typer.Option(help="Number of hidden units.")] = None,
    max_bytes: Annotated[
        int | None, typer.Option(min=1, help="Choose the largest hidden size that fits this many bytes on a device.")
    ] = None,
    test: Annotated[Path | None, typer.Option(help="File with the test cases.")] = None,
    kind: Annotated[str | None, typer.Option(help="class, values, step-class, step-values or forecast.")] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="Column of labels. Repeat it for several target values.")
    ] = None,
    case: Annotated[str | None, typer.Option(help="Column that identifies the case of a row.")] = None,
    time: Annotated[str | None, typer.Option(help="Column of times.")] = None,
    group: Annotated[
        str | None, typer.Option(help="Column of persons, devices, ...; a group is never in two splits.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Column of sample weights, one per case.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Column to ignore. May be repeated.")] = None,
    layout: Annotated[
        str | None, typer.Option(help="Axes of X in .npz and .npy, such as cases,channels,steps.")
    ] = None,
    window: Annotated[int | None, typer.Option(help="Cut recordings into windows of this many steps.")] = None,
    stride: Annotated[
        int | None, typer.Option(help="Steps from one window to the next. Default: half a window.")
    ] = None,
    horizon: Annotated[int | None, typer.Option(help="Forecast: number of steps ahead.")] = None,
    feedback: Annotated[
        bool, typer.Option("--feedback", help="Forecast: learn one step ahead and feed predictions back.")
    ] = False,
    missing: Annotated[str | None, typer.Option(help="How to treat missing values: error, previous or mask.")] = None,
    resample: Annotated[
        str | None, typer.Option(help="Resample to this time between steps, or median: the usual one of the file.")
    ] = None,
    time_difference: Annotated[
        bool, typer.Option("--time-difference", help="Add a channel with the time since the previous step.")
    ] = False,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Weight the loss so that every class counts equally.")
    ] = False,
    pool: Annotated[
        str | None,
        typer.Option(help="State that is read out: last, mean or max over time. Default: max for a class, else last."),
    ] = None,
    valid: Annotated[
        float | None, typer.Option(help="Fraction of cases in the validation split. Default: 0.15.")
    ] = None,
    test_share: Annotated[
        float | None, typer.Option(help="Fraction of cases in the test split. Default: 0.15.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="How to split: cases (at random), order (of the file) or time (within each recording)."),
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Sequences per update.")] = None,
    steps: Annotated[int | None, typer.Option(help="Maximum number of updates.")] = None,
    epochs: Annotated[float | None, typer.Option(help="Passes over the data, in place of --steps.")] = None,
    patience: Annotated[int | None, typer.Option(help="Stop after this many evaluations without improvement.")] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate of everything but the recurrent matrix.")] = None,
    recurrent_lr: Annotated[float | None, typer.Option(help="Learning rate of the recurrent matrix.")] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed of initial weights and order of the data.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run. Default: runs/FILE-MODEL.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run in --out.")] = False,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, ...")] = None,
    config: Annotated[
        Path | None, typer.Option(help="YAML file of settings; options on the command line override it.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any other setting. May be repeated.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Train a network on your own sequences.

    The file is read and described first. A validation split chooses the best network and stops the training early; a
    test split measures it. This is eigenloop train sequences --data FILE with short options.

    Examples:
        eigenloop fit watch.npz --model ncgru --bits 4 --out runs/watch

        eigenloop fit watch.npz --bits 4 --state-bits 8

        eigenloop fit watch.csv --label activity --group person --max-bytes 4096

        eigenloop fit weather.csv --horizon 12

        eigenloop fit --out runs/watch --resume
    """
    given: Settings = {
        "task": {
            "name": "sequences",
            "data": None if data is None else str(data.expanduser().absolute()),
            "test_data": None if test is None else str(test.expanduser().absolute()),
            "kind": kind,
            "label": label or None,
            "case": case,
            "time": time,
            "group": group,
            "weight": weight,
            "ignore": ignore or None,
            "layout": layout,
            "by": by,
            "window": window,
            "stride": stride,
            "horizon": horizon,
            "feedback": feedback or None,
            "missing": missing,
            "resample": resample,
            "time_difference": time_difference or None,
            "balanced": balanced or None,
            "pool": pool,
            "valid": valid,
            "test": test_share,
        },
        "model": {
            "name": model or (None if resume or config else "ncgru"),
            "hidden_size": hidden_size,
            "state_bits": state_bits,
        },
        "optimizer": {"lr": lr, "recurrent_lr": recurrent_lr},
        "training": {
            "batch_size": batch_size,
            "steps": steps,
            "epochs": epochs,
            "patience": patience,
            "seed": seed,
            "device": device,
        },
    }
    run_training(given, settings, config=config, bits=bits, max_bytes=max_bytes, out=out, resume=resume, json=json)
