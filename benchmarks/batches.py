"""Time to generate a batch of each synthetic task, relative to the training step that uses it.

    python benchmarks/batches.py

T = 1,000, B = 128, with a network that the papers use for the task; medians of interleaved rounds. The goal is below
5 %.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch

from eigenloop.training import make_config
from eigenloop.training.network import build_network
from eigenloop.training.optimizers import make_optimizer
from eigenloop.training.processes import Processes
from eigenloop.training.update import Updater

#: Tasks of about 1,000 time steps, each with a model that its paper proposes or compares.
CASES = (
    ("adding", {"length": 1000}, "enrnn"),
    ("copying", {"delay": 980}, "scornn"),
    ("denoise", {"length": 980}, "ncgru"),
    ("parenthesis", {"length": 1000}, "ncgru"),
)


def seconds(function: Callable[..., object], *arguments: object) -> float:
    """Return the seconds that one call takes."""
    began = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - began


def main() -> None:
    """Measure and print."""
    usage = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usage.add_argument("--rounds", type=int, default=9, help="measurements of each task")
    rounds = usage.parse_args().rounds
    print(f"{torch.get_num_threads()} threads, T = 1,000, B = 128")
    for name, options, model in CASES:
        config = make_config(
            {"task": {"name": name, **options}, "model": {"name": model}, "training": {"batch_size": 128, "steps": 1}}
        )
        net = build_network(config)
        updater = Updater(net, config.task, make_optimizer(config.optimizer, net, 0), config.training, Processes())
        batch = config.task.train_batch(0, 128, 0)
        updater.step(batch)
        drawing, training = [], []
        for step in range(rounds):
            drawing.append(seconds(config.task.train_batch, step, 128, 0))
            training.append(seconds(updater.step, batch))
        draw, train = statistics.median(drawing), statistics.median(training)
        size = config.network.hidden_size
        print(
            f"{name:<12} {model} n={size:<4} batch {draw * 1e3:5.1f} ms  step {train * 1e3:6.1f} ms  {draw / train:.1%}"
        )


if __name__ == "__main__":
    main()
