"""Claims: what decides them, what only supports or contradicts them, and what leaves them undecided."""

from pathlib import Path
from typing import Any

import made_up
import pytest
from made_up import record

from eigenloop.comparison import verdicts, wording
from eigenloop.comparison.claims import Finding, findings
from eigenloop.comparison.scorecard import Score, scores
from eigenloop.experiments import Record, library, planned

UNFINISHED: dict[str, Any] = {"complete": False, "status": "unfinished", "steps": 100}
DIVERGED: dict[str, Any] = {"status": "diverged", "steps": 100}


def judge(folder: Path, claim: dict[str, Any], *runs: Record, **changes: Any) -> Finding:
    made = made_up.experiment(rows={"row": made_up.ROWS["gru"] | {"claim": claim}}, **changes)
    return findings([made_up.sheet(folder, made, row=list(runs))])[0]


def compared(folder: Path, ours: list[Record], theirs: list[Record], **claim: Any) -> Finding:
    rows = {"ours": made_up.ROWS["ours"] | {"claim": claim or {"below_row": "gru"}}, "gru": made_up.ROWS["gru"]}
    return findings([made_up.sheet(folder, made_up.experiment(rows=rows), ours=ours, gru=theirs)])[0]


def written(finding: Finding) -> str:
    """The verdict with what keeps the runs from deciding."""
    return finding.verdict + (f": {', '.join(finding.limits)}" if finding.limits else "")


def score(finding: Finding) -> Score:
    (only,) = scores([finding])
    return only


def seeds(*values: float, **changes: Any) -> list[Record]:
    """One run for each number, at the paper's length unless said otherwise."""
    return [record(value, seed=seed, **{"budget": "full", **changes}) for seed, value in enumerate(values)]


def changed(**model: Any) -> dict[str, Any]:
    return {"config": {"model": model}}


@pytest.mark.parametrize(
    ("claim", "runs", "verdict"),
    [
        # At the paper's length and settings, with three seeds that agree.
        ({"below": 0.1}, seeds(0.01, 0.02, 0.03), "yes"),
        ({"below": 0.1}, seeds(0.11, 0.12, 0.13), "no"),
        ({"above": 0.1}, seeds(0.15, 0.16, 0.17), "yes"),
        ({"above": 0.1}, seeds(0.04, 0.05, 0.06), "no"),
        # The verdict names what differs.
        ({"below": 0.1}, seeds(0.01), "supported: one seed"),
        ({"below": 0.1}, seeds(0.01, 0.02), "supported: 2 seeds"),
        ({"below": 0.1}, seeds(0.01, 0.02, 0.03, budget="hour"), "supported: shorter"),
        ({"below": 0.1}, [record(0.01)], "supported: shorter, one seed"),
        ({"below": 0.1}, seeds(0.2), "contradicted: one seed"),
        ({"above": 0.1}, [record(0.05)], "contradicted: shorter, one seed"),
        ({"above": 0.1}, seeds(0.16, 0.161, 0.162), "yes"),
        ({"below": 0.1}, seeds(0.01, 0.02, 0.03, config={"optimizer": {"lr": 7.0}}), "supported: other settings"),
        # Nothing follows.
        ({"below": 0.1}, [], "undecided"),
        ({"below": 0.1}, [record(0.01, budget="smoke")], "undecided"),
        ({"below": 0.1}, [record(0.2)], "undecided"),  # not there yet, in a shorter run
        ({"above": 0.1}, [record(0.16)], "undecided"),  # a shorter run may still learn
        ({"below": 0.1}, [record(0.01, **UNFINISHED)], "undecided"),
        ({"below": 0.1}, seeds(0.05, 0.06, 0.16), "undecided"),  # 0.09 and a spread of 0.06
        ({"above": 0.1}, seeds(0.3, 0.31, 0.32), "undecided"),  # guessing reaches 0.167: it has not even come there
        ({"above": 0.1}, [record(0.2, **DIVERGED)], "undecided"),
        ({"below": 0.1}, [*seeds(0.01, 0.02), record(None, seed=2, budget="full", **DIVERGED)], "undecided"),
        ({"below": 0.1}, [record(None, budget="full", **DIVERGED)], "contradicted: one seed"),
        # A seed that diverged supports the claim that training fails.
        ({"above": 0.1}, [*seeds(0.15, 0.16), record(None, seed=2, budget="full", **DIVERGED)], "yes"),
        ({"above": 0.1}, [*seeds(0.15), record(None, seed=1, budget="full", **DIVERGED)], "supported: 2 seeds"),
        ({"above": 0.1}, [*seeds(0.04, 0.05), record(None, seed=2, budget="full", **DIVERGED)], "no"),
        ({"below": 0.1}, seeds(0.01, 0.02, 0.03, **changed(hidden_size=3)), "undecided"),
    ],
)
def test_bounds(tmp_path: Path, claim: dict[str, Any], runs: list[Record], verdict: str) -> None:
    assert written(judge(tmp_path, claim, *runs)) == verdict


def test_settings_that_the_paper_does_not_give_are_other_settings(tmp_path: Path) -> None:
    row = made_up.ROWS["gru"] | {"claim": {"below": 0.1}, "departs": "The rate is not given."}
    found = made_up.sheet(tmp_path, made_up.experiment(rows={"row": row}), row=seeds(0.01, 0.02, 0.03))
    assert written(findings([found])[0]) == "supported: other settings"
    assert "The rate is not given." in wording.remarks(found.line("row"))


def test_bounds_of_accuracies(tmp_path: Path) -> None:
    accuracy: dict[str, Any] = {"metric": "accuracy", "higher_is_better": True, "measure": "best"}
    cases = [
        ({"above": 0.8}, "hour", 0.75, "undecided"),  # not there yet
        ({"above": 0.8}, "full", 0.75, "contradicted: one seed"),
        ({"below": 0.8}, "hour", 0.5, "undecided"),  # it may still learn
        ({"below": 0.8}, "full", 0.5, "supported: one seed"),
        ({"below": 0.8}, "hour", 0.85, "contradicted: shorter, one seed"),
    ]
    for i, (claim, budget, value, verdict) in enumerate(cases):
        made = made_up.experiment(rows={"row": made_up.ROWS["gru"] | {"published": 93.0, "claim": claim}}, **accuracy)
        run = record(value, metric="accuracy", budget=budget)
        (finding,) = findings([made_up.sheet(tmp_path / str(i), made, row=run)])
        assert written(finding) == verdict
        assert verdicts.bound(finding) == f"our criterion: accuracy {next(iter(claim))} 80 %"


@pytest.mark.parametrize(
    ("claim", "value", "verdict"),
    [
        ({"above": 0.8}, 0.6, "undecided"),  # not there yet
        ({"above": 0.8}, 0.9, "supported: shorter, one seed"),
        ({"below": 0.8}, 0.9, "contradicted: shorter, one seed"),
        ({"below": 0.8}, 0.6, "supported: shorter, one seed"),  # no sign that training fails
    ],
)
def test_bounds_of_what_is_learned(tmp_path: Path, claim: dict[str, float], value: float, verdict: str) -> None:
    settings = {"model": {"name": "qornn", "hidden_size": 4}}
    row = {"label": "ratio", "settings": settings, "metric": "singular_ratio", "said": "orthogonal", "claim": claim}
    made = made_up.experiment(rows={"ratio": row}, metric="accuracy", higher_is_better=True, measure="final")
    run = record(value, metric="singular_ratio", measure="final", baseline=None)
    (finding,) = findings([made_up.sheet(tmp_path, made, ratio=run)])
    assert written(finding) == verdict


def test_a_smaller_task_decides_nothing(tmp_path: Path) -> None:
    hour = {"settings": {"task": {"length": 5}, "training": {"steps": 4000}}}
    claims = {"ours": {"below_row": "gru"}, "gru": {"below": 0.1}}
    rows = {name: made_up.ROWS[name] | {"claim": claim, "budgets": {"hour": hour}} for name, claim in claims.items()}
    made = made_up.experiment(rows=rows)
    runs = {run.row_name: record(0.01, config=run.config().as_dict()) for run in planned(made, "hour") if not run.seed}
    for finding in findings([made_up.sheet(tmp_path, made, **runs)]):
        assert written(finding) == "undecided: smaller task"
        assert "task.length 5, in the paper 20" in finding.because
        assert verdicts.verdict(score(finding)) == "open: smaller task"


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict", "because"),
    [
        (seeds(1.0, 1.1, 1.2), seeds(2.0, 2.1, 2.2), "yes", ""),
        (seeds(2.0, 2.1, 2.2), seeds(1.0, 1.1, 1.2), "no", ""),
        (seeds(1.0, 1.1, 1.2), seeds(2.3), "supported: one seed", ""),
        ([record(1.0)], [record(2.0)], "supported: shorter, one seed", ""),
        # One seed has no spread: the rows have to differ by more than a factor of 2.
        (seeds(1.0), seeds(2.01), "supported: one seed", ""),
        (seeds(1.0), seeds(1.99), "undecided", "one seed, and a difference below a factor of 2"),
        (seeds(1.99), seeds(1.0), "undecided", "one seed, and a difference below a factor of 2"),
        (seeds(1.0, 1.01, 1.02), seeds(1.3), "undecided", "one seed, and a difference below a factor of 2"),
        (seeds(1.0, 1.01), seeds(1.3, 1.31), "supported: 2 seeds", ""),
        # 1 and 2 apart; each has a spread of 1, and both together sqrt(2).
        (seeds(1.0, 2.0, 3.0), seeds(2.0, 3.0, 4.0), "undecided", "no difference larger than the spread over seeds"),
        (seeds(1.0, 2.0, 3.0), seeds(3.0, 4.0, 5.0), "yes", ""),
        ([record(1.0)], [record(2.0, planned_steps=900)], "undecided", "one was trained longer than the other"),
        (
            [record(1.0, **changed(hidden_size=3))],
            [record(2.0)],
            "undecided",
            "networks of another size: model.hidden_size 3, in the paper 4",
        ),
        ([record(1.0)], [], "undecided", "GRU is not run"),
        ([], [record(1.0)], "undecided", "NC-GRU is not run"),
        ([record(1.0, **UNFINISHED)], [record(2.0)], "undecided", "a run is unfinished"),
        ([record(1.0)], [record(2.0, budget="full")], "undecided", "the two rows have no budget in common"),
        # At the largest budget at which both came to their end:
        ([record(1.0), record(0.5, budget="full")], [record(0.4)], "contradicted: shorter, one seed", ""),
        (
            [record(1.0), record(0.5, budget="full", **UNFINISHED)],
            [record(2.0), record(0.1, budget="full")],
            "supported: shorter, one seed",
            "",
        ),
        ([record(None, **DIVERGED)], [record(2.0)], "contradicted: shorter, one seed", "training diverged"),
        ([record(1.0)], [record(None, **DIVERGED)], "undecided", "GRU diverged"),
        ([record(1.0)], [record(2.0), record(None, seed=1, **DIVERGED)], "undecided", "1 of 2 seeds diverged"),
    ],
)
def test_rows(tmp_path: Path, ours: list[Record], theirs: list[Record], verdict: str, because: str) -> None:
    finding = compared(tmp_path, ours, theirs)
    assert written(finding) == verdict
    assert because in finding.because
    assert bool(because) == bool(finding.because)


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        (seeds(1.0, 1.1, 1.2), seeds(1.05, 1.1, 1.15), "yes"),
        (seeds(0.1, 0.2, 0.3), seeds(1.0, 1.1, 1.2), "yes"),  # better is no worse
        (seeds(2.0, 2.1, 2.2), seeds(0.1, 0.2, 0.3), "no"),
        (seeds(1.0), seeds(1.1), "supported: one seed"),
        (seeds(1.1), seeds(1.0), "undecided"),  # whether 0.1 is much cannot be told
    ],
)
def test_a_row_that_matches_another_is_no_worse(
    tmp_path: Path, ours: list[Record], theirs: list[Record], verdict: str
) -> None:
    finding = compared(tmp_path, ours, theirs, matches="gru")
    assert written(finding) == verdict


def along(*steps: int, last: int = 1000, **changes: Any) -> list[Record]:
    """Runs whose loss falls below 0.1 at a step, measured every 100; 0 for never."""
    curves = [[(i, 0.01 if first and i >= first else 0.5) for i in range(100, last + 1, 100)] for first in steps]
    return [
        record(0.5, seed=seed, train_curve=curve, **{"budget": "full", **changes}) for seed, curve in enumerate(curves)
    ]


@pytest.mark.parametrize(
    ("claim", "ours", "theirs", "verdict", "evidence"),
    [
        (
            "below_row",
            along(200, 300, 400),
            along(600, 700, 800),
            "yes",
            "NC-GRU: 0.1 after 300 steps; GRU: 0.1 after 700 steps",
        ),
        (
            "below_row",
            along(600, 700, 800),
            along(200, 300, 400),
            "no",
            "NC-GRU: 0.1 after 700 steps; GRU: 0.1 after 300 steps",
        ),
        (
            "below_row",
            along(200, 300, 400),
            along(0, 0, 0),
            "yes",
            "NC-GRU: 0.1 after 300 steps; GRU: 0.1 not reached in 1,000 steps",
        ),
        ("below_row", along(0, 0, 0), along(200, 300, 400), "no", "not reached with 3 of 3 seeds"),
        ("below_row", along(0, budget="hour"), along(200, budget="hour"), "undecided", "not reached with 1 of 1 seeds"),
        (
            "below_row",
            along(300, 300, 300),
            along(400, 400, 400),
            "undecided",
            "no difference larger than the spread over seeds",
        ),
        (
            "matches",
            along(300, 300, 300),
            along(200, 200, 200),
            "yes",
            "NC-GRU: 0.1 after 300 steps; GRU: 0.1 after 200 steps",
        ),
        (
            "matches",
            along(600, 700, 600),
            along(200, 300, 200),
            "no",
            "NC-GRU: 0.1 after 633 steps; GRU: 0.1 after 233 steps",
        ),
    ],
)
def test_which_row_is_faster(
    tmp_path: Path, claim: str, ours: list[Record], theirs: list[Record], verdict: str, evidence: str
) -> None:
    finding = compared(tmp_path, ours, theirs, **{claim: "gru", "reaches": 0.1})
    assert written(finding) == verdict
    assert evidence in (verdicts.ours(score(finding)), finding.because)


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        (seeds(0.9, 1.0, 1.1), seeds(1.9, 2.0, 2.1), "yes"),
        (seeds(0.9, 1.0, 1.1), seeds(1.0, 1.1, 1.2), "no"),  # 0.1 apart, with a spread of 0.14
        (seeds(1.0, 1.1, 1.2), seeds(0.9, 1.0, 1.1), "no"),
        (seeds(0.9, 1.1), seeds(1.0, 1.1, 1.2), "undecided"),
        (seeds(0.9, 1.0, 1.1, budget="hour"), seeds(1.0, 1.1, 1.2, budget="hour"), "undecided"),
    ],
)
def test_a_significant_difference_is_larger_than_the_spread(
    tmp_path: Path, ours: list[Record], theirs: list[Record], verdict: str
) -> None:
    finding = compared(tmp_path / "said", ours, theirs, below_row="gru", significant=True)
    assert finding.verdict == verdict
    assert (finding.because == "no difference larger than the spread over seeds") == (verdict != "yes")
    plain = compared(tmp_path / "plain", ours, theirs, below_row="gru")
    assert plain.verdict == ("yes" if verdict == "yes" else "undecided")


def test_several_rows_are_several_claims(tmp_path: Path) -> None:
    rows = {
        "ours": made_up.ROWS["ours"] | {"claim": [{"below_row": ["gru", "lstm"]}, {"below": 3.0}]},
        "gru": made_up.ROWS["gru"],
        "lstm": made_up.ROWS["gru"] | {"label": "LSTM"},
    }
    made = made_up.experiment(rows=rows)
    found = findings([made_up.sheet(tmp_path, made, ours=record(1.0), gru=record(2.0), lstm=record(0.5))])
    assert [(finding.other and finding.other.row.label, written(finding)) for finding in found] == [
        ("GRU", "supported: shorter, one seed"),
        ("LSTM", "contradicted: shorter, one seed"),
        (None, "supported: shorter, one seed"),
    ]
    (both,) = scores(found)
    assert (both.answer, both.holding, both.shown) == ("in part", 2, found[1])
    assert verdicts.verdict(both) == "in part (2 of 3), shorter, one seed"
    assert verdicts.failures(both) == ("Claim: NC-GRU.", "Ours: NC-GRU: 1.00, LSTM: 0.500")


def test_a_sentence_is_one_line_and_shows_the_narrowest_comparison(tmp_path: Path) -> None:
    rows = {
        "ours": made_up.ROWS["ours"] | {"said": "the best", "claim": {"below_row": ["gru", "lstm", "rnn"]}},
        "gru": made_up.ROWS["gru"] | {"published": 2e-5},
        "lstm": made_up.ROWS["gru"] | {"label": "LSTM", "published": None, "said": "worse"},
        "rnn": made_up.ROWS["gru"] | {"label": "RNN"},
    }
    made = made_up.experiment(rows=rows)
    found = made_up.sheet(
        tmp_path, made, ours=seeds(1.0, 1.1, 1.2), gru=seeds(2.0, 2.1, 2.2), lstm=seeds(9.0, 9.1, 9.2)
    )
    (best,) = scores(findings([found]))
    assert (best.answer, best.decided) == ("open", False)
    assert verdicts.verdict(best) == "open (2 of 3 hold so far): others were not run"
    assert verdicts.ours(best) == "NC-GRU: 1.10 ± 0.10; GRU: 2.10 ± 0.10"
    assert verdicts.published(best) == "1e-5; 2e-5"
    assert verdicts.runs(best) == "paper's length, 3 seeds, 9 min"  # nine runs of 61 seconds
    assert verdicts.tally([best]) == {"yes": 0, "in part": 0, "no": 0, "open": 1, "not run": 0, "computed": 0}


def test_an_open_sentence_shows_the_closest_comparison_that_keeps_it_open(tmp_path: Path) -> None:
    rows = {
        "ours": made_up.ROWS["ours"] | {"said": "the best", "claim": {"below_row": ["gru", "lstm", "rnn", "goru"]}},
        **{name: made_up.ROWS["gru"] | {"label": name.upper()} for name in ("gru", "lstm", "rnn", "goru")},
    }
    numbers = {"ours": record(1.0), "gru": record(1.9), "lstm": record(1.1), "rnn": record(3.0)}
    (best,) = scores(findings([made_up.sheet(tmp_path, made_up.experiment(rows=rows), **numbers)]))
    reason = "one seed, and a difference below a factor of 2"
    assert verdicts.verdict(best) == f"open (1 of 4 hold so far): {reason}"
    assert verdicts.ours(best) == "NC-GRU: 1.00; LSTM: 1.10"


def test_claims_of_a_row_in_words_of_their_own(tmp_path: Path) -> None:
    claims = [{"below_row": "gru"}, {"below": 3.0, "said": "solves it"}]
    rows = {"ours": made_up.ROWS["ours"] | {"said": "better", "claim": claims}, "gru": made_up.ROWS["gru"]}
    judged = scores(findings([made_up.sheet(tmp_path, made_up.experiment(rows=rows), ours=seeds(1.0, 1.1, 1.2))]))
    assert [(score.said, score.answer) for score in judged] == [("better", "open"), ("solves it", "yes")]
    assert [verdicts.verdict(score) for score in judged] == ["open: GRU is not run", "yes"]
    assert verdicts.ours(judged[1]) == "1.10 ± 0.10 (our criterion: loss below 3)"


def test_lengths_that_differ_are_both_written(tmp_path: Path) -> None:
    finding = compared(tmp_path, [record(1.0, train_curve=[], **UNFINISHED)], [record(2.0)])
    assert verdicts.verdict(score(finding)) == "open: a run is unfinished"
    assert verdicts.runs(score(finding)) == ("100 of 20,000 steps, unfinished; 4,000 of 20,000 steps, one seed, 2 min")


def test_a_computed_claim_that_holds_is_counted_and_one_that_does_not_is_listed(tmp_path: Path) -> None:
    for second, listed in ((3.1, False), (9.0, True)):
        values = {"first": made_up.computed(5.19), "second": made_up.computed(second)}
        (finding,) = findings([made_up.sheet(tmp_path, made_up.analysis(), **values)])
        assert written(finding) == ("no" if listed else "yes")
        assert score(finding).listed == listed
        unlisted = verdicts.unlisted([score(finding)])
        assert unlisted == ([] if listed else ["Claims about computed numbers that hold have no line here (1)."])


def test_an_analysis_that_trains_for_a_shorter_time_than_the_paper_decides_nothing(tmp_path: Path) -> None:
    figure = library.load("ncgru-fig8")
    assert figure.analysis is not None
    options = {**figure.analysis.options, "steps": 500}
    shorter = figure.model_copy(update={"analysis": figure.analysis.model_copy(update={"options": options})})
    found = made_up.sheet(tmp_path, shorter, order_2=made_up.computed(0.03))
    assert written(findings([found])[0]) == "supported: shorter, other settings, one seed"
    assert wording.length(found.line("order-2").outcome).startswith("500 of 20,000 steps")
