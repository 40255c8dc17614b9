"""Experiments whose numbers come from an analysis, not from training."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Collection, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from eigenloop import registry
from eigenloop.experiments import records
from eigenloop.experiments.plan import chosen, short_hash
from eigenloop.experiments.records import Record
from eigenloop.experiments.schema import BudgetName, Experiment, is_number
from eigenloop.numerics import revised_since, versions
from eigenloop.training import ConfigError, machine


def compute(
    experiment: Experiment,
    results: Path,
    only: Collection[str] = (),
    *,
    budget: BudgetName = "full",
    rerun_stale: bool = False,
) -> list[tuple[str, Record, bool]]:
    """Run the analysis of an experiment and record the number of every row, unless all are recorded already.

    Numbers from an older version of the arithmetic (`eigenloop.numerics`) count as recorded unless `rerun_stale`.

    Args:
        experiment: an experiment with an analysis.
        results: the folder of the records.
        only: names of rows; all if empty.
        budget: smoke takes the shorter options of an analysis that has some; there is no difference otherwise.
        rerun_stale: compute numbers from an older version of the arithmetic again.

    Returns:
        For each row its name, its record, and whether the record existed before.
    """
    assert experiment.analysis is not None
    rows = chosen(experiment, only)
    smoke = experiment.analysis.smoke if budget == "smoke" else {}
    options = {**experiment.analysis.options, **smoke}
    config = {"analysis": {"name": experiment.analysis.name, **options}}
    hashed = short_hash(config)
    numerics = versions(experiment.analysis.trains)
    known = {name: _known(results, experiment, name, hashed) for name in rows}
    there = [
        (name, record, True)
        for name, record in known.items()
        if record is not None and not (rerun_stale and revised_since(record.numerics, numerics))
    ]
    if len(there) == len(rows):
        return there
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    numbers, seconds = _numbers(experiment.analysis.name, json.dumps(options, sort_keys=True))
    computed = []
    for name, row in rows.items():
        assert row.value is not None
        record = Record(
            budget="smoke" if smoke else "full",
            seed=int(options.get("seed", 0)),
            metric=row.metric or experiment.metric,
            measure=None,
            value=value_at(numbers, row.value, f"{experiment.name}, row {name}"),
            status="computed",
            complete=True,
            config=config,
            config_hash=hashed,
            numerics=numerics,
            commit=machine.commit(),
            seconds=seconds,
            started=started,
            versions=machine.versions(),
            machine=machine.machine(),
        )
        records.keep(results, experiment, name, record)
        computed.append((name, record, False))
    return computed


@functools.cache
def _numbers(name: str, options: str) -> tuple[Any, float]:
    """Run an analysis, once for all experiments that use it; return its numbers and the seconds it took."""
    began = time.monotonic()
    if name not in registry.ANALYSES:
        raise registry.ANALYSES.unknown(name)
    numbers = registry.ANALYSES[name].load()(**json.loads(options)).numbers
    return numbers, round(time.monotonic() - began, 3)


def _known(results: Path, experiment: Experiment, name: str, hashed: str) -> Record | None:
    stored = records.read(results, experiment.name, name)
    return next((r for r in stored if r.status == "computed" and r.config_hash == hashed), None)


def value_at(numbers: Any, path: Sequence[str | int], where: str) -> float:
    """Return the number at a path of keys and indices in nested numbers; `where` begins the error message.

    Raises:
        ConfigError: there is nothing at that path, or not a finite number.

    >>> value_at({"rows": [{"total": 3.03}]}, ("rows", 0, "total"), "here")
    3.03
    """
    node = numbers
    for key in path:
        try:
            node = node[key]
        except (KeyError, IndexError, TypeError) as error:
            raise ConfigError(f"{where}: the analysis has no {'.'.join(map(str, path))}") from error
    if not is_number(node):
        raise ConfigError(f"{where}: {'.'.join(map(str, path))} is {node!r}, not a number")
    return float(node)
