"""FastGRNN over time against closed forms, scalar loops, autograd, and the gated recurrence that it is a part of."""

import math
from typing import Any

import pytest
import torch
from comparing import relative, weighted
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from eigenloop import recurrence
from eigenloop.recurrence import Rounding
from eigenloop.recurrence.rounding import ends


def case(T: int, B: int, m: int, n: int, seed: int = 0) -> dict[str, Tensor]:
    """Weights, inputs and an initial state in float64, none of them zero."""
    generator = torch.Generator().manual_seed(seed)
    shapes = {"x": (T, B, m), "W": (n, n), "biases": (2, n), "mixing": (2,), "h0": (B, n), "U": (n, m)}
    made = {name: torch.randn(shape, generator=generator, dtype=torch.float64) for name, shape in shapes.items()}
    made["mixing"] = made["mixing"].sigmoid()
    return made


def run(given: dict[str, Tensor], **options: Any) -> tuple[Tensor, Tensor]:
    weights = [given[name] for name in ("x", "W", "biases", "mixing", "h0")]
    return recurrence.fastgrnn(*weights, input_weight=given["U"], **options)


def rounded(v: Tensor, step: Tensor | float, bits: int) -> Tensor:
    """q(v) with LSQ's derivatives written out for autograd."""
    low, high = ends(bits)
    # With a candidate of 0, z h may lie on a half, which the order of two sums in floating point decides.
    assume(bool((((v / step).detach() % 1 - 0.5).abs() > 1e-9).all()))
    free = torch.floor((v / step).detach() + 0.5)
    passes = (free >= low) & (free <= high)
    code = free.clamp(low, high)
    return torch.where(passes, v + step * (code - v / step).detach(), step * code)


def written_out(
    given: dict[str, Tensor],
    lengths: list[int],
    *,
    piecewise: bool = False,
    reverse: bool = False,
    rounding: Rounding | None = None,
) -> tuple[Tensor, Tensor]:
    """One sequence after the other and one step after the other, for autograd."""
    x, W, U, (b_z, b_c), (zeta, nu) = (given[name] for name in ("x", "W", "U", "biases", "mixing"))
    T, B, _ = x.shape
    out = [[torch.zeros_like(given["h0"][0])] * B for _ in range(T)]
    final = []
    for i, length in enumerate(lengths):
        h = given["h0"][i]
        for t in reversed(range(length)) if reverse else range(length):
            entered = x[t, i]
            if rounding is not None and rounding.input_step is not None:
                entered = rounded(entered, rounding.input_step, rounding.bits)
            a = W @ h + U @ entered
            z, c = torch.sigmoid(a + b_z), torch.tanh(a + b_c)
            if piecewise:
                z, c = ((a + b_z + 1) / 2).clamp(0, 1), (a + b_c).clamp(-1, 1)
            if rounding is not None:
                unit = 2.0 ** (1 - rounding.bits)
                z = z + (torch.floor(z / unit + 0.5) * unit - z).detach()
                c = rounded(c, unit, rounding.bits)
            h = (zeta * (1 - z) + nu) * c + z * h
            if rounding is not None:
                h = rounded(h, rounding.step, rounding.bits)
            out[t][i] = h
        final.append(h)
    return torch.stack([torch.stack(row) for row in out]), torch.stack(final)


@pytest.mark.parametrize("piecewise", [False, True])
def test_without_weights_it_is_a_geometric_series(piecewise: bool) -> None:
    """W = U = 0 leaves z and c constant: h_t = z^t h_0 + (zeta (1 - z) + nu) c (1 - z^t) / (1 - z)."""
    weights = case(9, 1, 2, 1)
    weights |= {"W": torch.zeros(1, 1).double(), "U": torch.zeros(1, 2).double()}
    weights |= {"biases": torch.tensor([[0.4], [-0.3]]).double(), "mixing": torch.tensor([0.7, 0.1]).double()}
    out, h_n = run(weights, piecewise=piecewise)
    z, c = (0.7, -0.3) if piecewise else (1 / (1 + math.exp(-0.4)), math.tanh(-0.3))
    h0 = weights["h0"].item()
    for t in range(9):
        power = z ** (t + 1)
        assert out[t].item() == pytest.approx(power * h0 + (0.7 * (1 - z) + 0.1) * c * (1 - power) / (1 - z), abs=1e-7)
    assert h_n.item() == out[-1].item()


def test_with_zeta_one_and_nu_zero_it_is_a_gated_recurrence_with_equal_gates() -> None:
    """Update gate and candidate have one pair of matrices, and the reset gate is open."""
    weights = case(12, 3, 4, 6) | {"mixing": torch.tensor([1.0, 0.0]).double()}
    W, U, (b_z, b_c) = weights["W"], weights["U"], weights["biases"]
    out, h_n = recurrence.gated(
        weights["x"],
        torch.cat((torch.zeros_like(W), W, W)),
        None,
        None,
        weights["h0"],
        input_weight=torch.cat((torch.zeros_like(U), U, U)),
        input_bias=torch.cat((torch.full_like(b_z, 1e3), b_z, b_c)),
    )
    ours, ours_n = run(weights)
    assert relative(ours, out) < 1e-12
    assert relative(ours_n, h_n) < 1e-12


@settings(max_examples=40)
@given(data=st.data(), T=st.integers(1, 6), B=st.integers(1, 4), n=st.integers(1, 5), seed=st.integers(0, 999))
def test_states_and_gradients_are_those_of_the_loop(data: st.DataObject, T: int, B: int, n: int, seed: int) -> None:
    weights = {name: value.requires_grad_() for name, value in case(T, B, 2, n, seed).items()}
    padded = data.draw(st.booleans())
    lengths = data.draw(st.lists(st.integers(1, T), min_size=B, max_size=B)) if padded else [T] * B
    options: dict[str, Any] = {"piecewise": data.draw(st.booleans()), "reverse": data.draw(st.booleans())}
    leaves = list(weights.values())
    if data.draw(st.booleans()):
        step = torch.tensor(data.draw(st.sampled_from([0.013, 0.07])), dtype=torch.float64, requires_grad=True)
        entering = torch.tensor(data.draw(st.sampled_from([0.011, 0.05])), dtype=torch.float64, requires_grad=True)
        given_steps = [step, entering] if data.draw(st.booleans()) else [step]
        options["rounding"] = Rounding(data.draw(st.sampled_from([6, 8])), *given_steps)
        leaves += given_steps
    ours = run(weights, lengths=torch.tensor(lengths) if padded else None, **options)
    theirs = written_out(weights, lengths, **options)
    for a, b in zip(ours, theirs, strict=True):
        assert relative(a, b) < 1e-12
    mine, other = (torch.autograd.grad(weighted(outputs), leaves) for outputs in (ours, theirs))
    for a, b in zip(mine, other, strict=True):
        assert relative(a, b) < 1e-9


@pytest.mark.parametrize("piecewise", [False, True])
def test_finite_differences(piecewise: bool) -> None:
    weights = [value.requires_grad_() for value in case(4, 2, 3, 3, 5).values()]

    def outputs(x: Tensor, W: Tensor, biases: Tensor, mixing: Tensor, h0: Tensor, U: Tensor) -> tuple[Tensor, Tensor]:
        lengths = torch.tensor([4, 2])
        return recurrence.fastgrnn(x, W, biases, mixing, h0, lengths, piecewise, input_weight=U)

    assert torch.autograd.gradcheck(outputs, weights)


def test_what_stands_in_the_padding_reaches_nothing() -> None:
    weights = case(5, 2, 3, 4)
    weights["x"][2:, 1] = math.nan
    weights = {name: value.requires_grad_() for name, value in weights.items()}
    out, h_n = run(weights, lengths=torch.tensor([5, 2]))
    assert not out[2:, 1].any()
    grads = torch.autograd.grad(out.sum() + h_n.sum(), list(weights.values()))
    assert all(grad.isfinite().all() for grad in grads)


def test_one_call_is_two_with_the_state_carried() -> None:
    weights = case(7, 2, 3, 4)
    out, h_n = run(weights)
    first, h = run(weights | {"x": weights["x"][:3]})
    second, last = run(weights | {"x": weights["x"][3:], "h0": h})
    assert relative(torch.cat((first, second)), out) < 1e-14
    assert relative(last, h_n) < 1e-14
