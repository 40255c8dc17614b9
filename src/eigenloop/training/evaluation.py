"""Evaluation of a network on a split of a task."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from eigenloop.matrices import cached
from eigenloop.readout import Model
from eigenloop.tasks import Batch, Task
from eigenloop.tasks.tally import Tally
from eigenloop.training.forward import run
from eigenloop.training.processes import Processes
from eigenloop.training.states import detached


def tally_of(task: Task, outputs: Tensor, loss: float, batch: Batch) -> Tally:
    """Return the loss and the metrics of a batch as sums with counts."""
    tally = Tally(loss=(loss, task.terms(batch)))
    tally.add(task.measures(outputs, batch))
    return tally


@torch.no_grad()
def evaluate(
    net: Model, task: Task, split: str, batch_size: int, processes: Processes | None = None
) -> dict[str, float]:
    """Return the mean loss and the metrics over a whole split; every W is built once.

    Args:
        net: the network; its training mode is restored afterwards.
        task: the task.
        split: one of ``task.splits``.
        batch_size: number of sequences per forward pass.
        processes: the processes that share the work; default: this one alone.
    """
    processes = processes or Processes()
    weight = net.readout.weight
    total = Tally()
    training = net.training
    net.eval()
    state: Any = None
    try:
        with cached(net):
            for whole in task.evaluation(split, batch_size):
                batch = whole.part(processes.rank, processes.count).to(weight.device, weight.dtype)
                if batch.size == 0:
                    continue
                outputs, after = run(net, task, batch, state if batch.continues else None)
                state = detached(after)
                total.add(tally_of(task, outputs, float(task.loss(outputs, batch)), batch))
    finally:
        net.train(training)
    if processes.count > 1 and not total:  # more processes than sequences: take part in the sum with zeros
        total = Tally(**dict.fromkeys(tally_names(net, task), (0.0, 0.0)))
    return task.metrics(processes.added(total).means())


def tally_names(net: Model, task: Task) -> list[str]:
    """Return the names of the entries of a tally of this task."""
    batch = next(iter(task.evaluation(task.splits[0], 1))).part(0, 1)
    weight = net.readout.weight
    batch = batch.to(weight.device, weight.dtype)
    outputs, _ = run(net, task, batch)
    return list(tally_of(task, outputs, 0.0, batch).items())
