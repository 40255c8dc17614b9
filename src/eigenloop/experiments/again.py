"""A trained network measured again with other settings of the model: few bits after training in floating point."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import torch

from eigenloop.experiments.plan import Planned
from eigenloop.training import RunError, evaluate, load_run
from eigenloop.training.network import build_network


def measured_again(run: Planned, folder: Path) -> dict[str, float]:
    """Return the metrics on the test split, of the best network of a folder built with the settings of `run`.

    One thread does it, since trainings may be under way beside it.
    """
    trained, stored, step = load_run(folder)
    config = dataclasses.replace(run.config(), task=stored.task)  # the same task, with the data where they are
    net = build_network(config)
    try:
        net.load_state_dict(trained.state_dict())
    except RuntimeError as error:
        raise RunError(
            f"row {run.row_name} of {run.experiment.name} cannot hold the network of step {step} in {folder}: rows "
            "that share a training have the same weights"
        ) from error
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return evaluate(net, config.task, "test", config.training.eval_batch_size or config.training.batch_size)
    finally:
        torch.set_num_threads(threads)
