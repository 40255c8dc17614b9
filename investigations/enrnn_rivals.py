"""Why other models of ENRNN's figures 1 and 2 do not stand as published: the settings that the paper does not give.

python investigations/enrnn_rivals.py spectralrnn
python investigations/enrnn_rivals.py urnn-full --only "both rates 1e-4"
"""

from __future__ import annotations

import argparse

from variants import Changes, add_options, falling, rates, run

#: Row, its experiment, and variants of the settings, one thing changed at a time.
ROWS: dict[str, tuple[str, dict[str, Changes]]] = {
    "spectralrnn": (
        "enrnn-fig1",
        {
            "as in the table": {},
            "no decay of the rate": {"schedule": {"name": "constant"}},
            "a tenth of the rate after 8,000 steps": falling(0.1, 8000),
            "half the rate after every epoch": falling(0.5, 2000),
            "both rates 3e-3": rates(3e-3, 3e-3),
            "both rates 1e-2": rates(1e-2, 1e-2),
            "both rates 1e-4": rates(1e-4, 1e-4),
            "rates 1e-3 and 1e-4": rates(1e-3, 1e-4),
            "60 reflections": {"model": {"reflections": 60}},
            "RMSprop": rates(1e-3, 1e-3, {"name": "rmsprop"}),
            "singular values within 0.1": {"model": {"margin": 0.1}},
            "120 units, 120 reflections": {"model": {"hidden_size": 120, "reflections": 120}},
        },
    ),
    "urnn-full": (
        "enrnn-fig2",
        {
            "as in the table": {},
            "both rates 1e-4": rates(1e-4, 1e-4),
            "both rates 1e-5": rates(1e-5, 1e-5),
        },
    ),
}


def main() -> None:
    """Train the variants of a row and print a line for each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("row", choices=sorted(ROWS))
    add_options(parser)
    options = parser.parse_args()
    experiment, variants = ROWS[options.row]
    run(experiment, options.row, variants, options)


if __name__ == "__main__":
    main()
