"""Our training step compared with Keras (TensorFlow) and a scan in JAX, on the rows of `eigenloop bench`.

``.venv/bin/python benchmarks/frameworks.py`` creates a separate virtual environment for the two, because of their many
dependencies. Each framework runs in its own process, and they take turns, so that only one computes at a time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eigenloop.bench.rows import ROWS, Row
from eigenloop.recurrence import kernel

#: The versions that were measured for docs/speed.md.
PACKAGES = ("tensorflow-cpu==2.21.0", "jax==0.10.2")
WORKER = Path(__file__).with_name("framework_worker.py")


class Framework:
    """A process that times one framework's steps; see framework_worker.py."""

    def __init__(self, name: str, python: Path) -> None:
        self._process = subprocess.Popen(
            [str(python), str(WORKER), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, request: dict[str, Any]) -> Any:
        """Send a request and return the answer; exit if the process has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"{' '.join(map(str, self._process.args))} stopped: run it by hand to see why")  # type: ignore[arg-type]
        return json.loads(answer)


def other_python(folder: Path) -> Path:
    """Return the interpreter of the environment with Keras and JAX, which is created if it does not exist."""
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"installing {' and '.join(PACKAGES)} into {folder}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return python


def measure(row: Row, frameworks: dict[str, Framework], rounds: int) -> dict[str, float]:
    """Return the median seconds of each framework on a row."""
    sizes = {key: value for key, value in asdict(row).items() if not key.endswith("goal")}
    for framework in frameworks.values():
        framework.ask({"row": sizes})
    times: dict[str, list[float]] = {name: [] for name in frameworks}
    for _ in range(rounds):
        for name, framework in frameworks.items():
            time.sleep(0.02)  # threads of the previous framework may still spin
            times[name].append(framework.ask({"seconds": 0.1}))
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    """Measure and print one line per row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--venv", type=Path, default=Path(".venv-frameworks"), help="environment of Keras and JAX")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each row; medians are shown")
    parser.add_argument("--only", type=int, action="append", help="row to measure, counted from 1; may be repeated")
    options = parser.parse_args()
    other = other_python(options.venv)
    frameworks = {
        "eigenloop": Framework("eigenloop", Path(sys.executable)),
        "keras": Framework("keras", other),
        "jax": Framework("jax", other),
    }
    loaded = kernel.library()
    print(f"kernel: {loaded.variant if loaded else 'reference path'}; {', '.join(PACKAGES)}; all cores")
    print(f"{'row':32}{'ours ms':>10}{'x Keras':>10}{'x JAX':>10}")
    for number, row in enumerate(ROWS, 1):
        if not options.only or number in options.only:
            times = measure(row, frameworks, options.rounds)
            ours = times["eigenloop"]
            ratios = "".join(f"{times[name] / ours:10.1f}" for name in ("keras", "jax"))
            print(f"{row!s:32}{ours * 1e3:10.1f}{ratios}", flush=True)


if __name__ == "__main__":
    main()
