"""Train rows of an experiment with some settings changed, and print what they reach on validation data."""

from __future__ import annotations

import argparse
import copy
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eigenloop.experiments import load, planned
from eigenloop.experiments.remeasure import learned
from eigenloop.experiments.schema import BudgetName
from eigenloop.training import load_run, make_config, train

#: Settings by section; a section with a name replaces the row's, any other is added to it.
Changes = dict[str, dict[str, Any]]


def rates(lr: float, recurrent_lr: float, optimizer: dict[str, Any] | None = None) -> Changes:
    """Return the changes for one rate outside and one inside the recurrent matrix."""
    return {"optimizer": {**(optimizer or {}), "lr": lr, "recurrent_lr": recurrent_lr}}


def falling(factor: float, after: int) -> Changes:
    """Return the changes for rates that are multiplied by a factor after so many steps."""
    return {"schedule": {"name": "factor", "factor": factor, "every": after, "unit": "step"}}


def measured(
    experiment: str, row: str, changes: Changes, seed: int, budget: BudgetName = "full"
) -> tuple[dict[str, float], dict[str, float]]:
    """Train a row; return its best evaluation on the validation split and the numbers of its matrix."""
    run = planned(load(experiment), budget, [row])[0]
    settings = copy.deepcopy(run.settings)
    for section, values in changes.items():
        kept = {} if "name" in values else settings.get(section, {})
        settings[section] = {**kept, **values}
    settings["training"] = {**settings["training"], "seed": seed}
    with tempfile.TemporaryDirectory() as folder:
        summary = train(make_config(settings, papers=False), Path(folder) / "run")
        net, _, _ = load_run(Path(folder) / "run")
        return summary["best"], learned(net)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose variants and seeds."""
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--only", nargs="*", help="names of variants; default: all")


def run(
    experiment: str,
    row: str,
    variants: Mapping[str, Changes],
    options: argparse.Namespace,
    budget: BudgetName = "full",
) -> None:
    """Train the variants of a row that the options choose, and print a line for each seed."""
    for name, changes in variants.items():
        for seed in options.seeds if not options.only or name in options.only else ():
            best, matrix = measured(experiment, row, changes, seed, budget)
            score = {key: value for key, value in best.items() if key not in ("step", "loss")}
            numbers = "".join(f", {key} {value:.3g}" for key, value in {**score, **matrix}.items())
            print(f"{row}, {name}, seed {seed}: validation loss {best['loss']:.3g}{numbers}", flush=True)
