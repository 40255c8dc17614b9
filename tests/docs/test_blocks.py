"""Python blocks of the documentation run, in the order of their page."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]

#: Runs the pages that it is given and names those that fail. In a process of its own: a page may register things.
RUNNER = """
import json, sys, traceback
failed = False
for page, blocks in json.load(sys.stdin).items():
    names = {"__name__": "page"}
    for number, block in enumerate(blocks, start=1):
        try:
            exec(compile(block, f"{page}, block {number}", "exec"), names)
        except Exception:
            failed = True
            print(f"{page}, block {number}:", traceback.format_exc(), file=sys.stderr)
sys.exit(failed)
"""


def blocks(page: Path) -> list[str]:
    """Return the Python blocks of a page, without those that show a session (test_examples.py runs them)."""
    every = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [block for block in every if ">>> " not in block]


def outcome(pages: dict[str, list[str]], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the blocks of pages in a folder."""
    return subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=json.dumps(pages),
        text=True,
        capture_output=True,
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},  # other tests run beside it
        check=False,
    )


def write_recordings(folder: Path) -> None:
    """Write the files that the pages about own data speak of: two channels, two activities that differ in speed."""
    rng = np.random.default_rng(0)
    activity = np.arange(40) % 2
    phase = np.arange(12) * (0.3 + activity[:, None]) + rng.uniform(0, 6, (40, 1))
    X = np.stack((np.sin(phase), np.cos(phase)), axis=-1) + 0.1 * rng.standard_normal((40, 12, 2))
    np.savez(folder / "watch.npz", X=X, y=activity, groups=np.arange(40) // 2, channels=["x", "y"])
    lines = [(case, f"{case},{time},{x},{y}") for case in range(40) for time, (x, y) in enumerate(X[case])]
    (folder / "new.csv").write_text("\n".join(["case,time,x,y", *(line for case, line in lines if case < 3)]))
    labelled = [f"{line},{('slow', 'fast')[activity[case]]}" for case, line in lines]
    (folder / "recordings.csv").write_text("\n".join(["case,time,x,y,activity", *labelled]))


def test_blocks_run(tmp_path: Path) -> None:
    write_recordings(tmp_path)
    pages = {
        str(page.relative_to(ROOT)): blocks(page)
        for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    }
    assert pages["README.md"]
    result = outcome(pages, tmp_path)
    assert result.returncode == 0, result.stderr


def test_a_block_that_fails_is_named(tmp_path: Path) -> None:
    result = outcome({"a.md": ["x = 1", "x / 0"], "b.md": ["assert True"]}, tmp_path)
    assert result.returncode == 1
    assert "a.md, block 2:" in result.stderr
    assert "b.md" not in result.stderr
