"""Text of numbers, lengths of runs and remarks, for the HTML page and the Markdown files."""

from __future__ import annotations

from collections.abc import Sequence

from eigenloop.comparison import costs
from eigenloop.comparison.outcomes import Outcome, Progress
from eigenloop.comparison.table import Line, Sheet
from eigenloop.experiments.plan import LEARNED
from eigenloop.experiments.schema import Measure
from eigenloop.report import names
from eigenloop.text.numbers import digits_of, number, printed, times, with_spread

MISSING = "\N{EN DASH}"
NOT_RUN = "not run"
#: The mark after the number of a run that is shorter than the paper's.
SHORTER = "\N{DEGREE SIGN}"
MEASURES = {
    "test": "on the test split, of the network that was best on the validation split",
    "best": "on the validation split, the best of the run",
    "final": "on the validation split, at the end of training",
    "lowest-train": "on training batches, the lowest mean over the steps between two logged ones",
    "final-train": "on training batches, the mean before the last logged step",
}
_UNCHOSEN = "on the test split at the end of training, since there is no validation split"
_SPLITS = {"valid": "validation", "test": "test"}


def published(line: Line) -> str:
    """Return the paper's number, or its words if it gives no number."""
    if line.published is not None:
        return printed(line.published, line.row.digits) + unit(line)
    return line.row.said or ("settings of ours" if line.row.tuned is not None else MISSING)


def ours(line: Line, outcome: Outcome | None = None) -> str:
    """Return our number for a row, of the outcome that is shown or of another."""
    outcome = outcome or line.outcome
    if outcome is None:
        return NOT_RUN
    if outcome.status == "diverged":
        return "diverged" if outcome.mean is None else f"diverged ({_mean(line, outcome)} before)"
    return _mean(line, outcome)


def _mean(line: Line, outcome: Outcome) -> str:
    # Accuracies often differ only in their last digits, so they are written with as many as the paper has.
    digits = max(digits_of(line.published), 3) if line.percent and line.published is not None else 3
    if outcome.status == "computed" and outcome.mean is not None and outcome.mean.is_integer():
        return f"{outcome.mean:,.0f}"  # a count
    if outcome.mean is not None:
        return with_spread(outcome.mean, outcome.spread, digits) + unit(line)
    if outcome.along_the_way is None:
        return MISSING
    split = _SPLITS[line.plan.splits[0]]
    return f"{number(outcome.along_the_way, digits)}{unit(line)} ({split} split)"


def unit(line: Line) -> str:
    """Return the unit that follows the numbers of a row."""
    return " %" if line.percent else ""


def ratio(line: Line) -> str:
    """Return our number divided by the published one, a dash if they are not comparable."""
    return MISSING if line.ratio is None else times(line.ratio)


def pair(line: Line) -> tuple[str, str, str]:
    """Return the published number, ours and the ratio; a shorter run is marked and has no ratio."""
    return published(line), marked(line), "" if line.ratio is None else ratio(line)


def marked(line: Line, outcome: Outcome | None = None) -> str:
    """Return our number for a row, with a mark if the run is shorter than the paper's."""
    outcome = outcome or line.outcome
    return ours(line, outcome) + ("" if outcome is not None and outcome.comparable else SHORTER)


def length(outcome: Outcome | None) -> str:
    """Return how long the runs of a row were trained, and how that differs from the paper."""
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
    """Return how many seeds the number is a mean of, out of how many; `remarks` say why some are left out."""
    if outcome is None or outcome.status == "computed":
        return MISSING
    count = len(outcome.runs)
    written = str(count) if count == outcome.total else f"{count} of {outcome.total}"
    lost = outcome.diverged if outcome.status != "diverged" else 0
    return f"{written}, {lost} diverged" if lost else written


def remarks(line: Line) -> list[str]:
    """List the remarks on a row as sentences: departures from the paper, notes, unfinished or stale runs."""
    row, outcome = line.row, line.outcome
    sentences = []
    if row.said and row.published is not None:
        sentences.append(f"The paper: {row.said}.")
    sentences += [_sentence(text) for text in (row.departs, row.note) if text]
    if row.tuned is not None:
        paper = line.experiment.rows[row.tuned.row].label
        sentences.append(_sentence(f"Instead of the settings of {paper}: {row.tuned.changes}"))
    if row.trained_as is not None:
        sentences.append(f"Measured on the trained network of {line.experiment.rows[row.trained_as].label}.")
    if outcome is None:
        return sentences
    if row.parameters is not None and outcome.parameters is not None and row.parameters != outcome.parameters:
        sentences.append(f"It has {outcome.parameters:,} parameters; the paper's has {row.parameters:,}.")
    if outcome.status == "complete" and outcome.unfinished:
        are = "is" if outcome.unfinished == 1 else "are"
        sentences.append(f"{outcome.unfinished} of {outcome.total} seeds {are} unfinished and not counted.")
    if outcome.changed:
        sentences.append(f"Settings that differ from the paper's: {'; '.join(map(str, outcome.changed))}.")
    if outcome.outdated:
        sentences.append("The settings of this row have changed since it was run: run it again.")
    if outcome.revisions:
        command = f"eigenloop reproduce {line.experiment.name} --budget {outcome.budget} --only {line.row_name}"
        sentences.append(
            f"Stale: made with an older version of the arithmetic ({'; '.join(outcome.revisions)}). Run it again with "
            f"`{command} --rerun-stale`."
        )
    return sentences


def noted(lines: Sequence[Line]) -> list[tuple[str, str]]:
    """List each distinct remark and each cause with its evidence once, as the labels of its rows and its sentences."""
    about: dict[str, list[str]] = {}
    for line in lines:
        cause = " ".join(_sentence(text) for text in (line.row.cause, line.row.evidence) if text)
        for remark in filter(None, (" ".join(remarks(line)), cause)):
            about.setdefault(remark, []).append(line.row.label)
    return [("; ".join(labels), remark) for remark, labels in about.items()]


def not_run(sheet: Sheet) -> str:
    """Return the rows of a table that were not run, with the time of each at the paper's length; may be empty."""
    missing = [line for line in sheet.lines if not line.filled]
    if not missing:
        return ""
    rows = [f"{line.row.label} ({cost(line)})" for line in missing]
    hours = costs.total(missing)
    return "; ".join(rows) + (f". In all {costs.written(hours)}" if hours is not None and len(rows) > 1 else "")


def cost(line: Line) -> str:
    """Return the time that a row takes at the paper's length, or why it takes none."""
    if line.row.trained_as is not None:
        return f"with {line.experiment.rows[line.row.trained_as].label}"
    return "quoted by the paper" if not line.plan.budgets else costs.written(line.hours)


def differences(sheets: Sequence[Sheet]) -> dict[str, list[str]]:
    """Return the differences between paper, code and our runs, each once, by the tables that they concern."""
    about: dict[str, list[str]] = {}
    for sheet in sheets:
        for difference in sheet.experiment.differences:
            about.setdefault(difference, []).append(sheet.experiment.item.partition(";")[0])
    by_tables: dict[str, list[str]] = {}
    for text, items in about.items():
        by_tables.setdefault("; ".join(items), []).append(text)
    return by_tables


def _sentence(text: str) -> str:
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def measured(sheet: Sheet) -> str:
    """Return a sentence that says what the numbers of a table measure."""
    kinds = list(dict.fromkeys((line.metric, line.measure) for line in sheet.lines))
    if sheet.experiment.analysis is not None:
        metrics = ", ".join(dict.fromkeys(names.quantity(metric) for metric, _ in kinds))
        return f"{metrics}, computed by `eigenloop analyse {sheet.experiment.analysis.name}`"
    chosen = all("valid" in line.plan.splits for line in sheet.lines if line.plan.splits)
    better = "higher is better" if sheet.experiment.higher_is_better else "lower is better"
    return "; ".join(f"{names.quantity(metric)} {_where(metric, measure, chosen, better)}" for metric, measure in kinds)


def _where(metric: str, measure: Measure, chosen: bool, better: str) -> str:
    if metric in LEARNED:  # neither high nor low is better
        return f"of the trained matrix, {'best on the validation split' if chosen else 'at the end of training'}"
    return f"{MEASURES[measure] if chosen or measure != 'test' else _UNCHOSEN} ({better})"


def counted(sheets: Sequence[Sheet]) -> str:
    """Return a sentence that says how many published numbers we have, trained and computed counted separately."""
    lines = [line for sheet in sheets for line in sheet.lines]
    numbers = [line for line in lines if line.published is not None]
    parts = []
    if trained := [line for line in numbers if line.experiment.analysis is None]:
        ours = [line for line in trained if line.outcome is not None and line.outcome.mean is not None]
        whole = sum(line.comparable for line in ours)
        length = f", {whole or 'none'} of them at the paper's length" if ours else ""
        parts.append(f"{len(ours)} of {len(trained)} published numbers for trained networks{length}")
    if computed := [line for line in numbers if line.experiment.analysis is not None]:
        parts.append(f"{sum(line.filled for line in computed)} of {len(computed)} computed numbers")
    if words := [line for line in lines if line.published is None and line.row.said]:
        parts.append(
            f"{sum(line.filled for line in words)} of {len(words)} results that the papers show as curves or in words"
        )
    return f"Re-run: {'; '.join(parts)}."
