"""A trained network measured again: with other settings of the model, or in its matrix instead of its task."""

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
    """Return what is measured of the best network of a folder, built with the settings of `run`.

    These are the metrics on the test split or, where the row's metric is one of `LEARNED`, numbers of the matrix.

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
    """Return the numbers of `LEARNED` that the recurrent matrix of a network has."""
    from eigenloop.analysis.schur import non_normality, trained_form  # draws too, which most runs need not load

    numbers: dict[str, float] = {}
    matrix = dict(net.rnn.named_modules()).get("recurrent_l0")
    if isinstance(matrix, Schur):
        form = trained_form(matrix)
        numbers |= {"mean_gamma": float(form.gamma.mean()), "non_normality": non_normality(form)}
    if (ratio := smallest_ratio(net)) is not None:
        numbers["singular_ratio"] = ratio
    return numbers
