"""Measuring a trained network again: with other model settings, or by its matrix instead of its task."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import torch

from eigenloop.experiments.plan import LEARNED, Planned
from eigenloop.matrices import Schur
from eigenloop.readout import Model
from eigenloop.training import RunError, evaluate, load_run
from eigenloop.training.network import build_network
from eigenloop.training.spectra import smallest_ratio


def measured_again(run: Planned, folder: Path) -> dict[str, float]:
    """Rebuild the best network of a run folder with the settings of `run` and return its metrics.

    These are the metrics on the test split or, if the row's metric is one of `LEARNED`, those of the matrix. Only one
    thread is used, because other trainings may be running.

    Raises:
        RunError: the weights do not fit the network of `run`.
    """
    trained, stored, step = load_run(folder)
    config = dataclasses.replace(run.config(), task=stored.task)  # the same task, with the stored path of the data
    net = build_network(config)
    try:
        net.load_state_dict(trained.state_dict())
    except RuntimeError as error:
        raise RunError(
            f"row {run.row_name} of {run.experiment.name} cannot hold the network of step {step} in {folder}: rows "
            "that share a training have the same weights"
        ) from error
    if run.metric in LEARNED:
        return learned(net)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return evaluate(net, config.task, "test", config.training.eval_batch_size or config.training.batch_size)
    finally:
        torch.set_num_threads(threads)


@torch.no_grad()
def learned(net: Model) -> dict[str, float]:
    """Return those metrics of `LEARNED` that are defined for the recurrent matrix of a network."""
    from eigenloop.analysis.schur import non_normality, trained_form  # imports matplotlib, which most runs do not need

    numbers: dict[str, float] = {}
    matrix = dict(net.rnn.named_modules()).get("recurrent_l0")
    if isinstance(matrix, Schur):
        form = trained_form(matrix)
        numbers |= {"mean_gamma": float(form.gamma.mean()), "non_normality": non_normality(form)}
    if (ratio := smallest_ratio(net)) is not None:
        numbers["singular_ratio"] = ratio
    return numbers
