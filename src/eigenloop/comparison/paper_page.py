"""``docs/results/PAPER.md``: every row of a paper, and where paper, code and runs differ."""

from __future__ import annotations

from collections.abc import Sequence

from eigenloop.comparison import verdicts, wording
from eigenloop.comparison.claims import findings
from eigenloop.comparison.markup import bullets, code, escaped, linked, prose, table
from eigenloop.comparison.papers import Paper
from eigenloop.comparison.scorecard import Score, scores
from eigenloop.comparison.table import Line, Sheet

#: The relative path from the page to the root of the repository.
ROOT = "../../"
_COLUMNS = ("row", "published", "ours", "ratio", "length", "seeds")


def render(paper: Paper, sheets: Sequence[Sheet]) -> str:
    """Return the Markdown of a paper's page."""
    untested = [score for score in scores(findings(sheets)) if not score.was_run]
    cited = f"{escaped(paper.authors)}: *{escaped(paper.title)}*, {paper.year}." if paper.title else ""
    parts = [
        f"# {escaped(paper.name)}: published results, and ours",
        " ".join(filter(None, (cited, wording.counted(sheets)))),
        *([prose(paper.about)] if paper.about else []),
        "[All papers](../../RESULTS.md) · [curves](../results.html) · [errors found in the papers](../errata.md)",
        *(part for sheet in sheets for part in _sheet(sheet, untested)),
    ]
    if differences := wording.differences(sheets):
        parts.append("## Where the paper, its code and our runs differ")
        parts.append(
            "Where the paper and its code disagree, or the paper is silent, this is what was done here. Budget full is "
            "the paper's length and budget hour a shorter run (`eigenloop reproduce --budget`). [Errata](../errata.md) "
            "has a reproducer for the errors that change a result."
        )
        for items, texts in differences.items():
            parts += [f"**{escaped(items)}**", bullets([linked(text, ROOT) for text in texts])]
    return "\n\n".join(parts) + "\n"


def _sheet(sheet: Sheet, untested: Sequence[Score]) -> list[str]:
    experiment = sheet.experiment
    parts = [
        f'## <a id="{experiment.name}"></a>{escaped(experiment.item)}: {escaped(experiment.title)}',
        code(sheet.command),
    ]
    if sheet.run:
        parts.append(_capital(prose(wording.measured(sheet))) + ".")
        rows = [_row(line) for line in sheet.shown]
        parts.append(table(_COLUMNS, rows, _COLUMNS[1:4] if sheet.numbers else ("ours",)))
    if missing := wording.not_run(sheet):
        parts.append(f"Not run: {escaped(missing)}.")
    if noted := wording.noted(sheet.shown):
        parts.append(bullets([f"**{escaped(rows)}**: {linked(text, ROOT)}" for rows, text in noted]))
    if own := [score for score in untested if score.experiment is experiment]:
        claims = [f"{escaped(verdicts.subject(score))}: {prose(score.said)}" for score in own]
        parts += ["Claims that no run tests yet:", bullets(claims)]
    return parts


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _row(line: Line) -> tuple[str, ...]:
    published = wording.published(line)
    return (
        escaped(line.row.label),
        escaped(published) if line.published is not None else prose(published),
        escaped(wording.ours(line)),
        wording.ratio(line),
        wording.length(line.outcome),
        wording.seeds(line.outcome),
    )
