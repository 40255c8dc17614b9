"""Running a network over a batch: inputs as it takes them, and every sequence to its own end."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from eigenloop.readout import Model
from eigenloop.tasks import Batch, Task
from eigenloop.tasks.synthetic import one_hot
from eigenloop.training.states import kept_where


def inputs_for(net: Model, task: Task, batch: Batch) -> Tensor:
    """Return a batch's inputs as the network takes them: tokens become one-hot where it has no embedding."""
    if not task.tokens or net.embedding is not None:
        return batch.inputs
    return one_hot(batch.inputs, task.input_size, net.readout.weight.dtype)


def run(
    net: Model, task: Task, batch: Batch, state: Any = None, parallel: nn.Module | None = None
) -> tuple[Tensor, Any]:
    """Return the outputs of a network for a batch, and its final states.

    A sequence that ended in a segment before, whose length here is 0, keeps its state, and its output is read off that.

    Args:
        net: the network.
        task: whose batch it is.
        batch: what to run over, on the network's device.
        state: what the sequences begin with; default: the network's own initial state.
        parallel: the network as it is to be called, where that is not `net` itself.
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
