"""The files of a run folder are named in one package, which needs no torch."""

import subprocess
import sys
from pathlib import Path

import eigenloop

SOURCE = Path(eigenloop.__file__).parent


def test_nobody_else_knows_the_files() -> None:
    for path in SOURCE.rglob("*.py"):
        if path.parent != SOURCE / "runs":
            text = path.read_text(encoding="utf-8")
            for name in ("metrics.jsonl", "summary.json", "spectra.json", "state.json"):
                assert name not in text, f"{path} names {name}: read and write it with eigenloop.runs"


def test_reading_needs_no_torch() -> None:
    script = "import sys, eigenloop.runs, eigenloop.report; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
