"""A package of a user's own, built and installed as a wheel: all that it adds works by name on the command line."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eigenloop.runs import read_summary

STEPS = 60
PACKAGE = Path(__file__).parent / "package"
TRAIN = [
    "train",
    "echo",
    "--model",
    "turning",
    "--hidden-size",
    "8",
    "--bits",
    "4",
    "--steps",
    str(STEPS),
    "--batch-size",
    "8",
]
SMALL = ["length=12", "valid_size=16", "test_size=16", "eval_every=5", "largest=2.5"]
TRAIN += [part for setting in SMALL for part in ("--set", setting)]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package in it, as pip installs it from its wheel."""
    folder = tmp_path_factory.mktemp("plugin")
    copied = folder / "source"
    for file in (PACKAGE / "pyproject.toml", *sorted((PACKAGE / "eigenloop_example").glob("*.*"))):
        target = copied / file.relative_to(PACKAGE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"]
    offline = ["--no-deps", "--no-index"]
    wheel = [*pip, "wheel", "--no-build-isolation", *offline, "--wheel-dir", str(folder), str(copied)]
    subprocess.run(wheel, check=True, capture_output=True)
    made = next(folder.glob("*.whl"))
    subprocess.run([*pip, "install", *offline, "--target", str(folder / "site"), str(made)], check=True)
    return folder / "site"


@pytest.fixture(scope="module")
def environment(installed: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}


def run(environment: dict[str, str], *arguments: str, status: int = 0) -> tuple[str, str]:
    """Run a command in a process of its own; return what it prints and what it complains of."""
    command = [sys.executable, "-m", "eigenloop", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


ADDED = [
    ("matrices", "rotations"),
    ("activations", "softsign"),
    ("models", "turning"),
    ("tasks", "echo"),
    ("analyses", "angles"),
    ("experiments", "example-table1"),
]


def test_lists_name_what_the_package_adds_and_import_nothing(environment: dict[str, str]) -> None:
    script = "import sys; from eigenloop.cli import main\ntry:\n    main(['list', '--json'])\nexcept SystemExit: pass\n"
    script += "print(json.dumps([m for m in sys.modules if m.split('.')[0] in ('torch', 'eigenloop_example')]))"
    done = subprocess.run(
        [sys.executable, "-c", "import json; " + script], env=environment, capture_output=True, text=True, check=True
    )
    names, imported = map(json.loads, done.stdout.splitlines())
    assert imported == []
    assert all(name in names[kind] for kind, name in ADDED)


def test_lists_say_whose_it_is(environment: dict[str, str]) -> None:
    out, complaints = run(environment, "list", "matrices")
    assert "rotations    eigenloop_example.rotations:Rotations, of the package eigenloop-example" in out
    assert "'free' is the name of a built-in matrix: choose another name" in complaints
    assert "largest=3.0" in run(environment, "list", "matrices", "rotations")[0]


def test_a_broken_entry_point_costs_a_sentence_when_it_is_asked_for(environment: dict[str, str]) -> None:
    _, complaints = run(environment, "list", "matrices", "broken", status=2)
    assert "'broken' of the package eigenloop-example cannot be used" in complaints
    assert "ModuleNotFoundError: No module named 'eigenloop_example.nowhere'" in complaints


def test_a_run_is_killed_and_goes_on_and_is_looked_at(environment: dict[str, str], tmp_path: Path) -> None:
    """Train in 4 bits, kill -9, resume; then measure, analyse and show it."""
    cut, page = tmp_path / "cut", tmp_path / "report.html"
    command = [sys.executable, "-m", "eigenloop", *TRAIN, "--out", str(cut)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + 60
        while not any(saved.name != "step-0" for saved in (cut / "checkpoints").glob("step-*")):
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    run(environment, "train", "--out", str(cut), "--resume")
    summary = read_summary(cut)
    assert (cut / "checkpoints" / f"step-{STEPS}").is_dir()
    assert summary is not None
    assert summary.status == "finished"

    measured = json.loads(run(environment, "eval", str(cut), "--json")[0])
    assert measured["test"]["loss"] < 2 * measured["baseline"]["loss"]
    assert 0 < measured["singular_ratio"] <= 1  # of q(W)
    gradients = run(environment, "analyse", "gradients", str(cut), "--out", str(tmp_path), "--json", "--samples", "2")[
        0
    ]
    assert json.loads(gradients)["name"] == "gradients"
    run(environment, "report", str(cut), "--out", str(page))
    text = page.read_text(encoding="utf-8")
    assert "turning" in text
    assert "echo" in text


def test_an_analysis_has_a_command_with_its_own_options(environment: dict[str, str], tmp_path: Path) -> None:
    out, _ = run(environment, "analyse", "angles", "--size", "4", "--out", str(tmp_path), "--json")
    assert len(json.loads(out)["angles"]) == 2
    assert (tmp_path / "angles.svg").is_file()


def test_an_experiment_is_reproduced(environment: dict[str, str], tmp_path: Path) -> None:
    places = ["--results", str(tmp_path / "results"), "--work", str(tmp_path / "work")]
    run(environment, "reproduce", "example-table1", "--budget", "smoke", *places)
    record = (tmp_path / "results" / "example-table1" / "turning.json").read_text(encoding="utf-8")
    assert '"turning"' in record


def test_any_model_takes_the_matrix(environment: dict[str, str], tmp_path: Path) -> None:
    small = ["--delay", "3", "--hidden-size", "6", "--steps", "2", "--set", "valid_size=4", "--set", "test_size=4"]
    arguments = ["train", "copying", "--model", "ncgru", "--set", "recurrent=rotations", *small]
    run(environment, *arguments, "--out", str(tmp_path / "run"))
    assert "recurrent: rotations" in (tmp_path / "run" / "config.yaml").read_text(encoding="utf-8")
