"""The carried inverse: against complex numbers and exact inverses, and what the published rule does to it."""

import math
from pathlib import Path

import pytest
import torch

from eigenloop import analysis
from eigenloop.analysis.carried_inverse import replay, replays, update_seconds
from eigenloop.analysis.neumann import loss_distance, smoothed
from eigenloop.analysis.neumann_training import EXACT, LR, METHODS, PUBLISHED, Training, gram_distance, train
from eigenloop.analysis.published_neumann import RESET_EVERY, PublishedNeumann, series
from eigenloop.matrices import NeumannCayley, ScaledCayley, triangle


def walk(steps: int, n: int, size: float = LR) -> Training:
    """A random walk of A in place of a training."""
    generator = torch.Generator().manual_seed(0)
    moves = size * torch.randn(steps, triangle.triangle_size(n), generator=generator, dtype=torch.float64)
    start = torch.randn(1, triangle.triangle_size(n), generator=generator, dtype=torch.float64)
    skews = torch.cat((start, start + moves.cumsum(0)))
    return Training([0.0] * steps, skews, moves / 1e3, [0.0] * steps, torch.ones(n, dtype=torch.float64))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_series_misses_the_inverse_by_its_next_power(order: int) -> None:
    """(I + A - S)^-1 = (I - X)^-1 Z, so the error is X^(order + 1) times the new inverse."""
    n = 6
    A = triangle.skew(torch.randn(15, dtype=torch.float64), n)
    step = triangle.skew(0.01 * torch.randn(15, dtype=torch.float64), n)
    eye = torch.eye(n, dtype=torch.float64)
    Z, new = torch.linalg.inv(eye + A), torch.linalg.inv(eye + A - step)
    missed = torch.linalg.matrix_power(Z @ step, order + 1) @ new
    torch.testing.assert_close(new - series(Z, step, order), missed)


@pytest.mark.parametrize(("order", "reset_every"), [(1, None), (2, None), (3, 4), (1, 4)])
def test_a_replay_of_two_units_is_one_of_complex_numbers(order: int, reset_every: int | None) -> None:
    """[[0, a], [-a, 0]] multiplies as i a does."""
    training = walk(10, 2, size=0.05)
    drift = replay(training, order, reset_every)
    angles = [float(entry) for entry in training.skews[:, 0]]
    z = 1 / (1 + 1j * angles[0])
    for step in range(1, 11):
        x = z * 1j * (angles[step - 1] - angles[step])
        truth = 1 / (1 + 1j * angles[step])
        z = truth if reset_every and step % reset_every == 0 else sum(x**k for k in range(order + 1)) * z
        u = z * (1 - 1j * angles[step])
        assert drift.step_norm[step - 1] == pytest.approx(abs(x))
        assert drift.inverse_error[step - 1] == pytest.approx(math.sqrt(2) * abs(z - truth), abs=1e-14)
        assert drift.defect[step - 1] == pytest.approx(math.sqrt(2) * abs(abs(u) ** 2 - 1), abs=1e-14)


def test_a_replay_is_what_the_library_does() -> None:
    training = walk(30, 8)
    matrix = NeumannCayley(8, negative=0, reset_every=10, tolerance=math.inf, dtype=torch.float64)
    with torch.no_grad():
        matrix.skew.copy_(training.skews[0])
    matrix._reset_()
    drift = replay(training, 2, 10)
    for step, entries in enumerate(training.skews[1:]):
        with torch.no_grad():
            matrix.skew.copy_(entries)
        matrix()
        truth = torch.linalg.inv(torch.eye(8).double() + triangle.skew(entries, 8))
        error = float(torch.linalg.matrix_norm(matrix.inverse - truth))
        assert drift.inverse_error[step] == pytest.approx(error, rel=1e-6, abs=1e-13)


def test_higher_orders_lose_less_and_the_published_code_most() -> None:
    """n = 56, steps of Adam's size: about 1e-5 for order 2 and 1e-1 for the code between two resets."""
    drifts = replays(walk(48, 56), 50)
    largest = {name: max(drift.defect) for name, drift in drifts.items()}
    assert largest["order 3"] < 1e-6 < largest["order 2"] < 1e-4 < largest["order 1"] < 1e-2 < largest[PUBLISHED]
    assert max(drifts["order 2"].step_norm) < 0.1


class TestPublished:
    def test_starts_where_the_matrix_does(self) -> None:
        start = ScaledCayley(6, negative=2, dtype=torch.float64)
        torch.testing.assert_close(PublishedNeumann(start)(), start())

    def test_its_gradient_is_right_as_long_as_its_inverse_is(self) -> None:
        start = ScaledCayley(6, negative=2, dtype=torch.float64)
        G = torch.randn(6, 6, dtype=torch.float64)
        published = PublishedNeumann(start)
        for matrix in (start, published):
            (matrix() * G).sum().backward()
        torch.testing.assert_close(published.skew.grad, start.skew.grad)

    def test_its_inverse_follows_the_gradient_and_not_the_step(self) -> None:
        matrix = PublishedNeumann(ScaledCayley(6, dtype=torch.float64))
        optimizer = torch.optim.Adam(matrix.parameters(), lr=0.01)
        G = 1e-6 * torch.randn(6, 6, dtype=torch.float64)
        for step in range(1, RESET_EVERY + 1):
            optimizer.zero_grad()
            (matrix() * G).sum().backward()
            optimizer.step()
            matrix.follow_(0.01)
            A = triangle.skew(matrix.skew.detach(), 6)
            error = torch.linalg.matrix_norm(matrix.inverse @ (torch.eye(6).double() + A) - torch.eye(6).double())
            if step == RESET_EVERY - 1:
                assert error > 0.1
                assert gram_distance(matrix().detach()) > 0.05
        assert error < 1e-12

    def test_needs_a_gradient(self) -> None:
        with pytest.raises(RuntimeError, match="after the optimizer's step"):
            PublishedNeumann(ScaledCayley(4)).follow_(0.1)


def test_all_methods_start_alike() -> None:
    trainings = [train(way, 3, size=8, length=5) for way in METHODS]
    for done in trainings[1:]:
        assert done.losses[0] == pytest.approx(trainings[0].losses[0], rel=1e-6)
        torch.testing.assert_close(done.skews[0], trainings[0].skews[0])
        torch.testing.assert_close(done.gradients[0], trainings[0].gradients[0], rtol=1e-4, atol=1e-8)
    exact, published = trainings[0], trainings[-1]
    assert max(exact.defects) < 1e-5 < published.defects[-1]
    assert loss_distance([exact], [exact]) == [0, 0, 0]


def test_adam_moves_a_by_its_rate() -> None:
    done = train(EXACT, 1, size=8, length=5)
    moved = (done.skews[1] - done.skews[0]).abs()
    assert float(moved.median()) == pytest.approx(LR, rel=1e-2)


def test_times_are_medians_of_all_methods() -> None:
    found = update_seconds(8, rounds=2, turn=0.0)
    assert set(found) == {"least squares", EXACT, "exact, float32", "order 1", "order 2", "order 3"}
    assert all(0 < seconds < 1 for seconds in found.values())


def test_smoothing_keeps_short_curves() -> None:
    assert smoothed([1.0, 2.0], 20) == [1.5]


@pytest.mark.slow
def test_result(tmp_path: Path) -> None:
    result = analysis.neumann(steps=4, seeds=2, size=8, length=5, sizes=(8, 12))
    assert [row[0] for row in result.table.rows] == list(METHODS)
    assert set(result.numbers["seconds_per_update"]) == {8, 12}
    assert len(result.numbers["training"][PUBLISHED]["final_loss"]) == 2
    assert {path.name for path in result.write(tmp_path)} == {"neumann.json", "neumann.png", "neumann.svg"}
