"""Write the report on runs as one self-contained HTML file."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eigenloop import charts, pages
from eigenloop.charts import Figure, Panel, Planes, Strip
from eigenloop.errors import RunError
from eigenloop.report import names, settings, verdict
from eigenloop.report.curves import conditioning, defects, learning
from eigenloop.report.groups import Entry, Group, grouped
from eigenloop.report.own_data import own_data
from eigenloop.report.table import table
from eigenloop.runs import atomic, read_all
from eigenloop.text.durations import duration
from eigenloop.text.names import enumeration
from eigenloop.text.typography import quantity


@dataclass(frozen=True)
class Chapter:
    """The contents of the page on one task."""

    group: Group
    verdicts: tuple[verdict.Verdict, ...]
    strip: Strip | None
    lead: str
    unequal: str | None
    learning: Figure | None
    defects: Figure | None
    conditioning: Figure | None

    def figures(self) -> list[Figure]:
        """Return the figures that exist."""
        return [figure for figure in (self.learning, self.defects, self.conditioning) if figure is not None]


@dataclass(frozen=True)
class Details:
    """All facts and settings of a run, collapsed at the end of the page."""

    entry: Entry
    missing: tuple[str, ...]
    command: str
    facts: tuple[tuple[str, str], ...]
    sections: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


def write(runs: Sequence[Path], out: Path) -> Path:
    """Write the report on training runs to one HTML file, atomically, and return its path.

    Raises:
        RunError: a folder is missing, is not a run folder or has a damaged file, or `out` cannot be written.
    """
    out = Path(out)
    if out.is_dir():
        raise RunError(f"{out} is a folder: give the file to write, for example {out / 'report.html'}")
    page = render([Path(run) for run in runs])
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_text(out, page)
    except OSError as error:
        raise RunError(f"{out} cannot be written: {error.strerror or error}") from error
    return out


def render(folders: Sequence[Path]) -> str:
    """Return the HTML of the page."""
    groups = grouped(read_all(folders))
    chapters = [_chapter(group, i) for i, group in enumerate(groups)]
    entries = sorted((entry for group in groups for entry in group.entries), key=lambda entry: entry.index)
    own = [data for entry in entries if (data := own_data(entry.run, entry.label, f"own-{entry.index}")) is not None]
    figures = [figure for chapter in chapters for figure in chapter.figures()]
    figures += [figure for data in own if data.drawn for figure in data.drawn.figures]
    return pages.printable(
        pages.environment("eigenloop.report")
        .get_template("report.html")
        .render(
            title=_title(groups),
            totals=_totals(entries),
            chapters=chapters,
            own=own,
            planes=Planes(tuple(panel for entry in entries for panel in _panels(entry))),
            blind=enumeration([entry.full for entry in entries if not entry.run.spectra]),
            table=table(groups),
            details=[_details(entry) for entry in entries],
            rules=charts.rules(figures),
            colours=charts.COLOURS,
            frame=pages.frame("eigenloop.charts", "eigenloop.report"),
        )
    )


def _chapter(group: Group, index: int) -> Chapter:
    judged = [verdict.judge_seeds(entries, group) for entries in settings.by_seed(group)]
    ranked = verdict.ranked(judged, group.higher_is_better)
    return Chapter(
        group=group,
        verdicts=tuple(ranked),
        strip=_strip(ranked, group),
        lead=verdict.lead(ranked),
        unequal=settings.unequal(group),
        learning=learning(group, f"learning-{index}"),
        defects=defects(group, f"defect-{index}"),
        conditioning=conditioning(group, f"conditioning-{index}"),
    )


def _strip(verdicts: Sequence[verdict.Verdict], group: Group) -> Strip | None:
    """Return the strip that compares the scores with each other and with the baseline."""
    scores = [each.score.value if each.score else None for each in verdicts]
    baseline = next(iter(group.baselines(group.metric)), None)
    return charts.compared(scores, baseline, rising=group.higher_is_better)


def _panels(entry: Entry) -> list[Panel]:
    """Return a panel for every matrix whose eigenvalues a run recorded."""
    spectra = entry.run.spectra
    return [
        charts.panel(
            spectrum.before,
            spectrum.after,
            title=entry.full,
            matrix=spectrum.name if len(spectra) > 1 else "",
            style=entry.style,
        )
        for spectrum in spectra
    ]


def _title(groups: Sequence[Group]) -> str:
    models = list(dict.fromkeys(_model(entry) for group in groups for entry in group.entries))
    tasks = list(dict.fromkeys(group.phrase for group in groups))
    subject = enumeration(models) if len(models) <= 4 else f"{len(models)} models"
    return f"{subject} on {enumeration(tasks) if len(tasks) <= 3 else f'{len(tasks)} tasks'}"


def _model(entry: Entry) -> str:
    return names.model(str(entry.run.section("model").get("name", entry.run.folder.name)))


def _totals(entries: Sequence[Entry]) -> list[str]:
    times = [entry.run.seconds for entry in entries if entry.run.seconds is not None]
    starts = sorted(
        entry.run.summary.started[:10] for entry in entries if entry.run.summary and entry.run.summary.started
    )
    days = list(dict.fromkeys([*starts[:1], *starts[-1:]]))
    return [
        f"{len(entries)} run{'s' if len(entries) != 1 else ''}",
        *([f"{duration(sum(times))} of training"] if times else []),
        *([" to ".join(days)] if days else []),
    ]


def _details(entry: Entry) -> Details:
    run = entry.run
    return Details(
        entry=entry,
        missing=tuple(run.missing()),
        command=f"eigenloop train {shlex.quote(str(run.folder / 'config.yaml'))} --out NEW_FOLDER",
        facts=_facts(entry),
        sections=tuple((name, _settings(section)) for name, section in run.config.items()),
    )


def _facts(entry: Entry) -> tuple[tuple[str, str], ...]:
    run, summary = entry.run, entry.run.summary
    facts = [("folder", str(run.folder)), ("status", run.status)]
    if summary is None:
        return tuple(facts)
    facts += [("reason", summary.reason), ("started", summary.started), ("commit", summary.commit or "")]
    facts += [("parameters", quantity(summary.parameters)), ("training time", duration(summary.seconds))]
    for kind, numbers in (("best", summary.best), *summary.final.items(), ("test", summary.test)):
        written = ", ".join(f"{names.quantity(name)} {quantity(value)}" for name, value in (numbers or {}).items())
        facts.append((kind if kind in ("best", "test") else f"final {kind}", written))
    facts += [("versions", _joined(summary.versions)), ("machine", _joined(summary.machine))]
    return tuple((name, fact) for name, fact in facts if fact)


def _joined(entries: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in entries.items())


def _settings(section: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    return tuple((key, names.setting(value)) for key, value in section.items())
