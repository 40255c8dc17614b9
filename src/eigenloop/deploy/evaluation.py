"""The integer network of a trained one in its place: whatever evaluates the one evaluates the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from eigenloop.deploy.network import IntegerNetwork
from eigenloop.deploy.watching import Watch
from eigenloop.errors import ConfigError
from eigenloop.readout import Model


@dataclass
class Agreement:
    """How the answers in integers compare with those of the network itself.

    An answer is a sequence where one is given for each, else a step. Its class is the largest output.

    Attributes:
        answers, same: how many there were, and how many of them have the same class.
        sequences, same_sequences: the same for whole sequences, all of whose classes must agree.
        largest: the largest difference of two outputs.
    """

    answers: int = 0
    same: int = 0
    sequences: int = 0
    same_sequences: int = 0
    largest: float = 0.0

    def add(self, outputs: Tensor, whole: Tensor, valid: Tensor) -> None:
        """Count outputs (T, B, k), or (B, k) with one answer a sequence; `valid` is (T, B) or (B,)."""
        equal = outputs.argmax(-1) == whole.argmax(-1)
        by_step = (equal | ~valid).reshape(-1, equal.shape[-1])
        self.answers += int(valid.sum())
        self.same += int((equal & valid).sum())
        self.sequences += by_step.shape[1]
        self.same_sequences += int(by_step.all(0).sum())
        self.largest = max(self.largest, float((outputs - whole).abs()[valid].max()))


@contextmanager
def in_integers(net: Model, whole: IntegerNetwork, watch: Watch | None = None) -> Iterator[Agreement]:
    """Let a network answer with what its integer network computes, and compare the two.

    Inside the ``with`` whatever evaluates the network (`training.evaluate`, `training.outcome`) evaluates the other.

    Args:
        net: time first, as a training makes it.
        whole: its integer network.
        watch: counts what saturates.
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
        answers = torch.from_numpy(whole.predict(given[0], lengths=counts, watch=watch)).to(outputs)
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
