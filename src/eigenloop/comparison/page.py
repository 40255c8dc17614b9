"""``docs/results.html``: the contents of ``RESULTS.md`` with charts, as one self-contained file."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

from eigenloop import charts, pages
from eigenloop.charts import Dot, Figure, Key, Strip, scales
from eigenloop.comparison import curves, overview, verdicts, wording
from eigenloop.comparison.claims import findings
from eigenloop.comparison.pairs import numbers, pairs
from eigenloop.comparison.papers import WITHOUT_A_ROW
from eigenloop.comparison.scorecard import scores
from eigenloop.comparison.table import Line, Sheet
from eigenloop.text.durations import duration


def render(sheets: Sequence[Sheet]) -> str:
    """Return the HTML of the page."""
    judged = scores(findings(sheets))
    chapters = overview.chapters(sheets, judged)
    plot = against(chapters)
    drawn = {sheet.experiment.name: curves.figures(sheet) for sheet in sheets}
    every = [figure for figures in drawn.values() for figure in figures] + ([plot] if plot is not None else [])
    environment = pages.environment("eigenloop.comparison")
    environment.filters.update(prose=prose, tight=tight)
    return pages.printable(
        environment.get_template("results.html").render(
            chapters=chapters,
            claims=[score for score in judged if score.listed],
            unlisted=verdicts.unlisted(judged),
            pairs=[
                (sheet.experiment, list(own))
                for sheet, own in itertools.groupby(pairs(sheets), lambda pair: pair.sheet)
            ],
            about_numbers=overview.about_numbers(sheets),
            plot=plot,
            failures=overview.failures(sheets, judged),
            missing=overview.missing(sheets),
            computed=overview.computed(sheets),
            tuned=overview.tuned(sheets),
            counted=wording.counted(sheets),
            short=overview.in_short(sheets, judged),
            figures=drawn,
            rules=charts.rules(every),
            wording=wording,
            verdicts=verdicts,
            overview=overview,
            without_a_row=WITHOUT_A_ROW,
            strip=Strip(scales.logarithmic(0.1, 10.0), 1.0),
            made=made,
            machines=machines,
            colours=charts.COLOURS,
            frame=pages.frame("eigenloop.charts", "eigenloop.comparison"),
        )
    )


def against(chapters: Sequence[overview.Chapter]) -> Figure | None:
    """Return a scatter plot of ours against published, a colour for each paper; None if there are no numbers.

    Rings are runs that are shorter than the paper's.
    """
    points = {}
    for chapter in chapters:
        own = numbers(chapter.sheets) + [
            line for s in chapter.sheets if s.experiment.analysis for line in s.run if line.published is not None
        ]
        if dots := [dot for line in own if (dot := _dot(line)) is not None]:
            points[chapter.paper.name] = dots
    if not points:
        return None
    chart = charts.scatter(
        points,
        title="Ours against published, all numbers",
        x_title="published",
        y_title="ours",
        diagonal="the same number",
        log=True,
        height=420,
    )
    keys = [Key(i, f"c{i}", name) for i, name in enumerate(points)]
    keys.append(Key(len(keys), "plain dotted", "the same number"))
    shorter = any(dot.hollow for dots in points.values() for dot in dots)
    note = "Filled: at the paper's length, or computed. Rings: shorter runs."
    return Figure("against", (chart,), tuple(keys), notes=(note,) if shorter else ())


def _dot(line: Line) -> Dot | None:
    ours = None if line.outcome is None else line.outcome.mean
    if ours is None or line.published is None or min(ours, line.published) <= 0:
        return None
    published, mine, _ = wording.pair(line)
    where = overview.where(line.experiment)
    name = f"{where}, {line.row.label}: published {published}, ours {mine.rstrip(wording.SHORTER)}"
    return Dot(line.published, ours, name if line.comparable else f"{name} in a shorter run", not line.comparable)


def prose(text: str) -> Markup:
    """Return sentences as HTML: text between backticks is code, everything else is escaped.

    >>> prose("uses `I + q(W - I)`, not <W>")
    Markup('uses <code>I + q(W - I)</code>, not &lt;W&gt;')
    """
    parts = re.split(r"`([^`]+)`", text)
    return Markup("").join(Markup("<code>{}</code>").format(p) if i % 2 else escape(p) for i, p in enumerate(parts))


def tight(text: str) -> str:
    """Return text in which no line is broken at an equals sign."""
    return text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


def made(line: Line) -> str:
    """Return seeds, commit, settings hash, time and parameters of the runs behind the number of a row."""
    outcome = line.outcome
    if outcome is None:
        return ""
    facts = [
        ("seeds", "" if outcome.status == "computed" else ", ".join(str(run.seed) for run in outcome.runs)),
        ("commit", _joined(run.commit for run in outcome.runs)),
        ("settings", _joined(run.config_hash for run in outcome.runs)),
        ("time", _times([run.seconds for run in outcome.runs])),
        ("parameters", f"{outcome.parameters:,}" if outcome.parameters is not None else ""),
    ]
    return "; ".join(f"{name} {fact}" for name, fact in facts if fact)


def machines(sheet: Sheet) -> list[str]:
    """List the machines and versions with which the results of an experiment were computed."""
    descriptions: dict[str, None] = {}
    for line in sheet.shown:
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
