"""``eigenloop eval``."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenloop.tasks import TIMIT
from eigenloop.training import ConfigError, load_run
from eigenloop.training import evaluate as evaluate_net


def evaluate(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    split: Annotated[str | None, typer.Option(help="valid or test; all there are if left out.")] = None,
    checkpoint: Annotated[str, typer.Option(help="best, last or a step.")] = "best",
    batch_size: Annotated[int | None, typer.Option(min=1, help="Sequences at once.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with the data, if it has moved.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, ..., if not as in training.")] = None,
    speech: Annotated[bool, typer.Option("--speech", help="Of timit: resynthesise and measure the sound too.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Measure the network of a run again.

    eigenloop eval runs/pmnist --split test
    """
    if checkpoint not in ("best", "last") and not checkpoint.isdecimal():
        raise ConfigError(f"--checkpoint is best, last or a step, got {checkpoint!r}")
    which = int(checkpoint) if checkpoint.isdecimal() else checkpoint
    net, config, step = load_run(run, which, data_dir=data_dir, device=device)
    task = config.task
    if split is not None and split not in task.splits:
        raise ConfigError(f"{task.name} has no part {split!r}: choose {' or '.join(task.splits)}")
    if speech and not isinstance(task, TIMIT):
        raise ConfigError(f"--speech is for timit, and this is a run of {task.name}: leave it out")
    size = batch_size or config.training.eval_batch_size or config.training.batch_size
    result: dict[str, Any] = {"run": str(run), "step": step, "baseline": task.baseline()}
    for part in (split,) if split else task.splits:
        result[part] = evaluate_net(net, task, part, size)
        if speech and isinstance(task, TIMIT):
            result[part] |= task.quality(net, part)
    if json:
        print(json_text.dumps(result))
        return
    print(f"{config.network.name} on {task.name}, {run}, step {step}")
    for name in ("baseline", *task.splits):
        if name in result:
            print(f"{name}: " + "  ".join(f"{key} {value:.5g}" for key, value in result[name].items()))
