"""What did not reproduce: claims that fail and numbers that are far from the published ones, with their causes."""

from pathlib import Path

import made_up
import pytest
from made_up import ROWS, record

from eigenloop.comparison import Sheet, overview, page, summary, wording
from eigenloop.comparison.claims import findings
from eigenloop.comparison.scorecard import scores


def table(folder: Path, **values: float) -> Sheet:
    """A table with these numbers at the paper's length; "known" and "same" have a common cause."""
    model = {"settings": ROWS["gru"]["settings"], "published": 1.0}
    rows = {
        "first": {"label": "first", "claim": {"below": 2.0}},
        "known": {"label": "known", "cause": "A cause."},
        "same": {"label": "same", "cause": "A cause.", "claim": {"below": 2.0}},
    }
    made = made_up.experiment(rows={name: model | row for name, row in rows.items()})
    return made_up.sheet(folder, made, **{name: record(value, budget="full") for name, value in values.items()})


def written(failure: overview.Failure) -> str:
    """What is stated of a failure, with our numbers, as one text."""
    return ". ".join(f"{lead} {rest}" for lead, rest in failure.what)


def failures(folder: Path, **values: float) -> list[tuple[str, str]]:
    """What did not reproduce in such a table, and why."""
    sheet = table(folder, **values)
    listed = overview.failures([sheet], scores(findings([sheet])))
    assert all(experiment is sheet.experiment for experiment, _ in listed)
    return [(written(one), " ".join(one.causes)) for _, own in listed for one in own]


def test_within_a_factor_of_two_is_not_listed(tmp_path: Path) -> None:
    assert failures(tmp_path, first=0.5, known=1.9, same=1.0) == []


def test_much_better_is_listed_as_well_as_much_worse(tmp_path: Path) -> None:
    better = "Better than published: first (0.40 x)"
    assert failures(tmp_path, first=0.4, known=1.0, same=1.0) == [(better, "")]
    worse = "Worse than published: known (3.0 x)"
    assert failures(tmp_path, first=0.4, known=3.0, same=1.0) == [(worse, "A cause."), (better, "")]


@pytest.mark.parametrize(
    ("published", "ours", "listed", "both", "one"),
    [
        (0.120, 0.164, ["Worse than published: ours (1.4 x)"], 0, 1),
        (0.164, 0.120, ["Better than published: ours (0.73 x)"], 0, 1),
        (0.163, 0.170, [], 1, 0),
        (0.158, 0.1584, [], 0, 0),  # the same in every printed digit, with the level of 0.15833 in between
        (0.120, 0.140, [], 0, 0),
    ],
)
def test_learning_where_the_other_only_guesses_is_listed(
    tmp_path: Path, published: float, ours: float, listed: list[str], both: int, one: int
) -> None:
    made = made_up.experiment(rows={"ours": ROWS["gru"] | {"label": "ours", "published": published}})
    sheet = made_up.sheet(tmp_path, made, ours=record(ours, budget="full"))  # guessing: 1 / 6
    assert [written(one) for _, own in overview.failures([sheet], []) for one in own] == listed
    aside = f" (in {both} of them both are at the level of guessing, in {one} only one of the two)" * (both + one)
    assert f"published number: 1 of 1{aside}; better by more: 0; worse: 0;" in overview.in_short([sheet], [])


def test_accuracies_are_never_at_the_level_of_guessing(tmp_path: Path) -> None:
    rows = {"ours": ROWS["gru"] | {"label": "ours", "published": 0.12}}
    made = made_up.experiment(rows=rows, higher_is_better=True, metric="accuracy")
    sheet = made_up.sheet(tmp_path, made, ours=record(0.2, budget="full"))
    assert overview.failures([sheet], []) == []


def test_what_has_one_cause_is_one_failure(tmp_path: Path) -> None:
    claim = "Claim: same. Ours: same: 3.00 (our criterion: loss below 2)"
    worse = "Worse than published: known (4.0 x); same (3.0 x)"
    assert failures(tmp_path, first=1.0, known=4.0, same=3.0) == [(f"{claim}. {worse}", "A cause.")]


def test_what_a_claim_has_among_its_causes_is_told_once(tmp_path: Path) -> None:
    model = {"settings": ROWS["gru"]["settings"], "published": 1.0}
    rows = {
        "ours": {"label": "ours", "claim": {"below_row": ["gru", "lstm"]}},
        "gru": {"label": "GRU", "cause": "One."},
        "lstm": {"label": "LSTM", "cause": "Two."},
    }
    made = made_up.experiment(rows={name: model | row for name, row in rows.items()})
    values = {"ours": 1.0, "gru": 0.1, "lstm": 0.4}
    sheet = made_up.sheet(tmp_path, made, **{name: record(value, budget="full") for name, value in values.items()})
    ((_, (failure,)),) = overview.failures([sheet], scores(findings([sheet])))
    assert written(failure) == (
        "Claim: ours. Ours: ours: 1.00, GRU: 0.100, LSTM: 0.400. "
        "Better than published: GRU (0.10 x). Better than published: LSTM (0.40 x)"
    )
    assert failure.explanation == "One. Two."


def test_evidence_for_a_cause_is_on_the_page_of_the_paper_alone(tmp_path: Path) -> None:
    row = {"label": "ours", "settings": ROWS["gru"]["settings"], "published": 1.0}
    made = made_up.experiment(rows={"ours": row | {"cause": "A cause.", "evidence": "What was tried."}})
    sheet = made_up.sheet(tmp_path, made, ours=record(4.0, budget="full"))
    ((_, (failure,)),) = overview.failures([sheet], [])
    assert failure.explanation == "A cause."
    assert ("ours", "A cause. What was tried.") in wording.noted(sheet.lines)


def test_evidence_needs_a_cause() -> None:
    row = {"label": "ours", "settings": ROWS["gru"]["settings"], "published": 1.0, "evidence": "What was tried."}
    with pytest.raises(ValueError, match="row ours has evidence for a cause, and no cause"):
        made_up.experiment(rows={"ours": row})


def test_a_single_failure_stands_beside_its_table(tmp_path: Path) -> None:
    sheet = table(tmp_path, first=0.4, known=1.0, same=1.0)
    assert "#made-up). **Better than published:** first (0.40 x). Not investigated yet.\n" in summary.render([sheet])
    assert "<b>Better than published:</b> first (0.40 x). Not investigated yet." in page.render([sheet])


def test_several_failures_stand_below_their_table(tmp_path: Path) -> None:
    sheet = table(tmp_path, first=0.4, known=3.0, same=1.0)
    item = "    - **Worse than published:** known (3.0 x). A cause."
    assert f"#made-up):\n{item}\n    - **Better" in summary.render([sheet])
    assert "<li><b>Worse than published:</b> known (3.0 x). A cause.</li>" in page.render([sheet])
