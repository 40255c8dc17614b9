"""``RESULTS.md``: claims, numbers, failures and what was not run, on one page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from eigenloop.comparison import costs, overview, verdicts, wording
from eigenloop.comparison.claims import findings
from eigenloop.comparison.markup import bullets, escaped, linked, nested, prose, table
from eigenloop.comparison.pairs import pairs
from eigenloop.comparison.papers import WITHOUT_A_ROW
from eigenloop.comparison.scorecard import Score, scores
from eigenloop.comparison.table import Line, Sheet
from eigenloop.experiments import Experiment


def render(sheets: Sequence[Sheet]) -> str:
    """Return the Markdown of the page."""
    judged = scores(findings(sheets))
    counted = [
        (f"[{escaped(chapter.paper.name)}]({page_of(chapter.paper.name)})", *chapter.counts)
        for chapter in overview.chapters(sheets, judged)
    ]
    parts = [
        "# Published results, and ours",
        f"{overview.ABOUT} [The same with all curves](docs/results.html) is one page to open in a browser. "
        f"**{wording.counted(sheets)}** {overview.in_short(sheets, judged)}",
        table(("paper", *overview.COUNTED), counted, overview.COUNTED),
        *_claims(judged),
        *_numbers(sheets),
    ]
    if tuned := overview.tuned(sheets):
        columns = ("where", "model", "the paper's settings", "settings of ours", "what differs")
        rows = [
            (
                f"{_link(each.experiment)}: {prose(each.experiment.title)}",
                escaped(each.paper.row.label),
                *map(escaped, each.numbers),
                linked(each.changes, ""),
            )
            for each in tuned
        ]
        parts += ["## With settings of ours", overview.TUNED, table(columns, rows, columns[2:4])]
    if failures := overview.failures(sheets, judged):
        parts += ["## What did not reproduce", overview.FAILURES, bullets(_failures(failures))]
    if missing := overview.missing(sheets):
        parts += ["## What was not run, or shorter than in the paper", prose(overview.TIMES)]
        parts.append(bullets(_missing(missing)))
    parts.append(
        f"{prose(WITHOUT_A_ROW)} This page is made from `results/` by `make results` (`eigenloop report --published`). "
        "To change it, edit the experiments in `src/eigenloop/experiments/data` or run them; `eigenloop reproduce "
        "EXPERIMENT` runs one."
    )
    return "\n\n".join(parts) + "\n"


def page_of(paper: str) -> str:
    """Return the path of a paper's page; its name is the prefix of the paper's experiments."""
    return f"docs/results/{paper.lower().replace('-', '')}.md"


def _link(experiment: Experiment, text: str | None = None) -> str:
    return f"[{escaped(text or overview.where(experiment))}]({page_of(experiment.paper)}#{experiment.name})"


def _links(experiments: Iterable[Experiment]) -> list[str]:
    """Return a link for the first of consecutive rows of a table, and an empty cell for the others."""
    links, before = [], ""
    for experiment in experiments:
        links.append(_link(experiment) if experiment.name != before else "")
        before = experiment.name
    return links


def _claims(judged: Sequence[Score]) -> list[str]:
    listed = [score for score in judged if score.listed]
    rows = [
        (
            link,
            f"{escaped(verdicts.subject(score))}: {prose(score.said)}",
            _bold(score),
            escaped(verdicts.ours(score)),
            escaped(verdicts.published(score)),
            escaped(verdicts.runs(score)),
        )
        for score, link in zip(listed, _links(score.experiment for score in listed), strict=True)
    ]
    about = " ".join((verdicts.READING, *verdicts.unlisted(judged)))
    columns = ("where", "claim, shortened", "verdict", "ours", "published", "runs")
    below = f"**Rules.** {verdicts.RULES} **Names.** {prose(overview.NAMES)}"
    return ["## Claims", about, *([table(columns, rows)] if rows else []), below]


def _bold(score: Score) -> str:
    written = escaped(verdicts.verdict(score))
    return f"**{written}**" if score.decided else written


def _numbers(sheets: Sequence[Sheet]) -> list[str]:
    every = pairs(sheets)
    rows = [
        (
            f"{link}: {prose(pair.sheet.experiment.title)}" if link else "",
            escaped(pair.label),
            *_cells(pair.first),
            *_cells(pair.second),
        )
        for pair, link in zip(every, _links(pair.sheet.experiment for pair in every), strict=True)
    ]
    columns = ("where", "row", "published", "ours", "ratio", "longer T: published", "ours ", "ratio ")
    computed = [f"{_link(sheet.experiment)}: {sentence}" for sheet, sentence in overview.computed(sheets)]
    about = " ".join((overview.about_numbers(sheets), *computed))
    return ["## Numbers", about, *([table(columns, rows, columns[2:])] if rows else [])]


def _cells(line: Line | None) -> tuple[str, str, str]:
    return ("", "", "") if line is None else tuple(map(escaped, wording.pair(line)))  # type: ignore[return-value]


def _missing(missing: Sequence[overview.Missing]) -> list[str]:
    """Return an item for each paper: its tables that were not run in full, and the time that they take."""
    items = []
    for paper, group in groupby(missing, lambda each: each.sheet.experiment.paper):
        own = list(group)
        tables = []
        for each in own:
            not_run, shorter, time = each.cells
            counts = " and ".join([f"{not_run} not run"] * bool(not_run) + [f"{shorter} shorter"] * bool(shorter))
            experiment = each.sheet.experiment
            link = _link(experiment, overview.where(experiment).removeprefix(f"{paper}, "))
            tables.append(f"{link}, {escaped(experiment.title)}: {counts}{f', {time}' if time else ''}")
        hours = costs.total(line for each in own for line in each.lines)
        items.append(f"**{escaped(paper)}** ({costs.written(hours)}). {'; '.join(tables)}.")
    return items


def _failures(failures: Sequence[tuple[Experiment, Sequence[overview.Failure]]]) -> list[str]:
    """Return an item for each table, with an inner list if there is more than one failure."""
    items = []
    for experiment, own in failures:
        texts = []
        for each in own:
            stated = [f"**{escaped(lead)}** {escaped(rest)}." for lead, rest in each.what]
            texts.append(" ".join((*stated, linked(each.explanation, ""))))
        items.append(f"{_link(experiment)}. {texts[0]}" if len(texts) == 1 else nested(f"{_link(experiment)}:", texts))
    return items
