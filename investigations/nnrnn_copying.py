"""Why nnRNN ends above expRNN on copying 200 here, and keeps a sizeable T: one setting changed at a time.

Validation losses only: nothing is chosen on test data. The departure from normality is Henrici's, over the size of W.

    python investigations/nnrnn_copying.py --seeds 0 1 2
"""

from __future__ import annotations

import argparse

from variants import Changes, add_options, run

#: What is changed of the row `nnrnn` of nnrnn-table2.
VARIANTS: dict[str, Changes] = {
    "as in the supplement": {},
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
    "theta and gamma at P's rate of 1e-5": {
        "model": {"slow_eigenvalues": True},
        "optimizer": {"recurrent_lr": 1e-5},
    },
    "theta and gamma at P's rate of 1e-4": {
        "model": {"slow_eigenvalues": True},
        "optimizer": {"recurrent_lr": 1e-4},
    },
    "theta and gamma at P's rate, rates as expRNN": {
        "model": {"slow_eigenvalues": True},
        "optimizer": {"lr": 1e-3, "recurrent_lr": 1e-4},
    },
    "the same, T decay 1": {
        "model": {"slow_eigenvalues": True, "triangle_decay": 1.0},
        "optimizer": {"lr": 1e-3, "recurrent_lr": 1e-4},
    },
    "Adam instead of RMSprop": {"optimizer": {"name": "adam", "lr": 5e-4, "recurrent_lr": 1e-6}},
}


def main() -> None:
    """Train expRNN and every variant of nnRNN, and print a line for each."""
    parser = argparse.ArgumentParser()
    add_options(parser)
    options = parser.parse_args()
    run("nnrnn-table2", "exprnn", {"as in the paper": {}}, options)
    run("nnrnn-table2", "nnrnn", VARIANTS, options)


if __name__ == "__main__":
    main()
