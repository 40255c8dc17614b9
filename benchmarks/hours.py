"""Measure the hours that each published row takes at the paper's length, with one seed on one thread.

    OMP_NUM_THREADS=1 python benchmarks/hours.py

Every row is trained for a few steps, and their time is multiplied by the number of steps; evaluations are not counted.
Processor time is measured, so that other work on the machine matters little. The result is `results/hours.json`, which
RESULTS.md quotes for rows that were not run. Rows that are already in the file are skipped: delete it to measure all
again. Rows whose data are missing are left out. The free sample of TIMIT is enough, as the size of the corpus is known.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import statistics
import time
from pathlib import Path

from eigenloop import experiments
from eigenloop.errors import DivergedError
from eigenloop.experiments import Planned, planned
from eigenloop.runs import atomic
from eigenloop.tasks import TIMIT, DataError
from eigenloop.text.numbers import significant
from eigenloop.training.machine import machine
from eigenloop.training.network import build_network, take_scalings_
from eigenloop.training.optimizers import make_optimizer
from eigenloop.training.processes import Processes
from eigenloop.training.update import Updater

#: Seconds after which no further step is measured.
ENOUGH = 2.0
#: Training utterances of the full TIMIT corpus.
UTTERANCES = 3696


def hours(run: Planned) -> float:
    """Train a few steps and return the hours that the full training would take."""
    config = run.config()
    task, section = config.task, config.training
    task.prepare()
    net = build_network(config)
    take_scalings_(net, task)
    updater = Updater(net, task, make_optimizer(config.optimizer, net, 0), section, Processes())
    net.train()
    times: list[float] = []
    while len(times) < 2 or sum(times) < ENOUGH:
        began = time.process_time()
        # A diverging run is a valid result, and its steps take as long as others.
        with contextlib.suppress(DivergedError):
            updater.step(task.train_batch(len(times), section.batch_size, 0))
        times.append(time.process_time() - began)
    per_step = statistics.fmean(times[1:])  # the first step allocates memory that the others reuse
    per_epoch = task.steps_per_epoch(section.batch_size)
    if isinstance(task, TIMIT) and task.corpus == "sample":
        per_epoch = math.ceil(UTTERANCES / section.batch_size)
    if section.epochs is not None and per_epoch is not None:
        return math.ceil(section.epochs * per_epoch) * per_step / 3600
    assert section.steps is not None
    return section.steps * per_step / 3600


def main() -> None:
    """Measure the rows that are not in the file yet; the file is written after each row."""
    usage = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usage.add_argument("--out", type=Path, default=Path("results/hours.json"), help="file of the results")
    out: Path = usage.parse_args().out
    known: dict[str, object] = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {"rows": {}}
    rows: dict[str, float] = known["rows"]  # type: ignore[assignment]
    for name in experiments.names():
        experiment = experiments.load(name)
        if experiment.analysis is not None:
            continue
        for run in planned(experiment, "full"):
            key = f"{name}/{run.row_name}"
            if key in rows or run.shared is not None:
                continue
            try:
                rows[key] = significant(hours(run), 2)
            except DataError as error:
                print(f"{key}: {error}", flush=True)
                continue
            print(f"{key}: {rows[key]:g} h", flush=True)
            content = {"machine": machine(), "rows": dict(sorted(rows.items()))}
            atomic.write_text(out, json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
