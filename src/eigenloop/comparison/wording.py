"""How numbers, lengths of runs and claims are written, on the page and in the text file alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from eigenloop.comparison.claims import Finding, Side, Verdict
from eigenloop.comparison.outcomes import Outcome, Progress
from eigenloop.comparison.table import Line, Sheet
from eigenloop.experiments.plan import LEARNED
from eigenloop.experiments.schema import Measure
from eigenloop.report import names
from eigenloop.text.numbers import digits_of, number, printed, times, with_spread

MISSING = "\N{EN DASH}"
NOT_RUN = "not run"
#: What the words of a verdict mean; the rules are in `eigenloop.comparison.claims`.
VERDICTS = (
    "A claim is decided, yes or no, by runs on the paper's task, of the paper's length, with its settings and at least "
    "three seeds. Runs that are shorter, have other settings or fewer seeds only support or contradict it, and the "
    "verdict names what differs. A difference that is not larger than the spread over seeds leaves it undecided, as "
    "does a smaller task."
)
MEASURES = {
    "test": "on the test split, with the network that was best on the validation split",
    "best": "on the validation split, at its best",
    "final": "on the validation split, at the end",
    "lowest-train": "on training batches, averaged between two lines of metrics, at its lowest",
    "final-train": "on training batches, averaged between two lines of metrics, at the end",
}
_UNCHOSEN = "on the test split at the end, since there is no validation split to choose by"
_SPLITS = {"valid": "validation", "test": "test"}


def published(line: Line) -> str:
    """Write what the paper has: its number, or its words."""
    if line.published is not None:
        return printed(line.published, line.row.digits) + _unit(line)
    return line.row.said or MISSING


def ours(line: Line, outcome: Outcome | None = None) -> str:
    """Write what we have of a row, at the shown budget or at another."""
    outcome = outcome or line.outcome
    if outcome is None:
        return NOT_RUN
    if outcome.status == "diverged":
        return "diverged" if outcome.mean is None else f"diverged ({_mean(line, outcome)} before)"
    return _mean(line, outcome)


def _mean(line: Line, outcome: Outcome) -> str:
    # An accuracy is a large number of which the last digits differ.
    digits = max(digits_of(line.published), 3) if line.percent and line.published is not None else 3
    if outcome.status == "computed" and outcome.mean is not None and outcome.mean.is_integer():
        return f"{outcome.mean:,.0f}"  # a count
    if outcome.mean is not None:
        return with_spread(outcome.mean, outcome.spread, digits) + _unit(line)
    if outcome.along_the_way is None:
        return MISSING
    split = _SPLITS[line.plan.splits[0]]
    return f"{number(outcome.along_the_way, digits)}{_unit(line)} ({split} split)"


def _unit(line: Line) -> str:
    return " %" if line.percent else ""


def ratio(line: Line) -> str:
    """Write ours over theirs, where both are of the same length."""
    return MISSING if line.ratio is None else times(line.ratio)


def budget(outcome: Outcome | None) -> str:
    """Write the size of what was run."""
    if outcome is None:
        return MISSING
    return "analytic" if outcome.status == "computed" else outcome.budget


def length(outcome: Outcome | None) -> str:
    """Write how far the runs of a row came, and what is to know about it."""
    if outcome is None:
        return MISSING
    parts = [] if outcome.progress is None else [_came(outcome.progress)]
    if outcome.status == "unfinished":
        parts.append("unfinished")
    elif outcome.status == "complete" and all(run.status == "solved" for run in outcome.runs):
        parts.append("solved")
    if outcome.other_task:
        parts.append("smaller task")
    if len(outcome.changed) > len(outcome.other_task):
        parts.append("other settings")
    if outcome.revisions:
        parts.append("stale")
    return ", ".join(parts) or MISSING


def _came(progress: Progress) -> str:
    low, high = (_count(value) for value in progress.done)
    done = low if low == high else f"{low} to {high}"
    if progress.paper is None or progress.done[0] >= progress.paper:
        return f"{done} {progress.unit}"
    return f"{done} of {_count(progress.paper)} {progress.unit}"


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or value >= 1000 else number(value, 2 if value < 10 else 3)


def seeds(outcome: Outcome | None) -> str:
    """Write how many seeds the number is a mean of, and of how many; why some are left out is a remark."""
    if outcome is None or outcome.status == "computed":
        return MISSING
    count = len(outcome.runs)
    written = str(count) if count == outcome.total else f"{count} of {outcome.total}"
    lost = outcome.diverged if outcome.status != "diverged" else 0
    return f"{written}, {lost} diverged" if lost else written


def remarks(line: Line) -> list[str]:
    """List what to know of a row besides its numbers, in sentences."""
    row, outcome = line.row, line.outcome
    sentences = []
    if row.said and row.published is not None:
        sentences.append(f"The paper: {row.said}.")
    sentences += [text if text.endswith((".", "!", "?")) else f"{text}." for text in (row.departs, row.note) if text]
    if row.trained_as is not None:
        sentences.append(f"The trained network of {line.experiment.rows[row.trained_as].label}, measured again.")
    if outcome is None:
        return sentences
    if row.parameters is not None and outcome.parameters is not None and row.parameters != outcome.parameters:
        sentences.append(f"{outcome.parameters:,} parameters; in the paper {row.parameters:,}.")
    if outcome.status == "complete" and outcome.unfinished:
        are = "is" if outcome.unfinished == 1 else "are"
        sentences.append(f"{outcome.unfinished} of {outcome.total} seeds {are} unfinished and left out.")
    if outcome.changed:
        sentences.append(f"Other settings than the paper's: {'; '.join(map(str, outcome.changed))}.")
    if outcome.outdated:
        sentences.append("The settings of this row have changed since: run it again.")
    if outcome.revisions:
        sentences.append(
            f"Stale: made with an older version of the arithmetic ({'; '.join(outcome.revisions)}). Run it again with "
            f"`{line.command} --rerun-stale`."
        )
    return sentences


def verdict(finding: Finding) -> str:
    """Write whether a claim holds, and what keeps it from being decided: "supported: shorter, one seed"."""
    return finding.verdict + (f": {', '.join(finding.limits)}" if finding.limits else "")


def statement(finding: Finding) -> str:
    """Write what is claimed, without its row."""
    line, claim = finding.line, finding.claim
    metric = names.quantity(line.metric)
    if finding.other is None:
        word, value = ("below", claim.below) if claim.below is not None else ("above", claim.above)
        return f"{metric} {word} {_bound(line, value)}"
    other = finding.other.row.label
    if claim.reaches is not None:
        when = "no later than" if claim.matches else "before"
        return f"{metric} of {_bound(line, claim.reaches)} reached {when} {other}"
    word = "below" if claim.below_row else "above" if claim.above_row else "no worse than"
    return f"{metric} {word} that of {other}"


def _bound(line: Line, value: float | None) -> str:
    assert value is not None
    bound = line.bound(value)
    return f"{number(bound, digits_of(bound)) if bound < 1e-3 else f'{bound:g}'}{_unit(line)}"


def evidence(finding: Finding) -> str:
    """Write what speaks for or against a claim: numbers, how far the runs came, how many seeds there are."""
    if not finding.sides:
        return finding.because
    sides = [_compared(side, finding) for side in finding.sides]
    lengths = [length(side.outcome) for side in finding.sides]
    if len(set(lengths)) == 1:
        parts = [" against ".join(sides)] + [lengths[0]] * (lengths[0] != MISSING)
    else:
        parts = [" against ".join(f"{one} ({came})" for one, came in zip(sides, lengths, strict=True))]
    outcome = finding.sides[0].outcome
    if outcome.status != "computed":
        count = len(outcome.runs)
        parts.append(f"{count} seed{'s' * (count != 1)}")
    return "; ".join([", ".join(parts), *([finding.because] if finding.because else [])])


def _compared(side: Side, finding: Finding) -> str:
    """Write what is compared of a row: its number, or after how many steps it got somewhere."""
    quantity = side.quantity
    if finding.claim.reaches is None or quantity is None:
        return ours(side.line, side.outcome)
    if quantity.missed == quantity.count:
        return f"not in {quantity.mean:,.0f} steps"
    missed = f" (not at all with {quantity.missed} of {quantity.count} seeds)" if quantity.missed else ""
    return f"after {quantity.mean:,.0f} steps{missed}"


def measured(sheet: Sheet) -> str:
    """Say what the numbers of a table are."""
    kinds = list(dict.fromkeys((line.metric, line.measure) for line in sheet.lines))
    if sheet.experiment.analysis is not None:
        metrics = ", ".join(dict.fromkeys(names.quantity(metric) for metric, _ in kinds))
        return f"{metrics}, computed by eigenloop analyse {sheet.experiment.analysis.name}"
    chosen = all("valid" in line.plan.splits for line in sheet.lines if line.plan.splits)
    written = "; ".join(f"{names.quantity(metric)} {_where(metric, measure, chosen)}" for metric, measure in kinds)
    return f"{written}; {'higher' if sheet.experiment.higher_is_better else 'lower'} is better"


def _where(metric: str, measure: Measure, chosen: bool) -> str:
    if metric in LEARNED:
        return f"of the trained matrix, {'best on the validation split' if chosen else 'at the end'}"
    return MEASURES[measure] if chosen or measure != "test" else _UNCHOSEN


def tally(findings: Sequence[Finding]) -> str:
    """Count the verdicts on claims that have a line of their own, and say which have none."""
    verdicts = [finding.verdict for finding in findings if finding.listed]
    parts = [f"{verdicts.count(verdict)} {verdict}" for verdict in get_args(Verdict) if verdict in verdicts]
    computed = sum(finding.expected for finding in findings)
    untouched = sum(finding.untouched for finding in findings)
    rest = [f"{computed} about computed numbers, which hold"] * bool(computed)
    rest += [f"{untouched} about rows that were not run"] * bool(untouched)
    sentences = [f"What the papers say in words, and whether our runs bear it out: {', '.join(parts)}."] * bool(parts)
    sentences += [f"Not listed: {', and '.join(rest)}."] * bool(rest)
    return " ".join(sentences)


def counted(sheets: Sequence[Sheet]) -> str:
    """Say how many of the published numbers have ours beside them, what is trained apart from what is computed."""
    lines = [line for sheet in sheets for line in sheet.lines]
    printed_ones = [line for line in lines if line.published is not None]
    parts = []
    if trained := [line for line in printed_ones if line.experiment.analysis is None]:
        ours = [line for line in trained if line.outcome is not None and line.outcome.mean is not None]
        whole = sum(line.comparable for line in ours)
        start = f"Of {len(trained)} published numbers of trained networks {_how_many(ours)} ours beside them"
        parts.append(f"{start}, {whole or 'none'} at the paper's length." if ours else f"{start}.")
    if computed := [line for line in printed_ones if line.experiment.analysis is not None]:
        parts.append(f"Of {len(computed)} that are computed {_how_many([line for line in computed if line.filled])}.")
    if words := [line for line in lines if line.published is None]:
        filled = sum(line.filled for line in words)
        are = "is" if filled == 1 else "are"
        parts.append(f"Of {len(words)} rows for which the paper prints no number {filled or 'none'} {are} filled in.")
    return " ".join(parts)


def _how_many(lines: Sequence[Line]) -> str:
    return f"{len(lines) or 'none'} {'has' if len(lines) == 1 else 'have'}"
