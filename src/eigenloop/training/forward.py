"""Running a network over a batch: one-hot inputs where it needs them, and sequences of different lengths."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from eigenloop.readout import Model
from eigenloop.tasks import Batch, Task
from eigenloop.tasks.synthetic import one_hot
from eigenloop.training.states import kept_where


def inputs_for(net: Model, task: Task, batch: Batch) -> Tensor:
    """Return the inputs of a batch for the network; tokens become one-hot vectors if it has no embedding."""
    if not task.tokens or net.embedding is not None:
        return batch.inputs
    return one_hot(batch.inputs, task.input_size, net.readout.weight.dtype)


def run(
    net: Model, task: Task, batch: Batch, state: Any = None, parallel: nn.Module | None = None
) -> tuple[Tensor, Any]:
    """Return the outputs of a network for a batch, and its final states.

    A sequence that ended in an earlier segment has length 0 here; it keeps its state, and its output is computed from
    that state.

    Args:
        net: the network.
        task: the task that made the batch.
        batch: the batch, on the network's device.
        state: the initial states of the sequences; default: the network's own initial state.
        parallel: the module to call instead of `net`, such as a DistributedDataParallel wrapper around it.
    """
    call, inputs = parallel or net, inputs_for(net, task, batch)
    if batch.lengths is None:
        outputs, after = call(inputs, state)
        return outputs, after
    ended = batch.lengths == 0 if state is not None else None
    if ended is None or not bool(ended.any()):
        outputs, after = call(inputs, state, lengths=batch.lengths)
        return outputs, after
    outputs, after = call(inputs, state, lengths=batch.lengths.clamp(min=1))
    if net.last:
        outputs = torch.where(ended[:, None], net.read_last(state), outputs)
    return outputs, kept_where(ended, state, after)
