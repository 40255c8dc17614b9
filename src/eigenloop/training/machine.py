"""The software and hardware that a result was computed with: versions, processor, commit."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

import eigenloop
from eigenloop.recurrence import kernel


def versions() -> dict[str, str]:
    """Return the versions of eigenloop, Python and the numerical libraries."""
    core_versions = {
        "eigenloop": eigenloop.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
    return core_versions | {name: metadata.version(name) for name in ("numpy", "scipy")}


def machine() -> dict[str, Any]:
    """Return the system, processor, cores, threads and the variant of the compiled kernel."""
    library = kernel.library()
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "kernel": "reference" if library is None else library.variant,
    }


def commit() -> str | None:
    """Return the commit of the library's git checkout, with "+" if the package has uncommitted changes, or None."""
    here = Path(eigenloop.__file__).parent
    try:
        # The package may be installed inside a checkout of another project, whose commit must not be reported.
        _git(here, "ls-files", "--error-unmatch", "__init__.py")
        return _git(here, "rev-parse", "--short=12", "HEAD") + (
            "+" if _git(here, "status", "--porcelain", "-uno", "--", ".") else ""
        )
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True, timeout=10
    )
    return done.stdout.strip()


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
