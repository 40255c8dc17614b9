"""Milliseconds per update of the inverse in NC-GRU's Cayley map, by several methods (compare the paper's figure 6).

Each method gets the same sequence of Adam-sized steps of A and computes W in float32 and its gradient: the exact
inverse by LU and by least squares (scoRNN's code), both in float64, and the Neumann series of order 1, 2, 3 with an
exact reset every 50 steps. Methods are measured in turn; medians are printed.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable
from functools import partial

import torch
from building import measured
from torch import Tensor

from eigenloop.matrices import NeumannCayley, orthogonality_defect
from eigenloop.matrices.triangle import skew


def least_squares(entries: Tensor, n: int, signs: Tensor) -> Tensor:
    """Return W = (argmin_X |(I + A) X - (I - A)|) D, as in scoRNN's code."""
    A = skew(entries.double(), n)
    eye = torch.eye(n, dtype=A.dtype)
    return (torch.linalg.lstsq(eye + A, eye - A).solution * signs).float()


def contenders(n: int, matrices: dict[str, NeumannCayley]) -> dict[str, Callable[[], Tensor]]:
    """Return a function that builds W for each method."""
    runs: dict[str, Callable[[], Tensor]] = dict(matrices.items())
    first = next(iter(matrices.values()))
    runs["least squares"] = lambda: least_squares(first.skew, n, first.signs)
    return runs


def forward_and_backward(run: Callable[[], Tensor], gradient: Tensor) -> None:
    """Build W and compute its gradient."""
    run().backward(gradient)


def main() -> None:
    """Measure and print times and orthogonality defects."""
    usage = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usage.add_argument("--sizes", type=int, nargs="+", default=[56, 118, 256, 512, 1024])
    usage.add_argument("--rounds", type=int, default=60, help="updates; a sixth of them for n >= 512")
    options = usage.parse_args()
    for n in options.sizes:
        rounds = options.rounds if n < 512 else max(3, options.rounds // 6)
        made = {"exact, LU": NeumannCayley(n, exact=True)}
        made |= {f"Neumann, order {p}": NeumannCayley(n, order=p, tolerance=math.inf) for p in (1, 2, 3)}
        made["Neumann, order 2, watched"] = NeumannCayley(n)
        runs = contenders(n, made)
        times: dict[str, list[float]] = {name: [] for name in runs}
        worst = dict.fromkeys(runs, 0.0)
        gradient = torch.randn(n, n)
        for _ in range(rounds):
            step = 1e-3 * torch.sign(torch.randn_like(made["exact, LU"].skew))
            for matrix in made.values():
                with torch.no_grad():
                    matrix.skew.add_(step)
            for name, run in runs.items():
                times[name].append(measured(partial(forward_and_backward, run, gradient)))
        for name, run in runs.items():
            worst[name] = orthogonality_defect(run())
        print(
            f"n = {n}: " + ", ".join(f"{name} {statistics.median(t):.2f} ms" for name, t in times.items()), flush=True
        )
        print(f"{'':10s}max|W'W - I| after {rounds} steps: " + ", ".join(f"{k} {v:.0e}" for k, v in worst.items()))


if __name__ == "__main__":
    main()
