"""The summary of a training, and its description in words."""

from __future__ import annotations

from torch import nn

from eigenloop.runs import Summary
from eigenloop.training import machine
from eigenloop.training.progress import Progress
from eigenloop.training.settings.config import Config


def count_parameters(net: nn.Module) -> int:
    """Return the number of trained parameters; a complex one counts twice."""
    return sum(p.numel() * (2 if p.is_complex() else 1) for p in net.parameters() if p.requires_grad)


def describe(config: Config) -> str:
    """Describe model and task in a few words: their names, the hidden size, and the delay or length."""
    size = config.network.hidden_size
    for key in ("delay", "length"):
        if isinstance(value := getattr(config.task, key, None), int):
            return f"{config.network.name}, {size} units, on {config.task.name} ({key} {value})"
    return f"{config.network.name}, {size} units, on {config.task.name}"


def summarise(
    config: Config,
    net: nn.Module,
    progress: Progress,
    epochs: float | None,
    processes: int,
    status: str,
    reason: str,
    test: dict[str, float] | None,
) -> Summary:
    """Return the summary of a training: results, baseline, time, software and machine."""
    task = config.task
    return Summary(
        status=status,
        reason=reason,
        task=task.name,
        model=config.network.name,
        steps=progress.step,
        epochs=epochs,
        parameters=count_parameters(net),
        metric=task.metric,
        higher_is_better=task.higher_is_better,
        baseline=task.baseline(),
        best=progress.best,
        final=progress.latest,
        test=test,
        seconds=round(progress.seconds, 3),
        started=progress.started,
        processes=processes,
        commit=machine.commit(),
        numerics=progress.numerics,
        versions=machine.versions(),
        machine=machine.machine(),
    )
