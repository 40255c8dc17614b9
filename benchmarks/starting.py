"""Start-up time relative to ``import torch``: medians over processes that are started in turn.

    python benchmarks/starting.py --rounds 9

The goals: at most 1.15 for importing everything, below 0.5 for commands that need no torch. Processor time is measured,
so that other work on the machine matters little.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

_TORCH = ["-c", "import torch"]
#: The arguments of each Python process, and the largest ratio that it should have.
STARTS: dict[str, tuple[list[str], float]] = {
    "import eigenloop": (["-c", "import eigenloop"], 1.15),
    "eigenloop.RNN": (["-c", "import eigenloop; eigenloop.RNN"], 1.15),
    "from eigenloop import *": (["-c", "from eigenloop import *"], 1.15),
    "eigenloop --help": (["-m", "eigenloop", "--help"], 0.5),
    "eigenloop --version": (["-m", "eigenloop", "--version"], 0.5),
    "eigenloop list": (["-m", "eigenloop", "list"], 0.5),
    "eigenloop list models": (["-m", "eigenloop", "list", "models"], 0.5),
    "eigenloop list experiments": (["-m", "eigenloop", "list", "experiments"], 0.5),
    "eigenloop trian": (["-m", "eigenloop", "trian"], 0.5),
}


def seconds(arguments: list[str]) -> float:
    """Return the processor time of a Python process, in seconds."""
    before = os.times()
    subprocess.run(
        [sys.executable, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    )
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Measure and print a line for every command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="measurements of each command")
    rounds = parser.parse_args().rounds
    taken: dict[str, list[float]] = {name: [] for name in ("import torch", *STARTS)}
    for _ in range(rounds + 1):  # the first round warms up the caches of the system and is not counted
        for name in taken:
            taken[name].append(seconds(_TORCH if name == "import torch" else STARTS[name][0]))
    medians = {name: statistics.median(found[1:]) for name, found in taken.items()}
    print(f"{'import torch':<28} {medians['import torch']:6.2f} s")
    for name, (_, goal) in STARTS.items():
        ratio = medians[name] / medians["import torch"]
        print(f"{name:<28} {medians[name]:6.2f} s  {ratio:5.2f} x import torch (goal {goal:g})")


if __name__ == "__main__":
    main()
