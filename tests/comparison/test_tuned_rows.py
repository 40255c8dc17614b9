"""Rows with settings of ours: shown beside the paper's, counted and judged nowhere."""

from pathlib import Path
from typing import Any

import made_up
import pytest
from made_up import EVIL, ROWS, record

from eigenloop.comparison import Sheet, overview, page, paper_page, summary, wording
from eigenloop.comparison.claims import findings
from eigenloop.comparison.papers import PAPERS
from eigenloop.comparison.scorecard import scores
from eigenloop.training import ConfigError

TUNED: dict[str, Any] = {
    "label": "NC-GRU, tuned",
    "settings": {"model": {"name": "ncgru", "hidden_size": 4}, "optimizer": {"name": "adam", "lr": 0.01}},
    "tuned": {"row": "ours", "changes": "a rate of 0.01"},
}
PAPER = {**ROWS, "ours": ROWS["ours"] | {"said": "the best", "claim": {"below_row": "gru"}}}


def tables(folder: Path, changes: str = "a rate of 0.01") -> tuple[Sheet, Sheet]:
    """The same results without and with a row of ours."""
    tuned = TUNED | {"tuned": {"row": "ours", "changes": changes}}
    plain, ours = made_up.experiment(rows=PAPER), made_up.experiment(rows={**PAPER, "tuned": tuned})
    runs = {"gru": record(2.5e-5, budget="full"), "ours": record(1.5e-5, budget="full")}
    before = made_up.sheet(folder / "before", plain, **runs)
    return before, made_up.sheet(folder / "after", ours, **runs, tuned=record(3e-6, budget="full"))


def test_it_changes_no_count_and_no_verdict(tmp_path: Path) -> None:
    before, after = tables(tmp_path)
    assert wording.counted([before]) == wording.counted([after])
    judged, again = (scores(findings([sheet])) for sheet in (before, after))
    assert [(score.said, score.answer, score.holding) for score in judged] == [
        (score.said, score.answer, score.holding) for score in again
    ]
    failed, failed_again = overview.failures([before], judged), overview.failures([after], again)
    assert [own for _, own in failed] == [own for _, own in failed_again]
    assert [chapter.counts for chapter in overview.chapters([before], judged)] == [
        chapter.counts for chapter in overview.chapters([after], again)
    ]
    assert not overview.tuned([before])


def test_it_stands_beside_the_papers_settings(tmp_path: Path) -> None:
    before, after = tables(tmp_path)
    assert "With settings of ours" not in summary.render([before]) + page.render([before])
    lines = summary.render([after]).replace("\N{NON-BREAKING HYPHEN}", "-").splitlines()
    row = lines[lines.index("## With settings of ours") + 6].split(" | ")
    assert row[1:] == ["NC-GRU", "1.50e-5", "3.00e-6", "a rate of 0.01 |"]
    own = paper_page.render(PAPERS[2], [after]).replace("\N{NON-BREAKING HYPHEN}", "-")
    assert "| NC-GRU, tuned | settings of ours | 3.00e-6 |" in own
    assert "**NC-GRU, tuned**: Instead of the settings of NC-GRU: a rate of 0.01." in own


def test_both_numbers_are_of_equally_long_runs_and_shorter_ones_are_marked(tmp_path: Path) -> None:
    made = made_up.experiment(rows={**PAPER, "tuned": TUNED})
    full, hour = record(1.5e-5, budget="full"), record(9e-5)
    sheet = made_up.sheet(tmp_path / "hour", made, ours=[full, hour], tuned=record(8e-6))
    assert [each.numbers for each in overview.tuned([sheet])] == [("9.00e-5°", "8.00e-6°")]
    assert "° marks a run that is shorter" in overview.TUNED
    sheet = made_up.sheet(tmp_path / "full", made, ours=[full, hour], tuned=[record(8e-6), record(3e-6, budget="full")])
    assert [each.numbers for each in overview.tuned([sheet])] == [("1.50e-5", "3.00e-6")]
    budgets = {**made_up.BUDGETS, "hour": made_up.BUDGETS["full"]}  # an hour is enough for the paper's length
    made = made_up.experiment(rows={**PAPER, "tuned": TUNED}, budgets=budgets)
    short = {"planned_steps": 20000, "steps": 20000}
    sheet = made_up.sheet(tmp_path / "as-long", made, ours=record(9e-5, **short), tuned=record(3e-6, budget="full"))
    assert [each.numbers for each in overview.tuned([sheet])] == [("9.00e-5", "3.00e-6")]


def test_runs_of_unequal_length_are_not_compared(tmp_path: Path) -> None:
    made = made_up.experiment(rows={**PAPER, "tuned": TUNED})
    unequal = made_up.sheet(tmp_path / "unequal", made, ours=record(9e-5), tuned=record(3e-6, budget="full"))
    assert not overview.tuned([unequal])


def test_its_words_are_escaped(tmp_path: Path) -> None:
    _, after = tables(tmp_path, EVIL)
    written = page.render([after]) + summary.render([after])
    assert "With settings of ours" in written
    assert "<script>alert(1)" not in written


def test_without_a_result_it_is_not_listed_as_missing(tmp_path: Path) -> None:
    made = made_up.experiment(rows={**PAPER, "tuned": TUNED})
    sheet = made_up.sheet(tmp_path, made, gru=record(2e-5, budget="full"), ours=record(1e-5, budget="full"))
    assert not overview.tuned([sheet])
    assert not overview.missing([sheet])


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ({"tuned": TUNED | {"tuned": {"row": "lstm", "changes": "x"}}}, "'lstm', which is not a trained row"),
        ({"tuned": TUNED | {"tuned": {"row": "tuned", "changes": "x"}}}, "'tuned', which is not a trained row"),
        ({"tuned": TUNED | {"published": 1.0}}, "row tuned has settings of ours: the paper has no number"),
        ({"tuned": TUNED | {"said": "good"}}, "row tuned has settings of ours: the paper has no number"),
        ({"tuned": TUNED | {"claim": {"below": 1.0}}}, "row tuned has settings of ours: the paper has no number"),
        (
            {"tuned": TUNED, "gru": ROWS["gru"] | {"claim": {"above_row": "tuned"}}},
            "row gru is compared with tuned, which has settings of ours",
        ),
    ],
)
def test_it_can_be_no_part_of_a_claim(rows: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        made_up.experiment(rows={**PAPER, **rows})
