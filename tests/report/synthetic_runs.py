"""Run folders made up for the tests: curves with the shapes that training has, written as the trainer writes them."""

import cmath
import math
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from eigenloop.runs import RunFolder, Spectra, Summary
from eigenloop.runs.reading import METRICS

BASELINE = 0.0204


def config(model: str = "scornn", task: Mapping[str, Any] | None = None, **training: Any) -> dict[str, Any]:
    return {
        "task": dict(task or {"name": "copying", "delay": 1000, "convention": "marker"}),
        "model": {"name": model, "hidden_size": 190, "nonlinearity": "modrelu", "negative": 95},
        "optimizer": {"name": "tf-rmsprop", "lr": 0.001, "recurrent_lr": 0.0001, "clip": None},
        "training": {"steps": 4000, "epochs": None, "batch_size": 20, "seed": 0, "dtype": "float32"} | training,
    }


def summary(**changes: Any) -> dict[str, Any]:
    return {
        "status": "finished",
        "reason": "all steps are done",
        "task": "copying",
        "model": "scornn",
        "steps": 4000,
        "epochs": None,
        "parameters": 21764,
        "metric": "loss",
        "higher_is_better": False,
        "baseline": {"loss": BASELINE},
        "best": {"step": 3900, "loss": 0.0203},
        "final": {"valid": {"loss": 0.0203, "accuracy": 0.91}},
        "test": {"loss": 0.0203, "accuracy": 0.91},
        "seconds": 131.0,
        "started": "2026-11-16T03:00:00+00:00",
        "processes": 1,
        "commit": "0123abc",
        "versions": {"eigenloop": "0.1.0", "torch": "2.13.0", "python": "3.11.7"},
        "machine": {"processor": "a processor", "cores": 2, "threads": 2, "kernel": "avx2"},
    } | changes


def lines(
    start: float,
    end: float,
    *,
    steps: int = 4000,
    every: int = 10,
    evaluate: int | None = 100,
    defect: float | None = 1.2e-7,
    turn: float = 0.4,
    pace: float = 0.033,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """A loss that waits at the baseline and then falls to `end`; without a turn it stays where it is."""
    draw = random.Random(seed)
    found: list[dict[str, Any]] = []

    def loss(step: int) -> float:
        early = start * math.exp(-step / (0.012 * steps))
        late = 1 / (1 + math.exp((step / steps - turn) * 14))
        return early + math.exp(late * math.log(BASELINE) + (1 - late) * math.log(end))

    clock = 0.0
    for step in range(every, steps + 1, every):
        value = loss(step) * math.exp(draw.gauss(0, 0.12))
        clock += every * pace * draw.uniform(0.8, 1.2)
        common = {"step": step, "epoch": None, "seconds": round(clock, 2)}
        found.append(
            {"kind": "train", **common, "loss": value, "accuracy": max(0.0, 1 - 4.4 * value), "lr": 0.001}
            | {"recurrent_lr": 0.0001, "gradient_norm": value * math.exp(draw.gauss(2, 0.4)), "penalty": 0.0}
            | {"defect": None if defect is None else defect * (1 + step / steps) * math.exp(draw.gauss(0, 0.1))}
        )
        if evaluate and step % evaluate == 0:
            value = loss(step) * math.exp(draw.gauss(0, 0.03))
            found.append({"kind": "valid", **common, "loss": value, "accuracy": max(0.0, 1 - 4.4 * value)})
    return found


def spectra(count: int = 190, *, radius: float = 1.0, spread: float = 0.0, seed: int = 0) -> dict[str, Any]:
    draw = random.Random(seed)

    def moment(low: float, high: float) -> list[list[float]]:
        pairs = []
        for _ in range(count // 2):
            value = cmath.rect(radius * (1 - spread * draw.random() ** 2), draw.uniform(low, high))
            pairs += [[value.real, value.imag], [value.real, -value.imag]]
        return pairs

    return {"before": {"recurrent_l0": moment(0, math.pi / 2)}, "after": {"recurrent_l0": moment(0, math.pi)}}


def write_run(
    folder: Path,
    *,
    settings: Mapping[str, Any] | None = None,
    metrics: Iterable[Mapping[str, Any]] = (),
    end: Mapping[str, Any] | None = None,
    eigenvalues: Mapping[str, Any] | None = None,
    torn: str = "",
) -> Path:
    writer = RunFolder(folder)
    writer.create(settings or config())
    for line in metrics:
        writer.log(line)
    if eigenvalues is not None:
        writer.write_spectra(Spectra(**eigenvalues))
    if end is not None:
        writer.write_summary(Summary(**end))
    writer.close()
    if torn:
        with (folder / METRICS).open("a", encoding="utf-8") as file:
            file.write(torn)
    return folder


def solved_scornn(folder: Path, **settings: Any) -> Path:
    best = {"step": 3900, "loss": 0.0016, "accuracy": 0.999}
    return write_run(
        folder,
        settings=config("scornn", **settings),
        metrics=lines(2.2, 0.0016, seed=1),
        end=summary(status="solved", reason="the loss is low enough", best=best, test={"loss": 0.0016}),
        eigenvalues=spectra(seed=1),
    )


def lstm_at_the_baseline(folder: Path, **settings: Any) -> Path:
    return write_run(
        folder,
        settings=config("lstm", **settings),
        metrics=lines(1.6, 0.0203, defect=None, pace=0.02, seed=2),
        end=summary(parameters=21992, seconds=80.0),
    )


def unfinished_gru(folder: Path, **settings: Any) -> Path:
    """Killed in the middle of a line, before the first evaluation."""
    return write_run(
        folder,
        settings=config("gru", **settings),
        metrics=lines(1.9, 0.0203, evaluate=None, defect=None, seed=3)[:120],
        torn='{"kind": "train", "st',
    )


def diverged_rnn(folder: Path, **settings: Any) -> Path:
    """Its loss becomes infinite and then NaN."""
    found = lines(2.0, 0.0203, defect=0.3, seed=4)
    for line in found:
        if line["step"] >= 1500:
            line["loss"] = math.inf if line["step"] == 1500 else math.nan
            line["gradient_norm"] = math.nan
    values = spectra(radius=1.4, spread=0.8, seed=4)
    values["after"]["recurrent_l0"][0] = [math.nan, math.nan]
    end = summary(status="diverged", reason="the loss became NaN at step 1510", steps=1510, best=None, test=None)
    return write_run(
        folder, settings=config("rnn", **settings), metrics=found[:166], end=end | {"final": {}}, eigenvalues=values
    )
