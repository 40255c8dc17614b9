"""What building W costs beside the training step that uses it; goal: at most 20 % for n <= 256.

Forward + backward of a modReLU layer on the reference path, T = 750, B = 50, loss on h_n. Each matrix is
measured interleaved with the step, so that a busy machine slows both; the medians are compared.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial

import torch

import eigenloop as el
from eigenloop.matrices import Exponential, Matrix, ScaledCayley, Schur

MATRICES: dict[str, Callable[[int], Matrix]] = {
    "ScaledCayley": ScaledCayley,
    "Exponential": Exponential,
    "Exponential, rebase_every=100": partial(Exponential, rebase_every=100),
    "Schur": Schur,
    "Schur on ScaledCayley": partial(Schur, orthogonal=ScaledCayley),
}


def measured(run: Callable[[], None]) -> float:
    """Time one call, in milliseconds."""
    start = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - start)


def share(make: Callable[[int], Matrix], n: int, rounds: int, T: int = 750, B: int = 50) -> tuple[float, float]:
    """Return the medians of building W (forward + backward) and of a whole training step, in milliseconds."""
    rnn = el.RNN(2, n, recurrent=make)
    matrix = rnn.recurrent_l0
    assert isinstance(matrix, Matrix)
    with torch.no_grad():  # as in the middle of a training: a skew of the size it has then, not a sparse start
        for parameter in matrix.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.05)
    x, gradient = torch.randn(T, B, 2), torch.randn(n, n)

    def build() -> None:
        matrix().backward(gradient)

    def step() -> None:
        rnn(x)[1].sum().backward()

    build()
    step()
    pairs = [(measured(build), measured(step)) for _ in range(rounds)]
    builds, steps = zip(*pairs, strict=True)
    return statistics.median(builds), statistics.median(steps)


def main() -> None:
    """Print a table, or JSON for machines."""
    usage = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usage.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 190, 256])
    usage.add_argument("--rounds", type=int, default=15)
    usage.add_argument("--json", action="store_true")
    options = usage.parse_args()
    rows = []
    for name, make in MATRICES.items():
        for n in options.sizes:
            build, step = share(make, n, options.rounds)
            rows.append({"matrix": name, "n": n, "build_ms": build, "step_ms": step, "share": build / step})
            if not options.json:
                print(f"{name:30s} n={n:4d}  W {build:6.1f} ms  step {step:7.1f} ms  {build / step:6.1%}", flush=True)
    if options.json:
        print(json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads(), "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
