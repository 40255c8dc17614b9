"""Find the best integer networks within 2,048 and within 566 bytes on a file of labelled sequences.

    python benchmarks/tiny.py har.npz --out runs/tiny

Each network has as many units as fit into the budget: packed codes, biases, thresholds and the table of tanh, counted
by `deploy.integer(...).report()` with an 8-bit state. It is trained with one seed and the settings of `eigenloop fit`,
and converted to an integer network with ranges from the training split. The six that are best on the validation split
are trained with three seeds, the best three of those with five, in both rounds also the best FastGRNN, and the network
with the best mean is chosen. Accuracy on the test split is reported for those and for a floating-point LSTM with 64
units; it does not affect the choice. Pooling (last state, mean or maximum over time) is chosen on the validation split
too, also for the LSTM.

After an interruption the same command resumes; with --finished it writes the table of the runs that are done.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import eigenloop as el
from eigenloop.errors import DivergedError
from eigenloop.runs import RunFolder, read_summary
from eigenloop.runs.atomic import write_text
from eigenloop.training import load_run, make_config, resume, train
from eigenloop.training.network import build_network

BUDGETS = (2048, 566)
MODELS: dict[str, dict[str, Any]] = {
    "ncgru": {"name": "ncgru"},
    "gru": {"name": "gru"},
    "lstm": {"name": "lstm"},
    "scornn": {"name": "scornn"},
    "qornn": {"name": "qornn"},
    "fastgrnn": {"name": "fastgrnn"},
    "fastgrnn-piecewise": {"name": "fastgrnn", "piecewise": True},
}
#: The best of these models is always trained with all seeds, for comparison.
YARDSTICKS = ("fastgrnn", "fastgrnn-piecewise")
BITS = (4, 3, 2, 8)
POOLS = ("max", "mean", "last")
STATE_BITS = (8, 12)
#: For each round, how many of the best candidates on the validation split are kept, and the number of seeds.
ROUNDS = ((6, 3), (3, 5))
SEEDS = ROUNDS[-1][1]


@dataclass(frozen=True)
class Candidate:
    """A network to try.

    Attributes:
        model: a key of MODELS.
        bits: width of the weights; None for floating point.
        pool: how states are pooled over time for the read-out.
        units: hidden size.
    """

    model: str
    bits: int | None
    pool: str
    units: int

    @property
    def name(self) -> str:
        """The name of its folders, without the seed."""
        return f"{self.model}-{'float' if self.bits is None else f'{self.bits}bit'}-{self.pool}-{self.units}"


class Trials:
    """Candidates on a data file: each is trained in its own folder, and measured as an integer network."""

    def __init__(self, data: Path, out: Path, finished: bool = False) -> None:
        self.data, self.out, self.finished = data.absolute(), out, finished
        self.task = self.config(Candidate("lstm", None, "last", 8), 0).task.settled()
        self.parts = {part: next(iter(self.task.evaluation(part, 10**6))) for part in ("train", "valid", "test")}

    def config(self, candidate: Candidate, seed: int) -> Any:
        """Return the settings of a run: those of `eigenloop fit`, with the candidate's size, widths and pooling."""
        network = MODELS[candidate.model] | {"hidden_size": candidate.units}
        if candidate.bits is not None:
            network |= {"bits": candidate.bits, "readout_bits": max(4, candidate.bits)}
        task = {"name": "sequences", "data": str(self.data), "by": "order", "pool": candidate.pool}
        return make_config({"task": task, "model": network, "training": {"seed": seed}})

    def largest(self, model: str, bits: int, pool: str, budget: int) -> Candidate | None:
        """Return the candidate with as many units as fit into `budget` bytes; None if not even 4 do."""
        low, high = 3, 256
        while high - low > 1:
            middle = (low + high) // 2
            fits = self._bytes(Candidate(model, bits, pool, middle)) <= budget
            low, high = (middle, high) if fits else (low, middle)
        return Candidate(model, bits, pool, low) if low > 3 else None

    def _bytes(self, candidate: Candidate) -> int:
        """Return the bytes of an untrained network, with random biases in [-1, 1] instead of zeros."""
        config = self.config(candidate, 0)
        net = build_network(dataclasses.replace(config, task=self.task)).eval()
        generator = torch.Generator().manual_seed(0)
        for name, parameter in net.named_parameters():
            if "bias" in name:
                torch.nn.init.uniform_(parameter, -1, 1, generator=generator)
        sample = self.parts["train"].inputs[:16, :4].numpy()
        return int(el.deploy.integer(net, calibration=sample, state_bits=8).report().size.bytes)

    def measured(self, candidate: Candidate, seed: int) -> dict[str, Any] | None:
        """Return the measurements of a run, which is trained if needed; None with `finished` if there are none yet."""
        folder = self.folder(candidate, seed)
        place = folder / "tiny.json"
        if place.exists() or self.finished:
            return dict(json.loads(place.read_text())) if place.exists() else None
        summary = read_summary(folder)
        if summary is None or summary.status == "stopped":
            with suppress(DivergedError):  # the last good network is measured
                resume(folder) if RunFolder(folder).has_config() else train(self.config(candidate, seed), folder)
            summary = read_summary(folder)
        if summary is None or summary.status == "stopped":
            raise KeyboardInterrupt
        record: dict[str, Any] = dataclasses.asdict(candidate) | {"seed": seed, "seconds": summary.seconds}
        net, _, _ = load_run(folder)
        record["float_state"] = {part: self._right(self._outputs(net, part), part) for part in ("valid", "test")}
        if candidate.bits is not None:
            record["integer"] = [self._integer(net, bits) for bits in STATE_BITS]
        write_text(place, json.dumps(record, indent=1))
        shown = ", ".join(f"{one['valid']:.4f}" for one in record.get("integer", [record["float_state"]]))
        print(f"{folder.name}: valid {shown}, {summary.seconds:.0f} s", flush=True)
        return record

    def folder(self, candidate: Candidate, seed: int) -> Path:
        """Return the folder of a run."""
        return self.out / "runs" / f"{candidate.name}-seed{seed}"

    def _integer(self, net: el.Model, state_bits: int) -> dict[str, Any]:
        integer_net = el.deploy.integer(net, calibration=self.parts["train"].inputs.numpy(), state_bits=state_bits)
        size = integer_net.report().size
        table = sum(part.bytes for part in size.parts if part.name.startswith("table"))
        accuracy = {
            part: self._right(torch.from_numpy(integer_net.predict(self.parts[part].inputs.numpy())), part)
            for part in ("valid", "test")
        }
        counted = {"bytes": size.bytes, "bytes_without_table": size.bytes - table, "ram": size.ram_bytes}
        return {"state_bits": state_bits, **counted, **accuracy}

    @torch.no_grad()
    def _outputs(self, net: el.Model, part: str) -> torch.Tensor:
        outputs: torch.Tensor = net(self.parts[part].inputs)[0]
        return outputs

    def _right(self, outputs: torch.Tensor, part: str) -> float:
        return float((outputs.argmax(-1) == self.parts[part].targets).double().mean())


Row = dict[str, Any]


def tried(trials: Trials, model: str, bits: int, pool: str, budget: int) -> list[tuple[Candidate, Row]]:
    """Return the largest candidate and its measurements with seed 0, for each width of the state that fits."""
    candidate = trials.largest(model, bits, pool, budget)
    record = None if candidate is None else trials.measured(candidate, 0)
    if candidate is None or record is None:
        return []
    return [(candidate, one) for one in record["integer"] if one["bytes"] <= budget]


def searched(trials: Trials) -> dict[int, list[tuple[Candidate, Row]]]:
    """Return all candidates within each budget, sorted by accuracy on the validation split.

    The pooling of each model is the one that is best with 4 bits within the first budget.
    """
    first, *others = BUDGETS
    trained: dict[int, list[tuple[Candidate, Row]]] = {budget: [] for budget in BUDGETS}
    for model in MODELS:
        ways = [one for pool in POOLS for one in tried(trials, model, BITS[0], pool, first)]
        # With --finished the best pooling may not be known yet.
        pools = (max(ways, key=lambda one: one[1]["valid"])[0].pool,) if ways else POOLS
        other_widths = [one for bits in BITS[1:] for p in pools for one in tried(trials, model, bits, p, first)]
        trained[first] += ways + other_widths
        for budget in others:
            trained[budget] += [one for bits in BITS for p in pools for one in tried(trials, model, bits, p, budget)]
    return {budget: sorted(ones, key=lambda one: -one[1]["valid"]) for budget, ones in trained.items()}


def mean(values: list[float]) -> dict[str, float | None]:
    """Return mean and standard deviation over seeds; the deviation of one value is None."""
    return {"mean": statistics.mean(values), "deviation": statistics.stdev(values) if len(values) > 1 else None}


def with_seeds(trials: Trials, candidate: Candidate, state_bits: int | None, seeds: int = SEEDS) -> Row | None:
    """Return a candidate's row: accuracies over seeds, and the largest number of bytes of any seed."""
    records = [record for seed in range(seeds) if (record := trials.measured(candidate, seed)) is not None]
    if not records:
        return None
    row: Row = dataclasses.asdict(candidate) | {"seeds": len(records), "state_bits": state_bits}
    row["float_state"] = {part: mean([one["float_state"][part] for one in records]) for part in ("valid", "test")}
    if state_bits is None:
        net, _, _ = load_run(trials.folder(candidate, records[0]["seed"]))
        return row | row["float_state"] | {"bytes": el.quantization.size_report(net).bytes}
    measured = [one for record in records for one in record["integer"] if one["state_bits"] == state_bits]
    counts = {key: max(one[key] for one in measured) for key in ("bytes", "bytes_without_table", "ram")}
    return row | counts | {part: mean([one[part] for one in measured]) for part in ("valid", "test")}


def finalists(trials: Trials, trained: list[tuple[Candidate, Row]], budget: int) -> list[Row]:
    """Return the rows of the best candidates and of the best FastGRNN, sorted by mean validation accuracy.

    A candidate whose biases exceed the budget with some seed is left out.
    """
    best: dict[Candidate, int] = {}  # the better width of the state for each
    for candidate, one in trained:
        best.setdefault(candidate, one["state_bits"])
    ranked = list(best)
    for kept, seeds in ROUNDS:
        chosen = ranked[:kept] + [one for one in ranked[kept:] if one.model in YARDSTICKS][:1]
        rows = {one: with_seeds(trials, one, best[one], seeds) for one in chosen}
        fitting = {one: row for one, row in rows.items() if row is not None and row["bytes"] <= budget}
        ranked = sorted(fitting, key=lambda one: -fitting[one]["valid"]["mean"])
    return [fitting[one] for one in ranked]


def reference(trials: Trials) -> Row | None:
    """Return the row of a floating-point LSTM with the pooling that is best on the validation split."""
    candidates = [Candidate("lstm", None, pool, 64) for pool in POOLS]
    rows = {candidate: with_seeds(trials, candidate, None, 1) for candidate in candidates}
    scores = {candidate: row["valid"]["mean"] for candidate, row in rows.items() if row is not None}
    return with_seeds(trials, max(scores, key=lambda candidate: scores[candidate]), None) if scores else None


def text_of(result: Row) -> str:
    """Return the finalists and all candidates as text."""
    lines = ["accuracy in percent, mean ± deviation over seeds; the best mean on the validation split comes first"]
    every = [result["reference"], *(row for rows in result["finalists"].values() for row in rows)]
    if any(row is None or row["seeds"] < SEEDS for row in every):
        lines.append(f"not complete: not all models and widths are tried, and not all have {SEEDS} seeds")
    for budget, rows in ((None, [result["reference"]]), *result["finalists"].items()):
        lines.append("\nin floating point" if budget is None else f"\nwithin {int(budget):,} bytes")
        lines += [_line(row) for row in rows if row is not None]
    for budget, ones in result["searched"].items():
        lines.append(f"\ntried within {int(budget):,} bytes, seed 0, accuracy on the validation split")
        lines += [
            f"  {one['model']:<20}{_widths(one)}  {one['pool']:<6}{one['units']:>3} units{one['bytes']:>7,} B"
            f"{one['bytes_without_table']:>7,} B without table{100 * one['valid']:>7.1f}"
            for one in ones
        ]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    table = f"{row['bytes_without_table']:>7,} B without table" if "bytes_without_table" in row else ""
    valid, test = (_share(row[part]) for part in ("valid", "test"))
    return (
        f"  {row['model']:<20}{_widths(row)}  {row['pool']:<6}{row['units']:>3} units{row['bytes']:>7,} B{table:<23}"
        f"  valid {valid}  test {test}  seeds: {row['seeds']}"
    )


def _share(one: dict[str, float | None]) -> str:
    value, deviation = one["mean"], one["deviation"]
    assert value is not None
    return f"{100 * value:.1f}" + ("      " if deviation is None else f" ± {100 * deviation:.1f}")


def _widths(row: Row) -> str:
    return "float32         " if row["bits"] is None else f"{row['bits']} bits, state {row['state_bits']:>2}"


def main() -> None:
    """Search, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="file of labelled sequences, as for `eigenloop fit`")
    parser.add_argument("--out", type=Path, default=Path("runs/tiny"), help="folder of runs and results")
    parser.add_argument("--finished", action="store_true", help="train nothing; write the table of finished runs")
    options = parser.parse_args()
    torch.set_num_threads(1)
    trials = Trials(options.data, options.out, options.finished)
    trained = searched(trials)
    result: Row = {
        "data": trials.data.name,
        "reference": reference(trials),
        "finalists": {str(budget): finalists(trials, ones, budget) for budget, ones in trained.items()},
        "searched": {str(budget): [dataclasses.asdict(c) | one for c, one in ones] for budget, ones in trained.items()},
    }
    write_text(options.out / "tiny.json", json.dumps(result, indent=1) + "\n")
    write_text(options.out / "tiny.txt", text_of(result))
    print(text_of(result), end="")


if __name__ == "__main__":
    main()
