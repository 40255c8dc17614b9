"""docs/deploy.md from top to bottom: its commands, its project and its program, with a training of seconds."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from eigenloop.deploy.c.qemu import TOOLS, missing_tools

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
sys.path.insert(0, str(ROOT / "examples"))
import firmware_demo  # noqa: E402  # draws the recordings that the page speaks of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        any(shutil.which(tool) is None for tool in ("cmake", "make", "cc")), reason="needs cmake, make and a C compiler"
    ),
]


def blocks(language: str) -> list[str]:
    """Return the blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def shortened(command: str) -> str:
    """Train for seconds; measure where that can be."""
    if command.startswith("eigenloop fit "):
        return f"{command} --steps 60 --set training.eval_every=60 --set training.threads=1"
    return re.sub(r" --measure \S+", "", command) if missing_tools() else command


def test_the_page_as_a_user_follows_it(tmp_path: Path) -> None:
    firmware_demo.draw(tmp_path / "watch.csv", 160, seed=0)
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "CMakeLists.txt").write_text(blocks("cmake")[0])
    program = next(block for block in blocks("c") if "int main" in block)
    (tmp_path / "app" / "main.c").write_text(program)
    generator = firmware_demo.np.random.default_rng(7)
    truth = [activity for activity in firmware_demo.ACTIVITIES for _ in range(3)]
    rows = [row for activity in truth for row in firmware_demo.window(activity, generator).tolist()]
    (tmp_path / "windows.txt").write_text("\n".join(" ".join(map(str, row)) for row in rows))
    printed = ""
    commands = [line for block in blocks("sh") for line in block.splitlines()]
    assert len(commands) == 8
    for command in map(shortened, commands):
        fed, _, source = command.partition(" < ")
        words = shlex.split(fed)
        if words[0] == "eigenloop":
            words = [sys.executable, "-m", *words]
        text = (tmp_path / source).read_text() if source else None
        done = subprocess.run(words, cwd=tmp_path, input=text, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        printed = done.stdout if source else printed
    answers = printed.splitlines()
    assert len(answers) == len(truth)
    assert sum(one == other for one, other in zip(answers, truth, strict=True)) >= 10
    assert ("cortex-m7" in (tmp_path / "app" / "firmware" / "README.md").read_text()) == (not missing_tools())


def test_the_demo(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "examples" / "firmware_demo.py"), "--cases", "80", "--steps", "40"]
    done = subprocess.run([*command, "--out", "demo"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "every sum is that of the reference" in done.stdout
    assert (tmp_path / "demo" / "firmware" / "watch.c").exists()
    again = subprocess.run([*command, "--out", "demo"], cwd=tmp_path, capture_output=True, text=True)
    assert (again.returncode, again.stdout) == (1, "")
    assert "demo is there already: remove it" in again.stderr


def test_the_demo_without_tools_for_arm(tmp_path: Path) -> None:
    """It runs on this computer and says what to install."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("cc", "ld", "as"):
        if (place := shutil.which(tool)) is not None:
            (tools / tool).symlink_to(place)
    command = [sys.executable, str(ROOT / "examples" / "firmware_demo.py"), "--cases", "80", "--steps", "2"]
    environment = {"PATH": str(tools), "OMP_NUM_THREADS": "1", "HOME": str(tmp_path)}
    done = subprocess.run([*command, "--out", "demo"], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "on this computer the first test windows are" in done.stdout
    assert f"install {', '.join(TOOLS)}: on Debian" in done.stdout
