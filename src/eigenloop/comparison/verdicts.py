"""Text of the verdict on a claim."""

from __future__ import annotations

from collections.abc import Sequence

from eigenloop.comparison import costs, wording
from eigenloop.comparison.claims import FACTOR, Finding, Side
from eigenloop.comparison.scorecard import Score
from eigenloop.report import names
from eigenloop.text.numbers import digits_of, number, printed

#: How the table of claims is read.
READING = (
    'A plain "yes" or "no" means that the runs have the paper\'s task, length and settings, and at least three seeds; '
    'otherwise the words after the comma say what differs. "Open" means that the runs do not decide it. A claim may '
    'stand for several comparisons: in brackets is how many of them hold. "Computed" are results without training. '
    'Where the paper has words and no number, "our criterion" is the number that we judge them by. The rules and the '
    "names are below the table."
)
#: The rest of what the words of a verdict mean, for below the table; the rules are in `eigenloop.comparison.claims`.
RULES = (
    "Runs do not decide a claim if the difference is within the spread over seeds (with one seed: below a factor of "
    f"{FACTOR:g}; seeds of one model have differed up to tenfold, so a verdict on one seed may change), if the task is "
    "smaller than the paper's, if a run is unfinished, or if the claim is that training reaches a level, or never "
    "does, and a shorter run has not reached it. A difference that the paper calls significant has to be larger than "
    'the spread: with three seeds, one that is not is a "no". One model matches another if it is not worse by more '
    'than the spread. Of several comparisons, those that do not hold fail or are open, and "in part" means that some '
    "hold and some fail. The table shows the one that fails most clearly, or else the closest."
)


def subject(score: Score) -> str:
    """Return the rows that a claim is about; the first and the number of others if there are more than two."""
    rows = score.rows
    return "; ".join(rows) if len(rows) <= 2 else f"{rows[0]} and {len(rows) - 1} more rows"


def verdict(score: Score) -> str:
    """Return whether a claim holds, in how many comparisons, and its limits: "in part (6 of 8), one seed".

    If it is open, the reason stands in place of the limits: "open (4 of 10 hold so far): one seed, and ...".
    """
    share = f"{score.holding} of {len(score.findings)}"
    if score.answer == "open":
        shown = score.shown
        reason = ", ".join(shown.limits) or shown.because if shown.verdict == "undecided" else "others were not run"
        return f"open ({share} hold so far): {reason}" if score.holding else f"open: {reason}"
    answer = f"in part ({share})" if score.answer == "in part" else score.answer
    return ", ".join([answer, *score.limits])


def ours(score: Score) -> str:
    """Return our numbers for the comparison that is shown."""
    finding = score.shown
    if len(finding.sides) == 1 and len(score.rows) == 1 and finding.other is None:
        parts = [_compared(finding.sides[0], finding)]
    else:
        parts = [f"{side.line.row.label}: {_compared(side, finding)}" for side in finding.sides]
    return "; ".join(parts) + ("" if finding.other is not None else f" ({bound(finding)})")


def bound(finding: Finding) -> str:
    """Return the bound by which we judge a claim."""
    claim, line = finding.claim, finding.line
    word, value = ("below", claim.below) if claim.below is not None else ("above", claim.above)
    assert value is not None
    shown = line.bound(value)
    written = number(shown, digits_of(shown)) if shown < 1e-3 else f"{shown:g}"
    return f"our criterion: {names.quantity(line.metric)} {word} {written}{wording.unit(line)}"


def published(score: Score) -> str:
    """Return the paper's numbers for the comparison that is shown; a dash if it has only a picture."""
    finding = score.shown
    lines = [finding.line] if finding.other is None else [finding.line, finding.other]
    numbers = [
        printed(line.published, line.row.digits) + wording.unit(line) for line in lines if line.published is not None
    ]
    return "; ".join(numbers) if len(numbers) == len(lines) and finding.claim.reaches is None else wording.MISSING


def runs(score: Score) -> str:
    """Return the length of the runs, the number of seeds, and the time that they took."""
    outcomes = [side.outcome for side in score.shown.sides]
    if not outcomes or outcomes[0].status == "computed":
        trained = outcomes and outcomes[0].progress is not None
        return f"{wording.length(outcomes[0])}, one seed" if trained else "computed"
    lengths = list(dict.fromkeys(wording.length(outcome) for outcome in outcomes))
    plain = not any(outcome.shorter or outcome.other_task or outcome.status != "complete" for outcome in outcomes)
    parts = ["paper's length" if plain else "; ".join(lengths), _seeds([len(outcome.runs) for outcome in outcomes])]
    parts += [f"{outcome.diverged} more diverged" for outcome in outcomes if 0 < outcome.diverged < outcome.total]
    return ", ".join([*parts, costs.written(score.seconds / 3600)])


def _seeds(counts: Sequence[int]) -> str:
    """Return the fewest seeds of the rows that are compared, in words.

    >>> _seeds([1, 1]), _seeds([3, 1]), _seeds([3, 2])
    ('one seed', 'one seed of one row', '2 seeds')
    """
    if min(counts) > 1:
        return f"{min(counts)} seeds"
    return "one seed" if max(counts) == 1 else "one seed of one row"


def failures(score: Score) -> tuple[str, str]:
    """Return a claim, and the comparisons that contradict it; those of one row are listed together."""
    groups: dict[str, list[str]] = {}
    for finding in score.failing:
        own = f"{finding.line.row.label}: {_compared(finding.sides[0], finding)}"
        other = f" ({bound(finding)})" if finding.other is None else f", {_compared_with(finding)}"
        groups.setdefault(own, []).append(other)
    return f"Claim: {score.said}.", f"Ours: {'; '.join(own + ''.join(others) for own, others in groups.items())}"


def tally(own: Sequence[Score]) -> dict[str, int]:
    """Count the claims by answer; one without runs is "not run".

    Claims about computed numbers that hold are counted separately, so that "yes" is about trained networks.
    """
    counts = dict.fromkeys(("yes", "in part", "no", "open", "not run", "computed"), 0)
    for score in own:
        counts["computed" if score.expected else score.answer if score.was_run else "not run"] += 1
    return counts


def unlisted(own: Sequence[Score]) -> list[str]:
    """Return sentences that say how many claims are left out of the table, and why."""
    computed, untouched = sum(score.expected for score in own), sum(not score.was_run for score in own)
    sentences = [f"Claims about computed numbers that hold have no line here ({computed})."] * bool(computed)
    on_page = f"Claims that no run tests yet ({untouched}) are listed on the page of their paper."
    return sentences + [on_page] * bool(untouched)


def _compared_with(finding: Finding) -> str:
    side = finding.sides[1]
    return f"{side.line.row.label}: {_compared(side, finding)}"


def _compared(side: Side, finding: Finding) -> str:
    """Return the compared quantity of a row as text: its number, or the steps after which it reached a level."""
    quantity = side.quantity
    if finding.claim.reaches is None or quantity is None:
        return wording.ours(side.line, side.outcome)
    level = f"{finding.line.bound(finding.claim.reaches):g}{wording.unit(side.line)}"
    if quantity.missed == quantity.count:
        return f"{level} not reached in {quantity.mean:,.0f} steps"
    missed = f" (not at all with {quantity.missed} of {quantity.count} seeds)" if quantity.missed else ""
    return f"{level} after {quantity.mean:,.0f} steps{missed}"
