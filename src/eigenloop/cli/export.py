"""``eigenloop export``."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eigenloop.cli.checkpoints import which
from eigenloop.errors import ConfigError
from eigenloop.text.json_text import json_line

if TYPE_CHECKING:
    from eigenloop.deploy.exporting import Exported


def export(
    run: Annotated[Path, typer.Argument(help="Folder of a run whose network was trained with --bits.")],
    to: Annotated[str, typer.Option(help="Target language: c.")] = "c",
    out: Annotated[Path, typer.Option(help="A new folder, or one with an earlier export of this name.")] = Path(
        "firmware"
    ),
    name: Annotated[
        str | None,
        typer.Option(
            help="Prefix of files and symbols, a C identifier. Default: the name of the run, other characters as _."
        ),
    ] = None,
    state_bits: Annotated[
        int | None, typer.Option(min=6, max=16, help="Bits of the state. Default: as trained, or 12.")
    ] = None,
    counts: Annotated[
        str | None,
        typer.Option(
            help="Sensor counts per unit of the data: a number, or one per channel, separated by commas. Default: 1 "
            "for data in whole numbers, else a power of ten."
        ),
    ] = None,
    measure: Annotated[
        str | None, typer.Option(help="Cores to measure in QEMU, separated by commas: cortex-m0, -m3, -m4, -m7.")
    ] = None,
    checkpoint: Annotated[str, typer.Option(help="best, last or a step.")] = "best",
    data: Annotated[Path | None, typer.Option(help="File with your data, if it has moved.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with the data, if it has moved.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write the network of a run as two C files for firmware, with test vectors, build files and a README.

    The network computes in integers only. Ranges of states come from the training split; inputs are sensor counts.

    Examples:
        eigenloop export runs/watch --to c --out firmware --name watch

        eigenloop export runs/watch --to c --out firmware --measure cortex-m0,cortex-m4
    """
    if to != "c":
        raise ConfigError(f"--to {to} is not known: write --to c")
    numbers = None if counts is None else [_number(part) for part in counts.split(",")]
    cores = [] if measure is None else [core.strip() for core in measure.split(",") if core.strip()]

    from eigenloop.deploy.exporting import export_c

    exported = export_c(
        run,
        out,
        name=name,
        which=which(checkpoint),
        state_bits=state_bits,
        counts=numbers,
        cores=cores,
        data=data,
        data_dir=data_dir,
    )
    if json:
        print(json_line(_as_dict(exported, run)))
    else:
        _show(exported, run)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ConfigError(f"--counts is numbers with commas, as in --counts 16384, got {text!r}") from error


def _as_dict(exported: Exported, run: Path) -> dict[str, object]:
    report = exported.network.report()
    return {
        "run": str(run),
        "step": exported.run.step,
        "out": str(exported.folder),
        "name": exported.name,
        "state_bits": exported.network.cells[0].formats.state.bits,
        "classes": list(exported.classes),
        "counts": list(exported.counts),
        "bytes": report.size.bytes,
        "ram_bytes": report.size.ram_bytes,
        "products": report.products,
        "rescalings": report.rescalings,
        "readout_products": report.readout_products,
        "measured": [dataclasses.asdict(one) | {"per_product": one.per_product} for one in exported.measured],
    }


def _show(exported: Exported, run: Path) -> None:
    from eigenloop.cli.answers import table
    from eigenloop.deploy.c.about import MEASURED_COLUMNS, measured_rows

    report, folder, name = exported.network.report(), exported.folder, exported.name
    bits = exported.network.cells[0].formats.state.bits
    print(f"{folder / name}.h, {name}.c: the network of {run}, step {exported.run.step:,}, with a state of {bits} bits")
    print(
        f"constants {report.size.bytes:,} B, memory {report.size.ram_bytes:,} B; "
        f"{report.products:,} multiplications per time step, {report.readout_products:,} per read-out"
    )
    different = sorted(set(exported.counts))
    if different:
        listed = ", ".join(f"{one:.12g}" for one in different)
        print(f"inputs are whole numbers: {listed} to a unit of the data; {folder / 'README.md'} has every channel")
    if exported.measured:
        table(MEASURED_COLUMNS, measured_rows(exported.measured))
    print(f"compare it with the reference on this computer: make -C {folder} check")
