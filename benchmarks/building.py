"""Time to build W, relative to the training step that uses it; goal: at most 20 % for n <= 256.

Building is the forward and backward pass of the matrix in training, after its parameters have changed. The step is
forward and backward of a modReLU layer with a given W, T = 750, B = 50, loss on h_n. The two are measured in turn, so
that a busy machine slows both, and their medians are compared.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial

import torch

from eigenloop import recurrence, registry
from eigenloop.matrices import Exponential, Givens, Householder, Matrix, ScaledCayley, Schur

#: All registered matrices, and some with other options.
MATRICES: dict[str, Callable[[int], Matrix]] = {
    **{entry.title: entry.load() for entry in registry.MATRICES.own.values()},
    "Exponential, rebase_every=100": partial(Exponential, rebase_every=100),
    "Schur on ScaledCayley": partial(Schur, orthogonal=ScaledCayley),
    "Householder, n": lambda n: Householder(n, reflections=n),
    "Givens, capacity 4": partial(Givens, capacity=4),
    "Givens, complex": partial(Givens, complex=True),
}


def measured(run: Callable[[], None]) -> float:
    """Return the milliseconds that one call takes."""
    start = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - start)


def move_(matrix: Matrix, size: float) -> None:
    """Add a random step to the parameters, as an optimizer would; those that must stay on their set do not change."""
    kept = {id(p) for p in matrix.projected_parameters()}
    with torch.no_grad():
        for parameter in matrix.parameters():
            if id(parameter) not in kept:
                parameter.add_(torch.randn_like(parameter), alpha=size)


def share(make: Callable[[int], Matrix], n: int, rounds: int, T: int = 750, B: int = 50) -> tuple[float, float]:
    """Return the median milliseconds of building W and of a training step with a given W."""
    matrix = make(n)
    # Parameters of a size that is typical in the middle of training, instead of sparse initial values.
    move_(matrix, 0.5 / n**0.5)
    W = matrix().detach().requires_grad_()
    gradient = torch.randn_like(W)
    projected, h0 = torch.randn(T, B, n, dtype=W.dtype), torch.zeros(B, n, dtype=W.dtype)
    bias = torch.zeros(n, requires_grad=True)

    def build() -> None:
        matrix().backward(gradient)

    def step() -> None:
        recurrence.simple(projected, W, bias, h0)[1].abs().sum().backward()

    build()
    step()
    builds, steps = [], []
    for _ in range(rounds):
        move_(matrix, 1e-4)
        builds.append(measured(build))
        steps.append(measured(step))
    return statistics.median(builds), statistics.median(steps)


def main() -> None:
    """Print a table, or JSON."""
    usage = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usage.add_argument("--sizes", type=int, nargs="+", default=[64, 170, 256, 512, 1024])
    usage.add_argument("--rounds", type=int, default=9, help="measurements of each matrix; a third for n >= 512")
    usage.add_argument("--only", default="", help="measure only matrices whose name contains this text")
    usage.add_argument("--json", action="store_true")
    options = usage.parse_args()
    rows = []
    for name, make in MATRICES.items():
        if options.only.lower() not in name.lower():
            continue
        for n in options.sizes:
            build, step = share(make, n, options.rounds if n < 512 else max(1, options.rounds // 3))
            rows.append({"matrix": name, "n": n, "build_ms": build, "step_ms": step, "share": build / step})
            if not options.json:
                print(f"{name:30s} n={n:4d}  W {build:7.1f} ms  step {step:7.1f} ms  {build / step:6.1%}", flush=True)
    if options.json:
        print(json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads(), "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
