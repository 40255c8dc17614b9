"""Time of a quantization-aware training step, relative to floating point; goal: at most 20 % more.

A step is forward, loss on h_n, backward and Adam (or projUNN) of a layer with n = 170, T = 784, B = 128, as for
pixel-by-pixel MNIST. Both layers are measured in turn, so that a busy machine slows both, and medians are compared.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

import eigenloop as el

#: Model, bits and options: QORNN's two best strategies, and models that its paper did not quantize. With 4 bits and
#: modReLU the state overflows float32 within 784 steps, unless the matrix is divided by its spectral radius.
LAYERS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "qornn ste-bjorck": ("qornn", 4, {"strategy": "ste-bjorck"}),
    "qornn ste-projunn": ("qornn", 8, {"strategy": "ste-projunn"}),
    "the same, by radius": ("qornn", 4, {"strategy": "ste-projunn", "normalise": "radius"}),
    "scornn": ("scornn", 8, {}),
    "nnrnn": ("nnrnn", 8, {}),
    "enrnn": ("enrnn", 8, {}),
    "ncgru": ("ncgru", 4, {}),
}


def stepper(layer: nn.Module, x: torch.Tensor) -> Callable[[], None]:
    """Return a function that runs one training step."""
    groups = el.optim.param_groups(layer, lr=1e-4, recurrent_lr=1e-5)
    projected = any(group["name"] == "projected" for group in groups)
    optimizer: torch.optim.Optimizer = el.optim.ProjUNN(groups) if projected else torch.optim.Adam(groups)

    def step() -> None:
        optimizer.zero_grad()
        _, state = layer(x)
        state.square().mean().backward()
        optimizer.step()

    return step


def measured(run: Callable[[], None]) -> float:
    """Return the milliseconds that one call takes."""
    start = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - start)


def main() -> None:
    """Measure every layer and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=170, help="hidden size")
    parser.add_argument("--steps", type=int, default=784, help="time steps of a sequence")
    parser.add_argument("--batch", type=int, default=128, help="sequences per batch")
    parser.add_argument("--repeats", type=int, default=25, help="measured steps of each layer")
    arguments = parser.parse_args()
    n, T, B = arguments.size, arguments.steps, arguments.batch
    print(f"n={n} T={T} B={B}, {torch.get_num_threads()} threads, medians of {arguments.repeats} interleaved steps")
    print(f"{'layer':20}  {'float':>9}  {'bits':>4}  {'quantized':>9}  {'more':>8}")
    for name, (model, k, options) in LAYERS.items():
        x = torch.rand(T, B, 1)
        torch.manual_seed(0)
        runs = [stepper(el.build(model, 1, n, bits=bits, **options), x) for bits in (None, k)]
        for run in runs * 2:
            run()
        times: list[list[float]] = [[], []]
        for i in range(arguments.repeats):
            for which in (0, 1) if i % 2 else (1, 0):
                times[which].append(measured(runs[which]))
        plain, quantized = (statistics.median(found) for found in times)
        more = 100 * (quantized / plain - 1)
        print(f"{name:20}  {plain:6.1f} ms  {k:>4}  {quantized:6.1f} ms  {more:+6.1f} %", flush=True)


if __name__ == "__main__":
    main()
