"""RESULTS.md and docs/results.html: complete, escaped, self-contained, the same every time; and the command."""

import base64
import hashlib
import html
import json
import re
from pathlib import Path

import made_up
import pytest
from commands import call
from html_reader import read
from made_up import EVIL, record

from eigenloop import experiments
from eigenloop.comparison import Sheet, compare, page, paper_page, summary, write
from eigenloop.comparison.pairs import numbers
from eigenloop.comparison.papers import PAPERS, Paper
from eigenloop.comparison.wording import MISSING
from eigenloop.experiments import Experiment, records


def evil() -> Experiment:
    row = made_up.ROWS["gru"] | {"label": EVIL, "said": EVIL, "note": EVIL}
    rows = {"first": row | {"claim": {"below_row": "second"}}, "second": row | {"published": None}}
    return made_up.experiment("evil", rows=rows, item=EVIL, title=EVIL, differences=[EVIL])


def example(results: Path) -> list[Experiment]:
    """Three experiments with results of every kind."""
    rows = {
        **made_up.ROWS,
        "lost": made_up.ROWS["gru"] | {"label": "lost"},
        "cut": made_up.ROWS["gru"] | {"label": "cut"},
        "none": made_up.ROWS["gru"] | {"label": "none", "said": "remembers", "claim": {"below": 1.0}},
    }
    made, computed, hostile = made_up.experiment(rows=rows), made_up.analysis(), evil()
    made_up.keep(
        results,
        made,
        gru=[record(1.1e-5 * (seed + 1), seed=seed) for seed in range(3)],
        ours=record(0.9e-5, budget="full"),
        lost=record(None, status="diverged", steps=7, train_curve=[(1, 0.2), (2, 0.4), (3, None)]),
        cut=record(0.1, complete=False, status="unfinished", steps=1234),
    )
    made_up.keep(results, computed, first=made_up.computed(5.1873), second=made_up.computed(3.1))
    made_up.keep(results, hostile, first=record(0.1), second=record(0.2))
    return [made, computed, hostile]


def plain(text: str) -> str:
    """The text with hyphens and spaces at which lines may break."""
    return text.replace("\N{NON-BREAKING HYPHEN}", "-").replace("\N{NO-BREAK SPACE}", " ")


def test_the_summary_says_what_there_is(tmp_path: Path) -> None:
    text = plain(summary.render(compare(example(tmp_path), tmp_path)))
    lines = text.splitlines()
    counts, _, claims = lines[2].partition("**")[2].partition("** ")
    assert claims == (
        "At the paper's length, within a factor of 2 of the published number: 1 of 1; better by more: 0; worse: 0; "
        "from one seed: 1. Of 3 claims 1 are about computed numbers and hold. Of the others 1 hold (0 with the paper's "
        "settings and at least three seeds), 0 hold in part, 0 do not hold, 0 are open, and 1 were not run."
    )
    assert counts == (
        "Re-run: 4 of 6 published numbers for trained networks, 1 of them at the paper's length; 2 of 2 computed "
        "numbers; 1 of 1 results that the papers show as curves or in words."
    )
    headings = [line for line in lines if line.startswith("## ")]
    assert headings == ["## Claims", "## Numbers", "## What was not run, or shorter than in the paper"]
    section = text[text.index("## Numbers") : text.index("## What was not run")]
    assert "| GRU | 2e-5 | (2.20 ± 1.10)e-5° |  |" in section  # no ratio: it is shorter
    assert "| NC-GRU | 1e-5 | 9.00e-6 | 0.90 x |" in section
    assert "lost" not in section, "it diverged"
    assert "1 of 2 computed numbers agree in every printed digit; the others differ by up to 3.3 %." in section
    (item,) = (line for line in lines if line.startswith("- **NC-GRU** (not timed). "))
    assert item.endswith("; [Table 3](docs/results/ncgru.md#made-up), adding: 1 not run and 3 shorter, not timed.")


def test_shorter_runs_are_explained_if_there_are_any(tmp_path: Path) -> None:
    made_up.keep(tmp_path / "full", made_up.experiment(), gru=record(1e-5, budget="full"))
    made_up.keep(tmp_path / "hour", made_up.experiment(), gru=record(1e-5))
    full, hour = (compare([made_up.experiment()], tmp_path / name) for name in ("full", "hour"))
    for render in (summary.render, page.render):
        assert "shorter than the paper's, which has no ratio" not in render(full)
        assert "Rings: shorter runs" not in render(full)
        assert "shorter than the paper's, which has no ratio" in html.unescape(render(hour))
    assert "Rings: shorter runs" in page.render(hour)


def test_the_page_of_a_paper_has_every_row(tmp_path: Path) -> None:
    sheets = compare(example(tmp_path), tmp_path)
    text = plain(paper_page.render(PAPERS[2], [sheet for sheet in sheets if sheet.experiment.paper == "NC-GRU"]))
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in text.splitlines() if line.startswith("| ")}
    assert f"(2.20 ± 1.10)e-5 | {MISSING} | 4,000 of 20,000 steps | 3 |" in rows["GRU"]
    assert "9.00e-6 | 0.90 x | 20,000 steps | 1 |" in rows["NC-GRU"]
    assert f"| diverged | {MISSING} | 7 of 20,000 steps" in rows["lost"]
    assert "1,234 of 20,000 steps, unfinished" in rows["cut"]
    assert "Not run: none (not timed)." in text.splitlines()
    assert "Claims that no run tests yet:\n\n- none: remembers\n" in text
    assert text.count("`eigenloop reproduce made-up --budget full`") == 1


def test_the_page_of_a_paper_explains_its_names_and_says_which_code_there_is(tmp_path: Path) -> None:
    for paper in PAPERS:
        first = paper_page.render(paper, []).split("\n\n")[2]
        assert " code" in first
        assert "[All papers]" not in first
    assert "github.com/emucllari1/NC-GRU" in paper_page.render(PAPERS[2], [])
    assert "None" not in paper_page.render(Paper("of a user"), [])
    assert "<code>github.com/emucllari1/NC-GRU</code>" in page.render(compare(example(tmp_path), tmp_path))


def test_a_difference_stands_once(tmp_path: Path) -> None:
    tables = [made_up.experiment(f"table-{i}", item=f"Table {i}", differences=["Both.", f"{i}."]) for i in (1, 2)]
    text = paper_page.render(PAPERS[2], compare(tables, tmp_path))
    assert text.endswith("**Table 1; Table 2**\n\n- Both.\n\n**Table 1**\n\n- 1.\n\n**Table 2**\n\n- 2.\n")


#: Tables of language models and speech, and QORNN's larger networks: days for a row, which nobody runs on a CPU.
DAYS = ("nnrnn-table1", "nnrnn-table3", "enrnn-table", "ncgru-table5", "ncgru-table6", "qornn-fig")


def all_but_days(results: Path, seeds: int) -> list[Sheet]:
    """Runs of the paper's length for all rows that take less than days, some as published and some far off."""
    every = [experiments.load(name) for name in experiments.names()]
    for sheet in compare(every, results):
        if sheet.experiment.name.startswith(DAYS) and sheet.experiment.name not in ("qornn-fig2", "qornn-fig3"):
            continue
        for i, line in enumerate(sheet.lines):
            value = (line.published or 0.01 * (i + 1)) * (1.0, 1.4, 3.0)[i % 3]
            analysis = line.experiment.analysis is not None
            training = {"training": {"epochs": line.plan.epochs}} if line.plan.epochs else {}
            run = {"epochs": line.plan.epochs, "steps": 1000, "planned_steps": line.plan.steps, "config": training}
            for seed in range(1 if analysis else seeds):
                made = (
                    made_up.computed(value) if analysis else record(value / line.scale, budget="full", seed=seed, **run)
                )
                records.keep(results, line.experiment, line.row_name, made)
    return list(compare(every, results))


@pytest.mark.parametrize("seeds", [1, 3])
def test_the_summary_stays_short_when_all_is_run_that_can_be(tmp_path: Path, seeds: int) -> None:
    sheets = all_but_days(tmp_path, seeds)
    lines = summary.render(sheets).splitlines()
    assert len(numbers(sheets)) > 50
    assert len(lines) < 150
    verdict = [line.split(" | ")[2] for line in lines if line.startswith("| ") and "paper's length, one seed" in line]
    assert all("one seed" in each or each.startswith("open") for each in verdict)
    assert bool(verdict) == (seeds == 1)


def test_every_line_of_a_table_has_as_many_cells(tmp_path: Path) -> None:
    sheets = compare(example(tmp_path), tmp_path)
    text = summary.render(sheets) + paper_page.render(PAPERS[2], sheets)
    tables = re.findall(r"(?:^\|.*\|$\n?)+", text, flags=re.M)
    assert len(tables) == 3 + 3
    for table in tables:
        counts = {len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}
        assert len(counts) == 1


def test_hostile_words_are_words(tmp_path: Path) -> None:
    sheets = compare(example(tmp_path), tmp_path)
    for text in (summary.render(sheets), paper_page.render(PAPERS[2], sheets)):
        assert "<" not in re.sub(r'`[^`]*`|<a id="[a-z0-9-]+"></a>', "", text)
    reader = read(page.render(sheets))
    assert {"img", "iframe"}.isdisjoint(tag for tag, _ in reader.tags)
    assert [attributes for tag, attributes in reader.tags if tag == "script"][1:] == [{"type": "application/json"}] * 3
    assert reader.text.count("<script>alert(1)</script>") >= 5
    assert "{{ 7 * 7 }}" in reader.text
    assert reader.text.count(EVIL) >= 5


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    text = page.render(compare(example(tmp_path), tmp_path))
    reader = read(text)
    ids = [attributes["id"] for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in reader.tags:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("href", "src", "xlink:href"):
            link = attributes.get(name)
            assert link is None or link.startswith(("data:", "#"))
            assert link is None or not link.startswith("#") or link[1:] in ids
    assert "url(http" not in text
    assert "@import" not in text
    pictures = [attributes for tag, attributes in reader.tags if tag == "svg" and attributes.get("role") == "img"]
    assert len(pictures) == 3, "one of all numbers, one for each trained experiment"
    (script,) = re.findall(r"<script>(.*?)</script>", text, flags=re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html.unescape(text), "no other script may run"


def test_a_page_of_everything_stays_small(tmp_path: Path) -> None:
    rows = {f"row-{i}": made_up.ROWS["gru"] | {"label": f"row {i}"} for i in range(14)}
    made = made_up.experiment(rows=rows)
    empty = len(page.render(compare([made], tmp_path)))
    curve = [(i * 20, 0.1 / (1 + i) * (1.1 if i % 2 else 0.9)) for i in range(200)]
    for row in rows:
        made_up.keep(tmp_path, made, **{row: [record(0.01, seed=seed, train_curve=curve) for seed in range(3)]})
    size = len(page.render(compare([made], tmp_path)))
    # 250 rows with three seeds each must fit into 1.5 MB.
    assert (size - empty) / len(rows) < 5500


def test_empty_results(tmp_path: Path) -> None:
    sheets = compare([made_up.experiment(), made_up.analysis()], tmp_path)
    counted = "Re-run: 0 of 2 published numbers for trained networks; 0 of 2 computed numbers."
    assert f"**{counted}**" in summary.render(sheets)
    text = " ".join(read(page.render(sheets)).text.split())
    assert counted in text
    assert "Not run: GRU (not timed); NC-GRU (not timed)." in text


def test_two_builds_are_the_same(tmp_path: Path) -> None:
    results = tmp_path / "results"
    made = example(results)
    first, second = write(results, tmp_path / "a", made), write(results, tmp_path / "b" / "deep", made)
    assert first.text.read_bytes() == second.text.read_bytes()
    assert first.page.read_bytes() == second.page.read_bytes()
    assert (first.rows, first.filled) == (9, 8)
    assert first.page == tmp_path / "a" / "docs" / "results.html"
    assert [path.name for path in (tmp_path / "a").iterdir() if path.name.startswith(".")] == []


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    made = example(tmp_path / "results")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(experiments, "names", lambda: [each.name for each in made])
    monkeypatch.setattr(experiments, "load", lambda name: next(each for each in made if each.name == name))
    assert call("report", "--published") == 0
    assert capsys.readouterr().out == "published: 8 of 9 rows filled in; RESULTS.md, docs/results.html\n"
    assert call("report", "--published", "--results", "results", "--out", "new", "--json") == 0
    written = json.loads(capsys.readouterr().out)
    assert written == {"text": "new/RESULTS.md", "page": "new/docs/results.html", "rows": 9, "filled": 8}
    assert Path("new/RESULTS.md").read_bytes() == Path("RESULTS.md").read_bytes()


def test_a_damaged_result_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = made_up.experiment()
    monkeypatch.setattr(experiments, "names", lambda: [made.name])
    monkeypatch.setattr(experiments, "load", lambda _: made)
    (tmp_path / "made-up").mkdir()
    (tmp_path / "made-up" / "ours.json").write_text('{"runs": 7}')
    assert call("report", "--published", "--results", str(tmp_path), "--out", str(tmp_path / "out")) == 1
    assert "ours.json is damaged" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give folders of runs, or --published"),
        (["run", "--published"], "give one of the two"),
        (["run", "--results", "results"], "--results goes with --published"),
        (["--published", "--out", "file"], "file is a file"),
    ],
)
def test_wrong_words(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    assert call("report", *arguments) == 2
    assert message in capsys.readouterr().err


def test_a_folder_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(experiments, "names", list)
    assert call("report", "--published", "--results", str(tmp_path / "none")) == 1
    assert "there is no folder" in capsys.readouterr().err


def test_the_page_counts_the_verdicts(tmp_path: Path) -> None:
    rows = {
        "ours": made_up.ROWS["ours"] | {"claim": {"below_row": "gru"}},
        "gru": made_up.ROWS["gru"] | {"claim": {"below": 3.0}},
        "lstm": made_up.ROWS["gru"] | {"label": "LSTM", "claim": {"above": 1.0}},
    }
    made_up.keep(tmp_path, made := made_up.experiment(rows=rows), ours=record(1.0), gru=record(2.0))
    text = " ".join(read(page.render(compare([made], tmp_path))).text.split())
    assert "NC-GRU2 of 3020001" in text  # no run of the paper's length; two claims hold, one is not run
    assert "Claims that no run tests yet (1) are listed on the page of their paper." in text
