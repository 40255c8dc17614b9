"""What a command costs before it does anything: which modules it imports, and Ctrl-C while it does."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

#: Each imports as much as torch itself, or draws.
HEAVY = ("torch", "scipy", "matplotlib", "pooch", "eigenloop.training")


def imported_by(statement: str) -> set[str]:
    """The modules that are there after a statement, in a process of its own."""
    script = f"import sys\ntry:\n    {statement}\nfinally:\n    print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "arguments",
    [
        "--help",
        "--version",
        "list",
        "list models",
        "list tasks",
        "list optimizers",
        "list experiments",
        "list matrices",
        "list activations",
        "list analyses",
        "list modls",
        "trian",
        "train --help",
        "train --stepps",
        "eval --help",
        "analyse --help",
        "analyse fisher --help",
        "reproduce --help",
        "report --help",
        "bench --help",
    ],
)
def test_without_torch(arguments: str) -> None:
    found = imported_by(f"from eigenloop.cli import main; main({arguments.split()!r})")
    assert "eigenloop.cli.app" in found
    assert not found & set(HEAVY)


def test_import_eigenloop() -> None:
    assert "torch" not in imported_by("import eigenloop")
    for statement in ("from eigenloop import *", "import eigenloop.training", "import eigenloop.experiments"):
        found = imported_by(statement)
        assert {"torch", "eigenloop.layers"} <= found
        assert not found & {"torch._dynamo", "scipy", "matplotlib", "pooch"}


@pytest.mark.parametrize("model", ["dtriv", "projunn", "scornn", "ncgru"])
def test_a_training_forward_does_not_import_the_compiler(model: str) -> None:
    """Not even of models with steps that stand outside of a compiled graph."""
    found = imported_by(f"import eigenloop, torch; eigenloop.build({model!r}, 2, 4)(torch.zeros(3, 1, 2))")
    assert "eigenloop.recipes" in found
    assert not found & {"torch._dynamo", "scipy", "matplotlib"}


@pytest.mark.parametrize("seconds", [0.15, 0.4, 0.8, 1.3, 2.0])
def test_ctrl_c_at_the_start(seconds: float, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"]
    command[-1] += f"print('begins', flush=True)\nfrom eigenloop.cli import main\nmain({_long(tmp_path)!r})"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err


def _long(folder: Path) -> list[str]:
    return ["train", "copying", "--model", "scornn", "--delay", "5", "--hidden-size", "8", "--out", str(folder / "run")]
