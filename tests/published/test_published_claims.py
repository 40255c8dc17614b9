"""Claims: yes, no, and not decided yet."""

from pathlib import Path
from typing import Any

import made_up
import pytest
from made_up import record

from eigenloop.experiments import Record, planned
from eigenloop.published import wording
from eigenloop.published.claims import Finding, findings

UNFINISHED: dict[str, Any] = {"complete": False, "status": "unfinished", "steps": 100}
DIVERGED: dict[str, Any] = {"status": "diverged", "steps": 100}


def judge(folder: Path, claim: dict[str, Any], *runs: Record, **changes: Any) -> Finding:
    made = made_up.experiment(rows={"row": made_up.ROWS["gru"] | {"claim": claim}}, **changes)
    return findings([made_up.sheet(folder, made, row=list(runs))])[0]


def compared(folder: Path, ours: list[Record], theirs: list[Record]) -> Finding:
    rows = {"ours": made_up.ROWS["ours"] | {"claim": {"below_row": "gru"}}, "gru": made_up.ROWS["gru"]}
    return findings([made_up.sheet(folder, made_up.experiment(rows=rows), ours=ours, gru=theirs)])[0]


@pytest.mark.parametrize(
    ("claim", "runs", "verdict", "because"),
    [
        ({"below": 0.1}, [], "undecided", "not run"),
        ({"below": 0.1}, [record(0.01, budget="smoke")], "undecided", "not run"),
        ({"below": 0.1}, [record(0.01)], "yes", ""),
        ({"below": 0.1}, [record(0.2, budget="full")], "no", ""),
        ({"below": 0.1}, [record(0.2)], "undecided", "not below it yet, in a run shorter than the paper's"),
        ({"below": 0.1}, [record(0.2, **UNFINISHED)], "undecided", "the run is unfinished"),
        ({"below": 0.1}, [record(0.01, **UNFINISHED)], "yes", ""),  # the lowest loss can only become lower
        ({"below": 0.1}, [record(None, **DIVERGED)], "no", "training diverged"),
        ({"below": 0.1}, [record(0.01), record(None, seed=1, **DIVERGED)], "undecided", "1 of 2 seeds diverged"),
        ({"below": 0.1}, [record(0.01), record(0.12, seed=1)], "yes", "below it with 1 of 2 seeds"),
        ({"above": 0.1}, [], "undecided", "not run"),
        ({"above": 0.1}, [record(0.2)], "yes", ""),
        ({"above": 0.1}, [record(0.2, budget="full")], "yes", ""),
        ({"above": 0.1}, [record(0.05)], "no", ""),
        ({"above": 0.1}, [record(0.2, **UNFINISHED)], "undecided", "the run is unfinished"),
        ({"above": 0.1}, [record(0.05, **UNFINISHED)], "no", ""),
        ({"above": 0.1}, [record(0.2, **DIVERGED)], "undecided", "training diverged"),
    ],
)
def test_bounds(tmp_path: Path, claim: dict[str, Any], runs: list[Record], verdict: str, because: str) -> None:
    finding = judge(tmp_path, claim, *runs)
    assert (finding.verdict, finding.because) == (verdict, because)
    # Only what stays above a bound in a shorter training than the paper's may come out otherwise in the end.
    assert finding.provisional == (claim == {"above": 0.1} and verdict == "yes" and runs[0].budget == "hour")
    assert wording.verdict(finding).endswith(", so far") == finding.provisional


def test_an_unfinished_test_result_decides_nothing(tmp_path: Path) -> None:
    assert judge(tmp_path, {"below": 0.1}, record(0.01, **UNFINISHED), measure="test").verdict == "undecided"


def test_bounds_of_accuracies(tmp_path: Path) -> None:
    accuracy: dict[str, Any] = {"metric": "accuracy", "higher_is_better": True, "measure": "best"}
    rows = {"row": made_up.ROWS["gru"] | {"published": 93.0, "claim": {"above": 0.8}}}
    made = made_up.experiment(rows=rows, **accuracy)
    assert findings([made_up.sheet(tmp_path, made, row=record(0.85, metric="accuracy", **UNFINISHED))])[0].verdict == (
        "yes"  # the best can only become better
    )
    (finding,) = findings([made_up.sheet(tmp_path, made, row=record(0.75, metric="accuracy"))])
    assert (finding.verdict, finding.because) == ("undecided", "not above it yet, in a run shorter than the paper's")
    assert wording.statement(finding) == "accuracy above 80 %"


def test_an_accuracy_that_is_below_a_bound_is_so_only_for_now(tmp_path: Path) -> None:
    accuracy: dict[str, Any] = {"metric": "accuracy", "higher_is_better": True, "measure": "best"}
    made = made_up.experiment(rows={"row": made_up.ROWS["gru"] | {"claim": {"below": 0.8}}}, **accuracy)
    for budget, provisional in (("hour", True), ("full", False)):
        run = record(0.5, metric="accuracy", budget=budget)
        (finding,) = findings([made_up.sheet(tmp_path / budget, made, row=run)])
        assert (finding.verdict, finding.provisional) == ("yes", provisional)


def test_another_task_decides_no_bound(tmp_path: Path) -> None:
    hour = {"settings": {"task": {"length": 5}, "training": {"steps": 4000}}}
    made = made_up.experiment(rows={"row": made_up.ROWS["gru"] | {"claim": {"below": 0.1}, "budgets": {"hour": hour}}})
    config = planned(made, "hour")[0].config().as_dict()
    (finding,) = findings([made_up.sheet(tmp_path, made, row=record(0.01, config=config))])
    assert finding.verdict == "undecided"
    assert "another task than the paper's: task.length 5, in the paper 20" in wording.evidence(finding)


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict", "because"),
    [
        ([record(1.0)], [record(2.0)], "yes", ""),
        ([record(2.0)], [record(1.0)], "no", ""),
        ([record(1.0), record(5.0, seed=1)], [record(2.0)], "no", ""),  # by their mean
        (
            [record(1.0), record(5.0, seed=1)],
            [record(2.0), record(3.0, seed=1)],
            "no",
            "below it with 1 of 2 seeds",
        ),
        ([record(1.0), record(2.0, seed=1)], [record(2.0), record(3.0, seed=1)], "yes", ""),
        ([record(1.0)], [record(2.0, planned_steps=900)], "undecided", "one was trained longer than the other"),
        ([record(1.0, budget="full")], [record(2.0, budget="full", planned_steps=900)], "yes", ""),  # the paper's own
        (
            [record(1.0, config={"model": {"hidden_size": 3}})],
            [record(2.0)],
            "undecided",
            "networks of another size than the paper's: model.hidden_size 3, in the paper 4",
        ),
        ([record(1.0)], [], "undecided", "GRU is not run"),
        ([], [record(1.0)], "undecided", "NC-GRU is not run"),
        ([record(1.0, train_curve=[], **UNFINISHED)], [record(2.0)], "undecided", "a run is unfinished"),
        ([record(1.0)], [record(2.0, budget="full")], "undecided", "the two rows have no budget in common"),
        # At the budget that both have:
        ([record(1.0), record(0.5, budget="full")], [record(0.7)], "no", ""),
        ([record(1.0), record(0.5, budget="full", **UNFINISHED)], [record(2.0)], "yes", ""),
        ([record(None, **DIVERGED)], [record(2.0)], "no", "training diverged"),
        ([record(1.0)], [record(None, **DIVERGED)], "undecided", "GRU diverged"),
        ([record(1.0)], [record(2.0), record(None, seed=1, **DIVERGED)], "undecided", "1 of 2 seeds diverged"),
    ],
)
def test_rows(tmp_path: Path, ours: list[Record], theirs: list[Record], verdict: str, because: str) -> None:
    finding = compared(tmp_path, ours, theirs)
    assert (finding.verdict, finding.because) == (verdict, because)
    decided_early = verdict != "undecided" and finding.outcome is not None and finding.outcome.budget == "hour"
    assert finding.provisional == decided_early


def test_cut_runs_are_compared_as_far_as_both_came(tmp_path: Path) -> None:
    """At step 30 the first has reached 3 and the second 2; that the first goes on to 1 does not count."""
    ours = record(1.0, train_curve=[(10, 5.0), (20, 3.0), (30, 4.0), (40, 1.0)], **UNFINISHED)
    theirs = record(2.0, train_curve=[(10, 4.0), (20, None), (30, 2.0)], **UNFINISHED)
    finding = compared(tmp_path / "1", [ours], [theirs])
    assert (finding.verdict, finding.provisional) == ("no", True)
    assert finding.because == "as far as both came, 30 steps: 3 against 2"
    assert compared(tmp_path / "2", [theirs], [ours]).verdict == "yes"
    assert compared(tmp_path / "3", [record(2.0, train_curve=theirs.train_curve)], [ours]).verdict == "yes"
    for name, others in {
        "seeds": [theirs, theirs.model_copy(update={"seed": 1})],
        "length": [theirs.model_copy(update={"planned_steps": 7})],
        "nothing": [theirs.model_copy(update={"train_curve": []})],
        "budget": [theirs.model_copy(update={"budget": "full"})],
    }.items():
        assert compared(tmp_path / name, [ours], others).verdict == "undecided"


def test_several_rows_are_several_claims(tmp_path: Path) -> None:
    rows = {
        "ours": made_up.ROWS["ours"] | {"claim": {"below_row": ["gru", "lstm"]}},
        "gru": made_up.ROWS["gru"],
        "lstm": made_up.ROWS["gru"] | {"label": "LSTM"},
    }
    made = made_up.experiment(rows=rows)
    found = findings([made_up.sheet(tmp_path, made, ours=record(1.0), gru=record(2.0), lstm=record(0.5))])
    assert [(wording.statement(finding), wording.verdict(finding)) for finding in found] == [
        ("loss below that of GRU", "yes, so far"),
        ("loss below that of LSTM", "no, so far"),
    ]


def test_evidence(tmp_path: Path) -> None:
    finding = compared(tmp_path / "1", [record(1.0)], [record(2.0)])
    assert wording.statement(finding) == "loss below that of GRU"
    assert wording.evidence(finding) == "1.00 against 2.00, 4,000 of 20,000 steps, 1 seed"
    finding = compared(tmp_path / "2", [record(1.0, train_curve=[], **UNFINISHED)], [record(2.0)])
    assert wording.evidence(finding) == (
        "1.00 (100 of 20,000 steps, unfinished) against 2.00 (4,000 of 20,000 steps), 1 seed; a run is unfinished"
    )


def test_a_computed_claim_that_holds_is_counted_and_one_that_does_not_is_listed(tmp_path: Path) -> None:
    for second, listed, said in ((3.1, False, "Not listed: 1 about computed numbers, which hold."), (9.0, True, "")):
        values = {"first": made_up.computed(5.19), "second": made_up.computed(second)}
        (finding,) = found = findings([made_up.sheet(tmp_path, made_up.analysis(), **values)])
        assert finding.listed == listed
        assert wording.unlisted(found) == said
