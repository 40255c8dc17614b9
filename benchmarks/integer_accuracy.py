"""Accuracy in floating point, with k-bit weights, and as integer networks with 16, 12 and 8 bits of state.

    EIGENLOOP_DATA=data python benchmarks/integer_accuracy.py --har har.npz --digits digits

Every run is an ordinary one in its own folder: after an interruption the same command resumes, and no run is trained
twice. All problems are trained with the first seed before any with the second, and the tables are written after every
run, so that they can be read at any time. Accuracy is measured on the test split, ranges on the training split.
Agreement is the fraction of 1,000 sequences (the test split, then the validation split, then training sequences that
were not used for ranges) in which every class is the same as that of the network before conversion to integers.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import json
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from eigenloop.deploy.evaluation import in_integers
from eigenloop.deploy.from_run import SEQUENCES, integer_of_task
from eigenloop.readout import Model
from eigenloop.runs import RunFolder, atomic, read_summary
from eigenloop.tasks import Batch, Task
from eigenloop.training import evaluate, load_run, make_config, resume, train
from eigenloop.training.forward import run as run_batch
from eigenloop.trials.running import is_done

WIDTHS = (8, 4, 2)
STATES = (16, 12, 8)
TRAINED = 8
COMPARED = 1000


@dataclass(frozen=True)
class Problem:
    """A network on a task: its name, its title, and the settings of its runs."""

    name: str
    title: str
    settings: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Run:
    """A training of a problem, with the widths of weights and of the state (None is floating point), and a seed."""

    problem: Problem
    bits: int | None
    state_bits: int | None
    seed: int

    @property
    def name(self) -> str:
        """The name of its folder."""
        width = "float" if self.bits is None else f"{self.bits}bit"
        state = "" if self.state_bits is None else f"-state{self.state_bits}"
        return f"{self.problem.name}/{width}{state}-seed{self.seed}"

    def config(self) -> Any:
        """Return its settings."""
        settings = copy.deepcopy(self.problem.settings)
        settings["model"]["bits"] = self.bits
        if self.state_bits is not None:
            settings["model"]["state_bits"] = self.state_bits
        settings.setdefault("training", {})["seed"] = self.seed
        return make_config(settings)


def problems(options: argparse.Namespace) -> Iterator[Problem]:
    """Yield the problems for which data are given."""
    if options.har is not None:
        har = {"name": "sequences", "data": str(options.har.absolute()), "by": "order"}
        yield Problem("har-ncgru", "HAR subset, NC-GRU, n = 64", {"task": har, "model": {"name": "ncgru"}})
        rnn = {"name": "qornn", "strategy": "ste-bjorck", "hidden_size": 64}
        yield Problem("har-rnn", "HAR subset, orthogonal RNN (ReLU, Björck), n = 64", {"task": har, "model": rnn})
    if options.digits is not None:
        digits = {"name": "sequences", "data": str(options.digits.absolute())}
        yield Problem("digits-ncgru", "Spoken digits, NC-GRU, n = 64", {"task": digits, "model": {"name": "ncgru"}})
    yield Problem(
        "copying-200",
        "Copying, 200 blanks, orthogonal RNN (modReLU, Björck), n = 128, 2,000 steps",
        {
            "task": {"name": "copying", "delay": 200},
            "model": {"name": "qornn", "strategy": "ste-bjorck", "hidden_size": 128, "nonlinearity": "modrelu"},
            "optimizer": {"lr": 1e-3, "recurrent_lr": 1e-4},
            "training": {"steps": 2000, "batch_size": 128, "eval_every": 500},
        },
    )


def runs_of(every: list[Problem], seeds: int) -> Iterator[Run]:
    """Yield all trainings: the first seed before the others, and the most informative widths first."""
    widths = ((4, None), (4, TRAINED), (None, None), (8, None), (2, None), (8, TRAINED), (2, TRAINED))
    for seed in range(seeds):
        for bits, state in widths:
            yield from (Run(problem, bits, state, seed) for problem in every)


def trained(run: Run, out: Path) -> Path:
    """Return the folder of a run, which is trained first if it is not done yet."""
    folder = out / run.name
    if not is_done(folder):
        begun = RunFolder(folder).has_config()
        summary = resume(folder) if begun else train(run.config(), folder)
        if summary["status"] == "stopped":
            raise KeyboardInterrupt
    return folder


# ---------------------------------------------------------------- measuring


def measured(run: Run, out: Path) -> dict[str, Any]:
    """Return the measurements of a run, which is trained if needed; they are stored in its folder."""
    folder = trained(run, out)
    kept = folder / "integer.json"
    if kept.exists():
        return dict(json.loads(kept.read_text()))
    summary = read_summary(folder)
    assert summary is not None
    result: dict[str, Any] = {"seconds": summary.seconds, "status": summary.status}
    if summary.status != "diverged":
        net, config, step = load_run(folder)
        result |= {"step": step, "test": evaluate(net, config.task, "test", 250), "integer": {}}
        if run.bits is not None:
            for bits in STATES if run.state_bits is None else (run.state_bits,):
                result["integer"][str(bits)] = in_whole_numbers(net, config.task, bits, run.seed)
    atomic.write_text(kept, json.dumps(result) + "\n")
    return result


def in_whole_numbers(net: Model, task: Task, state_bits: int, seed: int) -> dict[str, Any]:
    """Return the measurements of the integer network with a state of `state_bits` bits."""
    integer_net = integer_of_task(net, task, state_bits=state_bits, seed=seed)
    with in_integers(net, integer_net):
        test = evaluate(net, task, "test", 250)
    with torch.no_grad(), in_integers(net, integer_net) as agreement:
        for batch in compared(task, seed):
            run_batch(net, task, batch)
    size = integer_net.report().size
    return {
        **test,
        "agreement": agreement.same_sequences / agreement.sequences,
        "sequences": agreement.sequences,
        "same_answers": agreement.same / agreement.answers,
        "bytes": size.bytes,
        "ram_bytes": size.ram_bytes,
    }


def compared(task: Task, seed: int) -> Iterator[Batch]:
    """Yield 1,000 sequences: the test split, the validation split, then training sequences not used for ranges."""
    left = COMPARED
    for batch in _batches(task, seed):
        part = first(batch, left)
        yield part
        left -= part.size
        if not left:
            return


def _batches(task: Task, seed: int) -> Iterator[Batch]:
    for split in ("test", "valid"):
        yield from task.evaluation(split, SEQUENCES)
    step = 1  # ranges were measured on the batch of step 0
    while True:
        yield task.train_batch(step, SEQUENCES, seed)
        step += 1


def first(batch: Batch, count: int) -> Batch:
    """Return the first `count` sequences of a batch."""
    return dataclasses.replace(
        batch,
        inputs=batch.inputs[:, :count],
        targets=batch.targets[:, :count] if batch.per_step else batch.targets[:count],
        lengths=None if batch.lengths is None else batch.lengths[:count],
        weights=None if batch.weights is None else batch.weights[:count],
    )


# ---------------------------------------------------------------- tables


def spread(values: list[float]) -> str:
    """Return mean and sample standard deviation in percent, as text."""
    mean = f"{100 * statistics.fmean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ± {100 * statistics.stdev(values):.1f}"


def tables(results: dict[str, dict[str, Any]], every: list[Problem], seeds: int) -> str:
    """Return the tables of the measurements up to now, in Markdown."""
    parts = []
    for problem in every:
        rows = list(_rows(problem, results, seeds))
        if rows:
            parts.append("\n".join([f"**{problem.title}**", "", *HEADER, *rows]) + "\n")
    return "\n".join(parts)


HEADER = (
    f"| k | seeds | weights in k bits | {' | '.join(f'integer {state}' for state in STATES)} "
    f"| integer {TRAINED}, trained with {TRAINED} bits | bytes |",
    "|---" * (len(STATES) + 5) + "|",
)


def _rows(problem: Problem, results: dict[str, dict[str, Any]], seeds: int) -> Iterator[str]:
    def of(bits: int | None, state: int | None) -> dict[int, dict[str, Any]]:
        pairs = ((seed, results.get(Run(problem, bits, state, seed).name)) for seed in range(seeds))
        return {seed: result for seed, result in pairs if result is not None and "test" in result}

    for bits in (None, *WIDTHS):
        own = of(bits, None)
        if not own:
            continue
        base = {seed: one["test"]["accuracy"] for seed, one in own.items()}
        cells = ["float" if bits is None else str(bits), str(len(own)), spread(list(base.values()))]
        if bits is None:
            yield f"| {' | '.join(cells + [''] * (len(STATES) + 2))} |"
            continue
        for state in STATES:
            cells.append(_cell({seed: one["integer"][str(state)] for seed, one in own.items()}, base))
        learned = {seed: one["integer"][str(TRAINED)] for seed, one in of(bits, TRAINED).items()}
        cells.append(_cell(learned, base))
        size = next(iter(own.values()))["integer"][str(STATES[-1])]
        cells.append(f"{size['bytes']:,} + {size['ram_bytes']:,}")
        yield f"| {' | '.join(cells)} |"


def _cell(own: dict[int, dict[str, Any]], base: dict[int, float]) -> str:
    """Return accuracy, its mean difference from the k-bit network of the same seed, and agreement, as text."""
    if not own:
        return ""
    accuracy = spread([one["accuracy"] for one in own.values()])
    differences = [one["accuracy"] - base[seed] for seed, one in own.items() if seed in base]
    difference = f" ({100 * statistics.fmean(differences):+.2f})" if differences else ""
    return f"{accuracy}{difference}; {100 * statistics.fmean(one['agreement'] for one in own.values()):.1f}"


def write(results: dict[str, dict[str, Any]], text: str, options: argparse.Namespace) -> None:
    """Write the tables to the results folder and, with --page, into a page."""
    options.results.parent.mkdir(parents=True, exist_ok=True)
    for name, content in (("txt", text), ("json", json.dumps(results, indent=1) + "\n")):
        atomic.write_text(options.results.with_suffix(f".{name}"), content)
    if options.page is not None:
        page = options.page.read_text()
        before, begin, rest = page.partition(BEGIN)
        _, end, after = rest.partition(END)
        if not begin or not end:
            raise SystemExit(f"{options.page} has no place for the tables: put {BEGIN} and {END} on lines of their own")
        atomic.write_text(options.page, f"{before}{BEGIN}\n{text}{END}{after}")


BEGIN, END = "<!-- accuracy of integer networks -->", "<!-- end -->"


def main() -> None:
    """Train, measure, and write the tables after every run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--har", type=Path, help="the HAR subset as a file for `eigenloop fit`")
    parser.add_argument("--digits", type=Path, help="a folder of spoken digits")
    parser.add_argument("--out", type=Path, default=Path("runs/integer-accuracy"), help="folder of the runs")
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("benchmarks/results/integer-accuracy"),
        help="path of the tables without its ending; .txt and .json are written",
    )
    parser.add_argument("--page", type=Path, help="a page whose tables are replaced, such as docs/integers.md")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds")
    parser.add_argument("--only", nargs="*", help="names of the problems to train; default: all")
    parser.add_argument("--runs", type=int, help="stop after this many trainings")
    options = parser.parse_args()
    every = list(problems(options))
    results: dict[str, dict[str, Any]] = {}
    planned = list(runs_of(every, options.seeds))
    done = [run for run in planned if is_done(options.out / run.name)]
    wanted = [run for run in planned if run not in done and run.problem.name in (options.only or [run.problem.name])]
    for run in (*done, *wanted[: options.runs]):
        results[run.name] = measured(run, options.out)
        if run in wanted or run is done[-1]:
            write(results, tables(results, every, options.seeds), options)
            print(run.name, results[run.name].get("test"), f"{results[run.name]['seconds']:.0f} s", flush=True)
    print(tables(results, every, options.seeds), end="")


if __name__ == "__main__":
    main()
