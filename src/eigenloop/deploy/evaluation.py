"""Evaluate an integer network with the code that evaluates the trained network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from eigenloop.deploy.network import IntegerNetwork
from eigenloop.deploy.statistics import Statistics
from eigenloop.errors import ConfigError
from eigenloop.readout import Model


@dataclass
class Agreement:
    """How the answers of the integer network compare with those of the trained network.

    There is one answer per sequence, or one per time step if the network has outputs at every step. Its class is the
    index of the largest output.

    Attributes:
        answers, same: how many answers there are, and how many have the same class.
        sequences, same_sequences: how many sequences there are, and in how many all classes are the same.
        largest: the largest difference between two outputs.
    """

    answers: int = 0
    same: int = 0
    sequences: int = 0
    same_sequences: int = 0
    largest: float = 0.0

    def add(self, outputs: Tensor, from_integers: Tensor, valid: Tensor) -> None:
        """Count a batch: outputs are (T, B, k), or (B, k) with one answer per sequence; `valid` is (T, B) or (B,)."""
        equal = outputs.argmax(-1) == from_integers.argmax(-1)
        by_step = (equal | ~valid).reshape(-1, equal.shape[-1])
        self.answers += int(valid.sum())
        self.same += int((equal & valid).sum())
        self.sequences += by_step.shape[1]
        self.same_sequences += int(by_step.all(0).sum())
        self.largest = max(self.largest, float((outputs - from_integers).abs()[valid].max()))


@contextmanager
def in_integers(net: Model, integer_net: IntegerNetwork, watch: Statistics | None = None) -> Iterator[Agreement]:
    """Replace the outputs of a network by those of its integer network, and compare the two.

    Inside the ``with`` block, functions that evaluate `net` (`training.evaluate`, `training.outcome`) evaluate
    `integer_net`.

    Args:
        net: the trained network, time first as training builds it.
        integer_net: its integer network.
        watch: counts saturation.

    Raises:
        ConfigError: the task carries a state from one batch to the next, which integer networks do not support.
    """
    agreement = Agreement()

    def answer(_: nn.Module, given: tuple[Any, ...], options: dict[str, Any], result: Any) -> Any:
        if len(given) > 1 and given[1] is not None:
            raise ConfigError(
                "an integer network runs whole sequences from their start, and here a state is carried from one piece "
                "to the next",
                "evaluate it on another task",
                flags="leave out --integer",
            )
        outputs, state = result
        lengths: Tensor | None = options.get("lengths")
        counts: Sequence[int] | None = None if lengths is None else lengths.tolist()
        answers = torch.from_numpy(integer_net.predict(given[0], lengths=counts, watch=watch)).to(outputs)
        valid = torch.ones(outputs.shape[:-1], dtype=torch.bool, device=outputs.device)
        if lengths is not None and outputs.dim() == 3:
            valid = torch.arange(len(outputs), device=outputs.device)[:, None] < lengths.to(outputs.device)
        agreement.add(outputs, answers, valid)
        return answers, state

    handle = net.register_forward_hook(answer, with_kwargs=True)
    try:
        yield agreement
    finally:
        handle.remove()
