"""The files of a run folder are named in one package, which needs no torch."""

import subprocess
import sys
from pathlib import Path

import eigenloop

SOURCE = Path(eigenloop.__file__).parent
TESTS = Path(__file__).parents[1]


def naming(folder: Path, names: tuple[str, ...]) -> list[str]:
    """List the files outside the package `runs` and its tests that name a file of a run folder."""
    texts = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.py") if path.parent != folder / "runs"}
    return [f"{path} names {name}" for path, text in texts.items() for name in names if name in text]


def test_nobody_else_knows_the_files() -> None:
    """All others read and write them with eigenloop.runs."""
    assert naming(SOURCE, ("metrics.jsonl", "summary.json", "spectra.json", "state.json")) == []


def test_other_tests_read_runs_as_everybody_does() -> None:
    """Those that damage a file take its name from eigenloop.runs.reading. Checkpoints are damaged file by file."""
    assert naming(TESTS, ("metrics.jsonl", "summary.json", "spectra.json")) == []


def test_reading_needs_no_torch() -> None:
    script = "import sys, eigenloop.runs, eigenloop.report; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
