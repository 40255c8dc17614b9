"""The drawn tasks against generators written out step by step, and against the closed forms of their baselines."""

import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from eigenloop.errors import ConfigError
from eigenloop.tasks import TASKS, Adding, Batch, Copying, Denoise, Parenthesis, Task
from eigenloop.tasks.synthetic import Synthetic, one_hot

SMALL: dict[str, Synthetic] = {
    "adding": Adding(length=9, valid_size=13, test_size=7),
    "copying": Copying(delay=6, valid_size=13, test_size=7),
    "copying, after the marker": Copying(delay=6, convention="after-marker", valid_size=13, test_size=7),
    "denoise": Denoise(length=8, valid_size=13, test_size=7),
    "denoise, published": Denoise(length=8, published=True, valid_size=13, test_size=7),
    "parenthesis": Parenthesis(length=12, valid_size=13, test_size=7),
    "parenthesis, ten types": Parenthesis(length=12, types=10, objective="cross-entropy", valid_size=13, test_size=7),
}
tasks = pytest.mark.parametrize("task", SMALL.values(), ids=SMALL.keys())


def sequences(batch: Batch) -> Iterator[tuple[list[list[float]], list]]:
    """Each sequence's inputs and targets as plain lists."""
    for row in range(batch.size):
        targets = batch.targets[:, row] if batch.per_step else batch.targets[row]
        yield batch.inputs[:, row].tolist(), targets.tolist()


def symbol(vector: list[float]) -> int | None:
    """The symbol that a one-hot vector stands for; None for the empty vector."""
    assert all(value in (0.0, 1.0) for value in vector)
    assert sum(vector) <= 1
    return vector.index(1.0) if 1.0 in vector else None


# -------------------------------------------------------------------- what a sequence is


@settings(max_examples=30)
@given(length=st.integers(3, 60), batch_size=st.integers(1, 5), seed=st.integers(0, 2**40))
def test_adding(length: int, batch_size: int, seed: int) -> None:
    batch = Adding(length=length).train_batch(3, batch_size, seed)
    half = (length - 1) // 2
    for inputs, target in sequences(batch):
        assert len(inputs) == length
        marked = [step for step, (_, marker) in enumerate(inputs) if marker == 1]
        assert all(marker in (0, 1) and 0 <= value < 1 for value, marker in inputs)
        assert len(marked) == 2
        assert 0 <= marked[0] < half <= marked[1] < length
        assert target[0] == pytest.approx(inputs[marked[0]][0] + inputs[marked[1]][0], abs=1e-6)


@settings(max_examples=30)
@given(
    delay=st.integers(1, 60),
    batch_size=st.integers(1, 5),
    seed=st.integers(0, 2**40),
    convention=st.sampled_from(["marker", "after-marker"]),
)
def test_copying(delay: int, batch_size: int, seed: int, convention: str) -> None:
    batch = Copying(delay=delay, convention=convention).train_batch(0, batch_size, seed)
    for inputs, targets in sequences(batch):
        found = [symbol(vector) for vector in inputs]
        data = found[:10]
        assert all(value in range(1, 9) for value in data)
        if convention == "marker":
            assert found == [*data, *[0] * delay, 9, *[0] * 9]
        else:
            assert found == [*data, *[0] * (delay - 1), 9, *[0] * 10]
        assert targets == [*[0] * (delay + 10), *data]


@settings(max_examples=30)
@given(length=st.integers(1, 60), batch_size=st.integers(1, 5), seed=st.integers(0, 2**40))
def test_denoise(length: int, batch_size: int, seed: int) -> None:
    batch = Denoise(length=length).train_batch(0, batch_size, seed)
    for inputs, targets in sequences(batch):
        found = [symbol(vector) for vector in inputs]
        assert len(inputs[0]) == 11
        data = [value for value in found[: length + 9] if value != 0]
        assert len(data) == 10
        assert all(value in range(1, 10) for value in data)
        assert found[length + 9 :] == [10, *[0] * 10]
        assert targets == [*[0] * (length + 10), *data]


def test_denoise_as_published_hides_symbols_and_the_marker() -> None:
    task = Denoise(length=8, published=True)
    hidden = 0
    for inputs, targets in sequences(task.train_batch(0, 200, 0)):
        found = [symbol(vector) for vector in inputs]
        assert len(inputs[0]) == 10
        assert found[17] is None  # the marker is an empty vector
        seen = [value for value in found[:17] if value != 0]
        remaining = iter(targets[-10:])
        assert all(any(value == other for other in remaining) for value in seen)  # in order, some are missing
        hidden += 10 - len(seen)
    # Ten draws among 17 places leave 17 (1 - (16/17)^10) of them taken.
    assert hidden / 200 == pytest.approx(10 - 17 * (1 - (16 / 17) ** 10), abs=0.25)


@settings(max_examples=30)
@given(length=st.integers(1, 60), types=st.integers(1, 12), batch_size=st.integers(1, 4), seed=st.integers(0, 2**40))
def test_parenthesis(length: int, types: int, batch_size: int, seed: int) -> None:
    batch = Parenthesis(length=length, types=types).train_batch(0, batch_size, seed)
    for inputs, targets in sequences(batch):
        counts = [0] * types
        for vector, target in zip(inputs, targets, strict=True):
            token = symbol(vector)
            assert token is not None
            kind, closes = divmod(token, 2)
            if kind < types:
                counts[kind] = max(0, counts[kind] - 1) if closes else min(5, counts[kind] + 1)
            assert target == counts


def test_every_symbol_is_as_likely() -> None:
    data = torch.cat([Copying(delay=1).train_batch(step, 100, 0).targets[-10:] for step in range(20)])
    shares = torch.bincount(data.flatten(), minlength=9)[1:] / data.numel()
    assert shares.tolist() == pytest.approx([1 / 8] * 8, abs=0.01)
    tokens = torch.cat([Parenthesis(length=100).train_batch(step, 16, 0).inputs for step in range(20)])
    assert tokens.mean((0, 1)).tolist() == pytest.approx([1 / 7] * 7, abs=0.01)


# -------------------------------------------------------------------- losses and baselines


def mean_loss(task: Task, outputs: Tensor, batch: Batch) -> float:
    return float(task.loss(outputs, batch)) / task.terms(batch)


def test_losses_are_means_over_all_terms() -> None:
    torch.manual_seed(0)
    batch = SMALL["copying"].train_batch(0, 5, 0)
    y = torch.randn(26, 5, 9)
    assert mean_loss(SMALL["copying"], y, batch) == pytest.approx(
        float(nn.functional.cross_entropy(y.reshape(-1, 9), batch.targets.reshape(-1))), rel=1e-6
    )
    batch = SMALL["adding"].train_batch(0, 5, 0)
    y = torch.randn(5, 1)
    assert mean_loss(SMALL["adding"], y, batch) == pytest.approx(
        float(nn.functional.mse_loss(y, batch.targets)), rel=1e-6
    )
    task = SMALL["parenthesis"]
    batch = task.train_batch(0, 5, 0)
    y = torch.randn(12, 5, 18)
    wanted = nn.functional.one_hot(batch.targets, 6).flatten(2).float()
    assert mean_loss(task, y, batch) == pytest.approx(float(nn.functional.mse_loss(y, wanted)), rel=1e-6)
    task = SMALL["parenthesis, ten types"]
    batch = task.train_batch(0, 5, 0)
    y = torch.randn(12, 5, 60)
    expected = np.mean(
        [
            float(
                nn.functional.cross_entropy(
                    y[:, :, 6 * kind : 6 * kind + 6].reshape(-1, 6), batch.targets[..., kind].reshape(-1)
                )
            )
            for kind in range(10)
        ]
    )
    assert mean_loss(task, y, batch) == pytest.approx(expected, rel=1e-6)


#: Delay or length, and the baseline as the papers and their checks give it.
CLOSED_FORMS = [
    (Adding(length=750), 1 / 6, 1e-12),
    (Copying(delay=200), 0.09452, 6e-6),
    (Copying(delay=300), 0.06498, 6e-6),
    (Copying(delay=500), 0.03999, 6e-6),
    (Copying(delay=1000), 0.020387, 6e-7),
    (Copying(delay=2000), 0.010294, 6e-7),
    (Denoise(length=200), 0.09987, 6e-6),
    (Denoise(length=400), 0.05231, 6e-6),
    (Parenthesis(length=100), 0.1310, 6e-5),
    (Parenthesis(length=200), 0.1349, 6e-5),
    (Parenthesis(length=100_000), 5 / 36, 1e-5),
]


@pytest.mark.parametrize(("task", "value", "tolerance"), CLOSED_FORMS, ids=lambda value: repr(value)[:40])
def test_baselines_that_papers_print(task: Task, value: float, tolerance: float) -> None:
    assert task.baseline()["loss"] == pytest.approx(value, abs=tolerance)


def blanks_then_a_guess(task: Copying | Denoise, kinds: int, batch: Batch) -> Tensor:
    """The best outputs of a network that does not remember: certain of the blanks, at a loss for the symbols."""
    outputs = torch.full((batch.steps, batch.size, task.output_size), -60.0)
    outputs[:-10, :, 0] = 0.0
    outputs[-10:, :, 1 : kinds + 1] = math.log(1 / kinds)
    return outputs


def test_baselines_are_what_the_best_guess_reaches() -> None:
    adding = Adding(length=20)
    batch = adding.train_batch(0, 20_000, 1)
    assert mean_loss(adding, torch.ones(20_000, 1), batch) == pytest.approx(1 / 6, rel=0.03)
    copying = Copying(delay=30)
    batch = copying.train_batch(0, 50, 1)
    guess = blanks_then_a_guess(copying, 8, batch)
    assert mean_loss(copying, guess, batch) == pytest.approx(copying.baseline()["loss"], rel=1e-5)
    denoise = Denoise(length=30)
    batch = denoise.train_batch(0, 50, 1)
    guess = blanks_then_a_guess(denoise, 9, batch)
    assert mean_loss(denoise, guess, batch) == pytest.approx(denoise.baseline()["loss"], rel=1e-5)


@pytest.mark.parametrize("length", [1, 7, 100])
@pytest.mark.parametrize("objective", ["mse", "cross-entropy"])
def test_parenthesis_baseline_by_drawing(length: int, objective: str) -> None:
    task = Parenthesis(length=length, objective=objective)
    batch = task.train_batch(0, 4000, 1)
    shares = one_hot(batch.targets, 6).mean(dim=(1, 2))  # of every step
    guess = shares if objective == "mse" else shares.clamp_min(1e-30).log()
    outputs = guess.repeat(1, 3)[:, None].expand(length, 4000, 18)
    assert mean_loss(task, outputs, batch) == pytest.approx(task.baseline()["loss"], rel=0.01)
    assert float(shares.amax(1).mean()) == pytest.approx(task.baseline()["accuracy"], rel=0.02)


@tasks
def test_perfect_answers_lose_nothing(task: Synthetic) -> None:
    batch = task.train_batch(0, 6, 0)
    if isinstance(task, Adding):
        outputs = batch.targets
    elif isinstance(task, Parenthesis):
        scale = 1.0 if task.objective == "mse" else 200.0
        outputs = scale * one_hot(batch.targets, 6).flatten(2)
    else:
        outputs = 200.0 * one_hot(batch.targets, task.output_size)
    assert mean_loss(task, outputs, batch) == pytest.approx(0, abs=1e-6)
    for value in task.measures(outputs, batch).means().values():
        assert value == 1.0


# -------------------------------------------------------------------- what every task promises


@tasks
def test_a_batch_is_a_function_of_its_place(task: Synthetic) -> None:
    first = task.train_batch(5, 4, 7)
    task.train_batch(0, 4, 7)
    again = task.train_batch(5, 4, 7)
    assert torch.equal(first.inputs, again.inputs)
    assert torch.equal(first.targets, again.targets)
    assert not torch.equal(first.inputs, task.train_batch(6, 4, 7).inputs)
    assert not torch.equal(first.inputs, task.train_batch(5, 4, 8).inputs)


@tasks
def test_a_sequence_does_not_depend_on_the_batch_it_is_in(task: Synthetic) -> None:
    small = [task.train_batch(step, 3, 0) for step in range(4)]
    large = task.train_batch(0, 12, 0)
    assert torch.equal(torch.cat([batch.inputs for batch in small], dim=1), large.inputs)


@tasks
def test_parts_make_the_whole(task: Synthetic) -> None:
    batch = task.train_batch(0, 7, 0)
    outputs = torch.randn(batch.steps, 7, task.output_size) if batch.per_step else torch.randn(7, task.output_size)
    parts = [batch.part(index, 3) for index in range(3)]
    assert [part.size for part in parts] == [2, 2, 3]
    cuts = (0, 2, 4, 7)
    total = sum(
        float(task.loss(outputs[..., low:high, :], part))
        for part, low, high in zip(parts, cuts, cuts[1:], strict=False)
    )
    assert total == pytest.approx(float(task.loss(outputs, batch)), rel=1e-5)
    assert sum(task.terms(part) for part in parts) == task.terms(batch)


def test_segments_make_the_whole() -> None:
    batch = SMALL["copying"].train_batch(0, 3, 0)
    pieces = [batch.segment(start, start + 10) for start in range(0, batch.steps, 10)]
    assert torch.equal(torch.cat([piece.inputs for piece in pieces]), batch.inputs)
    assert torch.equal(torch.cat([piece.targets for piece in pieces]), batch.targets)
    assert [piece.continues for piece in pieces] == [False, True, True]


@tasks
def test_held_out_sequences_are_fixed_and_new(task: Synthetic) -> None:
    for split, size in (("valid", 13), ("test", 7)):
        batches = list(task.evaluation(split, 5))
        assert sum(batch.size for batch in batches) == size
        again = torch.cat([batch.inputs for batch in task.evaluation(split, 4)], dim=1)
        assert torch.equal(torch.cat([batch.inputs for batch in batches], dim=1), again)
    valid, test = next(task.evaluation("valid", 7)), next(task.evaluation("test", 7))
    assert not torch.equal(valid.inputs, test.inputs)
    assert not torch.equal(valid.inputs, task.train_batch(0, 7, 5544).inputs)
    with pytest.raises(ConfigError, match=f"{task.name} has no split 'train': choose valid or test"):
        next(task.evaluation("train", 1))


@settings(max_examples=40)
@given(
    size=st.integers(1, 40),
    batch_size=st.integers(1, 50),
    epoch=st.integers(0, 3),
    shuffle=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_fixed_set_is_seen_once_an_epoch(size: int, batch_size: int, epoch: int, shuffle: bool, seed: int) -> None:
    task = Copying(delay=1, train_size=size, shuffle=shuffle)
    steps = task.steps_per_epoch(batch_size)
    assert steps is not None

    def seen(epoch: int) -> list[tuple[int, ...]]:
        batches = [task.train_batch(epoch * steps + step, batch_size, seed) for step in range(steps)]
        return [tuple(column) for batch in batches for column in batch.targets[-10:].T.tolist()]

    assert len(seen(epoch)) == size
    assert sorted(seen(epoch)) == sorted(seen(0))
    if not shuffle:
        assert seen(epoch) == seen(0)


def test_shuffled_epochs_differ() -> None:
    task = Copying(delay=1, train_size=50)
    assert not torch.equal(task.train_batch(0, 50, 0).targets, task.train_batch(1, 50, 0).targets)


BAD = [
    (Adding, {"length": 2}, "length must be at least 3"),
    (Copying, {"delay": 0}, "delay must be at least 1"),
    (Copying, {"convention": "before"}, "convention"),
    (Denoise, {"length": 0}, "length must be at least 1"),
    (Parenthesis, {"types": 0}, "types must be at least 1"),
    (Parenthesis, {"types": 101}, "types is at most 100"),
    (Parenthesis, {"objective": "mae"}, "objective"),
    (Copying, {"train_size": 0}, "train_size must be at least 1"),
    (Copying, {"valid_size": 0}, "valid_size must be at least 1"),
]


@pytest.mark.parametrize(("kind", "options", "message"), BAD)
def test_options_that_make_no_sense_are_refused(kind: type[Task], options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**options)


def test_the_names() -> None:
    drawn, read = ["adding", "copying", "denoise", "parenthesis"], ["smnist", "pmnist", "ptb-char", "ptb-word", "timit"]
    assert list(TASKS) == [*drawn, *read, "sequences"]
    assert all(task.name == name for name, task in TASKS.items())
