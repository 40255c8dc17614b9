"""Which results are shown for a row, and what is computed of them."""

import statistics
from pathlib import Path
from typing import Any

import made_up
import pytest
from made_up import record

from eigenloop.comparison import Sheet, compare, wording
from eigenloop.comparison.claims import findings
from eigenloop.experiments import planned
from eigenloop.experiments.plan import config_hash
from eigenloop.training import RunError


def test_only_analyses_and_budgets_hour_and_full_fill_rows_in(tmp_path: Path) -> None:
    rows = dict.fromkeys(("none", "smoke", "hour", "full"), made_up.ROWS["gru"])
    made, computed = made_up.experiment(rows=rows), made_up.analysis()
    made_up.keep(
        tmp_path,
        made,
        smoke=record(1.0, budget="smoke"),
        hour=record(1.0),
        full=record(1.0, budget="full"),
    )
    made_up.keep(tmp_path, computed, first=made_up.computed(5.187))
    sheets = compare([made, computed], tmp_path)
    assert [s.experiment.paper for s in sheets] == ["nnRNN", "NC-GRU"]  # as the papers appeared
    assert [line.filled for line in sheets[1].lines] == [False, False, True, True]
    assert [sheet.filled for sheet in sheets] == [1, 2]
    assert wording.counted(sheets) == (
        "Re-run: 2 of 4 published numbers for trained networks, 1 of them at the paper's length; 1 of 2 computed "
        "numbers."
    )


def test_the_largest_budget_is_chosen(tmp_path: Path) -> None:
    runs = [record(1.0, budget="smoke"), record(2.0), record(3.0, budget="full", complete=False, status="unfinished")]
    line = made_up.line(tmp_path, *runs)
    assert line.outcome is not None
    assert (line.outcome.budget, line.outcome.mean, line.outcome.status) == ("full", 3.0, "unfinished")


def test_a_budget_at_which_nothing_was_measured_is_passed_over(tmp_path: Path) -> None:
    empty = record(None, budget="full", complete=False, status="unfinished", steps=5)
    line = made_up.line(tmp_path, empty, record(2.0))
    assert line.outcome is not None
    assert line.outcome.budget == "hour"


def test_rows_without_a_result_are_there(tmp_path: Path) -> None:
    line = made_up.line(tmp_path)
    assert (line.filled, line.ratio, line.standing) == (False, None, None)
    assert wording.ours(line) == "not run"
    assert wording.not_run(Sheet(line.experiment, (line,))) == "GRU (not timed)"


def test_a_number_that_a_paper_quotes_costs_nothing(tmp_path: Path) -> None:
    line = made_up.line(tmp_path, budgets={"hour": {"seeds": []}, "full": {"seeds": []}})
    assert wording.not_run(Sheet(line.experiment, (line,))) == "GRU (quoted by the paper)"


def test_hours_of_rows_that_were_not_run(tmp_path: Path) -> None:
    (tmp_path / "hours.json").write_text('{"rows": {"made-up/gru": 1.25, "made-up/ours": 40}}')
    made = made_up.sheet(tmp_path, made_up.experiment())
    assert wording.not_run(made) == "GRU (1.2 h); NC-GRU (40 h). In all 41 h"
    (tmp_path / "hours.json").write_text('{"rows": [1]}')
    with pytest.raises(RunError, match=r"hours\.json is damaged"):
        compare([made_up.experiment()], tmp_path)


def test_mean_and_spread_over_seeds(tmp_path: Path) -> None:
    values = [1.0e-5, 2.0e-5, 6.0e-5]
    runs = [record(value, seed=seed, budget="full") for seed, value in enumerate(values)]
    line = made_up.line(tmp_path, *runs)
    assert line.outcome is not None
    assert line.outcome.mean == pytest.approx(3e-5)
    assert line.outcome.spread == pytest.approx(statistics.stdev(values))
    assert wording.ours(line) == "(3.00 ± 2.65)e-5"
    assert wording.seeds(line.outcome) == "3"
    assert wording.ratio(line) == "1.5 x"
    assert line.standing == "worse"


@pytest.mark.parametrize(
    ("changes", "compared"),
    [
        ({}, True),
        ({"budget": "hour"}, False),
        ({"complete": False, "status": "unfinished"}, False),
        ({"config": {"task": {"length": 7}}}, False),
    ],
)
def test_there_is_a_ratio_at_the_papers_length_and_task_only(
    tmp_path: Path, changes: dict[str, Any], compared: bool
) -> None:
    line = made_up.line(tmp_path, record(1e-5, **{"budget": "full", **changes}))
    assert (line.ratio is not None, line.standing is not None) == (compared, compared)
    assert wording.ratio(line) == ("0.50 x" if compared else wording.MISSING)
    assert ("1 of them at the paper's length" in wording.counted([Sheet(line.experiment, (line,))])) == compared


def test_one_seed_has_no_spread(tmp_path: Path) -> None:
    line = made_up.line(tmp_path, record(0.0123))
    assert line.outcome is not None
    assert line.outcome.spread is None
    assert wording.ours(line) == "0.0123"


def test_finished_seeds_count_before_unfinished_and_diverged_ones(tmp_path: Path) -> None:
    runs = [record(1.0), record(5.0, seed=1, complete=False, status="unfinished"), record(9.0, seed=2)]
    lost = record(None, seed=2, status="diverged", steps=70)
    line = made_up.line(tmp_path / "one", *runs)
    assert line.outcome is not None
    assert line.outcome.mean == 5.0
    assert wording.seeds(line.outcome) == "2 of 3"
    assert "1 of 3 seeds is unfinished and not counted." in wording.remarks(line)
    line = made_up.line(tmp_path / "two", *runs[:2], lost)
    assert line.outcome is not None
    assert (line.outcome.mean, wording.seeds(line.outcome)) == (1.0, "1 of 3, 1 diverged")


def test_an_unfinished_run_says_how_far_it_came(tmp_path: Path) -> None:
    run = record(0.1, complete=False, status="unfinished", steps=2500)
    line = made_up.line(tmp_path, run)
    assert wording.length(line.outcome) == "2,500 of 20,000 steps, unfinished"
    assert wording.ours(line) == "0.100"


def test_a_run_that_was_not_tested_says_of_which_split_its_value_is(tmp_path: Path) -> None:
    """Nor does it hide a number that was tested, or count as one."""
    rows = {"row": made_up.ROWS["gru"]}
    made = made_up.experiment(rows=rows, measure="test")
    cut = record(None, budget="full", complete=False, status="stopped", curve=[(10, 0.3), (20, 0.25), (30, 0.26)])
    line = made_up.sheet(tmp_path, made, row=cut).line("row")
    assert wording.ours(line) == "0.250 (validation split)"
    assert (line.ratio, line.standing) == (None, None)
    line = made_up.sheet(tmp_path, made, row=record(0.2)).line("row")
    assert wording.ours(line) == "0.200"
    images = {"task": {"name": "pmnist", "split": "60k"}}
    made = made_up.experiment("images", rows=rows, measure="test", settings=images)
    line = made_up.sheet(tmp_path, made, row=cut).line("row")
    assert wording.ours(line) == "0.250 (test split)"


def test_lengths(tmp_path: Path) -> None:
    assert wording.length(made_up.line(tmp_path / "1", record(1.0)).outcome) == "4,000 of 20,000 steps"
    assert wording.length(made_up.line(tmp_path / "2", record(1.0, budget="full")).outcome) == "20,000 steps"
    solved = record(1.0, budget="full", status="solved", steps=900)
    assert wording.length(made_up.line(tmp_path / "3", solved).outcome) == "900 of 20,000 steps, solved"
    runs = [record(1.0, seed=i, complete=False, status="unfinished", steps=s) for i, s in enumerate((100, 1700))]
    assert wording.length(made_up.line(tmp_path / "4", *runs).outcome) == "100 to 1,700 of 20,000 steps, unfinished"


def test_epochs_where_the_paper_counts_epochs(tmp_path: Path) -> None:
    budgets = {"full": {"settings": {"task": {"train_size": 1000}, "training": {"epochs": 100}}}}
    run = record(1.0, epochs=2.5, steps=4000)
    outcome = made_up.line(tmp_path, run, budgets=budgets).outcome
    assert wording.length(outcome) == "2.5 of 100 epochs"
    assert outcome is not None
    assert outcome.progress is not None
    assert outcome.progress.planned == pytest.approx(2.5)
    assert outcome.shorter


def test_a_diverged_run_is_shown_as_diverged(tmp_path: Path) -> None:
    line = made_up.line(tmp_path / "1", record(None, status="diverged", steps=12))
    assert line.filled
    assert (wording.ours(line), wording.ratio(line)) == ("diverged", wording.MISSING)
    line = made_up.line(tmp_path / "2", record(0.5, status="diverged", steps=12))
    assert (wording.ours(line), wording.ratio(line)) == ("diverged (0.500 before)", wording.MISSING)


def test_what_is_computed_is_the_same_or_differs(tmp_path: Path) -> None:
    found = made_up.sheet(
        tmp_path, made_up.analysis(), first=made_up.computed(5.1873), second=made_up.computed(2.9)
    ).lines
    assert [line.standing for line in found] == ["same", "differs"]
    assert [wording.ratio(line) for line in found] == ["1.00 x", "0.97 x"]


@pytest.mark.parametrize(
    ("published", "higher", "ours", "standing"),
    [(0.5, False, 0.4, "better"), (0.5, False, 0.6, "worse"), (0.5, True, 0.6, "better"), (0.5, True, 0.5004, "same")],
)
def test_better_and_worse(tmp_path: Path, published: float, higher: bool, ours: float, standing: str) -> None:
    made = made_up.experiment(
        rows={"row": made_up.ROWS["gru"] | {"published": published}}, higher_is_better=higher, metric="score"
    )
    line = made_up.sheet(tmp_path, made, row=record(ours, budget="full")).line("row")
    assert line.standing == standing
    assert line.ratio == pytest.approx(ours / published)


@pytest.mark.parametrize(("published", "shown", "ours"), [(68.78, "68.78 %", "67.51 %"), (0.6878, "0.6878", "0.675")])
def test_accuracies_are_shown_as_the_paper_prints_them(tmp_path: Path, published: float, shown: str, ours: str) -> None:
    rows = {"row": made_up.ROWS["gru"] | {"published": published, "claim": {"above": 0.6}}}
    made = made_up.experiment(rows=rows, higher_is_better=True, metric="accuracy")
    line = made_up.sheet(tmp_path, made, row=record(0.6751, metric="accuracy", budget="full")).line("row")
    assert (wording.published(line), wording.ours(line)) == (shown, ours)
    assert line.ratio == pytest.approx(0.6751 / 0.6878)


def test_settings_that_are_not_the_papers_are_told(tmp_path: Path) -> None:
    budgets = {"hour": {"settings": {"task": {"length": 5, "test_size": 7}, "training": {"steps": 4000}}}}
    made = made_up.experiment(rows={"row": made_up.ROWS["gru"] | {"budgets": budgets, "parameters": 99}})
    config = planned(made, "hour")[0].config()
    run = record(1.0, config=config.as_dict(), config_hash=config_hash(config), parameters=98)
    line = made_up.sheet(tmp_path, made, row=run).line("row")
    assert wording.remarks(line) == [
        "It has 98 parameters; the paper's has 99.",
        "Settings that differ from the paper's: task.length 5, in the paper 20.",
    ]
    assert wording.length(line.outcome) == "4,000 of 20,000 steps, smaller task"
    assert line.outcome is not None
    assert not line.outcome.outdated
    old = run.model_copy(update={"config_hash": "f" * 12})
    line = made_up.sheet(tmp_path, made, row=old).line("row")
    assert "The settings of this row have changed since it was run: run it again." in wording.remarks(line)


def test_a_result_of_an_older_arithmetic_is_stale_and_decides_nothing(tmp_path: Path) -> None:
    rows = {
        "ours": made_up.ROWS["ours"] | {"claim": {"below_row": ["gru"]}},
        "gru": made_up.ROWS["gru"],
    }
    made = made_up.experiment(rows=rows)
    now = planned(made, "hour", ["ours"])[0].numerics()
    for numerics, stale in ((now, False), ({}, True)):
        found = made_up.sheet(tmp_path, made, ours=record(1e-6, numerics=numerics), gru=record(1e-3))
        line, (finding,) = found.line("ours"), findings([found])
        assert finding.verdict == ("undecided" if stale else "supported")
        assert wording.length(line.outcome).endswith("stale") == stale
        assert any("--rerun-stale" in remark for remark in wording.remarks(line)) == stale
        assert not wording.length(found.line("gru").outcome).endswith("stale")


def test_a_shared_training_is_said(tmp_path: Path) -> None:
    rows = {**made_up.ROWS, "later": {**made_up.ROWS["gru"], "label": "GRU, 8 bits", "trained_as": "gru"}}
    found = made_up.sheet(tmp_path, made_up.experiment(rows=rows, measure="test"))
    assert wording.remarks(found.line("later")) == ["Measured on the trained network of GRU."]
    assert wording.remarks(found.line("gru")) == []


def test_a_missing_folder_and_a_damaged_file_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"there is no folder .*nowhere: name the one"):
        compare([made_up.experiment()], tmp_path / "nowhere")
    (tmp_path / "made-up").mkdir()
    (tmp_path / "made-up" / "gru.json").write_text('{"runs": [{"budget": "ho')
    with pytest.raises(RunError, match=r"gru\.json is damaged"):
        compare([made_up.experiment()], tmp_path)
