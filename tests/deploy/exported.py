"""Helpers: a project around an export as a user would make it, and what it prints for recorded windows."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

#: Reads windows as whole numbers and prints the class of each.
MAIN = """#include "@.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words)
{
    static const char *const names[@@_OUTPUTS] = @@_CLASSES;
    @_state state;
    @_sum sums[@@_OUTPUTS];
    @_input input[@@_INPUTS];
    int steps = count > 1 ? atoi(words[1]) : 1, t = 0, i, best;

    @_init(&state);
    for (;;) {
        for (i = 0; i < @@_INPUTS; i++)
            if (scanf("%" SCNd32, &input[i]) != 1)
                return t != 0;
        if (@_step(&state, input) != 0)
            return 2;
        if (++t == steps) {
            @_output(&state, sums);
            best = 0;
            for (i = 1; i < @@_OUTPUTS; i++)
                if (sums[i] > sums[best])
                    best = i;
            puts(names[best]);
            @_init(&state);
            t = 0;
        }
    }
}
"""
PROJECT = """cmake_minimum_required(VERSION 3.13)
project(app C)
add_subdirectory(firmware)
add_executable(app main.c)
target_link_libraries(app PRIVATE @)
"""


def printed_classes(export: Path, name: str, windows: np.ndarray[Any, Any], project: Path) -> list[str]:
    """Drop an export into an empty CMake project, build it, and return what it prints for (N, T, inputs) counts."""
    project.mkdir()
    shutil.copytree(export, project / "firmware")
    (project / "main.c").write_text(MAIN.replace("@@", name.upper()).replace("@", name))
    (project / "CMakeLists.txt").write_text(PROJECT.replace("@", name))
    for command in (["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"]):
        done = subprocess.run(command, cwd=project, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    recorded = "\n".join(" ".join(map(str, row)) for row in windows.reshape(-1, windows.shape[-1]).tolist())
    steps = str(windows.shape[1])
    done = subprocess.run([project / "build" / "app", steps], input=recorded, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
