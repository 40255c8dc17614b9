"""Judge whether our runs confirm what the papers claim in words.

Note [When a claim is decided]
    "Yes" and "no" require runs on the paper's task, of the paper's length, with the paper's settings and at least three
    seeds. If a run is shorter, or has other settings or fewer seeds, the claim is only supported or contradicted, and
    `Finding.limits` says what differs. The claim is undecided if

    - a row was not run, is unfinished, diverged with some seeds (unless the claim is that it fails), or was computed
      with an older version of the arithmetic;
    - the task or the size of a network is not the paper's, or one of two rows was trained longer than the other;
    - a difference is not larger than the spread over seeds, sqrt(s1^2 + s2^2) for two rows (with three seeds or more
      that is a "no" if the paper calls the difference significant); if a row has only one seed, and so no spread, two
      rows have to differ by more than a factor of `FACTOR`;
    - a shorter run has not yet reached the level that the claim says training reaches, or never reaches;
    - the claim is that a row stays at the baseline, and its loss is still above the baseline.

    Rows are compared at the largest budget at which all of them finished.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from eigenloop.comparison.outcomes import COUNTING, Outcome
from eigenloop.comparison.paper_settings import Change
from eigenloop.comparison.quantities import Quantity, numbers_of, steps_until
from eigenloop.comparison.table import Line, Sheet
from eigenloop.experiments.plan import LEARNED
from eigenloop.experiments.schema import Claim

Verdict = Literal["yes", "no", "supported", "contradicted", "undecided"]

#: The fewest seeds for which the spread over seeds is taken as reliable.
SEEDS = 3
#: The factor by which two rows have to differ if one of them has one seed. Two seeds of one row mostly differ by less,
#: but by up to 9.5 in one row (Spectral RNN on adding), so that a verdict on one seed says so.
FACTOR = 2.0
#: A loss below this multiple of the baseline counts as having reached the baseline.
_NEAR = 1.1


@dataclass(frozen=True)
class Side:
    """A row that a claim is about, its runs, and the quantity that is compared (None if nothing was measured)."""

    line: Line
    outcome: Outcome
    quantity: Quantity | None


@dataclass(frozen=True)
class Finding:
    """A claim about a row, and the verdict on it.

    Attributes:
        other: the row that it is compared with; None if the claim is a bound.
        sides: the row itself and `other`, without those that were not run.
        limits: why the verdict is only "supported" or "contradicted", such as "shorter" or "one seed".
        because: why the claim is undecided, or what decided it besides the numbers; may be empty.
    """

    line: Line
    claim: Claim
    other: Line | None
    verdict: Verdict
    sides: tuple[Side, ...] = ()
    limits: tuple[str, ...] = ()
    because: str = ""

    @property
    def not_run(self) -> bool:
        """Whether a row that the claim is about was not run."""
        return self.line.outcome is None or (self.other is not None and self.other.outcome is None)

    @property
    def expected(self) -> bool:
        """Whether the claim holds and is about computed numbers: no training is involved, so it has to hold."""
        return self.line.experiment.analysis is not None and self.verdict == "yes"


def findings(sheets: Sequence[Sheet]) -> tuple[Finding, ...]:
    """Judge every claim, in the order of the rows; a claim that names several rows gives one finding for each."""
    return tuple(
        _judged(line, claim, None if name is None else sheet.line(name))
        for sheet in sheets
        for line in sheet.lines
        for claim in line.row.claim
        for name in claim.rows or (None,)
    )


def _judged(line: Line, claim: Claim, other: Line | None) -> Finding:
    lines = (line,) if other is None else (line, other)
    budget = next((b for b in COUNTING if all(_settled(each.outcomes.get(b)) for each in lines)), None)
    outcomes = [each.outcome if budget is None else each.outcomes[budget] for each in lines]
    sides = tuple(
        Side(each, outcome, _quantity(each, outcome, claim))
        for each, outcome in zip(lines, outcomes, strict=True)
        if outcome is not None
    )
    if len(sides) < len(lines):
        missing = next(each for each, outcome in zip(lines, outcomes, strict=True) if outcome is None)
        because = "not run" if other is None else f"{missing.row.label} is not run"
        return Finding(line, claim, other, "undecided", sides, because=because)
    if budget is None:
        unfinished = any(side.outcome.status == "unfinished" for side in sides)
        because = "a run is unfinished" if unfinished else "the two rows have no budget in common"
        return Finding(line, claim, other, "undecided", sides, because=because)
    if tasks := _written(change for side in sides for change in side.outcome.other_task):
        return Finding(line, claim, other, "undecided", sides, ("smaller task",), tasks)
    holds, because = None, _obstacle(sides, claim)
    if not because:
        holds, because = _holds(sides, claim)
    if holds is None:
        return Finding(line, claim, other, "undecided", sides, because=because)
    limits = _limits(sides, claim)
    verdict: Verdict = ("supported" if holds else "contradicted") if limits else ("yes" if holds else "no")
    return Finding(line, claim, other, verdict, sides, limits, because)


def _settled(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome.status != "unfinished"


def _quantity(line: Line, outcome: Outcome, claim: Claim) -> Quantity | None:
    return numbers_of(outcome) if claim.reaches is None else steps_until(line, outcome, line.bound(claim.reaches))


def _obstacle(sides: Sequence[Side], claim: Claim) -> str:
    """Return why these runs cannot decide the claim, whatever their numbers; empty if they can."""
    outcomes = [side.outcome for side in sides]
    if any(outcome.revisions for outcome in outcomes):
        return "made with an older version of the arithmetic"
    if sizes := _written(change for outcome in outcomes for change in outcome.other_size):
        return f"networks of another size: {sizes}"
    for side in sides:
        if 0 < side.outcome.diverged < side.outcome.total and not _fails(side, claim):
            return f"{side.outcome.diverged} of {side.outcome.total} seeds diverged"
        if side.outcome.status == "diverged" and (side is not sides[0] or claim.above is not None):
            return f"{side.line.row.label} diverged" if len(sides) > 1 else "training diverged"
    planned = {(o.progress.unit, o.progress.planned) for o in outcomes if o.progress is not None}
    if len(planned) > 1 and any(outcome.shorter for outcome in outcomes):
        return "one was trained longer than the other"
    baseline, mean, scale = outcomes[0].baseline, outcomes[0].mean, sides[0].line.scale
    if _fails(sides[0], claim) and baseline is not None and mean is not None and mean > _NEAR * baseline * scale:
        return f"its loss is still above the baseline of {baseline:.3g}"
    return ""


def _holds(sides: Sequence[Side], claim: Claim) -> tuple[bool | None, str]:
    """Return whether the claim holds, None if the numbers do not decide it, and the reason."""
    if sides[0].outcome.status == "diverged":
        return False, "training diverged"
    line, ours = sides[0].line, sides[0].quantity
    shorter = any(side.outcome.shorter for side in sides)
    if ours is None:
        return None, "nothing was measured"
    if ours.missed:
        return (None if shorter else False), f"not reached with {ours.missed} of {ours.count} seeds"
    if claim.below is not None or claim.above is not None:
        bound = line.bound(claim.below if claim.below is not None else claim.above or 0.0)
        theirs: Quantity | None = Quantity(bound)
    else:
        theirs = sides[1].quantity
    if theirs is None:
        return None, "nothing was measured"
    higher = line.experiment.higher_is_better and claim.reaches is None
    difference, spread = theirs.mean - ours.mean, (ours.spread**2 + theirs.spread**2) ** 0.5
    if claim.matches:
        worse = difference if higher else -difference
        if worse > 0 and _one_seed(sides):
            return None, "one seed has no spread to compare the difference with"
        return worse <= spread, ""
    if abs(difference) <= spread:
        refuted = claim.significant and not shorter and min(_seeds(side, claim) for side in sides) >= SEEDS
        return (False if refuted else None), "no difference larger than the spread over seeds"
    # A row that never reached the level would need more steps than are counted for it, by an unknown factor.
    if len(sides) > 1 and not theirs.missed and _one_seed(sides) and _within(FACTOR, ours.mean, theirs.mean):
        return None, f"one seed, and a difference below a factor of {FACTOR:g}"
    upwards = claim.above is not None or bool(claim.above_row)
    holds = difference < 0 if upwards else difference > 0
    if shorter and not claim.rows:
        if not holds and upwards == higher:
            return None, "not there yet, in a shorter run"
        if holds and upwards != higher and line.metric not in LEARNED:
            return None, "a shorter run may still learn"
    return holds, ""


def _fails(side: Side, claim: Claim) -> bool:
    """Whether the claim is that training fails: the loss stays above a bound. A diverged run supports it."""
    return claim.above is not None and not side.line.experiment.higher_is_better and side.line.metric not in LEARNED


def _limits(sides: Sequence[Side], claim: Claim) -> tuple[str, ...]:
    """List why the runs do not settle the claim; an analysis that trains nothing has no limits."""
    trained = [side for side in sides if side.outcome.progress is not None]
    limits = ["shorter"] * any(side.outcome.shorter for side in trained)
    limits += ["other settings"] * any(side.outcome.changed or side.line.row.departs for side in trained)
    fewest = min((_seeds(side, claim) for side in trained), default=SEEDS)
    limits += ["one seed" if fewest == 1 else f"{fewest} seeds"] * (fewest < SEEDS)
    return tuple(limits)


def _seeds(side: Side, claim: Claim) -> int:
    """Return how many seeds count."""
    diverged = side.outcome.diverged if _fails(side, claim) and side.outcome.status != "diverged" else 0
    return len(side.outcome.runs) + diverged


def _within(factor: float, one: float, other: float) -> bool:
    """Whether two numbers differ by less than a factor; with different signs they do not."""
    low, high = sorted((abs(one), abs(other)))
    return one * other > 0 and high < factor * low


def _one_seed(sides: Sequence[Side]) -> bool:
    return any(side.outcome.progress is not None and len(side.outcome.runs) == 1 for side in sides)


def _written(changes: Iterable[Change]) -> str:
    return "; ".join(dict.fromkeys(map(str, changes)))
