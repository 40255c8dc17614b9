"""Shell commands of the documentation run, short versions of the long ones; a new one without a rule is refused."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import shell_commands
from test_blocks import write_recordings

#: The network of the page about C, untrained.
FIRMWARE = """
import torch
import eigenloop as el
net = el.Model(el.GRU(2, 6, recurrent="cayley", constrained=("candidate",), bits=4), output_size=3, last=True).eval()
whole = el.deploy.integer(net, calibration=torch.randn(20, 8, 2), state_bits=12)
el.deploy.write_c(whole, "firmware", name="movement", classes=("slow", "medium", "fast"))
"""


def outcome(plan: list[tuple[str, str, list[list[str]]]]) -> subprocess.CompletedProcess[str]:
    """Run the commands of pages: page, folder, and the words of each command."""
    return subprocess.run(
        [sys.executable, str(Path(__file__).with_name("shell_runner.py"))],
        input=json.dumps(plan),
        text=True,
        capture_output=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"},
        check=False,
    )


def write_files(folder: Path, text: str) -> None:
    """Write what the commands of a page read: recordings, the modules that it shows, and a network in C."""
    write_recordings(folder)
    recordings = dict(np.load(folder / "watch.npz"))
    X, y = recordings["X"], recordings["y"]
    np.savez(folder / "har.npz", X_train=X[:30], y_train=y[:30], X_test=X[30:], y_test=y[30:], channels=["x", "y"])
    (folder / "write_firmware.py").write_text(FIRMWARE, encoding="utf-8")
    for name, module in shell_commands.modules(text).items():
        (folder / name).write_text(module, encoding="utf-8")


def test_every_command_has_a_rule() -> None:
    every = [command for page in shell_commands.PAGES for command in shell_commands.commands(page.read_text("utf-8"))]
    assert len(every) > 30
    assert [command for command in every if shell_commands.unknown(command)] == [], (
        "a command of the documentation is neither run nor on the list of those that are not: "
        "add it to PROGRAMS or NOT_RUN of tests/docs/shell_commands.py"
    )
    stale = {*shell_commands.NOT_RUN, *shell_commands.BEFORE} - set(every)
    assert stale == set(), "rules for commands that no page has"


def test_commands_run(tmp_path: Path) -> None:
    plan = []
    for number, page in enumerate(shell_commands.PAGES):
        text = page.read_text(encoding="utf-8")
        words = [shlex.split(command) for command in shell_commands.planned(text)]
        folder = tmp_path / f"{number}-{page.stem}"
        if words:
            folder.mkdir()
            write_files(folder, text)
            plan.append((str(page.relative_to(shell_commands.ROOT)), str(folder), words))
    assert len(plan) >= 8
    result = outcome(plan)
    assert result.returncode == 0, result.stderr


def test_a_command_that_fails_is_named(tmp_path: Path) -> None:
    result = outcome([("a.md", str(tmp_path), [["eigenloop", "list", "nothings"], ["eigenloop", "list", "tasks"]])])
    assert result.returncode == 1
    assert "a.md: eigenloop list nothings\nended with status 2" in result.stderr
    assert "list tasks" not in result.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```sh\nmake x  # why\n```\ntext\n```sh\n# only a comment\na \\\n  b\n```\n", ["make x", "a b"]),
        ("```sh\na --b c && e  # d\n```\n", ["a --b c", "e"]),
        ("```python\nnot a command\n```\n", []),
    ],
)
def test_commands_are_found(text: str, expected: list[str]) -> None:
    assert shell_commands.commands(text) == expected


def test_a_new_program_is_refused() -> None:
    assert shell_commands.unknown("apt install something")
    assert not shell_commands.unknown("eigenloop list tasks")


def test_long_commands_become_short() -> None:
    long = "eigenloop compare watch.npz --models ncgru,lstm --bits float,8,4 --folds 5"
    short = "eigenloop compare watch.npz --models ncgru --bits 4 --folds 2 --set training.steps=2"
    assert shell_commands.shortened(long) == short
