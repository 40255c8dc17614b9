"""Search for settings that suit each paper's main model better than the paper's, on validation data.

One thing is changed at a time, with seed 0, and what helps is combined; the best becomes the row "our settings" of the
experiment, which is then run with several seeds like any other. Test data are not looked at here.

    python investigations/our_settings.py nnrnn
    python investigations/our_settings.py ncgru --only "both rates 2e-3"
"""

from __future__ import annotations

import argparse

from variants import Changes, measured

#: The rates that suit NC-GRU on parenthesis, tried with the models that it is compared with.
FASTER: dict[str, Changes] = {
    f"both rates {rate:g}": {"optimizer": {"lr": rate, "recurrent_lr": rate}} for rate in (5e-3, 1e-2)
}

#: Experiment and row with the paper's settings, and what is changed of them.
SEARCHES: dict[str, tuple[str, str, dict[str, Changes]]] = {
    "nnrnn": (
        "nnrnn-table2",
        "nnrnn",
        {
            "slow eigenvalues, rates 1e-3 and 1e-4": {
                "model": {"slow_eigenvalues": True},
                "optimizer": {"lr": 1e-3, "recurrent_lr": 1e-4},
            },
            "slow eigenvalues, rates 1e-3 and 1e-5": {
                "model": {"slow_eigenvalues": True},
                "optimizer": {"lr": 1e-3, "recurrent_lr": 1e-5},
            },
            "slow eigenvalues, rates 2e-3 and 1e-4": {
                "model": {"slow_eigenvalues": True},
                "optimizer": {"lr": 2e-3, "recurrent_lr": 1e-4},
            },
            "slow eigenvalues, rates 1e-3 and 1e-4, a third after 1,000 steps": {
                "model": {"slow_eigenvalues": True},
                "optimizer": {"lr": 1e-3, "recurrent_lr": 1e-4},
                "schedule": {"name": "factor", "factor": 0.3, "every": 1000, "unit": "step"},
            },
            "slow eigenvalues, Adam, rates 1e-3 and 1e-4": {
                "model": {"slow_eigenvalues": True},
                "optimizer": {"name": "adam", "lr": 1e-3, "recurrent_lr": 1e-4},
            },
            "slow eigenvalues, rates 1e-3 and 1e-4, T decay 1e-2": {
                "model": {"slow_eigenvalues": True, "triangle_decay": 1e-2},
                "optimizer": {"lr": 1e-3, "recurrent_lr": 1e-4},
            },
            "slow eigenvalues, rates 1e-3 and 1e-4, T decay 1": {
                "model": {"slow_eigenvalues": True, "triangle_decay": 1.0},
                "optimizer": {"lr": 1e-3, "recurrent_lr": 1e-4},
            },
            "slow eigenvalues, rates 1e-3 and 1e-5, T decay 1e-2": {
                "model": {"slow_eigenvalues": True, "triangle_decay": 1e-2},
                "optimizer": {"lr": 1e-3, "recurrent_lr": 1e-5},
            },
            "slow eigenvalues, Adam, rates 1e-3 and 1e-5, T decay 1e-2": {
                "model": {"slow_eigenvalues": True, "triangle_decay": 1e-2},
                "optimizer": {"name": "adam", "lr": 1e-3, "recurrent_lr": 1e-5},
            },
        },
    ),
    "ncgru": (
        "ncgru-table1",
        "ncgru",
        {
            "as in the paper": {},
            "both rates 2e-3": {"optimizer": {"lr": 2e-3, "recurrent_lr": 2e-3}},
            "both rates 5e-3": {"optimizer": {"lr": 5e-3, "recurrent_lr": 5e-3}},
            "both rates 1e-2": {"optimizer": {"lr": 1e-2, "recurrent_lr": 1e-2}},
            "both rates 5e-3, a fifth after 15,000 steps": {
                "optimizer": {"lr": 5e-3, "recurrent_lr": 5e-3},
                "schedule": {"name": "factor", "factor": 0.2, "every": 15000, "unit": "step"},
            },
            "rate of A 1e-4": {"optimizer": {"recurrent_lr": 1e-4}},
            "rates a fifth after 15,000 steps": {
                "schedule": {"name": "factor", "factor": 0.2, "every": 15000, "unit": "step"}
            },
            "both rates 2e-3, a fifth after 15,000 steps": {
                "optimizer": {"lr": 2e-3, "recurrent_lr": 2e-3},
                "schedule": {"name": "factor", "factor": 0.2, "every": 15000, "unit": "step"},
            },
        },
    ),
    "gru on parenthesis": ("ncgru-table1", "gru", FASTER),
    "lstm on parenthesis": ("ncgru-table1", "lstm", FASTER),
    "goru on parenthesis": ("ncgru-table1", "goru", FASTER),
}


def main() -> None:
    """Train every variant and print a line for each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("search", choices=sorted(SEARCHES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--only", nargs="*", help="names of variants")
    options = parser.parse_args()
    experiment, row, variants = SEARCHES[options.search]
    for name, changes in variants.items():
        if options.only and name not in options.only:
            continue
        for seed in options.seeds:
            loss, matrix = measured(experiment, row, changes, seed)
            numbers = "".join(f", {key} {value:.3g}" for key, value in matrix.items())
            print(f"{options.search}, {name}, seed {seed}: validation loss {loss:.3g}{numbers}", flush=True)


if __name__ == "__main__":
    main()
