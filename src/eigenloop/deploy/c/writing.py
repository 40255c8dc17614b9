"""Write a network as a folder of C files; the folder is complete or not there at all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from eigenloop.deploy.c.about import About, notes, readme
from eigenloop.deploy.c.source import source_of
from eigenloop.deploy.c.text import checked_name
from eigenloop.deploy.c.vectors import test_program, vectors_header
from eigenloop.deploy.network import IntegerNetwork
from eigenloop.runs.atomic import new_folder


def file_names(name: str) -> tuple[str, ...]:
    """Return the names of the files that `write_c` writes."""
    return (f"{name}.h", f"{name}.c", f"{name}_vectors.h", f"{name}_test.c", "Makefile", "CMakeLists.txt", "README.md")


def write_c(
    network: IntegerNetwork,
    folder: str | os.PathLike[str],
    *,
    name: str = "network",
    classes: Sequence[str] = (),
    about: About | None = None,
) -> Path:
    """Write a network as C99 without libraries, two files for the firmware and a test of them; return the folder.

    Args:
        network: built by `eigenloop.deploy.integer`.
        folder: is created; or contains only an earlier export of this name, which is replaced.
        name: a C identifier, the prefix of every file and public symbol.
        classes: names of the outputs, which become string literals in the header.
        about: names and units of inputs and outputs, and measurements, for the header and README.md.

    Raises:
        TypeError: `network` is not an integer network.
        ValueError: `name` is not a C identifier, or there are not as many classes as outputs.
        FileExistsError: the folder contains other files or is the current one, or is not a folder.
    """
    if not isinstance(network, IntegerNetwork):
        raise TypeError(
            f"write_c takes what el.deploy.integer(...) gives, got {type(network).__name__}: convert the quantized "
            "network to integers first, with el.deploy.integer(network, calibration=...)"
        )
    target, names = checked_target(folder, name), file_names(name)
    told = about or About()
    source = source_of(network, name, classes, notes(network, told))
    if classes and len(classes) != source.interface.outputs:
        raise ValueError(f"classes has {len(classes)} names for {source.interface.outputs} outputs: give one for each")
    texts = (
        source.header,
        source.code,
        vectors_header(network, source, name),
        test_program(name),
        _makefile(name),
        _cmake(name),
        readme(network, name, classes, told),
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    with new_folder(target) as made:
        for file, text in zip(names, texts, strict=True):
            (made / file).write_text(text, encoding="utf-8")
        _refuse_others(target, names)  # again: others may have come while this was written
    return target


def checked_target(folder: str | os.PathLike[str], name: str) -> Path:
    """Return the folder of an export as a path; raise ValueError or FileExistsError as in `write_c`."""
    target = Path(folder)
    if Path.cwd().is_relative_to(target.resolve()):  # an export replaces its folder, and the shell would stand nowhere
        raise FileExistsError(f"{target} holds the current folder: name a folder that does not exist yet")
    _refuse_others(target, file_names(checked_name(name)))
    return target


def _refuse_others(target: Path, names: Sequence[str]) -> None:
    """Raise FileExistsError if a folder contains anything but an earlier export."""
    if not target.exists() and not target.is_symlink():
        return
    if target.is_symlink() or not target.is_dir():
        raise FileExistsError(f"{target} is not a folder: name one that does not exist yet")
    others = sorted({path.name for path in target.iterdir()} - set(names))
    if others:
        raise FileExistsError(
            f"{target} holds other files ({', '.join(others[:3])}): name a folder that does not exist yet, "
            "or an empty one"
        )


def _makefile(name: str) -> str:
    return f"""# Builds {name} for this computer and compares it with the reference: make check
CFLAGS ?= -O2
STRICT = -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror

check:
\tfolder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \\
\t$(CC) $(STRICT) $(CFLAGS) -o "$$folder/test" {name}.c {name}_test.c && "$$folder/test"

.PHONY: check
"""


def _cmake(name: str) -> str:
    return f"""# In a project: add_subdirectory(FOLDER), then target_link_libraries(APP PRIVATE {name})
cmake_minimum_required(VERSION 3.13)
project({name} C)
add_library({name} STATIC {name}.c)
target_include_directories({name} PUBLIC "${{CMAKE_CURRENT_SOURCE_DIR}}")
set_target_properties({name} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)
"""
