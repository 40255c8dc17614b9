"""The kernel without Python: a C program that checks itself, under the sanitizers and in AVX-512's geometry."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CSRC = HERE.parents[1] / "csrc"
COMPILER = os.environ.get("CC") or shutil.which("gcc") or shutil.which("cc")

BUILDS = {
    # Compiling this one with -O1 takes four times as long, and checking is the same.
    "address-undefined": ["-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-fsanitize=thread"],
    "wide": ["-DEIGENLOOP_WIDE_PORTABLE", "-DEIGENLOOP_PORTABLE_ONLY"],
}
FLAGS = [
    "-std=gnu11",
    "-O1",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-psabi",
    "-fno-math-errno",
    "-fno-trapping-math",
]


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="no C compiler here")
@pytest.mark.parametrize("build", BUILDS)
def test_driver(build: str, tmp_path: Path) -> None:
    program = tmp_path / "driver"
    sources = [str(HERE / "driver.c"), *map(str, sorted(CSRC.glob("*.c")))]
    command = [COMPILER, *FLAGS, *BUILDS[build], f"-I{CSRC}", *sources, "-o", str(program), "-lm", "-pthread"]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    if compiled.returncode != 0 and "cannot find" in compiled.stderr and "san" in compiled.stderr:
        pytest.skip("this compiler has no sanitizer libraries")
    assert compiled.returncode == 0, compiled.stderr
    # ThreadSanitizer has no support for threads in a forked child.
    arguments = ["150", "1", "no fork" if build == "thread" else "fork"]
    ran = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.endswith("all equal\n")
