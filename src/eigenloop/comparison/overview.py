"""The contents of the summary, for Markdown and HTML: counts, failures with their causes, and what is still to run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from eigenloop.comparison import costs, verdicts, wording
from eigenloop.comparison.outcomes import COUNTING, Outcome
from eigenloop.comparison.pairs import GUESSING, OFF, beyond, far_off, guessing, numbers, one_guesses
from eigenloop.comparison.papers import Paper, with_others
from eigenloop.comparison.scorecard import Score
from eigenloop.comparison.table import Line, Sheet
from eigenloop.experiments import Experiment

ABOUT = (
    "Four papers on recurrent networks with a constrained spectrum, run again with this library. The page of each "
    "paper has every row, what differs from the paper, and one command for each table; all settings are in "
    "`src/eigenloop/experiments/data`."
)
NUMBERS = (
    "Lower is better. Ours with ± is the mean and the standard deviation over several seeds, "
    "without it one seed. The ratio is ours over published."
)
MARK = f"{wording.SHORTER} marks a run that is shorter than the paper's"
SHORTER = f" {MARK}, which has no ratio."
NAMES = (
    "A number after the name of a model is its hidden size, and T the length of a sequence. nnRNN's W is P Theta Pᵀ "
    "with P orthogonal; Theta has blocks, gamma times a rotation by theta, on its diagonal, and a strictly lower "
    "triangle (the T of the paper's formulas). Uc, Ur and Uu are the recurrent matrices of NC-GRU's candidate, reset "
    "and update gate; those in brackets are orthogonal. Weights of QORNN have k bits. The other models are those "
    "that the papers compare with, most of them with an orthogonal or unitary W (`eigenloop list models`)."
)
FAILURES = (
    f"Claims that fail, and numbers that differ from the published ones by more than a factor of {OFF:g}, or where "
    f"only one of the two is at the level of guessing, {GUESSING:.0%} of its loss or more (in brackets, ours over "
    "published), with what is known of the cause. What it is known from, and what else was tried, is on the page of "
    "the paper."
)
TUNED = (
    "What a method can do where the paper's own settings are not the best ones. Ours were chosen on validation data, "
    "never on test data, among the few variants of `investigations/our_settings.py`; task, size and number of steps "
    f"are those of the run with the paper's settings ({MARK}). The other models of a table keep the paper's settings, "
    "so these numbers decide no claim."
)
TIMES = (
    "The times are what these rows take at the paper's length with one seed, on one core: some steps of each were "
    "timed on a machine that did nothing else (`benchmarks/hours.py`), without evaluations. The times of runs in the "
    "tables above are of machines that were often busy, and longer."
)


@dataclass(frozen=True)
class Chapter:
    """A paper with the tables and claims that we have of it."""

    paper: Paper
    sheets: tuple[Sheet, ...]
    scores: tuple[Score, ...]

    @property
    def counts(self) -> tuple[str, ...]:
        """How many published numbers we have, how many at the paper's length, and the claims by verdict."""
        printed = sum(
            line.published is not None for sheet in self.sheets if not sheet.experiment.analysis for line in sheet.lines
        )
        ours = numbers(self.sheets)
        claims = verdicts.tally(self.scores)
        whole = sum(line.comparable for line in ours)
        share = f"{len(ours)} of {printed}" if printed else "none printed"
        return (share, str(whole) if printed else wording.MISSING, *(str(count) for count in claims.values()))


#: The headings of `Chapter.counts`.
COUNTED = ("numbers", "at the paper's length", "claims: yes", "in part", "no", "open", "not run", "computed: yes")


def chapters(sheets: Sequence[Sheet], judged: Sequence[Score]) -> list[Chapter]:
    """Group tables and claims by paper."""
    return [
        Chapter(paper, own, tuple(score for score in judged if score.experiment.paper == paper.name))
        for paper in with_others(sheet.experiment.paper for sheet in sheets)
        if (own := tuple(sheet for sheet in sheets if sheet.experiment.paper == paper.name))
    ]


def about_numbers(sheets: Sequence[Sheet]) -> str:
    """Return how the table of numbers is read; shorter runs are explained if there are any."""
    return NUMBERS + ("" if all(line.comparable for line in numbers(sheets)) else SHORTER)


def in_short(sheets: Sequence[Sheet], judged: Sequence[Score]) -> str:
    """Return how close our numbers are to the published ones, and how many of the claims hold."""
    return " ".join(filter(None, (_agreement(sheets), _holding(judged))))


def _holding(judged: Sequence[Score]) -> str:
    counts = verdicts.tally(judged)
    plain = sum(score.decided for score in judged if score.listed and score.answer == "yes")
    return (
        f"Of {sum(counts.values())} claims {counts['computed']} are about computed numbers and hold. Of the others "
        f"{counts['yes']} hold ({plain} with the paper's settings and at least three seeds), {counts['in part']} hold "
        f"in part, {counts['no']} do not hold, {counts['open']} are open, and {counts['not run']} were not run."
    )


def _agreement(sheets: Sequence[Sheet]) -> str:
    ours = [line for line in numbers(sheets) if line.ratio is not None]
    if not ours:
        return ""
    close = [line for line in ours if not beyond(line)]
    counts = {s: sum(line.standing == s and beyond(line) for line in ours) for s in ("better", "worse")}
    both, one = sum(all(guessing(line)) for line in close), sum(map(one_guesses, close))
    aside = f" (in {both} of them both are at the level of guessing, in {one} only one of the two)" * bool(both + one)
    single = sum(len(line.outcome.runs) == 1 for line in ours if line.outcome is not None)
    return (
        f"At the paper's length, within a factor of {OFF:g} of the published number: {len(close)} of "
        f"{len(ours)}{aside}; better by more: {counts['better']}; worse: {counts['worse']}; from one seed: {single}."
    )


def where(experiment: Experiment) -> str:
    """Return the paper and the table's name; what follows a semicolon (figures that show the same) is left out."""
    return f"{experiment.paper}, {experiment.item.partition(';')[0]}"


@dataclass(frozen=True)
class Failure:
    """Claims or numbers that did not reproduce, and their causes; there are none if it has not been investigated.

    Attributes:
        what: what is stated of each, and our numbers.
    """

    what: tuple[tuple[str, str], ...]
    causes: tuple[str, ...]

    @property
    def explanation(self) -> str:
        """The causes, or a sentence that says that none is known."""
        return " ".join(self.causes) or "Not investigated yet."


#: A number that is learned, such as a mean of eigenvalues, is neither better nor worse.
_STANDINGS = {"better": "Better than", "worse": "Worse than", "differs": "Different from"}


def failures(sheets: Sequence[Sheet], judged: Sequence[Score]) -> list[tuple[Experiment, list[Failure]]]:
    """List, for each table, the claims that fail and the numbers that are far from the published ones."""
    tables = []
    for sheet in sheets:
        failing = [score for score in judged if score.experiment is sheet.experiment and score.failing]
        if own := _merged([*map(_failed, failing), *_far(sheet)]):
            tables.append((sheet.experiment, own))
    return tables


def _failed(score: Score) -> Failure:
    own = _causes(finding.line for finding in score.failing)
    others = _causes(finding.other for finding in score.failing if finding.other is not None)
    return Failure((verdicts.failures(score),), others or own)


def _far(sheet: Sheet) -> list[Failure]:
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in far_off([sheet]):
        groups.setdefault((line.standing or "differs", line.row.cause or ""), []).append(line)
    listed = []
    for (standing, cause), lines in groups.items():
        rows = "; ".join(f"{line.row.label} ({wording.ratio(line)})" for line in lines)
        listed.append(Failure(((f"{_STANDINGS[standing]} published:", rows),), (cause,) if cause else ()))
    return listed


def _merged(failures: Iterable[Failure]) -> list[Failure]:
    """Merge failures into one whose causes include all of theirs; those without a cause stand last, on their own."""
    groups: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    listed = list(failures)
    for failure in listed:
        including = (other.causes for other in listed if failure.causes and {*failure.causes} <= {*other.causes})
        groups.setdefault(max(including, key=len, default=()), []).extend(failure.what)
    return [Failure(tuple(groups[causes]), causes) for causes in sorted(groups, key=lambda causes: not causes)]


def _causes(lines: Iterable[Line]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line.row.cause for line in lines if line.row.cause))


@dataclass(frozen=True)
class Missing:
    """The rows of a table that were not run at all, or not at the paper's length."""

    sheet: Sheet
    missing: tuple[Line, ...]
    shorter: tuple[Line, ...]

    @property
    def lines(self) -> tuple[Line, ...]:
        """All of these rows."""
        return (*self.missing, *self.shorter)

    @property
    def cells(self) -> tuple[str, str, str]:
        """The number of rows not run, of rows run shorter, and the time that they take."""
        trained = self.sheet.experiment.analysis is None
        hours = costs.written(costs.total(self.lines)) if trained else ""
        return (str(len(self.missing) or ""), str(len(self.shorter) or ""), hours)


def missing(sheets: Sequence[Sheet]) -> list[Missing]:
    """List the tables with rows that were not run, or not at the paper's length."""
    every = [
        Missing(
            sheet,
            tuple(line for line in sheet.lines if not line.filled),
            tuple(line for line in sheet.run if _trained(line) and not line.comparable),
        )
        for sheet in sheets
    ]
    return [each for each in every if each.missing or each.shorter]


def _trained(line: Line) -> bool:
    return line.outcome is not None and line.outcome.progress is not None


@dataclass(frozen=True)
class Improvement:
    """A model with the paper's settings, and with settings of ours."""

    paper: Line
    ours: Line
    changes: str

    @property
    def experiment(self) -> Experiment:
        """The table that both stand in."""
        return self.ours.experiment

    @property
    def outcomes(self) -> tuple[Outcome, Outcome] | None:
        """The runs of both at the largest budgets that plan equally long trainings; None if there are none."""
        budgets = [(one, other) for one in COUNTING for other in COUNTING]
        both = ((self.paper.outcomes.get(one), self.ours.outcomes.get(other)) for one, other in budgets)
        return next(((one, other) for one, other in both if one and other and _equally_long(one, other)), None)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The number with the paper's settings and that with ours."""
        lines = (self.paper, self.ours)
        return tuple(wording.marked(line, outcome) for line, outcome in zip(lines, self.outcomes or (), strict=True))


def _equally_long(one: Outcome, other: Outcome) -> bool:
    if one.progress is None or other.progress is None or one.progress.planned is None:
        return False
    return (one.progress.unit, one.progress.planned) == (other.progress.unit, other.progress.planned)


def tuned(sheets: Sequence[Sheet]) -> list[Improvement]:
    """List the models that were run with the paper's settings and with ours, for equally long."""
    every = (
        Improvement(sheet.line(line.row.tuned.row), line, line.row.tuned.changes)
        for sheet in sheets
        for line in sheet.tuned
        if line.row.tuned is not None
    )
    return [each for each in every if each.outcomes is not None]


def computed(sheets: Sequence[Sheet]) -> list[tuple[Sheet, str]]:
    """Return, for each table of computed numbers, a sentence that says how many agree."""
    sentences = []
    for sheet in sheets:
        own = [line for line in sheet.run if line.published is not None]
        if sheet.experiment.analysis is not None and own:
            same = sum(line.standing == "same" for line in own)
            worst = max((abs(line.ratio - 1) for line in own if line.ratio is not None), default=0.0)
            rest = f"; the others differ by up to {100 * worst:.2g} %" if same < len(own) else ""
            sentences.append((sheet, f"{same} of {len(own)} computed numbers agree in every printed digit{rest}."))
    return sentences
