"""spectra.json: the eigenvalues of every recurrent matrix, before and after training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from eigenloop.report.errors import damaged
from eigenloop.report.values import json_object, number

FIX = "delete it, and the run is shown without eigenvalues"


@dataclass(frozen=True)
class Spectrum:
    """The eigenvalues of one matrix; they may be NaN or inf, and a moment that was not kept is empty."""

    name: str
    before: tuple[complex, ...]
    after: tuple[complex, ...]


def read(path: Path) -> tuple[Spectrum, ...]:
    """Read the spectra in the order of the file; no file is no spectra."""
    found = json_object(path, FIX)
    if found is None:
        return ()
    moments = {moment: _matrices(path, found.get(moment)) for moment in ("before", "after")}
    names = dict.fromkeys([*moments["before"], *moments["after"]])
    return tuple(Spectrum(name, moments["before"].get(name, ()), moments["after"].get(name, ())) for name in names)


def _matrices(path: Path, entry: object) -> dict[str, tuple[complex, ...]]:
    if entry is None:
        return {}
    if not isinstance(entry, Mapping):
        raise damaged(path, "a moment is not a mapping from matrix names to eigenvalues", FIX)
    return {str(name): _eigenvalues(path, str(name), pairs) for name, pairs in entry.items()}


def _eigenvalues(path: Path, name: str, pairs: object) -> tuple[complex, ...]:
    if not isinstance(pairs, list):
        raise damaged(path, f"the eigenvalues of {name} are not a list", FIX)
    values = []
    for pair in pairs:
        parts = [number(part) for part in pair] if isinstance(pair, list) else []
        if len(parts) != 2:
            raise damaged(path, f"an eigenvalue of {name} is not a pair [re, im]", FIX)
        # null is how JSON writers that refuse NaN spell it.
        re, im = (float("nan") if part is None else part for part in parts)
        values.append(complex(re, im))
    return tuple(values)
