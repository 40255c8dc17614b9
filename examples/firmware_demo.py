"""From a table of a watch's accelerometer to a microcontroller: ``make firmware-demo``.

Draws a CSV of four activities, trains a GRU in 4 bits on it, writes it as C, builds that for a Cortex-M and lets QEMU
run the test windows. Prints what the core answers beside the truth, and the bytes that it needs.

    python examples/firmware_demo.py --out firmware-demo
"""

from __future__ import annotations

import argparse
import csv
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenloop.cli.answers import table
from eigenloop.cli.display import display_for
from eigenloop.deploy.c.about import MEASURED_COLUMNS, measured_rows
from eigenloop.deploy.c.compiled import compiler
from eigenloop.deploy.c.qemu import missing_tools
from eigenloop.deploy.c.simulation import run_sequences
from eigenloop.deploy.exporting import Exported, export_c
from eigenloop.errors import EigenloopError
from eigenloop.training import make_config, train

#: Steps a second of the wrist, how far it swings in thousandths of g, and where gravity points.
ACTIVITIES = {
    "sitting": (0.0, 0, (0, 0, 1000)),
    "walking": (1.8, 350, (0, 980, 200)),
    "running": (2.8, 1500, (0, 700, 700)),
    "waving": (1.8, 900, (950, 0, 300)),
}
RATE, STEPS = 50, 64
CORES = ("cortex-m0", "cortex-m4")


def window(activity: str, generator: np.random.Generator) -> NDArray[np.int64]:
    """Draw one window of three axes in thousandths of g, as the sensor counts."""
    pace, swing, gravity = ACTIVITIES[activity]
    phase = 2 * np.pi * (pace * generator.uniform(0.85, 1.15) * np.arange(STEPS) / RATE + generator.random())
    swung = swing * generator.uniform(0.6, 1.4)
    moved = np.stack([np.sin(phase), np.cos(phase) * 0.6, np.sin(2 * phase) * 0.4], axis=1) * swung
    return np.rint(np.array(gravity) + moved + generator.normal(0, 120, (STEPS, 3))).astype(np.int64)


def draw(path: Path, cases: int, seed: int) -> None:
    """Write a table with a row for every step."""
    generator = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["case", "time", "ax", "ay", "az", "activity"])
        for case in range(cases):
            activity = list(ACTIVITIES)[case % len(ACTIVITIES)]
            for step, row in enumerate(window(activity, generator).tolist()):
                writer.writerow([case, step / RATE, *row, activity])


def configuration(data: Path, steps: int, seed: int) -> Any:
    """Return the settings of the training, which takes some seconds."""
    return make_config(
        {
            "task": {"name": "sequences", "data": str(data.absolute()), "label": ["activity"]},
            "model": {"name": "gru", "hidden_size": 24, "bits": 4},
            "training": {"steps": steps, "eval_every": 50, "seed": seed},
        }
    )


def answers(exported: Exported) -> tuple[list[str], list[str], str]:
    """Return the true classes of the test windows, those that the C answers, and where it ran."""
    task: Any = exported.run.config.task
    batch = task.batch_of(task.pieces["test"])
    counts = np.rint(batch.inputs.numpy() * exported.counts).astype(np.int64)
    if missing_tools():
        sums, where = exported.network.compiled().sums(counts), "this computer"
    else:
        sums, where = run_sequences(exported.network, "cortex-m4", counts.swapaxes(0, 1)), "a Cortex-M4 in QEMU"
    if not np.array_equal(sums, exported.network.sums(counts)):
        raise RuntimeError(f"{where} gives other sums than the reference")
    names = task.class_names
    return [names[k] for k in batch.targets.tolist()], [names[k] for k in sums.argmax(-1)], where


def main() -> None:
    """Draw, train, export, build, run."""
    usage = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usage.add_argument("--out", type=Path, default=Path("firmware-demo"))
    usage.add_argument("--cases", type=int, default=600)
    usage.add_argument("--steps", type=int, default=150)
    usage.add_argument("--seed", type=int, default=0)
    options = usage.parse_args()
    if options.out.exists():
        sys.exit(f"firmware-demo: {options.out} is there already: remove it, or name another folder with --out")
    compiler()  # says what to install, before anything is drawn
    options.out.mkdir(parents=True)
    data = options.out / "watch.csv"
    draw(data, options.cases, options.seed)
    print(f"{data}: {options.cases} windows of {STEPS} steps, three axes in thousandths of g\n")
    with closing(display_for(as_json=False)) as display:
        train(configuration(data, options.steps, options.seed), options.out / "watch", display)

    missing = missing_tools()
    exported = export_c(options.out / "watch", options.out / "firmware", state_bits=8, cores=() if missing else CORES)
    truth, answered, where = answers(exported)
    print(f"\n{exported.folder}: watch.h and watch.c for a firmware; on {where} the first test windows are")
    table(["truth", "answer"], [list(pair) for pair in zip(truth[:8], answered[:8], strict=True)])
    right = sum(one == other for one, other in zip(truth, answered, strict=True))
    print(f"{right} of {len(truth)} test windows right; every sum is that of the reference in Python\n")
    size = exported.network.report().size
    print(f"constants {size.bytes:,} B, memory {size.ram_bytes:,} B")
    if missing:
        print(
            f"to see it on a Cortex-M, install {', '.join(missing)}: on Debian and Ubuntu, apt-get install "
            "gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm"
        )
    else:
        table(MEASURED_COLUMNS, measured_rows(exported.measured))


if __name__ == "__main__":
    try:
        main()
    except (EigenloopError, RuntimeError) as error:
        sys.exit(f"firmware-demo: {error}")
