"""Writes a network as a folder of C files, whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from eigenloop.deploy.c.source import source_of
from eigenloop.deploy.c.text import checked_name
from eigenloop.deploy.c.vectors import test_program, vectors_header
from eigenloop.deploy.network import IntegerNetwork


def file_names(name: str) -> tuple[str, ...]:
    """Return the names of the files that `write_c` writes."""
    return (f"{name}.h", f"{name}.c", f"{name}_vectors.h", f"{name}_test.c", "Makefile", "README.md")


def write_c(
    network: IntegerNetwork, folder: str | os.PathLike[str], *, name: str = "network", classes: Sequence[str] = ()
) -> Path:
    """Write a network as C99 that needs no library: two files for a firmware, and a test of them.

    Args:
        network: made by `eigenloop.deploy.integer`.
        folder: made new; or one that holds nothing but an earlier export of this name, which is replaced.
        name: a C identifier, with which every file and public symbol begins.
        classes: names of the outputs, which become string literals in the header.
    """
    if not isinstance(network, IntegerNetwork):
        raise TypeError(
            f"write_c takes what el.deploy.integer(...) gives, got {type(network).__name__}: make a quantized network "
            "whole numbers first"
        )
    name, target, names = checked_name(name), Path(folder), file_names(checked_name(name))
    source = source_of(network, name, classes)
    if classes and len(classes) != source.outputs:
        raise ValueError(f"classes has {len(classes)} names for {source.outputs} outputs: give one for each")
    _refuse_others(target, names)
    texts = (
        source.header,
        source.code,
        vectors_header(network, source, name),
        test_program(name),
        _makefile(name),
        _readme(network, name),
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        for file, text in zip(names, texts, strict=True):
            (made / file).write_text(text, encoding="utf-8")
        made.chmod(0o755)
        _refuse_others(target, names)
        if target.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
            target.rename(old / "old")
            made.rename(target)
            shutil.rmtree(old)
        else:
            made.rename(target)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return target


def _refuse_others(target: Path, names: Sequence[str]) -> None:
    """Refuse a folder that holds anything but an earlier export."""
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


def _readme(network: IntegerNetwork, name: str) -> str:
    report = network.report()
    stored = "\n".join(f"| {part.name} | {part.bytes:,} |" for part in report.size.parts)
    memory = "\n".join(f"| {part.name} | {part.bytes:,} |" for part in report.size.ram)
    return f"""# {name}

A recurrent network in whole numbers, C99 without a library, made by eigenloop. A firmware needs `{name}.h` and
`{name}.c`; `make check` compares them with the reference on this computer, with the numbers in `{name}_vectors.h`.

```c
{name}_state state;
{name}_sum sums[{name.upper()}_OUTPUTS];
{name}_init(&state);
{name}_step(&state, input); /* for every step */
{name}_output(&state, sums); /* the class is the place of the largest */
```

A step multiplies {report.products:,} codes and {report.rescalings:,} times by a multiplier or gate; reading out
multiplies {report.readout_products:,} codes. Constants, {sum(part.bytes for part in report.size.parts):,} bytes
together, code apart:

| stored | bytes |
|---|---|
{stored}

Memory, {sum(part.bytes for part in report.size.ram):,} bytes together, of which the new state and the input are on
the stack during a step:

| in memory | bytes |
|---|---|
{memory}
"""
