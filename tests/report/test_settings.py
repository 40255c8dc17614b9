"""Runs side by side: settings that differ, unequal lengths, and several seeds as one."""

import re
from pathlib import Path
from typing import Any

import pytest
import synthetic_runs as synthetic

from eigenloop import runs
from eigenloop.report import page, settings, verdict
from eigenloop.report.groups import Group, grouped
from eigenloop.report.table import COLUMNS, table


def written(folder: Path, model: str, *, test: float = 0.01, status: str = "finished", **sections: Any) -> Path:
    config = synthetic.config(model)
    for section, values in sections.items():
        config[section] |= values
    return synthetic.write_run(folder, settings=config, end=synthetic.summary(test={"loss": test}, status=status))


def group_of(*folders: Path) -> Group:
    (group,) = grouped([runs.read(folder) for folder in folders])
    return group


def test_settings_that_differ_have_a_column(tmp_path: Path) -> None:
    group = group_of(
        written(tmp_path / "a", "scornn", optimizer={"lr": 0.01}, training={"batch_size": 50}),
        written(tmp_path / "b", "lstm", optimizer={"name": "adam", "amsgrad": True}, training={"device": "cuda"}),
    )
    found = table([group])
    assert found.columns == (*COLUMNS[:-1], "Optimizer", "Learning rate", "Batch size", "Status")
    cells = [dict(zip(found.columns, row.cells, strict=True)) for row in found.rows]
    assert [cell["Optimizer"].text for cell in cells] == ["tf-rmsprop", "adam"]
    assert [cell["Learning rate"].text for cell in cells] == ["0.01", "0.001"]
    assert [cell["Batch size"].key for cell in cells] == ["50.0", "20.0"]
    assert "Optimizer" in found.words
    assert "Batch size" not in found.words


def test_runs_that_are_alike_have_no_more_columns(tmp_path: Path) -> None:
    group = group_of(written(tmp_path / "a", "scornn"), written(tmp_path / "b", "lstm", training={"seed": 3}))
    assert table([group]).columns == COLUMNS
    assert settings.unequal(group) is None


@pytest.mark.parametrize(
    ("training", "said"),
    [
        ({"batch_size": 50}, "LSTM 4,000 steps, 50 sequences per step"),
        ({"steps": 400}, "LSTM 400 steps, 20 sequences per step"),
        ({"steps": 10**6, "max_seconds": 31.3}, "LSTM at most 31\N{NARROW NO-BREAK SPACE}s, 20 sequences per step"),
        ({"steps": None, "epochs": 2.5}, "LSTM 2.5 epochs, 20 sequences per step"),
    ],
)
def test_unequal_lengths_and_batches_are_said(training: dict[str, Any], said: str, tmp_path: Path) -> None:
    folders = [written(tmp_path / "a", "scornn"), written(tmp_path / "b", "lstm", training=training)]
    line = f"Trained differently: scoRNN 4,000 steps, 20 sequences per step; {said}."
    assert settings.unequal(group_of(*folders)) == line
    assert line in page.render(folders)


def test_seeds_become_one_line_with_mean_and_spread(tmp_path: Path) -> None:
    tests = (0.001, 0.002, 0.003)
    seeds = [
        written(tmp_path / f"s{i}", "scornn", test=value, training={"seed": i, "threads": i})
        for i, value in enumerate(tests)
    ]
    group = group_of(*seeds, written(tmp_path / "lstm", "lstm"))
    assert [len(entries) for entries in settings.by_seed(group)] == [3, 1]
    assert [entry.label for entry in group.entries[:2]] == ["scoRNN (seed 0)", "scoRNN (seed 1)"]
    judged = verdict.judge_seeds(group.entries[:3], group)
    assert judged.entry.label == "scoRNN (3 seeds)"
    assert judged.value == "0.002"
    assert judged.caption == "± 0.001 over seeds; loss, test set"  # the deviation with n - 1
    assert judged.sentence.endswith("The mean of 3 seeds, from 0.001 to 0.003.")
    assert judged.outcome == "solved"
    rows = table([group]).rows
    assert [row.cells[0].text for row in rows] == ["scoRNN (3 seeds)", "LSTM"]
    assert rows[0].cells[COLUMNS.index("Test")].text == "0.002 ± 0.001"
    text = page.render(seeds)
    assert len(re.findall(r'<li class="c\d', text.split('class="verdicts"')[1].split("</ol>")[0])) == 1


def test_what_is_no_seed_of_the_same_run_stays_apart(tmp_path: Path) -> None:
    group = group_of(
        written(tmp_path / "a", "scornn", training={"seed": 0}),
        written(tmp_path / "again", "scornn", training={"seed": 0}),
        written(tmp_path / "b", "scornn", training={"seed": 1}, optimizer={"lr": 0.1}),
        written(tmp_path / "c", "scornn", training={"seed": 2}, status="diverged"),
        written(tmp_path / "d", "scornn", training={"seed": 3}),
    )
    sets = [[entry.run.folder.name for entry in entries] for entries in settings.by_seed(group)]
    assert sets == [["a", "d"], ["again"], ["b"], ["c"]]
    together = settings.together([group.entries[0], group.entries[4]], group)
    assert together.label == "scoRNN (a, ...; 2 seeds)"
