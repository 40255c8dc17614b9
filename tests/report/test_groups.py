"""Names: every run can be told from every other, and tasks that differ are kept apart."""

from pathlib import Path
from typing import Any

import pytest
import synthetic_runs as synthetic

from eigenloop import registry, runs
from eigenloop.report import names
from eigenloop.report.groups import COLOURS, grouped


@pytest.mark.parametrize(
    ("name", "written"),
    [("scornn", "scoRNN"), ("ncgru", "NC-GRU"), ("urnn-full", "full-capacity uRNN"), ("my-own", "my-own")],
)
def test_models_are_written_as_in_their_papers(name: str, written: str) -> None:
    assert names.model(name) == written


def test_every_model_and_task_has_a_heading() -> None:
    """A title of its own, and for tasks words that fit into a sentence."""
    for kind in (registry.MODELS, registry.TASKS):
        assert all(kind.title(name).strip() for name in kind)
    assert set(names.TASK_PHRASES) == set(registry.TASKS) - {"timit"}  # whose title fits as it is
    assert names.task("pmnist") == (registry.TASKS["pmnist"].title, "permuted MNIST")
    assert names.task("timit") == ("TIMIT", "TIMIT")
    assert names.task("my-own") == ("my-own", "my-own")


def test_the_same_model_twice_is_told_apart(tmp_path: Path) -> None:
    folders = ["one/seed0", "one/seed1", "two/seed1"]
    found = [runs.read(synthetic.solved_scornn(tmp_path / folder)) for folder in folders]
    found.append(runs.read(synthetic.lstm_at_the_baseline(tmp_path / "lstm")))
    (group,) = grouped(found)
    assert [entry.label for entry in group.entries] == [
        "scoRNN (seed0)",
        "scoRNN (one/seed1)",
        "scoRNN (two/seed1)",
        "LSTM",
    ]
    assert len({entry.colour for entry in group.entries}) == 4


def test_a_model_has_one_colour_in_all_tasks(tmp_path: Path) -> None:
    tasks = [{"name": "copying", "delay": 1000}, {"name": "copying", "delay": 200}, {"name": "pmnist"}]
    found = [
        runs.read(synthetic.write_run(tmp_path / f"{model}{i}", settings=synthetic.config(model, task)))
        for i, task in enumerate(tasks)
        for model in ("scornn", "lstm")
    ]
    groups = grouped(found)
    assert [group.title for group in groups] == ["Copying, delay 1000", "Copying, delay 200", "Permuted MNIST"]
    assert [[entry.label for entry in group.entries] for group in groups] == [["scoRNN", "LSTM"]] * 3
    assert [[entry.colour for entry in group.entries] for group in groups] == [[0, 1]] * 3
    full = [entry.full for group in groups for entry in group.entries]
    assert len(set(full)) == len(full)


def test_where_the_data_is_makes_no_other_task(tmp_path: Path) -> None:
    tasks = [{"name": "ptb-char", "data_dir": folder} for folder in ("here", "there")]
    found = [synthetic.write_run(tmp_path / t["data_dir"], settings=synthetic.config("lstm", t)) for t in tasks]
    (group,) = grouped([runs.read(folder) for folder in found])
    assert group.title == "Penn Treebank, characters"
    assert group.options == ()


def test_more_runs_than_colours(tmp_path: Path) -> None:
    found = [runs.read(synthetic.write_run(tmp_path / f"run{i}")) for i in range(COLOURS + 2)]
    (group,) = grouped(found)
    styles = [entry.style for entry in group.entries]
    assert len(set(styles)) == COLOURS + 2
    assert styles[COLOURS] == "c0 again"


def test_configs_without_the_usual_sections(tmp_path: Path) -> None:
    settings: list[dict[str, Any]] = [
        {"notes": {"text": "hello"}},
        {"task": {"name": "copying"}, "model": {"name": "lstm"}},
    ]
    found = [runs.read(synthetic.write_run(tmp_path / f"run{i}", settings=each)) for i, each in enumerate(settings)]
    groups = grouped(found)
    assert [group.title for group in groups] == ["Unnamed task", "Copying"]
    assert [group.entries[0].label for group in groups] == ["run0", "LSTM"]
