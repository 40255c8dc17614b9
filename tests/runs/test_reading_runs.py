"""Reading run folders: whole ones, unfinished ones, torn ones and damaged ones."""

import json
import math
from pathlib import Path

import pytest
from report import synthetic_runs as synthetic

from eigenloop import runs
from eigenloop.errors import RunError


def test_a_whole_run(tmp_path: Path) -> None:
    run = runs.read(synthetic.solved_scornn(tmp_path / "run"))
    assert run.status == "solved"
    assert run.section("model")["hidden_size"] == 190
    assert [line.step for line in run.lines["train"]] == list(range(10, 4001, 10))
    assert [line.step for line in run.lines["valid"]] == list(range(100, 4001, 100))
    assert set(run.lines["valid"][0].values) == {"loss", "accuracy"}
    assert run.summary is not None
    assert run.summary.baseline == {"loss": 0.0204}
    assert run.summary.machine["cores"] == 2
    assert [(spectrum.name, len(spectrum.before), len(spectrum.after)) for spectrum in run.spectra] == [
        ("recurrent_l0", 190, 190)
    ]
    assert run.missing() == []


def test_an_unfinished_run_says_what_is_missing(tmp_path: Path) -> None:
    run = runs.read(synthetic.unfinished_gru(tmp_path / "run"))
    assert run.status == "unfinished"
    assert len(run.lines["train"]) == 120, "the torn last line is left out, the others are kept"
    assert run.steps == 1200
    assert run.seconds == run.lines["train"][-1].seconds
    assert [sentence.split(":")[0] for sentence in run.missing()] == [
        "No summary.json",
        "No evaluation yet",
        "No spectra.json",
    ]


def test_a_run_that_has_only_begun(tmp_path: Path) -> None:
    folder = synthetic.write_run(tmp_path / "run")
    run = runs.read(folder)
    assert run.steps is run.seconds is None
    assert "nothing has been measured" in " ".join(run.missing())


def test_values_that_are_not_finite_are_left_out(tmp_path: Path) -> None:
    run = runs.read(synthetic.diverged_rnn(tmp_path / "run"))
    assert all(("loss" in line.values) == (line.step < 1500) for line in run.lines["train"])
    assert "accuracy" in run.lines["train"][-1].values
    assert math.isnan(run.spectra[0].after[0].real)


def test_a_resumed_run_counts_what_it_measured_last(tmp_path: Path) -> None:
    steps = [(100, 1.0), (200, 2.0), (300, 3.0), (200, 20.0), (300, 30.0)]
    metrics = [{"kind": "train", "step": step, "loss": loss} for step, loss in steps]
    run = runs.read(synthetic.write_run(tmp_path / "run", metrics=metrics))
    assert [(line.step, line.values["loss"]) for line in run.lines["train"]] == [(100, 1), (200, 20), (300, 30)]


@pytest.mark.parametrize(
    "torn",
    ['{"kind": "tra', '{"kind": "train", "step": 20, "loss": NaN', "\0\0\0\0", '{"kind": "train"}', '{"a": "\ud83d'],
)
def test_a_torn_last_line_is_left_out(tmp_path: Path, torn: str) -> None:
    folder = synthetic.write_run(tmp_path / "run", metrics=[{"kind": "train", "step": 10, "loss": 1.0}])
    with (folder / "metrics.jsonl").open("ab") as file:
        file.write(torn.encode("utf-8", errors="surrogatepass")[:-1] + b"\n" * ("NaN" in torn))
    assert [line.step for line in runs.read(folder).lines["train"]] == [10]


@pytest.mark.parametrize("value", ["true", '"1"', "[1]", "{}", "1" + "0" * 5000])
def test_what_is_no_number_is_damage(tmp_path: Path, value: str) -> None:
    folder = synthetic.write_run(tmp_path / "run")
    line = '{"kind": "train", "step": 1, "loss": %s}\n'
    (folder / "metrics.jsonl").write_text(line % "null" + line % value + line % "2")
    with pytest.raises(RunError, match=r"metrics\.jsonl is damaged \(line 2: .*: delete line 2 or restore the file"):
        runs.read(folder)


DAMAGE = {
    "a torn line in the middle": ("metrics.jsonl", '{"kind": "tr\n{"kind": "train", "step": 1}\n', "line 1"),
    "a line without a step": ("metrics.jsonl", '{"kind": "train"}\n{"kind": "train", "step": 1}\n', "line 1"),
    "a line that is a list": ("metrics.jsonl", '\n[1]\n{"kind": "train", "step": 1}\n', "line 2"),
    "a torn summary": ("summary.json", '{"status": ', "delete it"),
    "a summary that is a list": ("summary.json", "[]", "delete it"),
    "a summary nested too deeply": ("summary.json", "[" * 100_000, "delete it"),
    "torn spectra": ("spectra.json", '{"before": {', "without eigenvalues"),
    "spectra that are no pairs": (
        "spectra.json",
        '{"before": {"w": [[1, 2, 3]]}}',
        "before.w.0: tuple should",
    ),
    "spectra that are no list": ("spectra.json", '{"before": {"w": 3}}', "before.w: input should be a valid list"),
    "spectra without matrices": ("spectra.json", '{"before": [1]}', "before: input should be a valid dictionary"),
    "a config that is no YAML": ("config.yaml", "task: {name: [", "config.yaml is damaged"),
    "a config that is a list": ("config.yaml", "- 1", "holds a list"),
    "an empty config": ("config.yaml", "", "no sections"),
    "a config that wants to run code": (
        "config.yaml",
        "a: !!python/object/apply:os.getcwd []",
        "config.yaml is damaged",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_files_are_named(tmp_path: Path, name: str) -> None:
    file, text, says = DAMAGE[name]
    folder = synthetic.solved_scornn(tmp_path / "run")
    (folder / file).write_text(text, encoding="utf-8")
    with pytest.raises(RunError, match=says) as caught:
        runs.read(folder)
    assert str(folder / file) in str(caught.value)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"there is no folder .*nowhere: give the folder"):
        runs.read(tmp_path / "nowhere")


def test_a_folder_of_runs_is_not_a_run(tmp_path: Path) -> None:
    synthetic.solved_scornn(tmp_path / "first")
    synthetic.solved_scornn(tmp_path / "second")
    with pytest.raises(RunError, match=r"holds no config.yaml: give the run folders inside it \(first, second\)"):
        runs.read(tmp_path)


def test_no_runs_and_the_same_run_twice(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="at least one run"):
        runs.read_all([])
    first, second = synthetic.solved_scornn(tmp_path / "a"), synthetic.lstm_at_the_baseline(tmp_path / "b")
    found = runs.read_all([first, second, tmp_path / "b" / ".." / "a"])
    assert [run.folder for run in found] == [first, second]


@pytest.mark.parametrize("field", ["best", "final", "test", "baseline", "machine", "versions", "steps"])
@pytest.mark.parametrize("value", ["text", 3.5, [1]])
def test_a_summary_with_odd_fields_is_damage(tmp_path: Path, field: str, value: object) -> None:
    folder = synthetic.write_run(tmp_path / "run", end=synthetic.summary())
    (folder / "summary.json").write_text(json.dumps(synthetic.summary() | {field: value}))
    with pytest.raises(RunError, match=rf"summary\.json is damaged \({field}: .*: delete it"):
        runs.read(folder)


def test_a_folder_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    folder = synthetic.write_run(tmp_path / "run")
    path = folder / "config.yaml"
    path.write_text(path.read_text().replace("version: 1", "version: 7"))
    with pytest.raises(RunError, match=r"version 7, and this eigenloop reads up to version 1: update eigenloop"):
        runs.read(folder)
