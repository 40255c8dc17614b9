"""One update: forward and backward pass over the parts and segments of a batch, and the optimizer's step."""

from __future__ import annotations

import math
import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from eigenloop.errors import DivergedError
from eigenloop.readout import Model
from eigenloop.tasks import Batch, Task
from eigenloop.tasks.tally import Tally
from eigenloop.training.evaluation import tally_of
from eigenloop.training.forward import run
from eigenloop.training.processes import Processes
from eigenloop.training.settings.sections import TrainingSection
from eigenloop.training.states import detached


class Updater:
    """Takes optimizer steps on sum(loss) / terms + penalty, where sum and terms are those of the whole batch.

    Note [The same step, however the batch is cut]
        A batch is divided by sequences among processes and accumulated parts, and over time for truncated
        backpropagation. Every piece adds its sum of losses, divided by the terms of the whole batch, so the weight of
        a sequence does not depend on the division. DistributedDataParallel averages over processes; the factor
        `count` turns that into a sum.
    """

    def __init__(
        self, net: Model, task: Task, optimizer: torch.optim.Optimizer, section: TrainingSection, processes: Processes
    ) -> None:
        self.net, self.task, self.optimizer, self.section, self.processes = net, task, optimizer, section, processes
        self.parallel: nn.Module = net if processes.count == 1 else _in_parallel(net)
        #: The hidden states after the last batch, one for each accumulated part.
        self.carried: list[Any] = [None] * section.accumulate

    def step(self, whole: Batch) -> tuple[Tally, float]:
        """Take one optimizer step on a batch.

        Returns:
            Loss and metrics of this process's share of the batch, and the norm of the gradient before clipping.

        Raises:
            DataError: the batch itself holds NaN or inf.
            DivergedError: the loss or the gradient became NaN or inf.
        """
        weight = self.net.readout.weight
        mine = whole.part(self.processes.rank, self.processes.count).to(weight.device, weight.dtype)
        terms = self.processes.total(self.task.terms(mine))
        self.optimizer.zero_grad(set_to_none=True)
        tally = Tally()
        parts = self.section.accumulate
        for index in range(parts):
            part = mine.part(index, parts)
            state = self.carried[index] if whole.continues else None
            tally.add(self._backward(part, index, state, terms, last=index == parts - 1))
        norm = self._clip()
        total = self.processes.added(Tally(loss=tally.items()["loss"]))
        if not math.isfinite(total.means()["loss"]) or not math.isfinite(norm):
            self.processes.refuse_broken(mine, self.task.name, "a batch to train on")
            what = f"loss is {total.means()['loss']:g}" if math.isfinite(norm) else f"norm of the gradient is {norm:g}"
            raise DivergedError(f"the {what}")
        self.optimizer.step()
        return tally, norm

    def _backward(self, part: Batch, index: int, state: Any, terms: float, last: bool) -> Tally:
        """Run a part segment by segment and accumulate its gradient; keep its final state in `carried`."""
        length = self.section.truncate or part.steps
        tally = Tally()
        for start in range(0, part.steps, length):
            segment = part.segment(start, start + length)
            final = start + length >= part.steps
            if not final and not part.per_step:  # the loss is at the end only: just carry the state on
                with torch.no_grad():
                    _, state = run(self.net, self.task, segment, state)
                continue
            with self._gradients_stay(not (last and final)):
                outputs, after = run(self.net, self.task, segment, state, self.parallel)
                loss = self.task.loss(outputs, segment)
                objective = loss * (self.processes.count / terms)
                if index == 0 and (start == 0 or not part.per_step):
                    objective = objective + self.net.penalty()
                objective.backward()
            state = detached(after)
            with torch.no_grad():
                tally.add(tally_of(self.task, outputs.detach(), float(loss.detach()), segment))
        self.carried[index] = state
        return tally

    def _gradients_stay(self, stay: bool) -> AbstractContextManager[Any]:
        """Return a context in which gradients are not averaged over processes; the last piece does that for all."""
        if stay and isinstance(self.parallel, DistributedDataParallel):
            return self.parallel.no_sync()
        return nullcontext()

    def _clip(self) -> float:
        """Clip the gradient as configured and return its norm before clipping."""
        parameters = [p for p in self.net.parameters() if p.grad is not None]
        gradients: list[Tensor] = [p.grad for p in parameters if p.grad is not None]
        total = torch.nn.utils.get_total_norm(gradients)
        norm = float(total)
        if self.section.clip_norm is not None and math.isfinite(norm):
            torch.nn.utils.clip_grads_with_norm_(parameters, self.section.clip_norm, total)
        if self.section.clip_value is not None:
            for gradient in gradients:
                real = torch.view_as_real(gradient) if gradient.is_complex() else gradient
                real.clamp_(-self.section.clip_value, self.section.clip_value)
        return norm


def _in_parallel(net: Model) -> DistributedDataParallel:
    """Wrap the network to average gradients over processes; buffers are not sent, as all compute the same ones."""
    with warnings.catch_warnings():
        # torch 2.13 renamed the option, and earlier versions do not have the new name.
        warnings.simplefilter("ignore", FutureWarning)
        # A trained initial state has no gradient in batches that start from a carried state.
        unused = net.rnn.train_initial_state
        return DistributedDataParallel(net, broadcast_buffers=False, find_unused_parameters=unused)
