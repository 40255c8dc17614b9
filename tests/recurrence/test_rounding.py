"""Recurrences that round their states: reference and kernel against loops that autograd differentiates."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from eigenloop import recurrence
from eigenloop.recurrence import Rounding, kernel
from eigenloop.recurrence.rounding import ends, nearest, rounded

KERNELS = (
    ["reference"]
    if kernel.library() is None
    else list(kernel.VARIANTS[: kernel.VARIANTS.index(kernel.library().best) + 1])
)
ACTIVATIONS = ("relu", "leaky_relu", "modrelu", "tanh", "identity")


# ---------------------------------------------------------------- the rule


@given(st.floats(-300, 300), st.integers(6, 16))
def test_rounding_is_the_nearest_code(value: float, bits: int) -> None:
    """Halves go up, and the ends of the range are -2^(b-1) and 2^(b-1) - 1."""
    step = 8.0 / 2 ** (bits - 1)  # a power of two, so that value / step is exact
    code = min(max(math.floor(value / step + 0.5), -(2 ** (bits - 1))), 2 ** (bits - 1) - 1)
    on_grid = rounded(torch.tensor(value, dtype=torch.float64), torch.tensor(step, dtype=torch.float64), bits)
    assert float(on_grid) == code * step


def test_halves_go_up_and_no_sum_is_rounded_first() -> None:
    below = torch.nextafter(torch.tensor(0.5), torch.tensor(0.0))
    assert nearest(below) == 0
    assert nearest(torch.tensor([-1.5, -0.5, 0.5, 1.5])).tolist() == [-1, 0, 1, 2]


def test_gradient_of_the_step_is_lsq() -> None:
    """Esser et al. 2020, equation 3: round(v / s) - v / s inside, -Q_N or Q_P outside."""
    value = torch.tensor([0.3, -0.8, 40.0, -40.0], dtype=torch.float64, requires_grad=True)
    step = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    for i, wanted in enumerate((1 - 0.6, -2 + 1.6, 31.0, -32.0)):
        to_value, to_step = torch.autograd.grad(rounded(value, step, 6)[i], (value, step))
        assert float(to_step) == pytest.approx(wanted)
        assert float(to_value[i]) == (1.0 if i < 2 else 0.0)


# ---------------------------------------------------------------- loops written out


def _q(
    v: Tensor, step: Tensor | float, bits: int, strict: bool = False, fine: bool = False, margin: float = 0.0
) -> Tensor:
    """q(v) whose derivatives are written as LSQ has them, for autograd; fine: v / s is known to be k / 2^(b-1)."""
    low, high = ends(bits)
    steps = (v / step).detach()
    if fine:
        steps = torch.round(steps * 2 ** (bits - 1)) / 2 ** (bits - 1)
    free = torch.floor(steps + 0.5 + margin)
    code = free.clamp(low, high)
    passes = (code > low) & (code < high) if strict else (free >= low) & (free <= high)
    return torch.where(passes, v + step * (code - v / step).detach(), step * code)


def _gate(z: Tensor, bits: int) -> Tensor:
    gate, unit = torch.sigmoid(z), 2.0 ** (1 - bits)
    return gate + (torch.floor(gate / unit + 0.5) * unit - gate).detach()


def _apply(name: str, z: Tensor, bias: Tensor | None, slope: float) -> Tensor:
    if name == "modrelu" and bias is not None:
        return torch.sign(z) * torch.relu(z.abs() + bias)
    functions: dict[str, Callable[[Tensor], Tensor]] = {
        "relu": torch.relu,
        "leaky_relu": lambda z: torch.nn.functional.leaky_relu(z, slope),
        "tanh": torch.tanh,
    }
    return functions.get(name, lambda z: z)(z)


def _simple_step(z: Tensor, name: str, bias: Tensor | None, slope: float, step: Tensor, bits: int) -> Tensor:
    value = _apply(name, z, bias, slope)
    if name == "tanh":  # its derivative is that at the rounded value
        state = _q(value, step, bits).detach()
        value = value.detach() + (z - z.detach()) * (1 - state.square())
    if name == "modrelu" and bias is not None:  # b gets nothing through a state that is rounded to zero
        bias = torch.where(_q(value, step, bits) == 0, bias.detach(), bias)
        value = _apply(name, z, bias, slope)
    return _q(value, step, bits, strict=True)


def _loop(kind: str, case: dict[str, Any]) -> tuple[Tensor, ...]:
    """The states of every step and what is carried in the end, one sequence and step after the other."""
    p, W, bias, step, bits = case["p"], case["W"], case["bias"], case["step"], case["bits"]
    T, B, n = p.shape[0], p.shape[1], W.shape[1]
    name, slope, unit = case["activation"], 0.1, 2.0 ** (1 - bits)
    out = [[torch.zeros(n, dtype=p.dtype)] * B for _ in range(T)]
    last_h, last_c = [], []
    for b in range(B):
        h, c = case["h0"][b], case["c0"][b]
        length = T if case["lengths"] is None else int(case["lengths"][b])
        for t in reversed(range(length)) if case["reverse"] else range(length):
            z = p[t, b] + W @ h
            if kind == "simple":
                h = _simple_step(z, name, bias, slope, step, bits)
            elif kind == "gated":
                r, u = _gate(z[:n], bits), _gate(z[n : 2 * n], bits)
                if case["reset"] == "before":
                    argument = p[t, b, 2 * n :] + W[2 * n :] @ _q(r * h, step, bits, fine=True)
                else:
                    argument = p[t, b, 2 * n :] + r * (W[2 * n :] @ h)
                new = _q(_apply(name, argument, bias, slope), step, bits)
                mixed = u * h + (1 - u) * new if case["update"] == "keep" else (1 - u) * h + u * new
                h = _q(mixed, step, bits, fine=True)
            else:
                i, f, o = (_gate(z[k * n : (k + 1) * n], bits) for k in (0, 1, 3))
                g = _q(_apply(name, z[2 * n : 3 * n], bias, slope), unit if name == "tanh" else step, bits)
                c = _q(
                    f * c + i * g, step, bits, fine=name != "tanh", margin=2.0 ** -(bits + (5 if name == "tanh" else 1))
                )
                h = _q(o * torch.tanh(c), unit, bits)
            out[t][b] = h
        last_h.append(h)
        last_c.append(c)
    states = torch.stack([torch.stack(row) for row in out])
    carried = (torch.stack(last_h), torch.stack(last_c))
    return (states, *carried[: 2 if kind == "lstm" else 1])


def _run(kind: str, case: dict[str, Any]) -> tuple[Tensor, ...]:
    rounding = Rounding(case["bits"], case["step"])
    common: dict[str, Any] = {"rounding": rounding}
    if kind == "simple":
        options = (case["lengths"], case["activation"], case["reverse"])
        return recurrence.simple(case["p"], case["W"], case["bias"], case["h0"], *options, negative_slope=0.1, **common)
    if kind == "gated":
        options = (case["lengths"], case["activation"], case["reset"], case["update"], case["reverse"])
        tensors = (case["p"], case["W"], case["bias"], None, case["h0"])
        return recurrence.gated(*tensors, *options, negative_slope=0.1, **common)
    tensors = (case["p"], case["W"], case["bias"], case["h0"], case["c0"], case["lengths"])
    return recurrence.lstm(*tensors, case["activation"], case["reverse"], **common)


GATES = {"simple": 1, "gated": 3, "lstm": 4}


def _case(
    kind: str,
    activation: str = "relu",
    *,
    T: int = 7,
    B: int = 3,
    n: int = 5,
    bits: int = 6,
    lengths: bool = False,
    reverse: bool = False,
    reset: str = "after",
    update: str = "keep",
    range_: float = 1.7,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=generator).to(dtype)

    step = torch.tensor(range_ / 2 ** (bits - 1), dtype=dtype)
    if kind == "gated" and activation == "tanh":
        step = torch.tensor(2.0 ** (1 - bits), dtype=dtype)
    case: dict[str, Any] = {
        "p": draw(T, B, GATES[kind] * n),
        "W": draw(GATES[kind] * n, n) / math.sqrt(n),
        "bias": -0.2 * draw(n).abs() if activation == "modrelu" else None,
        "step": step,
        "h0": rounded(0.5 * draw(B, n), step if kind != "lstm" else torch.tensor(2.0 ** (1 - bits), dtype=dtype), bits),
        "c0": rounded(0.5 * draw(B, n), step, bits),
        "lengths": torch.randint(1, T + 1, (B,), generator=generator) if lengths else None,
    }
    for name in ("p", "W", "bias", "step", "h0", "c0"):
        if case[name] is not None:
            case[name].requires_grad_()
    return {**case, "activation": activation, "bits": bits, "reverse": reverse, "reset": reset, "update": update}


def _with_gradients(function: Callable[..., tuple[Tensor, ...]], kind: str, case: dict[str, Any]) -> list[Tensor]:
    names = ["p", "W", "step", "h0"] + ["c0"] * (kind == "lstm") + ["bias"] * (case["bias"] is not None)
    found = function(kind, case)
    generator = torch.Generator().manual_seed(9)
    weights = [torch.randn(one.shape, dtype=torch.float64, generator=generator).to(one.dtype) for one in found]
    loss = torch.stack([(w * one).sum() for w, one in zip(weights, found, strict=True)]).sum()
    gradients = torch.autograd.grad(loss, [case[name] for name in names], allow_unused=True)
    return [*(one.detach() for one in found), *(torch.zeros(()) if g is None else g for g in gradients)]


CASES = [
    *(
        ("simple", {"activation": name, "lengths": ends_, "reverse": ends_})
        for name in ACTIVATIONS
        for ends_ in (False, True)
    ),
    *(
        ("gated", {"activation": name, "reset": reset, "update": update, "lengths": reset == "before"})
        for name, reset, update in itertools.product(("tanh", "modrelu"), ("before", "after"), ("keep", "write"))
    ),
    ("gated", {"activation": "relu", "reset": "before", "reverse": True, "lengths": True}),
    *(
        ("lstm", {"activation": name, "lengths": ends_, "reverse": ends_})
        for name in ("tanh", "modrelu")
        for ends_ in (False, True)
    ),
]


@pytest.mark.parametrize(("kind", "options"), CASES)
@pytest.mark.parametrize("name", ["reference", *KERNELS])
def test_states_and_gradients_are_those_of_the_loop(name: str, kind: str, options: dict[str, Any]) -> None:
    case = _case(kind, **options)
    with kernel.using(name):
        found = _with_gradients(_run, kind, case)
    wanted = _with_gradients(_loop, kind, case)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other.reshape(one.shape), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("kind", GATES)
def test_some_states_are_cut_off_and_some_are_not(kind: str) -> None:
    """What the gradients above depend on is there: codes at the ends of the range, and others."""
    case = _case(kind, "identity" if kind == "simple" else "modrelu", T=20, range_=0.9)
    out = _run(kind, case)[-1 if kind == "lstm" else 0] / case["step"]
    low, high = ends(case["bits"])
    assert bool((out.round() == low).any() or (out.round() == high).any())
    assert bool(((out > low + 0.5) & (out < high - 0.5)).any())


@settings(max_examples=25, deadline=None)
@given(
    kind=st.sampled_from(sorted(GATES)),
    activation=st.sampled_from(("modrelu", "tanh")),
    T=st.integers(1, 20),
    B=st.integers(1, 9),
    n=st.integers(1, 40),
    bits=st.integers(6, 16),
    lengths=st.booleans(),
    reverse=st.booleans(),
    reset=st.sampled_from(("before", "after")),
    update=st.sampled_from(("keep", "write")),
    seed=st.integers(0, 100),
)
@pytest.mark.skipif(KERNELS == ["reference"], reason="no compiled kernel here")
def test_kernel_is_the_reference_for_any_shape(kind: str, **options: Any) -> None:
    case = _case(kind, **options)
    found = _with_gradients(_run, kind, case)
    with kernel.using("reference"):
        wanted = _with_gradients(_run, kind, case)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "modrelu", "identity"])
def test_float32_states_are_exact(name: str, activation: str) -> None:
    """With weights of few bits every sum is exact, so kernel and reference agree to the last bit, halves included."""
    generator = torch.Generator().manual_seed(3)
    n, T = 48, 30

    def codes(*shape: int) -> Tensor:
        return torch.randint(-7, 8, shape, generator=generator) / 16.0

    x, U, W, bias = codes(T, 5, 6), codes(n, 6), codes(n, n) / 2, codes(n) / 8 if activation == "modrelu" else None
    rounding = Rounding(8, torch.tensor(2.0**-4))
    arguments = (x, W, bias, torch.zeros(5, n), None, activation)
    with kernel.using("reference"):
        wanted, _ = recurrence.simple(*arguments, negative_slope=0.25, input_weight=U, rounding=rounding)
    with kernel.using(name):
        found, _ = recurrence.simple(*arguments, negative_slope=0.25, input_weight=U, rounding=rounding)
    assert torch.equal(found, wanted)
    zeros = found == 0
    assert torch.equal(found.signbit()[zeros], wanted.signbit()[zeros])
    assert found.abs().max() >= 0.5


@pytest.mark.parametrize("name", ["reference", *KERNELS[-1:]])
@pytest.mark.parametrize("kind", GATES)
def test_sixteen_bits_are_nearly_floating_point(name: str, kind: str) -> None:
    """Where the range is never left, states and gradients approach those without rounding as 2^-b."""
    errors = []
    for bits in (8, 12, 16):
        case = _case(kind, "tanh", bits=bits, range_=8.0)
        if kind == "simple":
            case["step"] = torch.tensor(2.0 ** (1 - bits), dtype=torch.float64, requires_grad=True)
        with kernel.using(name):
            *found, gradient = _plain_gradients(kind, case, Rounding(bits, case["step"]))
            *wanted, expected = _plain_gradients(kind, case, None)
        errors.append(
            max(float((a - b).abs().max()) for a, b in zip((*found, gradient), (*wanted, expected), strict=True))
        )
    assert errors[0] < 0.3
    assert errors[1] < errors[0] / 4
    assert errors[2] < errors[1] / 4
    assert errors[2] < 2e-3


def _plain_gradients(kind: str, case: dict[str, Any], rounding: Rounding | None) -> tuple[Tensor, Tensor]:
    if kind == "simple":
        out = recurrence.simple(case["p"], case["W"], None, case["h0"], activation="tanh", rounding=rounding)[0]
    elif kind == "gated":
        out = recurrence.gated(case["p"], case["W"], None, None, case["h0"], rounding=rounding)[0]
    else:
        out = recurrence.lstm(case["p"], case["W"], None, case["h0"], case["c0"], rounding=rounding)[0]
    (gradient,) = torch.autograd.grad(out[-1].square().sum(), case["W"])
    return out.detach(), gradient


@pytest.mark.parametrize("name", ["reference", *KERNELS[-1:]])
def test_not_a_number_stays_one(name: str) -> None:
    for kind in GATES:
        case = _case(kind, "modrelu")
        case["p"].data[2, 1] = float("nan")
        with kernel.using(name), torch.no_grad():
            out = _run(kind, case)[0]
        assert bool(out[2:, 1].isnan().all())
        assert bool(out[:, 0].isfinite().all())


def test_a_complex_state_is_refused() -> None:
    W = torch.eye(3, dtype=torch.complex64)
    with pytest.raises(ValueError, match="real states"):
        recurrence.simple(
            torch.zeros(2, 1, 3, dtype=torch.complex64),
            W,
            None,
            torch.zeros(1, 3, dtype=torch.complex64),
            rounding=Rounding(8, torch.tensor(1.0)),
        )
