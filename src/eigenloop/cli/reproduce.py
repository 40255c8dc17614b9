"""``eigenloop reproduce``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eigenloop.errors import ConfigError

if TYPE_CHECKING:
    from eigenloop.cli.watching import Watcher
    from eigenloop.experiments import Experiment, Planned
    from eigenloop.experiments.schema import BudgetName


def reproduce(
    name: Annotated[str, typer.Argument(help="An experiment (eigenloop list experiments), or all.")],
    budget: Annotated[
        str, typer.Option(help="smoke: seconds; hour: about an hour on two cores; full: the paper's length.")
    ] = "hour",
    only: Annotated[str | None, typer.Option(help="Rows, separated by commas.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=0, help="Trainings at a time. Default: number of cores. 0: run in this process.")
    ] = None,
    results: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results"),
    work: Annotated[Path, typer.Option(help="Folder of runs and checkpoints.")] = Path("runs/reproduce"),
    data_dir: Annotated[Path | None, typer.Option(help="Folder with the data. Default: EIGENLOOP_DATA.")] = None,
    collect: Annotated[
        bool, typer.Option("--collect", help="Train nothing; record how far interrupted runs have come.")
    ] = False,
    rerun_stale: Annotated[
        bool,
        typer.Option("--rerun-stale", help="Repeat finished runs that used an older version of the arithmetic."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Reproduce a published table or figure and record our numbers beside it.

    Finished runs are skipped and interrupted ones resume. eigenloop report --published shows all results. Results made
    before a correction of the arithmetic are stale: they are listed, and --rerun-stale replaces them.

    Examples:
        eigenloop reproduce nnrnn-table6

        eigenloop reproduce ncgru-table3 --budget hour --only ncgru,gru
    """
    from eigenloop import experiments
    from eigenloop.cli.watching import watcher_for
    from eigenloop.experiments.plan import not_run, refuse_not_run
    from eigenloop.experiments.schema import BUDGETS

    chosen = next((b for b in BUDGETS if b == budget), None)
    if chosen is None:
        raise ConfigError(f"--budget is {', '.join(BUDGETS[:-1])} or {BUDGETS[-1]}, got {budget!r}")
    rows = [row.strip() for row in (only or "").split(",") if row.strip()]
    if only is not None and not rows:
        raise ConfigError("--only names no row: write names separated by commas, or leave it out for all")
    if rows and name == "all":
        raise ConfigError("--only names rows of one experiment: name the experiment instead of all")
    wanted = [experiments.load(each) for each in (experiments.names() if name == "all" else [name])]
    watcher = watcher_for(json)
    good = True
    runs: list[Planned] = []
    for experiment in wanted:
        if experiment.analysis is not None:
            if not collect:
                _computed(experiment, results, rows, watcher, chosen, rerun_stale)
        else:
            runs += experiments.planned(experiment, chosen, rows)
            refuse_not_run(experiment, chosen, rows)
            if name != "all" and not rows and (left_out := not_run(experiment, chosen)):
                watcher.left_out(experiment, chosen, left_out)
    if collect:
        for run, record in experiments.collect(runs, results, work):
            watcher.finished(run, record, None)
    elif runs:
        with watcher:
            count = jobs if jobs is not None else 0 if chosen == "smoke" else os.cpu_count() or 1
            good = experiments.reproduce(
                runs, results, work, watcher, jobs=count, data_dir=data_dir, rerun_stale=rerun_stale
            )
    if not good:
        raise typer.Exit(1)
    watcher.ended(results)


def _computed(
    experiment: Experiment, results: Path, rows: list[str], watcher: Watcher, budget: BudgetName, rerun_stale: bool
) -> None:
    from eigenloop import experiments
    from eigenloop.numerics import revised_since, versions

    assert experiment.analysis is not None
    for name, record, known in experiments.compute(experiment, results, rows, budget=budget, rerun_stale=rerun_stale):
        watcher.computed(experiment, name, record, known)
        if revisions := revised_since(record.numerics, versions(experiment.analysis.trains)):
            watcher.outdated(f"{experiment.name}/{name}", revisions, again=False)
