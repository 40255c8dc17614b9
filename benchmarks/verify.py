"""Repeat committed runs, each at its own commit, and check that the results are equal to the last digit.

    python benchmarks/verify.py 3 --seed 1 --at-most 600

Runs are drawn at random from `results/`, or with ``--row EXPERIMENT/ROW`` from one row. The commit of each is checked
out in its own worktree, the kernel is built there, and the run is trained with the settings, the kernel variant and the
number of threads of the record. The value, the curves and the number of steps must be equal. Interrupted runs resume;
finished ones are only compared again. Equality can only be expected on the same kind of processor with the same
versions, so runs of other processors are not drawn unless ``--any-processor`` is given; the output says what differs.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import torch
import yaml

from eigenloop import experiments
from eigenloop.experiments import Planned, Record, records, runs_of_row
from eigenloop.runs import RunFolder, read_summary
from eigenloop.training.machine import machine

#: The fields of a record that are compared.
COMPARED = ("status", "steps", "value", "parameters", "curve", "train_curve")

#: On a machine without AVX-512 torch and its libraries use other code too; these variables select it on other machines.
TORCH_AS = {
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
}


@dataclass(frozen=True)
class Candidate:
    """A committed run, and its current plan."""

    run: Planned
    record: Record


def candidates(results: Path, at_most: float, row: str | None, processor: str | None) -> list[Candidate]:
    """List the finished trainings; a row that measures the network of another row has no training of its own."""
    chosen = []
    for name in experiments.names():
        experiment = experiments.load(name)
        if experiment.analysis is not None:
            continue
        for own in experiment.rows:
            for record in records.read(results, name, own):
                run = next((r for r in runs_of_row(experiment, own, record.budget) if r.seed == record.seed), None)
                if run is None or run.shared is not None or record.status not in ("finished", "solved"):
                    continue
                if processor not in (None, record.machine.get("processor")):
                    continue
                if record.seconds <= at_most and row in (None, f"{name}/{own}"):
                    chosen.append(Candidate(run, record))
    return chosen


def checked_out(commit: str, work: Path) -> Path:
    """Return a worktree of a commit with its kernel built; it is created if it does not exist."""
    tree = work / commit
    if not tree.exists():
        subprocess.run(["git", "worktree", "prune"], check=True)
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), commit], check=True)
    if not list(tree.glob("src/eigenloop/_kernel*")):
        subprocess.run([sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"], cwd=tree, check=True)
    return tree


def retrained(candidate: Candidate, work: Path) -> Record | None:
    """Train a run again at its commit, or resume it; return its record, None if it did not finish."""
    record = candidate.record
    assert record.commit is not None
    tree = checked_out(record.commit, work)
    folder = work / "runs" / candidate.run.label
    folder.parent.mkdir(parents=True, exist_ok=True)
    file = folder.parent / f"{folder.name}.yaml"
    file.write_text(yaml.safe_dump(record.config), encoding="utf-8")
    threads = str(record.machine["threads"])
    environment = {
        **os.environ,
        "PYTHONPATH": str(tree / "src"),
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "EIGENLOOP_KERNEL": str(record.machine["kernel"]),
        **TORCH_AS.get(str(record.machine["kernel"]), {}),
    }
    summary = read_summary(folder) if folder.exists() else None
    if summary is None or summary.status not in ("finished", "solved"):
        settings = ["--resume"] if RunFolder(folder).has_config() else ["--config", str(file.resolve())]
        command = [sys.executable, "-m", "eigenloop", "train", "--out", str(folder.resolve()), *settings]
        with (folder.parent / f"{folder.name}.log").open("ab") as log:
            ended = subprocess.run(command, cwd=tree, env=environment, stdout=log, stderr=log)
        if ended.returncode:
            return None
    return records.collected(candidate.run, folder)


def differing(before: Record, now: Record) -> str:
    """Return what differs and from which step on, as text; empty if everything is equal."""
    names = [name for name in COMPARED if getattr(before, name) != getattr(now, name)]
    pairs = zip(before.train_curve or before.curve, now.train_curve or now.curve, strict=False)
    first = next((one[0] for one, other in pairs if one != other), None)
    since = "" if first is None else f" from step {first} on"
    return f"{', '.join(names)}{since}: {before.value!r}, now {now.value!r}" if names else ""


def surroundings(record: Record) -> str:
    """Return how this machine differs from the record's, as text."""
    here = {"processor": machine()["processor"], "torch": torch.__version__, "python": platform.python_version()}
    there = {"processor": record.machine.get("processor"), **record.versions}
    other = [f"{name} {there.get(name)}, here {value}" for name, value in here.items() if there.get(name) != value]
    return "; ".join(other) or "the same processor, torch and Python"


def main() -> None:
    """Draw runs, repeat and compare them; exit with status 1 if anything differs or cannot be run."""
    usage = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usage.add_argument("count", type=int, nargs="?", default=3, help="number of runs to draw")
    usage.add_argument("--seed", type=int, default=0, help="random seed of the draw")
    usage.add_argument("--at-most", type=float, default=float("inf"), help="draw only runs of up to this many seconds")
    usage.add_argument("--row", help="EXPERIMENT/ROW to draw from; default: all")
    usage.add_argument("--any-processor", action="store_true", help="draw runs of other processors too")
    usage.add_argument("--results", type=Path, default=Path("results"), help="folder of committed results")
    usage.add_argument("--work", type=Path, default=Path("runs/verify"), help="folder of worktrees and runs")
    given = usage.parse_args()
    processor = None if given.any_processor else str(machine()["processor"])
    every = candidates(given.results, given.at_most, given.row, processor)
    drawn = random.Random(given.seed).sample(every, min(given.count, len(every)))
    good = bool(drawn)
    print(f"{len(drawn)} of {len(every)} runs", flush=True)
    for candidate in drawn:
        record = candidate.record
        print(f"{candidate.run.label}, commit {record.commit}, {record.machine.get('kernel')}", flush=True)
        try:
            now = retrained(candidate, given.work.resolve())
        except subprocess.CalledProcessError as error:
            print(f"  cannot be built any more: {error}", flush=True)
            good = False
            continue
        if now is None:
            print("  did not come to its end: see its log beside its folder", flush=True)
            good = False
            continue
        others = differing(record, now)
        good = good and not others
        verdict = f"differs in {others}" if others else f"equal: {record.value!r}"
        print(f"  {verdict} ({surroundings(record)})", flush=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
