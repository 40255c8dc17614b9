"""Time of a training step with rounded states, relative to states in floating point; goal: at most 15 % more.

A step is forward, loss on h_n, backward and Adam. Layers without `state_bits`, with fixed and with learned ranges are
measured in turn, and minima of processor time are compared, which other work on the machine disturbs less.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable

import torch
from torch import nn

import eigenloop as el
from eigenloop.quantization import StateQuantizer
from eigenloop.recurrence import kernel

LAYERS: dict[str, Callable[[int, StateQuantizer | None], nn.Module]] = {
    "RNN relu": lambda n, q: el.RNN(4, n, nonlinearity="relu", recurrent="free", state_bits=q),
    "RNN modrelu": lambda n, q: el.RNN(4, n, nonlinearity="modrelu", recurrent="free", state_bits=q),
    "GRU": lambda n, q: el.GRU(4, n, constrained=(), state_bits=q),
    "GRU modrelu": lambda n, q: el.GRU(
        4, n, constrained=(), candidate="modrelu", reset="before", update="write", state_bits=q
    ),
    "LSTM": lambda n, q: el.LSTM(4, n, state_bits=q),
}
VARIANTS = (None, StateQuantizer(8, learned=False), StateQuantizer(8, learned=True))


def stepper(layer: nn.Module, x: torch.Tensor) -> Callable[[], None]:
    """Return a function that runs one training step."""
    optimizer = torch.optim.Adam(layer.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        _, state = layer(x)
        (state[0] if isinstance(state, tuple) else state).square().mean().backward()
        optimizer.step()

    return step


def measured(
    make: Callable[[int, StateQuantizer | None], nn.Module], n: int, x: torch.Tensor, repeats: int
) -> list[float]:
    """Return the minimum processor time of a step of every variant in milliseconds, measured in turn."""
    torch.manual_seed(0)
    runs = [stepper(make(n, quantizer), x) for quantizer in VARIANTS]
    best = [float("inf")] * len(runs)
    for run in runs:
        run()
    for _ in range(repeats):
        for which, run in enumerate(runs):
            start = time.process_time()
            run()
            best[which] = min(best[which], 1e3 * (time.process_time() - start))
    return best


def main() -> None:
    """Measure every layer and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256], help="hidden sizes")
    parser.add_argument("--steps", type=int, default=200, help="time steps of a sequence")
    parser.add_argument("--batches", type=int, nargs="+", default=[32, 128], help="batch sizes")
    parser.add_argument("--repeats", type=int, default=8, help="measured steps at 256 units; more for smaller layers")
    parser.add_argument("--layers", nargs="+", choices=LAYERS, default=list(LAYERS), help="layers to measure")
    arguments = parser.parse_args()
    library = kernel.library()
    kind = "reference" if library is None else library.variant
    T, threads = arguments.steps, torch.get_num_threads()
    print(f"{kind}, T={T}, {threads} threads, minima of {arguments.repeats} * 256 / n interleaved steps, 8 bits")
    print(f"{'layer':12}  {'n':>4}  {'batch':>5}  {'float':>9}  {'fixed':>8}  {'learned':>8}")
    for name in arguments.layers:
        for n, B in itertools.product(arguments.sizes, arguments.batches):
            best = measured(LAYERS[name], n, torch.rand(T, B, 4), max(1, arguments.repeats * 256 // n))
            more = [f"{100 * (one / best[0] - 1):+6.1f} %" for one in best[1:]]
            print(f"{name:12}  {n:>4}  {B:>5}  {best[0]:6.1f} ms  {'  '.join(more)}", flush=True)


if __name__ == "__main__":
    main()
