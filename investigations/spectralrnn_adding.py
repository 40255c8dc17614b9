"""Which settings suit Spectral RNN in ENRNN's figure 1, where the paper does not give them.

python investigations/spectralrnn_adding.py
python investigations/spectralrnn_adding.py --only "60 reflections" --seeds 0 1 2
"""

from __future__ import annotations

import argparse

from variants import Changes, add_options, falling, rates, run

FEW: Changes = {"model": {"reflections": 16}}
#: One thing is changed at a time of Adam, 1e-3, times 0.99 every 2,000 steps, and 16 reflections.
VARIANTS: dict[str, Changes] = {
    "16 reflections": FEW,
    "no decay of the rate": FEW | {"schedule": {"name": "constant"}},
    "a tenth of the rate after 8,000 steps": FEW | falling(0.1, 8000),
    "half the rate after every epoch": FEW | falling(0.5, 2000),
    "both rates 3e-3": FEW | rates(3e-3, 3e-3),
    "both rates 1e-2": FEW | rates(1e-2, 1e-2),
    "both rates 1e-4": FEW | rates(1e-4, 1e-4),
    "rates 1e-3 and 1e-4": FEW | rates(1e-3, 1e-4),
    "RMSprop": FEW | rates(1e-3, 1e-3, {"name": "rmsprop"}),
    "60 reflections": {"model": {"reflections": 60}},
}


def main() -> None:
    """Train the variants and print a line for each."""
    parser = argparse.ArgumentParser()
    add_options(parser)
    run("enrnn-fig1", "spectralrnn", VARIANTS, parser.parse_args())


if __name__ == "__main__":
    main()
