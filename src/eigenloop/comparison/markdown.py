"""``RESULTS.md``: everything as text that a repository shows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eigenloop.comparison import wording
from eigenloop.comparison.claims import Finding, findings
from eigenloop.comparison.papers import WITHOUT_A_ROW, Paper, with_others
from eigenloop.comparison.table import Line, Sheet

_INTRODUCTION = """\
The results of four papers, table by table and figure by figure: the published number, ours beside it, and the command
that makes it. A row is filled in by an analysis, or by runs at budget `hour` (what two cores do in an hour or a few) or
`full` (the paper's own size). The largest budget with a number is shown, with how far it came of the paper's length.
Where a run has the paper's length and task there is a ratio, ours over published. Means over several seeds have their
standard deviation beside them. Settings, seeds, curves, versions and the machine of every run are in
`results/EXPERIMENT/ROW.json`; curves are drawn in `docs/results.html`. A command looks a row up that `results` holds;
with `--results` and `--work` for other folders it runs it again."""
_COLUMNS = ("row", "published", "ours", "ratio", "budget", "length", "seeds", "command")
_NUMBERS = ("published", "ours", "ratio")


def render(sheets: Sequence[Sheet]) -> str:
    """Write all sheets as one document."""
    parts = ["# Published results, and ours", f"**{wording.counted(sheets)}**", _INTRODUCTION, prose(WITHOUT_A_ROW)]
    claims = findings(sheets)
    if claims:
        parts += ["## Claims", _claims(claims)]
    for paper in with_others(sheet.experiment.paper for sheet in sheets):
        own = [sheet for sheet in sheets if sheet.experiment.paper == paper.name]
        if own:
            parts += [f"## {escaped(paper.name)}", _cited(paper, own), *(_sheet(sheet) for sheet in own)]
    parts.append(
        "---\n\nMade from the results by `eigenloop report --published`; edit the experiments or run them again rather "
        "than this file."
    )
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    r"""Write text so that Markdown shows it as it is, in a table too.

    >>> print(escaped("a|b <i> `c` U_c"))
    a\|b &lt;i&gt; \`c\` U\_c
    """
    plain = re.sub(r"\s+", " ", text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~$])", r"\\\1", plain)


def prose(text: str) -> str:
    r"""Write sentences, in which backticks mean code.

    >>> print(prose("uses `I + q(W - I)`, not <W>"))
    uses `I + q(W - I)`, not &lt;W&gt;
    """
    parts = re.split(r"`([^`]+)`", re.sub(r"\s+", " ", text))
    return "".join(code(part) if i % 2 else escaped(part) for i, part in enumerate(parts))


def code(text: str) -> str:
    """Write a command; a bar would end the cell of a table even inside of it."""
    return "`" + text.replace("|", "\\|") + "`"


def _claims(claims: Sequence[Finding]) -> str:
    rows = [
        (
            f"{escaped(finding.line.experiment.paper)}, {escaped(finding.line.experiment.item)}",
            f"{escaped(finding.line.row.label)}: {escaped(wording.statement(finding))}",
            _verdict(finding),
            escaped(wording.evidence(finding)),
        )
        for finding in claims
        if finding.listed
    ]
    parts = [wording.tally(claims), wording.VERDICTS]
    parts += [_table(("where", "claim", "verdict", "ours"), rows)] if rows else []
    return "\n\n".join(parts)


def _verdict(finding: Finding) -> str:
    written = wording.verdict(finding)
    return f"**{written}**" if finding.verdict in ("yes", "no") else written


def _cited(paper: Paper, sheets: Sequence[Sheet]) -> str:
    cited = f"{escaped(paper.authors)}: *{escaped(paper.title)}*, {paper.year}. " if paper.title else ""
    return cited + wording.counted(sheets)


def _sheet(sheet: Sheet) -> str:
    experiment = sheet.experiment
    parts = [
        f"### {escaped(experiment.item)}: {escaped(experiment.title)}",
        f"`{experiment.name}`: {escaped(wording.measured(sheet))}. {sheet.filled} of {len(sheet.lines)} rows.",
        _table(_COLUMNS, [_row(line) for line in sheet.lines]),
    ]
    remarks = [(line, remark) for line in sheet.lines if (remark := " ".join(wording.remarks(line)))]
    if remarks:
        parts.append("\n".join(f"- **{escaped(line.row.label)}**: {prose(remark)}" for line, remark in remarks))
    if experiment.differences:
        parts.append("Errata: where paper and code disagree or the paper is silent, and what was done here.")
        parts.append("\n".join(f"- {prose(difference)}" for difference in experiment.differences))
    return "\n\n".join(parts)


def _row(line: Line) -> tuple[str, ...]:
    outcome = line.outcome
    published = wording.published(line)
    return (
        escaped(line.row.label),
        escaped(published) if line.published is not None else prose(published),
        escaped(wording.ours(line)),
        wording.ratio(line),
        wording.budget(outcome),
        wording.length(outcome),
        wording.seeds(outcome),
        code(line.command) if line.command else wording.MISSING,
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---:" if column in _NUMBERS and len(columns) > 4 else "---" for column in columns]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (columns, rule, *rows))
