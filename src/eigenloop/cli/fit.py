"""``eigenloop fit``: ``train`` with a file of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenloop.cli.training import Settings, run_training
from eigenloop.cli.widths import BITS_HELP


def fit(
    data: Annotated[
        Path | None, typer.Argument(help="A file (.npz, .npy, .csv, .parquet, .ts) or a folder of .csv or .wav.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="A model (eigenloop list models); ncgru if left out.")] = None,
    bits: Annotated[str | None, typer.Option(help=BITS_HELP)] = None,
    hidden_size: Annotated[int | None, typer.Option(help="Units.")] = None,
    max_bytes: Annotated[
        int | None, typer.Option(min=1, help="As many units as fit into so many bytes on a device.")
    ] = None,
    test: Annotated[Path | None, typer.Option(help="A file whose cases are the test part.")] = None,
    kind: Annotated[str | None, typer.Option(help="class, values, step-class, step-values or forecast.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="Column of labels; several are several values.")] = None,
    case: Annotated[str | None, typer.Option(help="Column that says which case a row belongs to.")] = None,
    time: Annotated[str | None, typer.Option(help="Column of times.")] = None,
    group: Annotated[str | None, typer.Option(help="Column of persons or the like, never in two parts.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column that says what a case counts in the loss.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
    layout: Annotated[
        str | None, typer.Option(help="Axes of X in .npz and .npy, such as cases,channels,steps.")
    ] = None,
    window: Annotated[int | None, typer.Option(help="Cut recordings into windows of so many steps.")] = None,
    stride: Annotated[int | None, typer.Option(help="From one window to the next; half a window if left out.")] = None,
    horizon: Annotated[int | None, typer.Option(help="Of a forecast: steps ahead.")] = None,
    feedback: Annotated[
        bool, typer.Option("--feedback", help="Of a forecast: learn one step and feed answers back.")
    ] = False,
    missing: Annotated[str | None, typer.Option(help="Missing values: error, previous or mask.")] = None,
    resample: Annotated[
        str | None, typer.Option(help="Bring values to this time from step to step; median: to the usual one.")
    ] = None,
    time_difference: Annotated[
        bool, typer.Option("--time-difference", help="Add a channel with the time since the step before.")
    ] = False,
    balanced: Annotated[bool, typer.Option("--balanced", help="Let every class count alike.")] = False,
    pool: Annotated[
        str | None,
        typer.Option(help="What is read of a sequence: last, mean or max of its states; max for a class if left out."),
    ] = None,
    valid: Annotated[float | None, typer.Option(help="Share of cases for choosing; 0.15 if left out.")] = None,
    test_share: Annotated[float | None, typer.Option(help="Share of cases for the test; 0.15 if left out.")] = None,
    by: Annotated[
        str | None, typer.Option(help="How parts are drawn: cases, order (of the file) or time (of every recording).")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Sequences an update sees.")] = None,
    steps: Annotated[int | None, typer.Option(help="Updates at most.")] = None,
    epochs: Annotated[float | None, typer.Option(help="Passes over the data, instead of steps.")] = None,
    patience: Annotated[int | None, typer.Option(help="Stop after so many evaluations without improvement.")] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate of all but the recurrent matrix.")] = None,
    recurrent_lr: Annotated[float | None, typer.Option(help="Learning rate of the recurrent matrix.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the start and the order of the data.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; runs/FILE-MODEL if left out.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, ...")] = None,
    config: Annotated[Path | None, typer.Option(help="A YAML file of settings; options win over it.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any other setting; may be repeated.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Train a network on sequences of your own.

    The file is read and described first. A part of the cases is held out to choose the best network and to stop in
    time, another to test it. It is the same as eigenloop train sequences --data FILE.

    Examples:
        eigenloop fit watch.npz --model ncgru --bits 4 --out runs/watch

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
        "model": {"name": model or (None if resume or config else "ncgru"), "hidden_size": hidden_size},
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
