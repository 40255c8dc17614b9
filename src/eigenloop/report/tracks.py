"""The curves of a run, thinned: one track for each kind of line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eigenloop.report.groups import Entry
from eigenloop.report.thinning import Stretch, stretches, summarise
from eigenloop.runs.run import KINDS

AXES = ("step", "time")


@dataclass(frozen=True)
class Track:
    """One kind of lines of one run; all quantities are measured at the same places.

    Attributes:
        thinned: whether a point stands for several lines, so that it has a spread.
        values: for each quantity and each place, None where nothing finite was measured.
    """

    entry: Entry
    kind: str
    thinned: bool
    steps: tuple[float, ...]
    seconds: tuple[float | None, ...]
    values: Mapping[str, tuple[Stretch | None, ...]]

    def places(self, axis: str) -> Sequence[float | None]:
        """Return where the points are along an axis."""
        return self.steps if axis == "step" else self.seconds

    def medians(self, quantity: str) -> list[float]:
        """Return the finite values of a quantity."""
        return [stretch.median for stretch in self.values.get(quantity, ()) if stretch is not None]


def tracks(entries: Sequence[Entry]) -> list[Track]:
    """Return the tracks of runs: training first, so that what counts is drawn over it."""
    return [track for kind in KINDS for entry in entries if (track := _track(entry, kind)) is not None]


def _track(entry: Entry, kind: str) -> Track | None:
    lines = entry.run.lines[kind]
    if not lines:
        return None
    parts = stretches(len(lines))
    middles = [lines[part[len(part) // 2]] for part in parts]
    quantities = dict.fromkeys(name for line in lines for name in line.values)
    return Track(
        entry=entry,
        kind=kind,
        thinned=len(parts) < len(lines),
        steps=tuple(line.step for line in middles),
        seconds=tuple(line.seconds for line in middles),
        values={
            name: tuple(summarise([lines[i].values.get(name) for i in part]) for part in parts) for name in quantities
        },
    )
