"""Experiments whose numbers are computed: the rows of an analysis."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from eigenloop import analysis
from eigenloop.experiments import records
from eigenloop.experiments.plan import chosen
from eigenloop.experiments.records import Record
from eigenloop.experiments.schema import Experiment, is_number
from eigenloop.training import ConfigError, machine


def compute(experiment: Experiment, results: Path, only: Collection[str] = ()) -> list[tuple[str, Record]]:
    """Do the analysis of an experiment once and write every row's number down; return rows and records."""
    assert experiment.analysis is not None
    rows = chosen(experiment, only)
    function = getattr(analysis, experiment.analysis.name)
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    began = time.monotonic()
    numbers = function(**experiment.analysis.options).numbers
    seconds = round(time.monotonic() - began, 3)
    found = []
    for name, row in rows.items():
        assert row.value is not None
        record = Record(
            budget="full",
            seed=int(experiment.analysis.options.get("seed", 0)),
            metric=row.metric or experiment.metric,
            measure=None,
            value=value_at(numbers, row.value, f"{experiment.name}, row {name}"),
            status="computed",
            complete=True,
            config={"analysis": {"name": experiment.analysis.name, **experiment.analysis.options}},
            config_hash="",
            commit=machine.commit(),
            seconds=seconds,
            started=started,
            versions=machine.versions(),
            machine=machine.machine(),
        )
        records.keep(results, experiment, name, record)
        found.append((name, record))
    return found


def value_at(numbers: Any, path: Sequence[str | int], where: str) -> float:
    """Follow keys and positions to a number.

    >>> value_at({"rows": [{"total": 3.03}]}, ("rows", 0, "total"), "here")
    3.03
    """
    found = numbers
    for key in path:
        try:
            found = found[key]
        except (KeyError, IndexError, TypeError) as error:
            raise ConfigError(f"{where}: the analysis has no {'.'.join(map(str, path))}") from error
    if not is_number(found):
        raise ConfigError(f"{where}: {'.'.join(map(str, path))} is {found!r}, not a number")
    return float(found)
