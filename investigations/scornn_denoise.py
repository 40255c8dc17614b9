"""Why scoRNN barely learns denoise here: the rate and the optimizer of A, one changed at a time.

Validation losses only: nothing is chosen on test data.

    python investigations/scornn_denoise.py --row scornn
"""

from __future__ import annotations

import argparse

from variants import Changes, add_options, run

#: What is changed of the rows `scornn` and `scornn-400` of ncgru-table2.
VARIANTS: dict[str, Changes] = {
    "as in the paper": {},
    "rate of A 1e-4": {"optimizer": {"recurrent_lr": 1e-4}},
    "RMSprop, rate of A 1e-4": {"optimizer": {"name": "rmsprop", "lr": 1e-3, "recurrent_lr": 1e-4}},
    "half of D is -1": {"model": {"negative": 100}},
    "half of D is -1, rate of A 1e-4": {"model": {"negative": 100}, "optimizer": {"recurrent_lr": 1e-4}},
}


def main() -> None:
    """Train every variant of scoRNN, and print a line for each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--row", choices=("scornn", "scornn-400"), default="scornn")
    add_options(parser)
    options = parser.parse_args()
    run("ncgru-table2", options.row, VARIANTS, options)


if __name__ == "__main__":
    main()
