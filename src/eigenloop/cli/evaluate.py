"""``eigenloop eval``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenloop.bit_widths import WEIGHTS
from eigenloop.cli.checkpoints import which
from eigenloop.cli.widths import width
from eigenloop.errors import ConfigError
from eigenloop.text.json_text import json_line
from eigenloop.text.numbers import brief

if TYPE_CHECKING:
    from eigenloop.readout import Model
    from eigenloop.tasks import Task


def evaluate(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    split: Annotated[str | None, typer.Option(help="valid or test. Default: both, where they exist.")] = None,
    checkpoint: Annotated[str, typer.Option(help="best, last or a step.")] = "best",
    batch_size: Annotated[int | None, typer.Option(min=1, help="Sequences per batch.")] = None,
    data: Annotated[Path | None, typer.Option(help="File with your data, if it has moved.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with the data, if it has moved.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, ... Default: as in training.")] = None,
    bits: Annotated[str | None, typer.Option(help=f"Quantize the trained network first: {WEIGHTS}, or float.")] = None,
    around_identity: Annotated[
        bool, typer.Option("--around-identity", help="With --bits: the recurrent matrix becomes I + q(W - I).")
    ] = False,
    readout_bits: Annotated[int | None, typer.Option(min=2, max=16, help="With --bits: bits of the read-out.")] = None,
    integer: Annotated[
        bool, typer.Option("--integer", help="Also evaluate it in integer arithmetic, beside floating point.")
    ] = False,
    state_bits: Annotated[
        int | None, typer.Option(min=6, max=16, help="With --integer: bits of the state; as trained, or 12.")
    ] = None,
    speech: Annotated[
        bool, typer.Option("--speech", help="Task timit: also resynthesise the sound and measure its quality.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Evaluate the network of a run.

    Examples:
        eigenloop eval runs/pmnist --split test

        eigenloop eval runs/pmnist --bits 4

        eigenloop eval runs/watch --split test

        eigenloop eval runs/watch --integer --state-bits 12
    """
    from eigenloop.cli import integers
    from eigenloop.cli.answers import show
    from eigenloop.tasks import TIMIT, Sequences
    from eigenloop.training import evaluate as evaluate_net
    from eigenloop.training import load_run
    from eigenloop.training.spectra import smallest_ratio

    net, config, step = load_run(run, which(checkpoint), data_dir=data_dir, data=data, device=device)
    if bits is not None:
        _quantize(net, width(bits), around_identity, readout_bits)
    elif around_identity or readout_bits is not None:
        raise ConfigError("--around-identity and --readout-bits go with --bits: give the width of U and W too")
    task = config.task
    if split is not None:
        task.checked_split(split)
    if speech and not isinstance(task, TIMIT):
        raise ConfigError(f"--speech is for timit, and this is a run of {task.name}: leave it out")
    if speech and integer:
        raise ConfigError("--speech evaluates the network in floating point only: leave out --speech or --integer")
    if state_bits is not None and not integer:
        raise ConfigError("--state-bits goes with --integer: give both, or neither")
    for sentence in task.changed_files():
        print(f"{sentence}: the numbers are those of the changed file", file=sys.stderr)
    size = batch_size or config.training.eval_batch_size or config.training.batch_size
    result: dict[str, Any] = {"run": str(run), "step": step, "baseline": task.baseline()}
    if (ratio := smallest_ratio(net)) is not None:
        result["singular_ratio"] = ratio
    for part in (split,) if split else task.splits:
        result[part] = evaluate_net(net, task, part, size) | of_cases(net, task, part, size)
        if speech and isinstance(task, TIMIT):
            result[part] |= task.quality(net, part)
    if integer:
        evaluated = [each for each in task.splits if each in result]
        result["integer"] = integers.measured(net, config, evaluated, size, state_bits)
    if json:
        print(json_line(result))
        return
    quantized = f", smin/smax {result['singular_ratio']:.3f}" if "singular_ratio" in result else ""
    print(f"{config.network.name} on {task.name}, {run}, step {step}{quantized}")
    for name in ("baseline", *task.splits):
        if name in result and name != "baseline" and isinstance(task, Sequences):
            show(name, result[name], task)
        elif name in result:
            print(f"{name}: " + "  ".join(f"{key} {brief(value, 5)}" for key, value in result[name].items()))
    if integer:
        integers.show(result, task)


def of_cases(net: Model, task: Task, split: str, batch_size: int) -> dict[str, Any]:
    """Return the scores on a user's data by class, by target value or by steps ahead; empty for other tasks."""
    from eigenloop.tasks import Sequences
    from eigenloop.training import outcome

    return outcome(net, task, split, batch_size).measures() if isinstance(task, Sequences) else {}


def _quantize(net: Model, bits: int | None, around_identity: bool, readout_bits: int | None) -> None:
    from eigenloop.quantization import quantize_

    try:
        quantize_(net, bits, around_identity=around_identity, readout_bits=readout_bits)
    except ValueError as error:
        raise ConfigError(f"--bits: {error}") from error
