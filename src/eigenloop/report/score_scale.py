"""Where the score of each run stands beside the others and the baseline, for those who look before they read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eigenloop.report import scales
from eigenloop.report.groups import Group
from eigenloop.report.verdict import Verdict

#: From which ratio on scores are compared on a logarithmic scale.
LOGARITHMIC = 5.0


@dataclass(frozen=True)
class Places:
    """Places in percent from the left, on one scale for all runs of a task.

    Attributes:
        rising: whether better is further to the right.
        hint: which way is better; empty where the baseline is in its way.
        dots: one for each verdict, None without a score.
    """

    rising: bool
    hint: str
    baseline: float | None
    dots: tuple[float | None, ...]


def places(verdicts: Sequence[Verdict], group: Group) -> Places | None:
    """Place the scores; None where there is nothing to compare."""
    scores = [verdict.score.value if verdict.score else None for verdict in verdicts]
    baseline = next(iter(group.baselines(group.metric)), None)
    known = [value for value in (*scores, baseline) if value is not None and abs(value) < scales.HUGE]
    if len(set(known)) < 2:
        return None
    scale = _scale(known, group.higher_is_better)
    dots = tuple(None if value is None else _percent(scale, value) for value in scores)
    line = None if baseline is None else _percent(scale, baseline)
    rising = group.higher_is_better
    crowded = line is not None and (line > 55 if rising else line < 45)
    arrow = "better \N{RIGHTWARDS ARROW}" if rising else "\N{LEFTWARDS ARROW} better"
    return Places(rising, "" if crowded else arrow, line, dots)


def _scale(known: Sequence[float], rising: bool) -> scales.Scale:
    low, high = min(known), max(known)
    if not rising and low > 0 and high / low >= LOGARITHMIC:
        return scales.logarithmic(low, high)
    return scales.linear(0.0 if low >= 0 else low, 1.0 if rising and high <= 1 else high)


def _percent(scale: scales.Scale, value: float) -> float | None:
    at = scale.at(value)
    # The ends are kept free so that no dot is cut in half.
    return None if at is None else round(4 + 92 * min(max(at, 0.0), 1.0), 2)
