"""Measures against sums over single answers, and the losses against the same with weights written out."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from eigenloop.tasks.base import Batch
from eigenloop.tasks.sequences import Outcome, measures
from eigenloop.tasks.sequences.objectives import Classes, Values

CLASSES = st.integers(0, 3)


@given(st.lists(st.tuples(CLASSES, CLASSES), min_size=1, max_size=40))
def test_classes(pairs: list[tuple[int, int]]) -> None:
    truth, predicted = (np.array(column) for column in zip(*pairs, strict=True))
    found = measures.of_classes(truth, predicted, list("abcd"))
    assert found["accuracy"] == pytest.approx(sum(t == p for t, p in pairs) / len(pairs))
    recalls, scores = [], []
    for number, name in enumerate("abcd"):
        right = sum(t == p == number for t, p in pairs)
        there, said = sum(t == number for t, _ in pairs), sum(p == number for _, p in pairs)
        precision, recall = right / said if said else 0.0, right / there if there else 0.0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        expected = {"precision": precision, "recall": recall, "f1": f1, "count": there}
        assert found["classes"][name] == pytest.approx(expected)
        recalls += [recall] if there else []
        scores += [f1] if there or said else []
        assert found["confusion"][number] == [sum((t, p) == (number, other) for t, p in pairs) for other in range(4)]
    assert found["balanced_accuracy"] == pytest.approx(sum(recalls) / len(recalls))
    assert found["f1"] == pytest.approx(sum(scores) / len(scores))


NUMBER = st.floats(-100, 100, width=32)


@given(st.lists(st.tuples(NUMBER, NUMBER, NUMBER, NUMBER), min_size=1, max_size=20))
def test_values(rows: list[tuple[float, float, float, float]]) -> None:
    table = np.array(rows, np.float64)
    truth, predicted = table[:, :2], table[:, 2:]
    found = measures.of_values(truth, predicted, ["a", "b"], np.array([1.0, 2.0]))
    squares = [(t - p) ** 2 for t, p in zip(truth.ravel().tolist(), predicted.ravel().tolist(), strict=True)]
    assert found["rmse"] == pytest.approx(math.sqrt(sum(squares) / len(squares)))
    assert found["mae"] == pytest.approx(sum(map(math.sqrt, squares)) / len(squares))
    expected = []
    for column in range(2):
        t, p = truth[:, column].tolist(), predicted[:, column].tolist()
        total = sum((value - sum(t) / len(t)) ** 2 for value in t)
        residual = sum((a - b) ** 2 for a, b in zip(t, p, strict=True))
        expected.append(1 - residual / total if len(set(t)) > 1 else float(residual == 0))
    if all(len(set(column)) in (1, len(column)) for column in truth.T.tolist()):
        assert found["r2"] == pytest.approx(sum(expected) / 2, rel=1e-6, abs=1e-6)
    guessed = [(t - g) ** 2 for row in truth.tolist() for t, g in zip(row, (1.0, 2.0), strict=True)]
    assert found["guess"]["rmse"] == pytest.approx(math.sqrt(sum(guessed) / len(guessed)))


def test_forecasts() -> None:
    """Errors of 1 one step ahead and 3 two steps ahead; the naive guess misses by 2 and 4."""
    truth = np.zeros((5, 2, 1))
    predicted = np.broadcast_to(np.array([[1.0], [-3.0]]), truth.shape)
    naive = np.broadcast_to(np.array([[2.0], [-4.0]]), truth.shape)
    found = measures.of_forecasts(truth, predicted, ["a"], naive)
    assert found["rmse"] == pytest.approx(math.sqrt(5))
    assert found["mae"] == pytest.approx(2)
    assert [row["rmse"] for row in found["ahead"]] == [1, 3]
    assert [row["guess"]["rmse"] for row in found["ahead"]] == [2, 4]
    assert found["skill"] == pytest.approx(1 - 5 / 10)


def test_how_wrong_each_row_is() -> None:
    rows = np.arange(2)
    sure = Outcome("class", rows, rows, np.array([[0.9, 0.1], [0.8, 0.2]]), ("a", "b"), ("x", "y"), np.array([0, 1]))
    assert sure.difficulty() == pytest.approx([-math.log(0.9), -math.log(0.2)])
    values = Outcome("values", rows, rows, np.array([[1.0, 2.0], [3.0, 4.0]]), ("u", "v"), ("x", "y"), np.zeros((2, 2)))
    assert values.difficulty() == pytest.approx([math.sqrt(2.5), math.sqrt(12.5)])
    unknown = Outcome("values", rows, rows, np.zeros((2, 1)), ("value",), ("x", "y"))
    with pytest.raises(ValueError, match="without the truth"):
        unknown.measures()


def drawn(rng: np.random.Generator, per_step: bool, weighted: bool, classes: int | None) -> tuple[Batch, torch.Tensor]:
    T, B, k = 5, 4, classes or 2
    shape = (T, B) if per_step else (B,)
    targets: Any = rng.integers(0, k, shape) if classes else rng.normal(size=(*shape, k))
    batch = Batch(
        torch.zeros(T, B, 1),
        torch.from_numpy(targets if classes else targets.astype(np.float32)),
        per_step=per_step,
        lengths=torch.tensor([5, 1, 3, 2]),
        weights=torch.tensor([1.0, 0.5, 2.0, 0.0]) if weighted else None,
    )
    return batch, torch.from_numpy(rng.normal(size=(*shape, k)).astype(np.float32))


def positions(batch: Batch) -> list[tuple[tuple[int, ...], float]]:
    """All targets that count, with the weights of their sequences."""
    assert batch.lengths is not None
    weights = [1.0] * batch.size if batch.weights is None else batch.weights.tolist()
    if not batch.per_step:
        return [((b,), weights[b]) for b in range(batch.size)]
    return [((t, b), weights[b]) for b in range(batch.size) for t in range(int(batch.lengths[b]))]


@pytest.mark.parametrize("per_step", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("balanced", [False, True])
def test_the_loss_of_classes(per_step: bool, weighted: bool, balanced: bool) -> None:
    batch, outputs = drawn(np.random.default_rng(0), per_step, weighted, 3)
    of_class = [0.5, 1.0, 4.0] if balanced else [1.0] * 3
    objective = Classes(torch.tensor(of_class) if balanced else None)
    loss = terms = right = 0.0
    by_class: dict[int, list[bool]] = {}
    for where, weight in positions(batch):
        target = int(batch.targets[where])
        weight *= of_class[target]
        loss -= weight * float(outputs[where].log_softmax(-1)[target])
        terms += weight
        right += int(outputs[where].argmax()) == target
        by_class.setdefault(target, []).append(int(outputs[where].argmax()) == target)
    assert float(objective.loss(outputs, batch)) == pytest.approx(loss, rel=1e-5)
    assert objective.terms(batch) == pytest.approx(terms)
    means = objective.metrics(objective.measures(outputs, batch).means())
    assert means["accuracy"] == pytest.approx(right / len(positions(batch)))
    recalls = [sum(hits) / len(hits) for hits in by_class.values()]
    assert means["balanced_accuracy"] == pytest.approx(sum(recalls) / len(recalls))


@pytest.mark.parametrize("per_step", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_of_values(per_step: bool, weighted: bool) -> None:
    batch, outputs = drawn(np.random.default_rng(0), per_step, weighted, None)
    scale = [2.0, 0.5]
    objective = Values(torch.tensor(scale))
    loss = terms = squares = count = 0.0
    for where, weight in positions(batch):
        errors = (outputs[where] - batch.targets[where]).tolist()
        loss += weight * sum((error / s) ** 2 for error, s in zip(errors, scale, strict=True))
        terms, squares, count = terms + 2 * weight, squares + sum(error**2 for error in errors), count + 2
    assert float(objective.loss(outputs, batch)) == pytest.approx(loss, rel=1e-5)
    assert objective.terms(batch) == pytest.approx(terms)
    means = objective.metrics(objective.measures(outputs, batch).means())
    assert means["rmse"] == pytest.approx(math.sqrt(squares / count))


def test_a_batch_in_parts_has_the_same_loss() -> None:
    """Weights go with their sequences when a batch is cut for processes."""
    batch, outputs = drawn(np.random.default_rng(0), True, True, 3)
    objective = Classes(torch.tensor([0.5, 1.0, 4.0]))
    bounds = [0, 1, 2, 4]
    parts = [objective.loss(outputs[:, low:high], _cut(batch, low, high)) for low, high in pairwise(bounds)]
    assert float(sum(parts)) == pytest.approx(float(objective.loss(outputs, batch)), rel=1e-5)
    halves = [batch.part(index, 2) for index in range(2)]
    assert sum(objective.terms(half) for half in halves) == pytest.approx(objective.terms(batch))
    moved = batch.to(torch.device("cpu"), torch.float64)
    assert moved.weights is not None
    assert moved.weights.dtype == torch.float64


def _cut(batch: Batch, low: int, high: int) -> Batch:
    assert batch.lengths is not None
    assert batch.weights is not None
    cut = slice(low, high)
    return Batch(batch.inputs[:, cut], batch.targets[:, cut], lengths=batch.lengths[cut], weights=batch.weights[cut])
