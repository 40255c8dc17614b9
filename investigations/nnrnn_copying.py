"""Why nnRNN ends above expRNN on copying 200 here, and keeps a sizeable T: one setting changed at a time.

Validation losses only: nothing is chosen on test data. The departure from normality is Henrici's, over the size of W.

    python investigations/nnrnn_copying.py --seeds 0 1 2
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from torch import nn

from eigenloop.experiments import load, planned
from eigenloop.experiments.remeasure import learned
from eigenloop.matrices import Schur
from eigenloop.training import load_run, make_config, train

#: What is changed of the row `nnrnn` of nnrnn-table2; None is the row expRNN. "slow" is no section of settings: theta
#: and gamma, which have the rate of U in the paper, then have that of P.
VARIANTS: dict[str, dict[str, dict[str, Any]] | None] = {
    "expRNN, as in the paper": None,
    "nnRNN, as in the supplement": {},
    "P starts by Cayley's rule (README)": {"model": {"init": "cayley"}},
    "T decay 1e-5 (script)": {"model": {"triangle_decay": 1e-5}},
    "T decay 1e-3": {"model": {"triangle_decay": 1e-3}},
    "T decay 1, which holds T near 0": {"model": {"triangle_decay": 1.0}},
    "T outside the blocks": {"model": {"blocks": "exact"}},
    "rate of P 1e-4": {"optimizer": {"recurrent_lr": 1e-4}},
    "rates 1e-3 and 1e-4, as expRNN": {"optimizer": {"lr": 1e-3, "recurrent_lr": 1e-4}},
    "T decay 1, rates 1e-3 and 1e-4": {
        "model": {"triangle_decay": 1.0},
        "optimizer": {"lr": 1e-3, "recurrent_lr": 1e-4},
    },
    "rate 1e-4 for all but P": {"optimizer": {"lr": 1e-4}},
    "rate falls to a tenth every 500 steps": {
        "schedule": {"name": "factor", "factor": 0.1, "every": 500, "unit": "step"}
    },
    "theta and gamma at P's rate of 1e-5": {"optimizer": {"recurrent_lr": 1e-5}, "slow": {"all": True}},
    "theta and gamma at P's rate of 1e-4": {"optimizer": {"recurrent_lr": 1e-4}, "slow": {"all": True}},
    "theta and gamma at P's rate, rates as expRNN": {
        "optimizer": {"lr": 1e-3, "recurrent_lr": 1e-4},
        "slow": {"all": True},
    },
    "the same, T decay 1": {
        "model": {"triangle_decay": 1.0},
        "optimizer": {"lr": 1e-3, "recurrent_lr": 1e-4},
        "slow": {"all": True},
    },
    "Adam instead of RMSprop": {"optimizer": {"name": "adam", "lr": 5e-4, "recurrent_lr": 1e-6}},
}


def _slow(matrix: Schur) -> list[nn.Parameter]:
    angles = [matrix.theta, *([matrix.gamma] if isinstance(matrix.gamma, nn.Parameter) else [])]
    return [*matrix.orthogonal.slow_parameters(), *angles]


def _decays(matrix: Schur) -> list[tuple[nn.Parameter, float]]:
    return [(matrix.triangle, matrix.triangle_decay)]


def result(changes: dict[str, dict[str, Any]] | None, seed: int) -> tuple[float, dict[str, float]]:
    """Train a variant and return its best validation loss and the numbers of its matrix."""
    row = "exprnn" if changes is None else "nnrnn"
    run = next(run for run in planned(load("nnrnn-table2"), "full", [row]) if run.seed == seed)
    settings = copy.deepcopy(run.settings)
    changes = dict(changes or {})
    slow = changes.pop("slow", None) is not None
    for section, values in changes.items():
        kept = {} if "name" in values else settings.get(section, {})
        settings[section] = {**kept, **values}
    own_rates = (
        mock.patch.multiple(Schur, slow_parameters=_slow, weight_decays=_decays) if slow else contextlib.nullcontext()
    )
    with tempfile.TemporaryDirectory() as folder, own_rates:
        summary = train(make_config(settings), Path(folder) / "run")
        net, _, _ = load_run(Path(folder) / "run")
        return summary["best"]["loss"], learned(net)


def main() -> None:
    """Train every variant and print a line for each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    for name, changes in VARIANTS.items():
        if options.only and name not in options.only:
            continue
        for seed in options.seeds:
            loss, matrix = result(changes, seed)
            numbers = ", ".join(f"{key} {value:.3g}" for key, value in matrix.items())
            print(f"{name}, seed {seed}: validation loss {loss:.3g}; {numbers}", flush=True)


if __name__ == "__main__":
    main()
