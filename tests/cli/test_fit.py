"""From a file to predictions as a new user types it: fit, eval, predict, and what is said when something is wrong."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from commands import call
from training.own_data import separable, wave
from training.small import metrics_of, summary_of, weights_of

import eigenloop as el
from eigenloop.quantization import size_report
from eigenloop.runs import checkpoints
from eigenloop.training import load_run

QUICK = ["--hidden-size", "8", "--steps", "60", "--set", "eval_every=20"]

pytestmark = pytest.mark.usefixtures("elsewhere")


def table_in(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def spreadsheet(path: Path, cases: int = 60) -> Path:
    """A table as a spreadsheet saves it: a row a step."""
    rng = np.random.default_rng(0)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "t", "speed", "tilt", "mood", "person"])
        for case in range(cases):
            mood = ("calm", "wild")[case % 2]
            for step in range(6):
                values = rng.normal(size=2) + (2 if mood == "wild" else -2)
                writer.writerow([f"walk {case}", step, *(f"{value:.3f}" for value in values), mood, f"P{case % 12}"])
    return path


@pytest.mark.parametrize("model", ["ncgru", "gru", "lstm", "rnn"])
def test_weights_and_states_in_few_bits(model: str) -> None:
    """The ranges are calibrated and learned, a run that was cut ends as one that was not, and it becomes integers."""
    data = str(separable(Path("watch.npz")))
    arguments = ["fit", data, "--model", model, "--bits", "4", "--state-bits", "8", *QUICK]
    assert call(*arguments, "--out", "whole") == 0
    assert call(*arguments, "--steps", "25", "--out", "cut") == 0
    assert call("fit", "--out", "cut", "--resume", "--steps", "60") == 0
    assert weights_of(Path("cut"), 60) == weights_of(Path("whole"), 60)
    net = load_run("whole")[0]
    assert net.rnn.state_quantizer.bits == 8
    assert net.rnn.quantizer is not None
    ranges = {name: float(value.detach()) for name, value in net.rnn.named_parameters() if "range" in name}
    assert "input_range" in ranges
    assert all(value > 0 and value != 4.0 for value in ranges.values())
    assert {cell.formats.bits for cell in el.deploy.integer(net).cells} == {8}


def test_a_spreadsheet_becomes_predictions(capsys: pytest.CaptureFixture[str]) -> None:
    data = spreadsheet(Path("walks.csv"))
    assert call("fit", str(data), "--label", "mood", "--bits", "4", *QUICK) == 0
    out = capsys.readouterr().out
    assert "walks.csv: 60 cases, 6 steps each, 2 channels (speed, tilt), float64" in out
    assert "labels: a class for each case: calm (30), wild (30)" in out
    assert "groups: 12" in out
    assert "missing values: none" in out
    assert "split: train 40, valid 10, test 10 cases" in out
    assert "eigenloop predict runs/walks-ncgru FILE" in out

    assert call("eval", "runs/walks-ncgru", "--split", "test") == 0
    out = capsys.readouterr().out
    assert "test: 10 cases, accuracy 1.0000 (always the most frequent class: 0.5000)" in out
    assert "calm       1.000   1.000  1.000      5" in out.splitlines()[4]
    assert out.splitlines()[-1].split() == ["wild", "0", "5"]
    assert call("eval", "runs/walks-ncgru", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["test"]["confusion"] == [[5, 0], [0, 5]]
    assert found["valid"]["classes"]["wild"]["recall"] == 1

    rows = table_in(data)[: 3 * 6]
    with Path("new.csv").open("w", newline="") as file:  # other order, no labels, and a column of no use
        writer = csv.DictWriter(file, ["note", "tilt", "speed", "id", "t"], extrasaction="ignore", restval="-")
        writer.writeheader()
        writer.writerows(rows)
    for name in ("answers.csv", "answers.npz", "answers.parquet"):
        assert call("predict", "runs/walks-ncgru", "new.csv", "--out", name) == 0
    assert "answers.csv: 3 rows of 3 cases, columns case, prediction, p(calm), p(wild)" in capsys.readouterr().out
    answers = table_in(Path("answers.csv"))
    assert [row["case"] for row in answers] == ["walk 0", "walk 1", "walk 2"]
    assert [row["prediction"] for row in answers] == ["calm", "wild", "calm"]
    assert all(float(row["p(calm)"]) + float(row["p(wild)"]) == pytest.approx(1) for row in answers)
    with np.load("answers.npz") as arrays:
        assert arrays["prediction"].tolist() == ["calm", "wild", "calm"]
    import pyarrow.parquet as parquet

    assert parquet.read_table("answers.parquet").column("prediction").to_pylist() == ["calm", "wild", "calm"]


def test_a_forecast_is_shown_beside_the_naive_guess(capsys: pytest.CaptureFixture[str]) -> None:
    wave(Path("wave.npz"))
    assert call("fit", "wave.npz", "--horizon", "3", "--window", "40", "--out", "run", *QUICK) == 0
    assert "labels: none, so the next values are forecast" in capsys.readouterr().out
    assert call("eval", "run", "--split", "test") == 0
    out = capsys.readouterr().out
    assert "naive forecast: the last value: RMSE" in out
    assert "RMSE of the naive guess" in out
    assert call("predict", "run", "wave.npz") == 0
    answers = table_in(Path("predictions.csv"))
    assert [row["ahead"] for row in answers] == ["1", "2", "3"]
    assert {row["from_step"] for row in answers} == {"1499"}


def test_train_sequences_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    separable(Path("watch.npz"))
    assert call("fit", "watch.npz", "--out", "fit", *QUICK) == 0
    assert call("train", "sequences", "--data", "watch.npz", "--model", "ncgru", "--out", "train", *QUICK) == 0
    assert weights_of(Path("fit"), 60) == weights_of(Path("train"), 60)


@pytest.mark.slow
def test_kill_and_resume(tmp_path: Path) -> None:
    """Killed with SIGKILL among its steps, the same network in the end, bit for bit."""
    data = separable(tmp_path / "watch.npz")
    steps, cut, whole = 400, tmp_path / "cut", tmp_path / "whole"
    settings = ["--hidden-size", "8", "--set", "eval_every=20", "--patience", "1000"]
    first = [sys.executable, "-m", "eigenloop", "fit", str(data), "--bits", "4", "--steps", str(steps), *settings]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([*first, "--out", str(cut)], stdout=subprocess.DEVNULL, env=environment)
    while max(checkpoints.steps_in(cut / "checkpoints"), default=-1) < 10 and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "it ended before it was killed: make the run longer"
    resuming = [sys.executable, "-m", "eigenloop", "fit", "--out", str(cut), "--resume"]
    subprocess.run(resuming, check=True, capture_output=True, env=environment)
    subprocess.run([*first, "--out", str(whole)], check=True, capture_output=True, env=environment)
    assert weights_of(cut, steps) == weights_of(whole, steps)
    assert metrics_of(cut) == metrics_of(whole)
    assert summary_of(cut) == summary_of(whole)


def test_a_changed_file_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    separable(Path("watch.npz"))
    assert call("fit", "watch.npz", "--out", "run", *QUICK) == 0
    separable(Path("watch.npz"), seed=1)
    capsys.readouterr()
    assert call("fit", "--out", "run", "--resume", "--steps", "80") == 1
    problem = capsys.readouterr().err
    assert "watch.npz was changed since this run began" in problem
    assert "restore the file: or start another run with another --out" in problem
    assert call("eval", "run") == 0
    assert (
        "watch.npz was changed since this run began: the numbers are those of the changed file"
        in capsys.readouterr().err
    )
    separable(Path("elsewhere.npz"))
    assert call("fit", "elsewhere.npz", "--out", "run", "--resume", "--steps", "80") == 0


def test_a_test_file_is_the_test_part(capsys: pytest.CaptureFixture[str]) -> None:
    separable(Path("watch.npz"))
    separable(Path("later.npz"), cases=30, seed=5)
    assert call("fit", "watch.npz", "--test", "later.npz", "--out", "run", *QUICK) == 0
    assert "split: train 74, valid 16, test 30 cases" in capsys.readouterr().out
    separable(Path("later.npz"), cases=30, seed=6)
    assert call("eval", "run", "--split", "test") == 0
    captured = capsys.readouterr()
    assert "later.npz was changed" in captured.err
    assert "test: 30 cases" in captured.out


@pytest.mark.parametrize(("bits", "model"), [("4", "ncgru"), ("float", "scornn"), ("8", "lstm")])
def test_as_many_units_as_fit(bits: str, model: str) -> None:
    separable(Path("watch.npz"))
    more = ["--max-bytes", "2048", "--bits", bits, "--model", model]
    assert call("fit", "watch.npz", "--out", "run", "--steps", "2", *more) == 0
    net, config, _ = load_run("run")
    size = config.network.hidden_size
    assert isinstance(size, int)
    assert size_report(net).bytes <= 2048
    assert call("fit", "watch.npz", "--out", "more", "--steps", "2", *more[2:], "--hidden-size", str(size + 1)) == 0
    assert size_report(load_run("more")[0]).bytes > 2048


WRONG = [
    (["fit"], "no data are named: name a file: eigenloop fit FILE"),
    (["fit", "nothing.csv"], "nothing.csv: there is no such file or folder"),
    (["fit", "watch.npz", "--kind", "colour"], "task.kind='colour' is refused"),
    (["fit", "watch.npz", "--kind", "step-class"], "does not fit kind=step-class"),
    (["fit", "watch.npz", "--stride", "3"], "stride is the distance of windows: give window too"),
    (["fit", "watch.npz", "--max-bytes", "10"], "give a larger --max-bytes, or fewer --bits"),
    (["fit", "watch.npz", "--max-bytes", "4000", "--hidden-size", "8"], "--max-bytes chooses the hidden size"),
    (["fit", "people.npz", "--by", "order"], "by='order' could split a group: drop --by order or the groups"),
    (["fit", "watch.npz", "--valid", "2"], "valid and test are shares that leave some for training"),
    (["fit", "gaps.npz"], "give --missing previous to repeat the value before"),
    (["fit", "text.csv"], "or say what the column is (--case name, --label name, --group name"),
    (["fit", "--resume"], "name the folder with --out"),
    (["fit", "one.npz"], "all cases are of class 7: at least two are needed"),
    (["fit", "watch.npz", "--valid", "0", "--patience", "3"], "training.patience looks at the validation split"),
]


@pytest.mark.parametrize(("arguments", "sentence"), WRONG, ids=[" ".join(case[0]) for case in WRONG])
def test_what_is_wrong_is_a_sentence(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    separable(Path("watch.npz"))
    X = np.random.default_rng(0).normal(size=(20, 8, 2))
    np.savez("one.npz", X=X, y=np.full(20, 7))
    np.savez("people.npz", X=X, y=np.arange(20) % 2, groups=np.arange(20) // 4)
    X[3, 4, 1] = np.nan
    Path("text.csv").write_text("name,x\na,1\nb,2\n")
    np.savez("gaps.npz", X=X, y=np.arange(20) % 2)
    assert call(*arguments) != 0
    assert sentence in capsys.readouterr().err


def test_without_parts_held_out(capsys: pytest.CaptureFixture[str]) -> None:
    separable(Path("watch.npz"))
    assert call("fit", "watch.npz", "--valid", "0", "--test-share", "0", "--out", "run", *QUICK) == 0
    assert "split: train 90, valid 0, test 0 cases" in capsys.readouterr().out
    assert call("predict", "run", "watch.npz") == 0


def test_predictions_that_cannot_be_made(capsys: pytest.CaptureFixture[str]) -> None:
    separable(Path("watch.npz"))
    assert call("fit", "watch.npz", "--out", "run", "--steps", "2", "--hidden-size", "4") == 0
    assert call("predict", "run", "watch.npz", "--out", "answers.xlsx") == 2
    assert "answers.xlsx must end in .csv, .npz or .parquet" in capsys.readouterr().err
    wave(Path("wave.npz"))
    assert call("predict", "run", "wave.npz") == 1
    assert "channel ax is wanted and not there: it has 1 (0), the network takes 2 (ax, ay)" in capsys.readouterr().err
    quick = ["--delay", "5", "--hidden-size", "4", "--steps", "2", "--set", "valid_size=4", "--set", "test_size=4"]
    assert call("train", "copying", "--model", "scornn", "--out", "copying", *quick) == 0
    assert call("predict", "copying", "watch.npz") == 2
    assert "only a run on your own data" in capsys.readouterr().err


def test_windows_and_recordings_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    separable(Path("watch.npz"))  # 90 recordings of 12 steps: windows begin at 0, 3 and 6
    assert call("fit", "watch.npz", "--window", "5", "--stride", "3", "--out", "run", *QUICK) == 0
    out = capsys.readouterr().out
    cut = "cut into windows of 5 steps every 3: train 189, valid 42, test 39 windows"
    assert f"split: train 63, valid 14, test 13 recordings, {cut}" in out
    assert "test, every one of the windows by itself: loss" in out
    assert "eigenloop eval run --split test   (there the windows of a recording vote)" in out
    assert call("eval", "run", "--split", "test") == 0
    assert "test: 13 recordings by the votes of 39 windows, accuracy" in capsys.readouterr().out
