"""The documentation as a site, built once for all tests and workers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return the folder of the built site; a warning fails the build."""
    pytest.importorskip("mkdocs", reason="needs mkdocs: pip install 'eigenloop[docs]'")
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "documentation-site"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            made = folder.with_suffix(".new")
            result = subprocess.run(
                [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(made)],
                cwd=ROOT,
                text=True,
                capture_output=True,
                env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
                check=False,
            )
            assert result.returncode == 0, result.stdout + result.stderr
            made.rename(folder)
    return folder
