"""Why RNN-orth does not solve copying 200 here: its start, its bias or its rate, one changed at a time.

Validation losses only: nothing is chosen on test data.

    python investigations/rnn_orth_copying.py --seeds 0 1
"""

from __future__ import annotations

import argparse

from variants import Changes, add_options, run

#: What is changed of the row `rnn-orth` of nnrnn-table2.
VARIANTS: dict[str, Changes] = {
    "as in the supplement": {},
    "Henaff's start": {"model": {"init": "henaff"}},
    "Henaff's start, no bias for the inputs": {"model": {"init": "henaff", "input_bias": False}},
    "no bias for the inputs": {"model": {"input_bias": False}},
    "rate 1e-3": {"optimizer": {"lr": 1e-3, "recurrent_lr": 1e-3}},
}


def main() -> None:
    """Train every variant of RNN-orth, and print a line for each."""
    parser = argparse.ArgumentParser()
    add_options(parser)
    run("nnrnn-table2", "rnn-orth", VARIANTS, parser.parse_args())


if __name__ == "__main__":
    main()
