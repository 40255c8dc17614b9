"""Train a row of an experiment with some settings changed, and measure it on validation data."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import Any

from eigenloop.experiments import load, planned
from eigenloop.experiments.remeasure import learned
from eigenloop.training import load_run, make_config, train

#: Settings by section; a section with a name replaces the row's, any other is added to it.
Changes = dict[str, dict[str, Any]]


def measured(experiment: str, row: str, changes: Changes, seed: int) -> tuple[float, dict[str, float]]:
    """Train a row at the paper's length; return its best validation loss and the numbers of its matrix."""
    run = planned(load(experiment), "full", [row])[0]
    settings = copy.deepcopy(run.settings)
    for section, values in changes.items():
        kept = {} if "name" in values else settings.get(section, {})
        settings[section] = {**kept, **values}
    settings["training"] = {**settings["training"], "seed": seed}
    with tempfile.TemporaryDirectory() as folder:
        summary = train(make_config(settings, papers=False), Path(folder) / "run")
        net, _, _ = load_run(Path(folder) / "run")
        return summary["best"]["loss"], learned(net)
