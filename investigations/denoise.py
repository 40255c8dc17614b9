"""Why all models learn denoise more slowly here than published: one thing changed at a time.

Validation losses only: nothing is chosen on test data.

    python investigations/denoise.py scornn
    python investigations/denoise.py ncgru --only "recurrent rate 1e-4"
"""

from __future__ import annotations

import argparse

from variants import Changes, add_options, run

RATES: dict[str, Changes] = {
    "recurrent rate 1e-4": {"optimizer": {"recurrent_lr": 1e-4}},
    "both rates 2e-3": {"optimizer": {"lr": 2e-3, "recurrent_lr": 2e-3}},
}
#: What is changed of rows of ncgru-table2 at T = 200.
VARIANTS: dict[str, dict[str, Changes]] = {
    "scornn": {
        **RATES,
        "RMSprop, recurrent rate 1e-4": {"optimizer": {"name": "rmsprop", "lr": 1e-3, "recurrent_lr": 1e-4}},
        "half of D is -1": {"model": {"negative": 100}},
    },
    "goru": RATES,
    "ncgru": RATES,
}


def main() -> None:
    """Train the variants of a row, and print a line for each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("row", choices=sorted(VARIANTS))
    add_options(parser)
    options = parser.parse_args()
    run("ncgru-table2", options.row, VARIANTS[options.row], options)


if __name__ == "__main__":
    main()
