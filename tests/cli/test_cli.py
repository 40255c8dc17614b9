"""The command line as a user calls it."""

import json
import math
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import call

import eigenloop
from eigenloop.cli.display import Lines
from eigenloop.models import NAMES
from eigenloop.quantization import quantize_, singular_ratio
from eigenloop.runs import MetricLine, read_config, read_metrics, read_summary
from eigenloop.tasks import TASKS
from eigenloop.training import evaluate, load_run
from eigenloop.training.reporter import Beginning

QUICK = ["--delay", "5", "--hidden-size", "8", "--steps", "6", "--batch-size", "4"]
QUICK += ["--set", "valid_size=8", "--set", "test_size=8", "--set", "eval_every=3", "--set", "log_every=2"]

pytestmark = pytest.mark.usefixtures("elsewhere")


def test_train_then_eval_then_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("train", "copying", "--model", "scornn", *QUICK) == 0
    out = capsys.readouterr().out
    assert "scornn, 8 units, on copying (delay 5)" in out
    assert "baseline (best constant prediction): loss 0.8318" in out
    assert "step 6/6" in out
    assert "defect" in out
    assert "steps/s" in out
    assert "finished after 6 steps" in out
    assert "eigenloop report runs/copying-scornn" in out
    assert "\x1b" not in out  # plain lines in a pipe

    assert call("eval", "runs/copying-scornn", "--json") == 0
    measured = json.loads(capsys.readouterr().out)
    summary = read_summary(Path("runs/copying-scornn"))
    assert summary is not None
    assert summary.best is not None
    assert measured["test"] == summary.test
    assert measured["step"] == summary.best["step"]
    assert call("eval", "runs/copying-scornn", "--split", "valid", "--checkpoint", "last") == 0
    assert "valid: loss" in capsys.readouterr().out

    assert call("train", "copying", "--model", "lstm", *QUICK) == 0
    assert call("report", "runs/copying-scornn", "runs/copying-lstm", "--out", "pages/report.html") == 0
    page = Path("pages/report.html").read_text()
    assert call("report", "runs/copying-scornn", "--out", "pages/one.html", "--json") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["report"] == "pages/one.html"
    assert "scoRNN" in page
    assert "LSTM" in page


def test_names_of_folders_do_not_collide() -> None:
    for _ in range(2):
        assert call("train", "copying", "--model", "scornn", *QUICK, "--json") == 0
    assert sorted(path.name for path in Path("runs").iterdir()) == ["copying-scornn", "copying-scornn-2"]


def test_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("train", "adding", "--model", "gru", "--length", "5", *QUICK[2:], "--json", "--out", "run") == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert records[0]["kind"] == "begin"
    assert records[-1]["kind"] == "summary"
    assert records[-1]["status"] == "finished"
    assert records[1]["text"].startswith("settings of ncgru-table3, row gru")
    assert [MetricLine.of(record) for record in records[2:-1]] == read_metrics(Path("run"))


def test_json_has_null_for_numbers_that_json_lacks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call("train", "copying", "--model", "gru", *QUICK, "--out", "run", "--json") == 0
    capsys.readouterr()
    monkeypatch.setattr("eigenloop.training.evaluate", lambda *_: {"loss": math.inf, "accuracy": math.nan})
    assert call("eval", "run", "--split", "test", "--json") == 0
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["test"] == {"loss": None, "accuracy": None}


def test_all_commands_print_json_by_one_rule() -> None:
    files = [path for path in Path(eigenloop.__file__).parent.rglob("*.py") if path.parent.name in ("cli", "bench")]
    assert [path.name for path in files if re.search(r"print\(\s*json\w*\.dumps", path.read_text())] == []


def test_options_and_files_end_up_in_the_configuration() -> None:
    Path("mine.yaml").write_text(
        "task: {name: copying, delay: 7, valid_size: 8, test_size: 8}\nmodel: {name: exprnn, hidden_size: 6}\n"
        "optimizer: {lr: 1e-2}\ntraining: {epochs: 1, batch_size: 3}\n"
    )
    options = ["--steps", "2", "--recurrent-lr", "1e-5", "--optimizer", "adam", "--seed", "9", "--device", "cpu"]
    assert call("train", "mine.yaml", *options, "--set", "convention=after-marker", "--out", "run", "--json") == 0
    config = read_config(Path("run"))
    assert config["task"]["delay"] == 7
    assert config["task"]["convention"] == "after-marker"
    assert config["model"]["hidden_size"] == 6
    assert config["optimizer"]["name"] == "adam"
    assert config["optimizer"]["lr"] == 0.01
    assert config["optimizer"]["recurrent_lr"] == 1e-5
    assert config["training"]["steps"] == 2
    assert config["training"]["epochs"] is None
    assert config["training"]["batch_size"] == 3
    assert config["training"]["seed"] == 9
    assert call("train", "adding", "--config", "mine.yaml", "--json", "--out", "other") == 2  # delay is not adding's


def test_a_run_again_from_its_configuration() -> None:
    assert call("train", "copying", "--model", "scornn", *QUICK, "--out", "one", "--json") == 0
    assert call("train", "one/config.yaml", "--out", "two", "--json") == 0
    weights = [Path(run, "checkpoints/step-6/model.safetensors").read_bytes() for run in ("one", "two")]
    assert weights[0] == weights[1]


def test_resume(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", "copying", "--model", "scornn", *QUICK, "--out", "run"]
    assert call(*command) == 0
    assert call(*command) == 1
    assert "continue that run with --resume" in capsys.readouterr().err
    assert call("train", "--out", "run", "--resume", "--steps", "9") == 0
    assert "resuming from step 6" in capsys.readouterr().out
    assert call(*command, "--resume", "--steps", "12") == 0
    assert call("train", "--out", "run", "--resume", "--lr", "7") == 2
    assert "optimizer.lr is 0.001 in this run and cannot become 7.0" in capsys.readouterr().err
    assert call("train", "--resume") == 2
    assert "name the folder with --out" in capsys.readouterr().err
    assert call("train", "--resume", "--out", "nowhere") == 1
    assert "holds no run to continue" in capsys.readouterr().err


@pytest.mark.parametrize(("used", "left"), [(0.0, "1:00"), (50.0, "10 s"), (70.0, "0 s")])
def test_the_time_left_after_a_resume(used: float, left: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    facts = {"title": "", "folder": "run", "parameters": 1, "baseline": {"loss": 1.0}, "metric": "loss"}
    lines.begin(Beginning(**facts, steps=10**9, done=5, max_seconds=60.0, seconds=used))
    lines.metrics({"kind": "valid", "step": 5, "loss": 0.5})
    assert capsys.readouterr().out.endswith(f"  0 steps/s  {left} left\n")


#: Commands with a mistake in them, the status, and what is said.
MISTAKES = [
    (["train", "copyng", "--model", "scornn"], 2, "no task 'copyng': did you mean 'copying'"),
    (["train", "copying", "--model", "scornnn"], 2, "no model 'scornnn': did you mean 'scornn'"),
    (["train", "copying"], 2, "no model is named: choose --model"),
    (["train"], 2, "no task is named"),
    (["train", "copying", "--model", "scornn", "--set", "negativ=1"], 2, "did you mean 'negative'"),
    (["train", "copying", "--model", "scornn", "--set", "task.dely=1"], 2, "did you mean 'task.delay'"),
    (
        ["train", "copying", "--model", "scornn", "--length", "7"],
        2,
        "task copying has no setting task.length, which is",
    ),
    (["train", "copying", "--model", "scornn", "--length", "7"], 2, "one of task adding, denoise, parenthesis. The"),
    (
        ["train", "copying", "--model", "gru", "--strategy", "ste-pen"],
        2,
        "model.strategy, which is one of model qornn.",
    ),
    (["train", "copying", "--model", "lstm", "--set", "model.delta=1"], 2, "model.delta, which is one of model nnrnn."),
    (["train", "copying", "--model", "scornn", "--set", "model.recurrent=x"], 2, "recurrent='x' is not known: choose"),
    (["train", "copying", "--model", "scornn", "--set", "model.device=x"], 2, "'device' cannot be set in a conf"),
    (["train", "copying", "--model", "scornn", "--set", "optimizer.betas=1"], 2, "one of optimizer adam, adamw"),
    (["train", "copying", "--model", "nnrnn", "--hidden-size", "1"], 2, "got 1: use 2"),
    (["train", "copying", "--model", "goru", "--hidden-size", "1"], 2, "got 1: use 2"),
    (
        ["train", "copying", "--model", "scornn", "--out", __file__],
        1,
        "is a file, and a run is a folder: choose another",
    ),
    (["eval", "x", "--delay", "5"], 2, "No such option: --delay. It is an option of"),
    (["eval", "x", "--checkpont", "5"], 2, "--checkpoint"),
    (["analyse", "fisher", "--draws", "5"], 2, "It is an option of"),
    (["train", "copying", "--model", "scornn", "--optimizer", "adma"], 2, "did you mean 'adam'"),
    (["train", "copying", "--model", "scornn", "--lr", "-1"], 2, "optimizer.lr=-1.0 is refused"),
    (["train", "copying", "--model", "scornn", "--delay", "0"], 2, "delay must be at least 1"),
    (["train", "copying", "--model", "scornn", "--epochs", "2"], 2, "has no epochs"),
    (["train", "nothing.yaml"], 2, "nothing.yaml cannot be read"),
    (["train", "a.yaml", "--config", "b.yaml"], 2, "two files of settings"),
    (["train", "copying", "--model", "scornn", "--hiden-size", "3"], 2, "--hidden-size"),
    (["train", "copying", "--model", "scornn", "--steps", "many"], 2, "steps"),
    (["trian", "copying"], 2, "train"),
    (["train", "pmnist", "--model", "exprnn", "--data-dir", "nowhere"], 1, "nowhere: there is no such folder"),
    (["eval", "nowhere"], 1, "there is no folder nowhere: give the folder"),
    (["report", "nowhere"], 1, "nowhere"),
    (["list", "modls"], 2, "did you mean 'models'"),
    (["bench", "--only", "99"], 2, "--only takes rows 1 to"),
    (["train", "copying", "--model", "nnrnn", "--hidden-size", "7"], 2, "even"),
    (["train", "copying", "--model", "scornn", "--device", "toaster"], 2, "training.device='toaster' is refused"),
    (["train", "copying", "--model", "scornn", "--device", "meta"], 2, "training.device='meta' is refused"),
    (["train", "copying", "--model", "scornn", *QUICK, "--out", "x" * 300], 1, "cannot be made: File name too long"),
]


@pytest.mark.parametrize(("arguments", "status", "said"), MISTAKES, ids=[" ".join(m[0])[:60] for m in MISTAKES])
def test_mistakes(arguments: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*arguments) == status
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err + captured.out
    assert "Possible options: --help" not in captured.err
    assert not Path("runs").exists()


def test_eval_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("train", "copying", "--model", "scornn", *QUICK, "--out", "run", "--json") == 0
    for options, status, said in (
        (["--split", "train"], 2, "choose valid or test"),
        (["--checkpoint", "newest"], 2, "best, last or a step"),
        (["--checkpoint", "5"], 1, "there are 0, 3, 6"),
        (["--data-dir", "x"], 2, "reads no files"),
        (["--speech"], 2, "is for timit"),
    ):
        capsys.readouterr()
        assert call("eval", "run", *options) == status
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("strategy", ["ste-bjorck", "ste-projunn", "ptq-projunn", "ste-pen"])
def test_quantized(strategy: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--bits", "4", "--strategy", strategy, "--out", "run"]
    assert call("train", "copying", "--model", "qornn", *QUICK, *options) == 0
    config = read_config(Path("run"))
    assert config["model"]["bits"] == 4
    assert config["optimizer"]["name"] == ("projunn" if "projunn" in strategy else "adam")
    assert call("train", "copying", "--model", "scornn", *QUICK, "--bits", "4", "--out", "scornn") == 0
    assert "smin/smax 0." in capsys.readouterr().out
    for wrong in ("1", "17", "four"):
        assert call("train", "copying", "--model", "qornn", "--bits", wrong) == 2
        assert f"whole number from 2 to 16, or float, got '{wrong}'" in capsys.readouterr().err
    assert call("train", "copying", "--model", "qornn", "--strategy", "ste") == 2
    assert "'ste-bjorck'" in capsys.readouterr().err


def test_float_and_quantized_afterwards(capsys: pytest.CaptureFixture[str]) -> None:
    """A float run measured in k bits is what `quantize_` makes of it."""
    assert call("train", "copying", "--model", "qornn", *QUICK, "--bits", "float", "--out", "run") == 0
    assert read_config(Path("run"))["model"]["bits"] is None
    assert "smin/smax" not in capsys.readouterr().out
    net, config, _ = load_run("run")
    for options, widths in (([], (3, None)), (["--readout-bits", "2"], (3, 2))):
        assert call("eval", "run", "--bits", "3", *options, "--split", "test", "--json") == 0
        said = json.loads(capsys.readouterr().out)
        quantize_(net, widths[0], readout_bits=widths[1])
        assert said["test"] == evaluate(net, config.task, "test", config.training.batch_size)
        assert said["singular_ratio"] == singular_ratio(net.rnn.recurrent_matrix())
    assert call("eval", "run", "--bits", "float") == 0
    assert call("eval", "run", "--around-identity") == 2
    assert "go with --bits" in capsys.readouterr().err
    assert call("train", "copying", "--model", "lstm", *QUICK, "--out", "lstm") == 0
    assert call("eval", "lstm", "--bits", "4") == 0
    assert "smin/smax 0." in capsys.readouterr().out
    assert call("train", "copying", "--model", "qornn", "--strategy", "ste-pen", "--bits", "float") == 2
    assert "ste-pen is about a quantized matrix" in capsys.readouterr().err


def test_a_page_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("train", "copying", "--model", "scornn", *QUICK, "--out", "run", "--json") == 0
    Path("file").touch()
    assert call("report", "run", "--out", "file/report.html") == 1
    assert "file/report.html cannot be written" in capsys.readouterr().err


def test_a_rate_that_stays_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """--lr alone leaves the rate of the recurrent matrix as the paper has it."""
    assert call("train", "copying", "--model", "scornn", *QUICK, "--lr", "0.02", "--out", "run") == 0
    assert "--lr 0.02, and for the recurrent matrix --recurrent-lr 0.0001 (set separately)" in capsys.readouterr().out
    assert call("train", "copying", "--model", "lstm", *QUICK, "--lr", "0.02", "--out", "lstm") == 0
    assert "learning rates" not in capsys.readouterr().out  # it has one


def test_a_pair_that_no_paper_has_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("train", "parenthesis", "--model", "nnrnn", "--length", "5", *QUICK[2:]) == 0
    assert "no paper that we follow reports nnrnn on parenthesis" in capsys.readouterr().out


def test_divergence_has_a_status(capsys: pytest.CaptureFixture[str]) -> None:
    rates = ["--optimizer", "sgd", "--lr", "1e30", "--recurrent-lr", "1e30", "--out", "run"]
    assert call("train", "copying", "--model", "scornn", *QUICK, *rates) == 1
    said = capsys.readouterr().err
    assert "The last good checkpoint is run/checkpoints/step-" in said
    assert "continue with --resume and smaller --lr" in said


MORE = [("matrices", ["cayley", "givens"]), ("activations", ["modrelu", "tanh"]), ("analyses", ["fisher", "schur"])]


@pytest.mark.parametrize(
    ("kind", "names"), [("models", NAMES), ("tasks", TASKS), ("optimizers", ["adam", "projunn"]), *MORE]
)
def test_lists(kind: str, names: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert call("list", kind) == 0
    out = capsys.readouterr().out
    assert all(f"{name} " in out for name in names)
    assert call("list", kind, "--json") == 0
    assert set(names) <= json.loads(capsys.readouterr().out).keys()


#: One thing with its options, as ``--set`` takes them, or with its rows.
THINGS = [
    ("models", "scornn", "init=cayley"),
    ("tasks", "copying", "delay=1000"),
    ("optimizers", "adam", "betas=[0.9, 0.999]"),
    ("matrices", "cayley", "init=cayley"),
    ("analyses", "fisher", "size=100"),
    ("experiments", "nnrnn-table6", "a100-b0-d0: "),
]


@pytest.mark.parametrize(("kind", "name", "option"), THINGS)
def test_one_thing_with_its_options(kind: str, name: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("list", kind, name) == 0
    assert f"  {option}" in capsys.readouterr().out
    assert call("list", kind, name, "--json") == 0
    assert option.partition("=")[0].partition(":")[0] in json.loads(capsys.readouterr().out)[name]["options"]
    assert call("list", kind, name[:-1] + "x") == 2
    assert f"did you mean {name!r}" in capsys.readouterr().err


def test_all_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("list") == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("models: ", "scornn", "tasks: ", "pmnist", "nnrnn-table6", "unitary-cayley"))


@pytest.mark.parametrize("command", [[], ["train"], ["eval"], ["list"], ["report"], ["bench"]])
def test_every_command_explains_itself(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*command, "--help") == 0
    out = capsys.readouterr().out
    assert "Usage: " in out
    if command:
        assert f"eigenloop {command[0]} " in out.replace("Usage: ", "", 1)  # an example


def test_as_a_module_and_on_a_terminal() -> None:
    """On a terminal there is a bar; the process sees one through a pseudo-terminal."""
    command = [sys.executable, "-m", "eigenloop", "train", "copying", "--model", "scornn", *QUICK, "--out", "run"]
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "180", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            shown += piece
    os.close(ours)
    assert process.returncode == 0
    assert b"\x1b[" in shown
    assert "━".encode() in shown
    assert b"6/6" in shown
    assert b"baseline 0.8318" in shown
    assert b"defect" in shown


@pytest.mark.slow
def test_bench(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("bench", "--only", "1", "--rounds", "1", "--json") == 0
    row = json.loads(capsys.readouterr().out)
    assert row["ours"] > 0
    assert call("bench", "--only", "1", "--rounds", "1") == 0
    assert "x torch.nn" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--version") == 0
    assert capsys.readouterr().out.startswith("eigenloop 0.")
