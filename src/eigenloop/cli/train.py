"""``eigenloop train``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenloop.cli.training import Settings, run_training
from eigenloop.cli.widths import BITS_HELP, STATE_BITS_HELP
from eigenloop.errors import ConfigError


def train(
    task: Annotated[
        str | None, typer.Argument(help="A task (eigenloop list tasks), or a YAML file of settings.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="A model (eigenloop list models).")] = None,
    hidden_size: Annotated[int | None, typer.Option(help="Number of hidden units.")] = None,
    delay: Annotated[int | None, typer.Option(help="Copying task: number of blank steps.")] = None,
    length: Annotated[int | None, typer.Option(help="Adding, denoise and parenthesis: length of a sequence.")] = None,
    bits: Annotated[str | None, typer.Option(help=BITS_HELP)] = None,
    state_bits: Annotated[int | None, typer.Option(help=STATE_BITS_HELP)] = None,
    strategy: Annotated[
        str | None, typer.Option(help="Model qornn: ste-bjorck, ste-projunn, ptq-projunn or ste-pen.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Sequences per update.")] = None,
    steps: Annotated[int | None, typer.Option(help="Number of updates.")] = None,
    epochs: Annotated[float | None, typer.Option(help="Passes over the data, in place of --steps.")] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate of everything but the recurrent matrix.")] = None,
    recurrent_lr: Annotated[
        float | None, typer.Option(help="Learning rate of the recurrent matrix (--lr does not change it).")
    ] = None,
    optimizer: Annotated[str | None, typer.Option(help="adam, rmsprop, tf-rmsprop, sgd, projunn, ...")] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed of initial weights, data and sampling.")] = None,
    until: Annotated[
        float | None, typer.Option(help="Stop when the validation loss is below this fraction of the baseline.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run. Default: runs/TASK-MODEL.")] = None,
    data: Annotated[Path | None, typer.Option(help="Task sequences: file or folder with your data.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with the data. Default: EIGENLOOP_DATA.")] = None,
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
    """Train a model on a task.

    Settings that you do not give are those of the model's paper for that task, where it states them. All settings are
    written to config.yaml in the run's folder, and each can be given as --set section.key=value.

    Examples:
        eigenloop train copying --model scornn --delay 1000

        eigenloop train pmnist --model exprnn --epochs 3 --data-dir ~/data --out runs/pmnist

        eigenloop train adding --model enrnn --length 200 --set short=32 --set training.clip_norm=1

        eigenloop train runs/pmnist/config.yaml --seed 1 --out runs/pmnist-1

        eigenloop train --out runs/pmnist --resume
    """
    given: Settings = {
        "task": {
            "data": None if data is None else str(data.expanduser().absolute()),
            "delay": delay,
            "length": length,
            "data_dir": None if data_dir is None else str(data_dir.expanduser().absolute()),
        },
        "model": {"name": model, "hidden_size": hidden_size, "strategy": strategy, "state_bits": state_bits},
        "optimizer": {"name": optimizer, "lr": lr, "recurrent_lr": recurrent_lr},
        "training": {
            "batch_size": batch_size,
            "steps": steps,
            "epochs": epochs,
            "seed": seed,
            "until": until,
            "device": device,
        },
    }
    if task is not None and task.endswith((".yaml", ".yml")):
        if config is not None:
            raise ConfigError(f"two files of settings are named, {task} and {config}: give one")
        config, task = Path(task), None
    given["task"]["name"] = task
    run_training(given, settings, config=config, bits=bits, out=out, resume=resume, json=json)
