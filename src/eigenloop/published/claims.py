"""What the papers say in words, and whether our runs bear it out.

Note [When a claim is decided]
    Only runs that went to their planned end decide, with one exception: a number that can only fall while training
    goes on, and that is below a bound already, stays below it. A run that is shorter than the paper's and has not
    come below a bound says nothing about a longer one; if the claim is that it stays above, it holds so far. A run
    on another task says nothing about a bound. Two rows are compared at the largest budget that both have, if that
    trains them equally long and in the paper's sizes; where it is shorter than the paper's training, the answer is
    the one so far. Of runs that were cut, the best numbers up to where both have been are compared. A run that
    diverged is not below anything, and is no evidence that a row stays above something either. Of several seeds the
    mean decides, and where they do not agree that is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from eigenloop.experiments.schema import Claim
from eigenloop.published.outcomes import COUNTING, Outcome
from eigenloop.published.plans import Change
from eigenloop.published.table import Line, Sheet

Verdict = Literal["yes", "no", "undecided"]


@dataclass(frozen=True)
class Finding:
    """A claim about a row, and what became of it.

    Attributes:
        outcome: the runs that were looked at; None where there are none.
        other: the row that it is compared with, and `other_outcome` that one's runs.
        because: why it is not decided, or what else decided it than the numbers; empty where they speak for
            themselves.
        provisional: a training of the paper's length may come to another answer.
    """

    line: Line
    verdict: Verdict
    outcome: Outcome | None
    other: Line | None = None
    other_outcome: Outcome | None = None
    because: str = ""
    provisional: bool = False

    @property
    def untouched(self) -> bool:
        """Whether a row that it is about was not run."""
        return self.outcome is None or (self.other is not None and self.other_outcome is None)

    @property
    def expected(self) -> bool:
        """Whether it holds for numbers that are computed, not trained, where anything else would be a fault."""
        return self.line.experiment.analysis is not None and self.verdict == "yes"

    @property
    def listed(self) -> bool:
        """Whether it is worth a line of its own."""
        return not self.untouched and not self.expected


def findings(sheets: Sequence[Sheet]) -> tuple[Finding, ...]:
    """Judge every claim, in the order of the rows; one that names several rows is one for each."""
    found: list[Finding] = []
    for sheet in sheets:
        for line in sheet.lines:
            claim = line.row.claim
            if claim is not None and claim.below_row:
                found += [_compared(line, sheet.line(other)) for other in claim.below_row]
            elif claim is not None:
                found.append(_judged(line, claim))
    return tuple(map(_unless_stale, found))


def _unless_stale(finding: Finding) -> Finding:
    """Let results of an older arithmetic decide nothing."""
    if any(outcome is not None and outcome.revisions for outcome in (finding.outcome, finding.other_outcome)):
        because = "made with an older version of the arithmetic"
        return replace(finding, verdict="undecided", because=because, provisional=False)
    return finding


def _judged(line: Line, claim: Claim) -> Finding:
    outcome = line.outcome
    verdict: Verdict
    if outcome is None:
        return Finding(line, "undecided", None, because="not run")
    if outcome.other_task:
        verdict, because = "undecided", f"another task than the paper's: {_written(outcome.other_task)}"
    elif claim.below is not None:
        verdict, because = _below(line, outcome, line.bound(claim.below))
    else:
        assert claim.above is not None
        verdict, because = _above(line, outcome, line.bound(claim.above))
    # What stays away from a bound that training moves it to may reach it later.
    away = (claim.above is not None) != line.experiment.higher_is_better
    provisional = verdict == "yes" and away and outcome.shorter
    return Finding(line, verdict, outcome, because=because, provisional=provisional)


def _below(line: Line, outcome: Outcome, bound: float) -> tuple[Verdict, str]:
    if outcome.status == "diverged" or outcome.mean is None:
        return "no", "training diverged"
    below = outcome.mean < bound
    if outcome.diverged:
        return "undecided", _some_diverged(outcome)
    if outcome.status == "unfinished":
        return ("yes", "") if below and _only_falls(line) else ("undecided", "the run is unfinished")
    if not below and outcome.shorter:
        return "undecided", "not below it yet, in a run shorter than the paper's"
    return ("yes" if below else "no"), _disagreement(line, outcome, bound, "below")


def _above(line: Line, outcome: Outcome, bound: float) -> tuple[Verdict, str]:
    if outcome.status == "diverged" or outcome.mean is None:
        return "undecided", "training diverged"
    above = outcome.mean > bound
    if outcome.diverged:
        return "undecided", _some_diverged(outcome)
    if outcome.status == "unfinished":
        settled = (not above and _only_falls(line)) or (above and _only_rises(line))
        return ("yes" if above else "no", "") if settled else ("undecided", "the run is unfinished")
    if not above and line.experiment.higher_is_better and outcome.shorter:
        return "undecided", "not above it yet, in a run shorter than the paper's"
    return ("yes" if above else "no"), _disagreement(line, outcome, bound, "above")


def _disagreement(line: Line, outcome: Outcome, bound: float, word: Literal["below", "above"]) -> str:
    values = [run.value * line.scale for run in outcome.runs if run.value is not None]
    count = sum(value < bound if word == "below" else value > bound for value in values)
    return f"{word} it with {count} of {len(values)} seeds" if 0 < count < len(values) else ""


def _compared(line: Line, other: Line) -> Finding:
    common = next((budget for budget in COUNTING if _settled(line, budget) and _settled(other, budget)), None)
    if common is None:
        if (cut := _compared_as_far_as_both_came(line, other)) is not None:
            return cut
        missing = next((each for each in (line, other) if each.outcome is None), None)
        if missing is not None:
            because = f"{missing.row.label} is not run"
        elif any(each.outcome is not None and each.outcome.status == "unfinished" for each in (line, other)):
            because = "a run is unfinished"
        else:
            because = "the two rows have no budget in common"
        return Finding(line, "undecided", line.outcome, other, other.outcome, because)
    ours, theirs = line.outcomes[common], other.outcomes[common]
    verdict: Verdict = "undecided"
    shorter = ours.shorter or theirs.shorter
    sizes = _distinct(change for outcome in (ours, theirs) for change in outcome.other_size)
    if ours.status == "diverged" or ours.mean is None:
        verdict, because = "no", "training diverged"
    elif theirs.status == "diverged" or theirs.mean is None:
        because = f"{other.row.label} diverged"
    elif ours.diverged or theirs.diverged:
        because = _some_diverged(ours if ours.diverged else theirs)
    elif shorter and not _equally_long(ours, theirs):
        because = "one was trained longer than the other"
    elif sizes:
        because = f"networks of another size than the paper's: {_written(sizes)}"
    else:
        verdict = "yes" if ours.mean < theirs.mean else "no"
        tasks = _distinct(change for outcome in (ours, theirs) for change in outcome.other_task)
        parts = [f"on another task than the paper's: {_written(tasks)}"] if tasks else []
        because = "; ".join([*parts, *_seeds_disagree(ours, theirs)])
    return Finding(line, verdict, ours, other, theirs, because, provisional=shorter and verdict != "undecided")


def _compared_as_far_as_both_came(line: Line, other: Line) -> Finding | None:
    """Compare runs of one seed of which at least one was cut; None where they have nothing in common."""
    budget = next((budget for budget in COUNTING if budget in line.outcomes and budget in other.outcomes), None)
    if budget is None:
        return None
    ours, theirs = line.outcomes[budget], other.outcomes[budget]
    comparable = _equally_long(ours, theirs) and not (ours.other_size or theirs.other_size)
    if not comparable or "diverged" in (ours.status, theirs.status) or len(ours.runs) != 1 or len(theirs.runs) != 1:
        return None
    curves = [
        {step: value for step, value in each.curve_of(outcome.runs[0]) if value is not None}
        for each, outcome in ((line, ours), (other, theirs))
    ]
    steps = sorted(set(curves[0]) & set(curves[1]))
    if not steps:
        return None
    best = max if line.experiment.higher_is_better else min
    first, second = (best(curve[step] for step in curve if step <= steps[-1]) * line.scale for curve in curves)
    because = f"as far as both came, {steps[-1]:,} steps: {first:.4g} against {second:.4g}"
    return Finding(line, "yes" if first < second else "no", ours, other, theirs, because, provisional=True)


def _equally_long(ours: Outcome, theirs: Outcome) -> bool:
    lengths = [(o.progress.unit, o.progress.planned) for o in (ours, theirs) if o.progress is not None]
    return len(set(lengths)) <= 1


def _seeds_disagree(ours: Outcome, theirs: Outcome) -> list[str]:
    """Say with how many of the seeds that both have the first is below the second, unless with all or none."""
    values, others = ({run.seed: run.value for run in one.runs if run.value is not None} for one in (ours, theirs))
    seeds = values.keys() & others.keys()
    count = sum(values[seed] < others[seed] for seed in seeds)
    return [f"below it with {count} of {len(seeds)} seeds"] if 0 < count < len(seeds) else []


def _distinct(changes: Iterable[Change]) -> tuple[Change, ...]:
    return tuple({str(change): change for change in changes}.values())


def _settled(line: Line, budget: str) -> bool:
    return any(name == budget and outcome.status != "unfinished" for name, outcome in line.outcomes.items())


def _only_falls(line: Line) -> bool:
    """Whether more training can only lower the number."""
    return line.measure == "lowest-train" or (line.measure == "best" and not line.experiment.higher_is_better)


def _only_rises(line: Line) -> bool:
    return line.measure == "best" and line.experiment.higher_is_better


def _written(changes: Sequence[Change]) -> str:
    return "; ".join(map(str, changes))


def _some_diverged(outcome: Outcome) -> str:
    return f"{outcome.diverged} of {outcome.total} seeds diverged"
