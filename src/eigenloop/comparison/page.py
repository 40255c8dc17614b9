"""``docs/results.html``: the same as the text, with curves, in one file that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup, escape

from eigenloop import charts, pages
from eigenloop.charts import Strip, scales
from eigenloop.comparison import curves, wording
from eigenloop.comparison.claims import Finding, findings
from eigenloop.comparison.papers import WITHOUT_A_ROW, Paper, with_others
from eigenloop.comparison.table import Line, Sheet
from eigenloop.experiments import Experiment
from eigenloop.text.durations import duration


@dataclass(frozen=True)
class Chapter:
    """What the page says of one paper."""

    paper: Paper
    sheets: tuple[Sheet, ...]

    @property
    def rows(self) -> int:
        """How many rows were published."""
        return sum(len(sheet.lines) for sheet in self.sheets)

    @property
    def filled(self) -> int:
        """How many have a result."""
        return sum(sheet.filled for sheet in self.sheets)


def render(sheets: Sequence[Sheet]) -> str:
    """Make the text of the page."""
    papers = with_others(sheet.experiment.paper for sheet in sheets)
    chapters = [Chapter(paper, tuple(s for s in sheets if s.experiment.paper == paper.name)) for paper in papers]
    claims = findings(sheets)
    drawn = {sheet.experiment.name: curves.figures(sheet) for sheet in sheets}
    environment = pages.environment("eigenloop.comparison")
    environment.filters.update(prose=prose, tight=tight)
    return pages.printable(
        environment.get_template("results.html").render(
            chapters=[chapter for chapter in chapters if chapter.sheets],
            rows=sum(chapter.rows for chapter in chapters),
            filled=sum(chapter.filled for chapter in chapters),
            claims=_by_experiment([claim for claim in claims if claim.listed]),
            tally=wording.tally(claims),
            counted=wording.counted(sheets),
            figures=drawn,
            rules=charts.rules([figure for figures in drawn.values() for figure in figures]),
            wording=wording,
            without_a_row=WITHOUT_A_ROW,
            strip=Strip(scales.logarithmic(0.1, 10.0), 1.0),
            made=made,
            machines=machines,
            colours=charts.COLOURS,
            frame=pages.frame("eigenloop.charts", "eigenloop.comparison"),
        )
    )


def prose(text: str) -> Markup:
    """Write sentences, in which backticks mean code.

    >>> prose("uses `I + q(W - I)`, not <W>")
    Markup('uses <code>I + q(W - I)</code>, not &lt;W&gt;')
    """
    parts = re.split(r"`([^`]+)`", text)
    return Markup("").join(Markup("<code>{}</code>").format(p) if i % 2 else escape(p) for i, p in enumerate(parts))


def tight(text: str) -> str:
    """Keep formulas together where lines are broken."""
    return text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


def made(line: Line) -> list[tuple[str, str]]:
    """List what the shown number of a row was made with."""
    outcome = line.outcome
    if outcome is None:
        return []
    facts = [
        ("seeds", "" if outcome.status == "computed" else ", ".join(str(run.seed) for run in outcome.runs)),
        ("commit", _joined(run.commit for run in outcome.runs)),
        ("settings", _joined(run.config_hash for run in outcome.runs)),
        ("time", _times([run.seconds for run in outcome.runs])),
        ("parameters", f"{outcome.parameters:,}" if outcome.parameters is not None else ""),
    ]
    return [(name, fact) for name, fact in facts if fact]


def machines(sheet: Sheet) -> list[str]:
    """List the machines and versions that the results of an experiment were made with."""
    descriptions: dict[str, None] = {}
    for line in sheet.lines:
        for run in line.outcome.runs if line.outcome is not None else ():
            parts = [str(run.machine[key]) for key in ("processor", "system") if run.machine.get(key)]
            parts += [f"kernel {run.machine['kernel']}"] if run.machine.get("kernel") else []
            parts += [f"{name} {version}" for name, version in run.versions.items() if name in ("torch", "python")]
            descriptions[", ".join(parts)] = None
    return [each for each in descriptions if each]


def _times(seconds: Sequence[float]) -> str:
    shortest, longest = duration(min(seconds)), duration(max(seconds))
    return shortest if shortest == longest else f"{shortest} to {longest}"


def _joined(values: Iterable[str | None]) -> str:
    return ", ".join(dict.fromkeys(str(value) for value in values if value))


def _by_experiment(claims: Sequence[Finding]) -> list[tuple[Experiment, list[Finding]]]:
    return [
        (own_claims[0].line.experiment, own_claims) for _, each in groupby(claims, _name) for own_claims in [list(each)]
    ]


def _name(finding: Finding) -> str:
    return finding.line.experiment.name
