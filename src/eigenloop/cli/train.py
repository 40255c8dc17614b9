"""``eigenloop train``."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenloop.cli.widths import BITS_HELP, width
from eigenloop.errors import ConfigError


def train(
    task: Annotated[
        str | None, typer.Argument(help="A task (eigenloop list tasks), or a YAML file of settings.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="A model (eigenloop list models).")] = None,
    hidden_size: Annotated[int | None, typer.Option(help="Units.")] = None,
    delay: Annotated[int | None, typer.Option(help="Blank steps, of copying.")] = None,
    length: Annotated[int | None, typer.Option(help="Steps, of adding, denoise and parenthesis.")] = None,
    bits: Annotated[str | None, typer.Option(help=BITS_HELP)] = None,
    state_bits: Annotated[
        int | None, typer.Option(help="Width of input, state and gates, rounded at every step: 6 to 16.")
    ] = None,
    strategy: Annotated[
        str | None, typer.Option(help="Of qornn: ste-bjorck, ste-projunn, ptq-projunn or ste-pen.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Sequences an update sees.")] = None,
    steps: Annotated[int | None, typer.Option(help="Updates.")] = None,
    epochs: Annotated[float | None, typer.Option(help="Passes over the data, instead of steps.")] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate of all but the recurrent matrix.")] = None,
    recurrent_lr: Annotated[
        float | None, typer.Option(help="Learning rate of the recurrent matrix; --lr leaves it.")
    ] = None,
    optimizer: Annotated[str | None, typer.Option(help="adam, rmsprop, tf-rmsprop, sgd, projunn, ...")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the start, the data and the sampling.")] = None,
    until: Annotated[
        float | None, typer.Option(help="Stop when the validation loss is below this fraction of the baseline.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; runs/TASK-MODEL if left out.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with the data; EIGENLOOP_DATA if left out.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, ...")] = None,
    config: Annotated[Path | None, typer.Option(help="A YAML file of settings; options win over it.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any other setting; may be repeated.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Train a model on a task.

    What is not set is as the model's paper has it on that task, if it says so. All settings stand in config.yaml of the
    run's folder, and each can be given as --set section.key=value.

    Examples:
        eigenloop train copying --model scornn --delay 1000

        eigenloop train pmnist --model exprnn --epochs 3 --data-dir ~/data --out runs/pmnist

        eigenloop train adding --model enrnn --length 200 --set short=32 --set training.clip_norm=1

        eigenloop train runs/pmnist/config.yaml --seed 1 --out runs/pmnist-1

        eigenloop train --out runs/pmnist --resume
    """
    from eigenloop.cli.display import display_for
    from eigenloop.training import make_config
    from eigenloop.training import resume as resume_run
    from eigenloop.training import train as train_run
    from eigenloop.training.keys import set_value

    given: dict[str, dict[str, Any]] = {
        "task": {
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
    collected = _collected(task, config, given, resume, out)
    if bits is not None:
        collected.setdefault("model", {})["bits"] = width(bits)
    for assignment in settings or ():
        set_value(collected, assignment)
    with closing(display_for(json)) as display:
        if resume and out is not None:
            summary = resume_run(out, collected, display)
        else:
            summary = train_run(make_config(collected), out, display)
    if summary["status"] == "stopped":
        raise typer.Exit(130)


def _collected(
    task: str | None, config: Path | None, given: dict[str, dict[str, Any]], resume: bool, out: Path | None
) -> dict[str, dict[str, Any]]:
    """Put a file and the options together, options last; a run that goes on has its own configuration."""
    from eigenloop.training import read_settings

    if resume and out is None:
        raise ConfigError("--resume goes on with the run in a folder: name the folder with --out")
    if task is not None and task.endswith((".yaml", ".yml")):
        if config is not None:
            raise ConfigError(f"two files of settings are named, {task} and {config}: give one")
        config, task = Path(task), None
    collected: dict[str, Any] = {}
    if config is not None:
        collected = read_settings(config)
    elif resume and out is not None and (out / "config.yaml").is_file():
        # Names that are left out are those of the run, so that --set knows its keys.
        stored = read_settings(out / "config.yaml")
        collected = {
            section: {"name": (stored.get(section) or {}).get("name")} for section in ("task", "model", "optimizer")
        }
    if task is not None:
        collected["task"] = {**(collected.get("task") or {}), "name": task}
    for section, values in given.items():
        chosen = {key: value for key, value in values.items() if value is not None}
        if chosen:
            before = collected.get(section) or {}
            if not isinstance(before, dict):
                raise ConfigError(f"section {section} of {config} is a mapping of settings, got {before!r}")
            for one, other in (("steps", "epochs"), ("epochs", "steps")):
                if one in chosen and other not in chosen:
                    before = {key: value for key, value in before.items() if key != other}
            collected[section] = {**before, **chosen}
    return collected
