"""Sequences of different lengths: each is run to its own end, as if it were alone and without padding."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn
from training.small import small

import eigenloop as el
from eigenloop.tasks import Batch, Task
from eigenloop.training.evaluation import evaluate
from eigenloop.training.processes import Processes
from eigenloop.training.update import Updater

LENGTHS = (7, 3, 1, 5)


@dataclass(frozen=True)
class Ragged(Task):
    """Values to be told from the end of sequences whose padding is anything but silent, or classes at every step."""

    name: ClassVar[str] = "ragged"
    input_size: ClassVar[int] = 2  # type: ignore[assignment]
    output_size: ClassVar[int] = 3  # type: ignore[assignment]
    last: bool = True  # type: ignore[misc]

    def batch(self) -> Batch:
        generator = torch.Generator().manual_seed(8)
        inputs = torch.randn(max(LENGTHS), len(LENGTHS), 2, generator=generator, dtype=torch.float64)
        for b, length in enumerate(LENGTHS):
            inputs[length:, b] = 50.0
        steps = () if self.last else (max(LENGTHS),)
        targets = torch.randn(*steps, len(LENGTHS), 3, generator=generator, dtype=torch.float64)
        return Batch(inputs, targets, per_step=not self.last, lengths=torch.tensor(LENGTHS))

    def steps_per_epoch(self, batch_size: int) -> int | None:
        return 1

    def train_batch(self, step: int, batch_size: int, seed: int) -> Batch:
        return self.batch()

    def evaluation(self, split: str, batch_size: int) -> Iterator[Batch]:
        yield self.batch()

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        squares = (outputs - batch.targets).square().sum(-1)
        if not self.last:
            squares = squares * (torch.arange(batch.steps)[:, None] < batch.lengths)
        return squares.sum()

    def terms(self, batch: Batch) -> float:
        return float(batch.size if self.last else batch.lengths.sum())

    def baseline(self) -> dict[str, float]:
        return {}


def one_by_one(net: el.Model, task: Ragged, truncate: int = 100) -> Tensor:
    """The mean loss with every sequence alone and cut to its length; the state forgets its past at every segment."""
    batch = task.batch()
    total = torch.zeros((), dtype=torch.float64)
    for b, length in enumerate(LENGTHS):
        state, y = None, []
        for start in range(0, max(LENGTHS), truncate):
            x = batch.inputs[start : min(start + truncate, length), b : b + 1]
            state = _detached(state)
            if len(x):
                out, state = net(x, state)
                y.append(out)
            elif task.last:
                y.append(net.read(_last(net, state)))
        outputs = y[-1][0] if task.last else torch.cat(y)[:, 0]
        targets = batch.targets[b] if task.last else batch.targets[:length, b]
        total = total + (outputs - targets).square().sum()
    return total / task.terms(batch)


def _detached(state: Any) -> Any:
    if state is None:
        return None
    return tuple(part.detach() for part in state) if isinstance(state, tuple) else state.detach()


def _last(net: el.Model, state: Any) -> Tensor:
    """The last layer's h of the one sequence: a pair (h, c) in an LSTM, one tensor a layer where their sizes differ."""
    return (state[0] if isinstance(net.rnn, el.LSTM) else state)[-1].reshape(1, -1)


LAYERS = {
    "rnn": lambda: el.RNN(2, 6, dtype=torch.float64),
    "two layers": lambda: el.GRU(2, 6, 2, dtype=torch.float64),
    "lstm": lambda: el.LSTM(2, 6, dtype=torch.float64),
    "sizes": lambda: el.RNN(2, (4, 6), nonlinearity="tanh", dtype=torch.float64),
    "complex": lambda: el.build("eurnn", 2, 6, dtype=torch.float64),
}


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("layer", [*LAYERS, "both directions"])
def test_evaluation_does_not_see_the_padding(layer: str, last: bool) -> None:
    both = el.RNN(2, 6, bidirectional=True, dtype=torch.float64)
    net = el.Model(both if layer == "both directions" else LAYERS[layer](), 3, last=last)
    task = Ragged(last=last)
    found = evaluate(net, task, "valid", 4)["loss"]
    assert found == pytest.approx(float(one_by_one(net, task).detach()), rel=1e-12)


@pytest.mark.parametrize("truncate", [None, 1, 2, 4])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("layer", LAYERS)
def test_an_update_does_not_see_the_padding(layer: str, last: bool, truncate: int | None) -> None:
    net = el.Model(LAYERS[layer](), 3, last=last)
    task = Ragged(last=last)
    one_by_one(net, task, truncate or 100).backward()
    expected = {name: parameter.grad.clone() for name, parameter in net.named_parameters() if _reached(parameter)}
    section = small(training={"dtype": "float64", "truncate": truncate}).training
    Updater(net, task, torch.optim.SGD(net.parameters(), 0.0), section, Processes()).step(task.batch())
    for name, wanted in expected.items():
        found = net.get_parameter(name).grad
        assert torch.allclose(found, wanted, rtol=0, atol=1e-12), name


def _reached(parameter: nn.Parameter) -> bool:
    return parameter.grad is not None


def test_an_empty_sequence_is_refused() -> None:
    net = el.Model(el.RNN(2, 6, dtype=torch.float64), 3, last=True)
    batch = Ragged().batch()
    empty = Batch(batch.inputs, batch.targets, per_step=False, lengths=torch.tensor([7, 0, 1, 5]))
    section = small(training={"dtype": "float64"}).training
    updater = Updater(net, Ragged(), torch.optim.SGD(net.parameters(), 0.0), section, Processes())
    with pytest.raises(RuntimeError, match="every length must be at least 1"):
        updater.step(empty)
