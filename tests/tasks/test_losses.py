"""The losses against their definitions, written out position by position."""

import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from eigenloop.tasks.losses import cross_entropy


@given(
    classes=st.integers(2, 20),  # fewer and more than a register holds
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    masked=st.booleans(),
    seed=st.integers(0, 99),
)
def test_cross_entropy_is_the_sum_of_negative_log_probabilities(
    classes: int, shape: list[int], masked: bool, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    outputs = torch.randn(*shape, classes, generator=generator, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(0, classes, shape, generator=generator)
    mask = torch.rand(shape, generator=generator) < 0.6 if masked else None

    loss, gradient = 0.0, torch.zeros_like(outputs)
    for place in torch.cartesian_prod(*map(torch.arange, shape)).view(-1, len(shape)).tolist():
        if mask is not None and not mask[tuple(place)]:
            continue
        powers = [math.exp(value) for value in outputs[tuple(place)].tolist()]
        right = int(targets[tuple(place)])
        loss -= math.log(powers[right] / sum(powers))
        gradient[tuple(place)] = torch.tensor([power / sum(powers) for power in powers], dtype=torch.float64)
        gradient[(*place, right)] -= 1

    ours = cross_entropy(outputs, targets, mask)
    ours.backward()
    assert math.isclose(ours.item(), loss, rel_tol=1e-12, abs_tol=1e-12)
    assert outputs.grad is not None
    assert torch.allclose(outputs.grad, gradient, rtol=1e-12, atol=1e-12)
