"""The verdict on a run: a sentence computed from its numbers."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from eigenloop.report import names, settings
from eigenloop.report.groups import Entry, Group
from eigenloop.report.values import finite
from eigenloop.runs import Run
from eigenloop.text.names import enumeration
from eigenloop.text.numbers import significant
from eigenloop.text.typography import THIN, quantity

#: A score this factor below the baseline counts as solved; one within this relative distance as staying at it.
SOLVED, LEVEL = 10.0, 0.05
#: 1/2, 1/3 and so on to 1/20 in words.
FRACTIONS = (
    *("half", "a third", "a quarter", "a fifth", "a sixth", "a seventh", "an eighth", "a ninth", "a tenth"),
    *("an eleventh", "a twelfth", "a thirteenth", "a fourteenth", "a fifteenth", "a sixteenth", "a seventeenth"),
    *("an eighteenth", "a nineteenth", "a twentieth"),
)
#: The verdict in words, for one run and for several.
OUTCOMES = {
    "solved": ("solved it", "solved it"),
    "better": ("beat the baseline", "beat the baseline"),
    "level": ("stayed at the baseline", "stayed at the baseline"),
    "worse": ("did not reach the baseline", "did not reach the baseline"),
    "reached": ("has no baseline to be compared with", "have no baseline to be compared with"),
    "diverged": ("diverged", "diverged"),
    "unfinished": ("is not finished", "are not finished"),
    "unknown": ("was not evaluated", "were not evaluated"),
}


@dataclass(frozen=True)
class Score:
    """The number by which a run is judged, and its source; `evaluated` is False for a number from training batches."""

    value: float
    source: str
    evaluated: bool = True


@dataclass(frozen=True)
class Verdict:
    """The verdict on a run.

    Attributes:
        outcome: a key of OUTCOMES.
        sentence: the verdict as text that follows the run's name.
        caption: the metric and the source of the score.
    """

    entry: Entry
    outcome: str
    sentence: str
    score: Score | None
    caption: str

    @property
    def value(self) -> str:
        """Its score as text."""
        return quantity(self.score.value if self.score else None)


def score(run: Run, metric: str) -> Score | None:
    """Return the number by which a run is judged: the test, else the best validation, else the last measurement."""
    if run.summary:
        candidates = [
            (run.summary.test, "test set"),
            (run.summary.best, "best validation"),
            (run.summary.final.get("valid", {}), "last validation"),
            (run.summary.final.get("test", {}), "test set"),
        ]
        for numbers, source in candidates:
            value = finite((numbers or {}).get(metric))
            if value is not None:
                return Score(value, source)
    for kind, source in (("valid", "validation"), ("test", "test set"), ("train", "training")):
        for line in reversed(run.lines[kind]):
            value = finite(line.values.get(metric))
            if value is not None:
                return Score(value, f"{source} at step {quantity(line.step)}", evaluated=kind != "train")
    return None


def judge(entry: Entry, group: Group) -> Verdict:
    """Judge a run by the metric of its task and the known baseline."""
    run, scored = entry.run, score(entry.run, group.metric)
    own = run.summary.baseline.get(group.metric) if run.summary else None
    baseline = finite(own if own is not None else next(iter(group.baselines(group.metric)), None))
    written = names.quantity(group.metric)
    caption = f"{written}, {scored.source}" if scored else "not evaluated"
    if scored is None:
        outcome, sentence = _unscored(run)
    else:
        solved = run.status == "solved"
        outcome, lead, rest = compare(written, scored.value, baseline, group.higher_is_better, solved=solved)
        if not scored.evaluated:
            rest = _plain(written, scored.value, baseline)
        outcome, sentence = _with_status(run, scored, outcome, lead, rest)
    return Verdict(entry, outcome, sentence, scored, caption)


def judge_seeds(entries: Sequence[Entry], group: Group) -> Verdict:
    """Judge runs that differ only in the seed by the mean of their scores."""
    verdicts = [judge(entry, group) for entry in entries]
    if len(verdicts) == 1:
        return verdicts[0]
    values = [verdict.score.value for verdict in verdicts if verdict.score is not None]
    mean = Score(statistics.fmean(values), "test set")
    run, written = entries[0].run, names.quantity(group.metric)
    baseline = finite(run.summary.baseline.get(group.metric)) if run.summary else None
    solved = all(entry.run.status == "solved" for entry in entries)
    outcome, lead, rest = compare(written, mean.value, baseline, group.higher_is_better, solved=solved)
    sentence = (
        f"{lead}: {rest}. The mean of {len(values)} seeds, from {quantity(min(values))} to {quantity(max(values))}."
    )
    caption = f"\N{PLUS-MINUS SIGN} {quantity(statistics.stdev(values), 2)} over seeds; {written}, test set"
    return Verdict(settings.together(entries, group), outcome, sentence, mean, caption)


def compare(
    metric: str, value: float, baseline: float | None, higher_is_better: bool, *, solved: bool
) -> tuple[str, str, str]:
    """Compare a score with the baseline; return a key of OUTCOMES, the verdict in words, and the numbers as text."""
    if baseline is None:
        return "solved" if solved else "reached", "solved it" if solved else "finished", _plain(metric, value, None)
    plain = _plain(metric, value, baseline)
    gain = (value - baseline) if higher_is_better else (baseline - value)
    ratio = baseline / value if not higher_is_better and value > 0 and baseline > 0 else None
    beaten = ratio is not None and ratio >= SOLVED
    if not (solved or beaten) and abs(gain) <= LEVEL * abs(baseline):
        return "level", "stayed at the baseline", plain
    if not solved and gain < 0:
        return "worse", "did not reach the baseline", plain
    lead = "solved it" if solved or beaten else "beat the baseline"
    if ratio is not None and ratio > 1:
        plain = f"{metric} {quantity(value)}, {share(ratio)} the baseline of {quantity(baseline)}"
    return "solved" if solved or beaten else "better", lead, plain


def _plain(metric: str, value: float, baseline: float | None) -> str:
    if baseline is None:
        return f"{metric} {quantity(value)}, with no baseline to compare it to"
    return f"{metric} {quantity(value)}, baseline {quantity(baseline)}"


def share(ratio: float) -> str:
    """Return words for a value that is `ratio` times smaller than another.

    >>> share(12.4), share(3), share(183)
    ('about a twelfth of', 'a third of', 'about 180 times less than')
    """
    whole = round(ratio)
    if ratio < 1.75:
        return f"{max(round(100 * (1 - 1 / ratio)), 1)}{THIN}% less than"
    if whole <= len(FRACTIONS) + 1:
        about = "" if abs(ratio - whole) <= 0.02 * whole else "about "
        return f"{about}{FRACTIONS[whole - 2]} of"
    return f"about {quantity(significant(ratio, 2))} times less than"


def _unscored(run: Run) -> tuple[str, str]:
    reason = _reason(run)
    if run.status == "diverged":
        return "diverged", f"diverged{reason} and has no score."
    if run.summary is None:
        step = f" at step {quantity(run.steps)}" if run.steps is not None else ""
        return "unfinished", f"is not finished: nothing has been measured yet{step}."
    return "unknown", f"{run.status}{reason}, but was not evaluated."


def _with_status(run: Run, scored: Score, outcome: str, lead: str, rest: str) -> tuple[str, str]:
    if run.status == "diverged":
        return "diverged", f"diverged{_reason(run)}. Before that: {rest}."
    if run.summary is None:
        trained = "" if scored.evaluated else "it has not been evaluated yet; training "
        return "unfinished", f"is not finished. So far: {trained}{rest}."
    if not scored.evaluated:
        return "unknown", f"{run.status}{_reason(run)}, but was not evaluated; training {rest}."
    if run.status == "stopped":
        return outcome, f"{lead}: {rest}. It was stopped{_reason(run)}."
    return outcome, f"{lead}: {rest}."


def _reason(run: Run) -> str:
    reason = run.summary.reason if run.summary else None
    return f" ({reason.strip().rstrip('.')})" if reason else ""


def ranked(verdicts: Sequence[Verdict], higher_is_better: bool) -> list[Verdict]:
    """Sort verdicts by score, the best first; then runs with training values only, then those without a score."""

    def place(verdict: Verdict) -> tuple[int, float]:
        if verdict.score is None:
            return 2, 0.0
        return int(not verdict.score.evaluated), -verdict.score.value if higher_is_better else verdict.score.value

    return sorted(verdicts, key=place)


def lead(verdicts: Sequence[Verdict]) -> str:
    """Return one sentence on the outcomes of all runs of a task."""
    clauses = []
    for outcome, (one, several) in OUTCOMES.items():
        labels = [verdict.entry.label for verdict in verdicts if verdict.outcome == outcome]
        if labels:
            clauses.append(f"{enumeration(labels)} {one if len(labels) == 1 else several}")
    return "; ".join(clauses) + "."
