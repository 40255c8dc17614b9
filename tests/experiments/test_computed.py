"""Rows that an analysis computes: once, and again only where something has changed."""

from pathlib import Path

import pytest

from eigenloop import analysis
from eigenloop.comparison import compare
from eigenloop.experiments import Experiment, compute, records
from eigenloop.experiments.computed import value_at
from eigenloop.training import ConfigError


def memory(**options: object) -> Experiment:
    return Experiment.model_validate(
        {
            "name": "made-up",
            "paper": "nnRNN",
            "item": "Figure 0",
            "title": "made up",
            "metric": "norm",
            "analysis": {"name": "transients", "options": {"size": 6, "count": 5, **options}},
            "rows": {
                "one": {"label": "one", "published": 1.0, "value": ["rows", 0, "norm_mean", 3]},
                "two": {"label": "two", "published": 1.0, "value": ["rows", 1, "norm_mean", 3]},
            },
        }
    )


def test_computed_once(tmp_path: Path) -> None:
    first = compute(memory(), tmp_path)
    assert [(name, known) for name, _, known in first] == [("one", False), ("two", False)]
    again = compute(memory(), tmp_path)
    assert [(name, known) for name, _, known in again] == [("one", True), ("two", True)]
    assert [record for _, record, _ in again] == [record for _, record, _ in first]
    assert len({record.config_hash for _, record, _ in first}) == 1


def test_a_smoke_run_has_options_of_its_own_and_does_not_count(tmp_path: Path) -> None:
    slow = memory()
    assert slow.analysis is not None
    quick = slow.model_copy(update={"analysis": slow.analysis.model_copy(update={"smoke": {"count": 2}})})
    ((_, smoke, _),) = compute(quick, tmp_path, ["one"], budget="smoke")
    assert (smoke.budget, smoke.config["analysis"]["count"]) == ("smoke", 2)
    assert compare([quick], tmp_path)[0].line("one").outcome is None
    ((_, full, known),) = compute(quick, tmp_path, ["one"])
    assert (full.budget, full.config["analysis"]["count"], known) == ("full", 5, False)
    assert compare([quick], tmp_path)[0].line("one").outcome is not None
    ((_, same, _),) = compute(slow, tmp_path, ["one"], budget="smoke")
    assert same == full


def test_computed_again_with_other_options_or_where_a_row_is_missing(tmp_path: Path) -> None:
    compute(memory(), tmp_path)
    assert not any(known for _, _, known in compute(memory(seed=1), tmp_path))
    (tmp_path / "made-up" / "two.json").unlink()
    assert not any(known for _, _, known in compute(memory(seed=1), tmp_path))
    assert [known for _, _, known in compute(memory(seed=1), tmp_path, ["two"])] == [True]
    assert {record.seed for record in records.read(tmp_path, "made-up", "one")} == {0, 1}


def test_an_analysis_that_several_experiments_quote_is_done_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = []
    transients = analysis.transients
    monkeypatch.setattr(analysis, "transients", lambda **options: done.append(options) or transients(**options))
    first = compute(memory(seed=7), tmp_path)
    second = compute(memory(seed=7).model_copy(update={"name": "another"}), tmp_path)
    assert [record.value for _, record, _ in first] == [record.value for _, record, _ in second]
    assert done == [{"size": 6, "count": 5, "seed": 7}]


def test_a_number_that_is_not_there_is_said() -> None:
    for path, said in ((("rows", 1), "the analysis has no rows.1"), (("rows",), "not a number")):
        with pytest.raises(ConfigError, match=said):
            value_at({"rows": [1.0]}, path, "here")
