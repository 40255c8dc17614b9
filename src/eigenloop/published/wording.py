"""How numbers, lengths of runs and claims are written, on the page and in the text file alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

from eigenloop.published.claims import Finding, Verdict
from eigenloop.published.outcomes import Outcome, Progress
from eigenloop.published.table import Line, Sheet
from eigenloop.report import names

MISSING = "\N{EN DASH}"
NOT_RUN = "not run"
_VERDICTS: dict[Verdict, str] = {"yes": "yes", "no": "no", "undecided": "not decided yet"}
MEASURES = {
    "test": "on the test split, with the network that was best on the validation split",
    "best": "on the validation split, at its best",
    "final": "on the validation split, at the end",
    "lowest-train": "on training batches, averaged between two lines of metrics, at its lowest",
    "final-train": "on training batches, averaged between two lines of metrics, at the end",
}
_UNCHOSEN = "on the test split at the end, since there is no validation split to choose by"
_SPLITS = {"valid": "validation", "test": "test"}


def number(value: float, digits: int = 3) -> str:
    """Write a number with so many digits that count.

    >>> number(0.0163), number(1.0224e-5), number(21764.2), number(68.078, 4), number(2.0)
    ('0.0163', '1.02e-5', '21,764', '68.08', '2.00')
    """
    if not math.isfinite(value):
        return str(value)
    size = abs(value)
    if size != 0 and not 1e-3 <= size < 1e7:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    if size >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    shown = f"{value:#.{digits}g}"
    return shown.rstrip(".")


def with_spread(mean: float, spread: float | None, digits: int = 3) -> str:
    """Write a mean and the spread around it with the same decimals.

    >>> with_spread(1.0224e-5, 3.1e-6), with_spread(0.1234, 0.01), with_spread(7.0, None)
    ('(1.02 ± 0.31)e-5', '0.123 ± 0.010', '7.00')
    """
    written = number(mean, digits)
    if spread is None:
        return written
    mantissa, _, exponent = written.partition("e")
    decimals = len(mantissa.partition(".")[2])
    scaled = spread / 10.0 ** int(exponent or 0)
    pair = f"{mantissa} \N{PLUS-MINUS SIGN} {scaled:.{decimals}f}"
    return f"({pair})e{exponent}" if exponent else pair


def printed(value: float, digits: int | None = None) -> str:
    """Write a published number with the digits that it has, five at most, or with those that are said to count.

    >>> printed(1.022e-5), printed(5.19), printed(0.1629505), printed(77.0), printed(2e-5), printed(1.4, 3)
    ('1.022e-5', '5.19', '0.16295', '77', '2e-5', '1.40')
    """
    return number(value, digits or digits_of(value))


def digits_of(value: float) -> int:
    """Count the digits of a published number that count, one to five."""
    mantissa = repr(abs(value)).partition("e")[0].replace(".", "").strip("0")
    return min(max(len(mantissa), 1), 5)


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
    if outcome.mean is not None:
        return with_spread(outcome.mean, outcome.spread, digits) + _unit(line)
    if outcome.along_the_way is None:
        return MISSING
    split = _SPLITS[line.plan.splits[0]]
    return f"{number(outcome.along_the_way, digits)}{_unit(line)} on the {split} split, not tested yet"


def _unit(line: Line) -> str:
    return " %" if line.percent else ""


def ratio(line: Line) -> str:
    """Write ours over theirs; of a row that diverged there is none.

    >>> times(0.84), times(1.0193), times(1.3712), times(127.2), times(4321.0)
    ('0.84 x', '1.02 x', '1.4 x', '130 x', '4,300 x')
    """
    diverged = line.outcome is not None and line.outcome.status == "diverged"
    return MISSING if line.ratio is None or diverged else times(line.ratio)


def times(value: float) -> str:
    """Write a factor with two digits, or three where it is nearly one."""
    if 0.9 < value < 1.1:
        return f"{value:#.3g} x"
    rounded = float(f"{value:.2g}")
    return (f"{rounded:,.0f}" if rounded >= 10 else number(rounded, 2)) + " x"


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
    if outcome.changed:
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
    found = []
    if row.said and row.published is not None:
        found.append(f"The paper: {row.said}.")
    if row.note:
        found.append(row.note if row.note.endswith((".", "!", "?")) else f"{row.note}.")
    if row.trained_as is not None:
        found.append(f"The trained network of {line.experiment.rows[row.trained_as].label}, measured again.")
    if outcome is None:
        return found
    if row.parameters is not None and outcome.parameters is not None and row.parameters != outcome.parameters:
        found.append(f"{outcome.parameters:,} parameters; in the paper {row.parameters:,}.")
    if outcome.status == "complete" and outcome.unfinished:
        are = "is" if outcome.unfinished == 1 else "are"
        found.append(f"{outcome.unfinished} of {outcome.total} seeds {are} unfinished and left out.")
    if outcome.changed:
        found.append(f"Other settings than the paper's: {'; '.join(map(str, outcome.changed))}.")
    if outcome.outdated:
        found.append("The settings of this row have changed since: run it again.")
    if outcome.revisions:
        found.append(
            f"Stale: made with an older version of the arithmetic ({'; '.join(outcome.revisions)}). Run it again with "
            f"`{line.command} --rerun-stale`."
        )
    return found


def verdict(finding: Finding) -> str:
    """Write whether a claim holds; "so far" where training was shorter than the paper's."""
    return _VERDICTS[finding.verdict] + (", so far" if finding.provisional else "")


def statement(finding: Finding) -> str:
    """Write what is claimed, without its row."""
    line, claim = finding.line, finding.line.row.claim
    assert claim is not None
    metric = names.quantity(line.metric)
    if finding.other is not None:
        return f"{metric} below that of {finding.other.row.label}"
    word, value = ("below", claim.below) if claim.below is not None else ("above", claim.above)
    assert value is not None
    bound = line.bound(value)
    return f"{metric} {word} {number(bound, digits_of(bound)) if bound < 1e-3 else f'{bound:g}'}{_unit(line)}"


def evidence(finding: Finding) -> str:
    """Write what speaks for or against a claim: numbers, budget, how far the runs came."""
    if finding.outcome is None:
        return finding.because
    sides = [(ours(finding.line, finding.outcome), length(finding.outcome))]
    if finding.other is not None and finding.other_outcome is not None:
        sides.append((ours(finding.other, finding.other_outcome), length(finding.other_outcome)))
    if len({came for _, came in sides}) == 1:
        parts = [" against ".join(found for found, _ in sides)]
        parts += [sides[0][1]] if sides[0][1] != MISSING else []
    else:
        parts = [" against ".join(f"{found} ({came})" for found, came in sides)]
    if finding.outcome.status != "computed":
        count = len(finding.outcome.runs)
        parts.append(f"{count} seed{'s' * (count != 1)}")
    return "; ".join([", ".join(parts), *([finding.because] if finding.because else [])])


def measured(sheet: Sheet) -> str:
    """Say what the numbers of a table are."""
    kinds = list(dict.fromkeys((line.metric, line.measure) for line in sheet.lines))
    if sheet.experiment.analysis is not None:
        metrics = ", ".join(dict.fromkeys(names.quantity(metric) for metric, _ in kinds))
        return f"{metrics}, computed by eigenloop analyse {sheet.experiment.analysis.name}"
    chosen = all("valid" in line.plan.splits for line in sheet.lines if line.plan.splits)
    written = "; ".join(
        f"{names.quantity(metric)} {MEASURES[measure] if chosen or measure != 'test' else _UNCHOSEN}"
        for metric, measure in kinds
    )
    return f"{written}; {'higher' if sheet.experiment.higher_is_better else 'lower'} is better"


def unlisted(findings: Sequence[Finding]) -> str:
    """Say which claims have no line of their own; an empty string where all have.

    "Not listed: 20 about computed numbers, which hold, and 4 about rows that were not run."
    """
    computed = sum(finding.expected for finding in findings)
    untouched = sum(finding.untouched for finding in findings)
    parts = [f"{computed} about computed numbers, which hold"] * bool(computed)
    parts += [f"{untouched} about rows that were not run"] * bool(untouched)
    return f"Not listed: {', and '.join(parts)}." if parts else ""


def counted(sheets: Sequence[Sheet]) -> str:
    """Say how many rows are filled in, and with what.

    "3 of 7 published rows are filled in: 1 analytic, 2 at budget hour, of which 1 is unfinished."
    """
    lines = [line for sheet in sheets for line in sheet.lines]
    outcomes = [line.outcome for line in lines if line.outcome is not None]
    kinds = [budget(outcome) for outcome in outcomes]
    parts = [
        f"{kinds.count(kind)} {kind if kind == 'analytic' else f'at budget {kind}'}"
        for kind in ("analytic", "hour", "full")
        if kind in kinds
    ]
    unfinished = sum(outcome.status == "unfinished" for outcome in outcomes)
    if unfinished:
        parts.append(f"{unfinished} of them unfinished")
    start = f"{len(outcomes)} of {len(lines)} published rows {'is' if len(outcomes) == 1 else 'are'} filled in"
    return f"{start}: {', '.join(parts)}." if parts else f"{start}."
