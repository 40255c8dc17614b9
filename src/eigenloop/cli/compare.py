"""``eigenloop compare``: compare models on your own data."""

from __future__ import annotations

import json as json_text
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eigenloop.cli.training import Settings, collected
from eigenloop.cli.widths import width
from eigenloop.errors import ConfigError, RunError
from eigenloop.text.durations import clock
from eigenloop.text.json_text import finite, json_line

if TYPE_CHECKING:
    from eigenloop.trials import Table, Trial
    from eigenloop.trials.table import Spread


def compare(
    data: Annotated[Path, typer.Argument(help="A file (.npz, .npy, .csv, .parquet, .ts) or a folder.")],
    models: Annotated[str, typer.Option(help="Models, separated by commas (eigenloop list models).")] = (
        "ncgru,scornn,lstm,gru"
    ),
    bits: Annotated[str, typer.Option(help="Bits of the weights, separated by commas: float, 8, 4, ...")] = ("float"),
    folds: Annotated[
        int | None, typer.Option(min=2, help="Number of folds of a cross-validation; groups stay whole.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Number of seeds for each combination. Default: 1 with folds, 3 without.")
    ] = None,
    hidden_size: Annotated[int | None, typer.Option(min=1, help="Hidden units of every model.")] = None,
    max_bytes: Annotated[
        int | None,
        typer.Option(min=1, help="Choose the largest hidden size that fits this many bytes, for each model and width."),
    ] = None,
    parameters: Annotated[
        int | None,
        typer.Option(min=1, help="Choose the largest hidden size with at most this many parameters, for each model."),
    ] = None,
    match_parameters: Annotated[
        bool, typer.Option("--match-parameters", help="Give every model about as many parameters as the first.")
    ] = False,
    test: Annotated[Path | None, typer.Option(help="File with the test cases.")] = None,
    kind: Annotated[str | None, typer.Option(help="class, values, step-class, step-values or forecast.")] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="Column of labels. Repeat it for several target values.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Column of persons, devices, ...; a group is never in two splits.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Maximum number of updates.")] = None,
    epochs: Annotated[float | None, typer.Option(help="Passes over the data, in place of --steps.")] = None,
    seed: Annotated[int | None, typer.Option(help="First seed.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=0, help="Trainings at a time. Default: number of cores. 0: run in this process.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the comparison. Default: compare/FILE.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="YAML file of settings; options on the command line override it.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any other setting. May be repeated.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Compare models on the same splits of a file: score with deviation, size and time.

    Every combination is an ordinary run in its own folder. After an interruption the same command resumes and skips
    what is done. With --folds the models are ranked by their score on the held-out fold; without, by the validation
    split. The test split is shown beside it and decides nothing.

    Examples:
        eigenloop compare watch.npz --models scornn,ncgru,lstm --bits float,8,4 --folds 5

        eigenloop compare watch.npz --models ncgru,lstm --bits 4 --max-bytes 4096 --seeds 5
    """
    from eigenloop import trials
    from eigenloop.runs import atomic
    from eigenloop.training.settings.keys import set_value

    given: Settings = {
        "task": {
            "name": "sequences",
            "data": str(data.expanduser().absolute()),
            "test_data": None if test is None else str(test.expanduser().absolute()),
            "kind": kind,
            "label": label or None,
            "group": group,
        },
        "model": {"name": _listed("--models", models)[0], "hidden_size": hidden_size},
        "training": {"steps": steps, "epochs": epochs, "seed": seed},
    }
    chosen = collected(given, config, resume=False, out=None)
    for assignment in settings or ():
        set_value(chosen, assignment)
    plan = trials.planned(
        chosen,
        _listed("--models", models),
        [width(text) for text in _listed("--bits", bits)],
        folds=folds,
        seeds=seeds or (1 if folds is not None else 3),
        max_bytes=max_bytes,
        parameters=parameters,
        match_parameters=match_parameters,
    )
    folder = out or Path("compare") / plan.task.short_name
    watcher = _JSONWatcher() if json else _Watcher()
    everything = list(plan.trials())
    if not json:
        for line in plan.task.introduction()[: -1 if folds else None]:
            print(line)
        print(f"{len(plan.combinations)} combinations, {len(everything)} runs in {folder / 'runs'}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder} cannot be made: {error.strerror or error}", flags="choose another --out") from error
    try:
        good = trials.run(everything, folder, watcher, jobs=(os.cpu_count() or 1) if jobs is None else jobs)
    except KeyboardInterrupt:
        print("interrupted; run the same command again to resume", file=sys.stderr)
        raise typer.Exit(130) from None
    finally:
        table = trials.tabulated(plan, folder)
        atomic.write_text(folder / "compare.json", json_text.dumps(finite(table.as_dict()), indent=1) + "\n")
    if any(row.score.values for row in table.rows):
        trials.draw(table, folder / "compare.png")
    if json:
        print(json_line({"kind": "end", **table.as_dict()}))
    else:
        _show(table)
        print(f"table: {folder / 'compare.json'}, picture: {folder / 'compare.png'}")
    if not good:
        raise typer.Exit(1)


def _listed(option: str, text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ConfigError(f"{option} names nothing: write names separated by commas")
    return names


def _show(table: Table) -> None:
    from eigenloop.cli.answers import table as printed

    tested = any(row.test.values for row in table.rows)
    header = ["model", "bits", "units", "parameters", "bytes", table.decided_by, *["test"] * tested, "seconds", "runs"]
    rows = []
    for row in table.rows:
        combination = row.combination
        rows.append(
            [
                combination.model,
                "float" if combination.bits is None else str(combination.bits),
                str(row.units),
                f"{combination.parameters:,}",
                f"{combination.bytes:,}",
                _spread(row.score),
                *[_spread(row.test)] * tested,
                f"{row.seconds.mean:.0f}" if row.seconds.values else "-",
                f"{len(row.score.values)}" + (f" of {len(row.runs)}" if row.missing else ""),
            ]
        )
    over = (
        "folds and seeds"
        if table.plan.folds and len(table.plan.seeds) > 1
        else "folds"
        if table.plan.folds
        else "seeds"
    )
    print(f"{table.measure}, mean ± standard deviation over {over}; {table.decided_by} decides the order")
    printed(header, rows)


def _spread(spread: Spread) -> str:
    if not spread.values:
        return "-"
    deviation = "" if spread.deviation is None else f" ± {spread.deviation:.4f}"
    return f"{spread.mean:.4f}{deviation}"


class _Watcher:
    """Prints a line when a run starts or ends."""

    def skipped(self, trial: Trial) -> None:
        """Report a run that was finished before."""
        print(f"{trial.name}: done before", flush=True)

    def set_aside(self, trial: Trial, folder: Path) -> None:
        """Report where a different run from the same folder was moved."""
        print(f"{trial.name}: its folder held a run of other settings or data, now in {folder}", flush=True)

    def held(self, trial: Trial) -> None:
        """Report that another process is training this run."""
        print(f"{trial.name}: another process is training it; waiting", flush=True)

    def started(self, trial: Trial, resumed: bool) -> None:
        """Report that a run starts or resumes."""
        print(f"{trial.name}: {'resumes' if resumed else 'starts'}", flush=True)

    def waiting(self, running: Mapping[str, Path]) -> None:
        """Do nothing."""

    def finished(self, trial: Trial, folder: Path, problem: str | None) -> None:
        """Report the result of a run, or why it failed."""
        from eigenloop.runs import read_summary

        summary = read_summary(folder)
        if problem is not None or summary is None:
            print(f"{trial.name}: failed: {problem}", flush=True)
            return
        best = (summary.best or {}).get(summary.metric)
        score = "" if best is None else f", {summary.metric} {best:.4f} on valid"
        print(f"{trial.name}: {summary.status}{score}, {clock(summary.seconds)}", flush=True)


class _JSONWatcher(_Watcher):
    """Prints every event as JSON."""

    def skipped(self, trial: Trial) -> None:
        self._event("skipped", trial)

    def set_aside(self, trial: Trial, folder: Path) -> None:
        self._event("set aside", trial, folder=str(folder))

    def held(self, trial: Trial) -> None:
        self._event("held", trial)

    def started(self, trial: Trial, resumed: bool) -> None:
        self._event("started", trial, resumed=resumed)

    def finished(self, trial: Trial, folder: Path, problem: str | None) -> None:
        self._event("finished" if problem is None else "failed", trial, problem=problem)

    def _event(self, kind: str, trial: Trial, **more: object) -> None:
        print(json_line({"kind": kind, "run": trial.name, **more}), flush=True)
