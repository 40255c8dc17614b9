"""The seam itself: operators that torch can check, broken-down gradients, and what the layers never ask for."""

from collections.abc import Callable, Iterator

import pytest
import torch
from comparing import relative
from hypothesis import given
from hypothesis import strategies as st

from eigenloop import recurrence
from eigenloop.recurrence import kernel

ACTIVATION = st.sampled_from(sorted(recurrence.ACTIVATIONS))


@pytest.fixture(autouse=True, scope="module", params=["reference", "kernel"])
def path(request: pytest.FixtureRequest) -> Iterator[None]:
    """Everything here must hold on both paths."""
    library = kernel.library()
    if request.param == "kernel" and library is None:
        pytest.skip("the compiled kernel is not there")
    with kernel.using("reference" if library is None or request.param == "reference" else library.best):
        yield


def draw(T: int, B: int, n: int, gates: int = 1, seed: int = 0, dtype: torch.dtype = torch.float64) -> dict:
    g = torch.Generator().manual_seed(seed)

    def normal(*shape: int, scale: float = 1.0) -> torch.Tensor:
        return (scale * torch.randn(shape, generator=g, dtype=dtype)).requires_grad_()

    return {
        "projected": normal(T, B, gates * n),
        "W": normal(gates * n, n, scale=n**-0.5),
        "bias": normal(n, scale=0.3),
        "h0": normal(B, n),
    }


@given(
    T=st.integers(1, 5),
    B=st.integers(1, 3),
    n=st.integers(1, 4),
    activation=ACTIVATION,
    reverse=st.booleans(),
    cut=st.booleans(),
    seed=st.integers(0, 99),
)
def test_simple_gradcheck(T: int, B: int, n: int, activation: str, reverse: bool, cut: bool, seed: int) -> None:
    values = draw(T, B, n, seed=seed)
    lengths = torch.randint(1, T + 1, (B,)) if cut else None

    def run(projected, W, bias, h0):
        return recurrence.simple(projected, W, bias, h0, lengths, activation, reverse)

    assert torch.autograd.gradcheck(run, tuple(values.values()), fast_mode=True)


@given(
    T=st.integers(1, 4),
    B=st.integers(1, 3),
    n=st.integers(1, 3),
    candidate=ACTIVATION,
    reset=st.sampled_from(["before", "after"]),
    update=st.sampled_from(["keep", "write"]),
    reverse=st.booleans(),
    cut=st.booleans(),
    seed=st.integers(0, 99),
)
def test_gated_gradcheck(T, B, n, candidate, reset, update, reverse, cut, seed) -> None:
    values = draw(T, B, n, 3, seed)
    inside = torch.randn(n, dtype=torch.float64).requires_grad_() if reset == "after" else None
    lengths = torch.randint(1, T + 1, (B,)) if cut else None

    def run(projected, W, bias, h0, inside):
        return recurrence.gated(projected, W, bias, inside, h0, lengths, candidate, reset, update, reverse)

    assert torch.autograd.gradcheck(run, (*values.values(), inside), fast_mode=True)


@given(
    T=st.integers(1, 4),
    B=st.integers(1, 3),
    n=st.integers(1, 3),
    cell=st.sampled_from(["tanh", "modrelu", "relu", "identity"]),
    reverse=st.booleans(),
    cut=st.booleans(),
    seed=st.integers(0, 99),
)
def test_lstm_gradcheck(T, B, n, cell, reverse, cut, seed) -> None:
    values = draw(T, B, n, 4, seed)
    c0 = torch.randn(B, n, dtype=torch.float64).requires_grad_()
    lengths = torch.randint(1, T + 1, (B,)) if cut else None

    def run(projected, W, bias, h0, c0):
        bias = bias if cell == "modrelu" else None
        return recurrence.lstm(projected, W, bias, h0, c0, lengths, cell, reverse)

    assert torch.autograd.gradcheck(run, (*values.values(), c0), fast_mode=True)


def test_lstm_is_its_equations() -> None:
    """Written out step by step, with the candidate's modReLU."""
    p, W, b, h0 = (value.detach() for value in draw(5, 2, 3, 4).values())
    c0 = torch.randn(2, 3, dtype=torch.float64)
    h, c, outs = h0, c0, []
    for step in p:
        i, f, g, o = (step + h @ W.T).chunk(4, dim=-1)
        g = torch.sign(g) * torch.relu(g.abs() + b)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * g
        h = torch.sigmoid(o) * torch.tanh(c)
        outs.append(h)
    out, h_n, c_n = recurrence.lstm(p, W, b, h0, c0, cell="modrelu")
    for ours, expected in ((out, torch.stack(outs)), (h_n, h), (c_n, c)):
        assert relative(ours, expected) < 1e-14
    with pytest.raises(ValueError, match="add it to input_bias"):
        recurrence.lstm(p, W, b, h0, c0)
    with pytest.raises(ValueError, match="has no slope in an LSTM: use cell='relu'"):
        recurrence.lstm(p, W, None, h0, c0, cell="leaky_relu")


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("rounded", [False, True])
def test_operators_are_well_formed(cut: bool, rounded: bool) -> None:
    """torch's own checks of schema, fake rule, autograd registration and compilation."""
    lengths = torch.tensor([3, 1]) if cut else None
    rounding = (torch.tensor(0.1, requires_grad=True), 8) if rounded else (None, 0)
    fused_rounding = (rounding[0], None, rounding[1])  # the kernel rounds the input too, where it multiplies it
    with_input = (rounding[0], torch.tensor(0.2, requires_grad=True) if rounded else None, rounding[1])
    v = draw(3, 2, 4, dtype=torch.float32)
    v["h0"] = v["h0"].detach().t().contiguous().t().requires_grad_()  # a state whose memory lies the other way
    torch.library.opcheck(
        torch.ops.eigenloop.simple.default,
        (v["projected"], v["W"], v["bias"], v["h0"], lengths, "modrelu", False, 0.01, *rounding),
    )
    if kernel.library() is not None:
        x, U = torch.randn(3, 2, 5), torch.randn(4, 5, requires_grad=True)
        for activation, keep, units in (("modrelu", rounded, 4), ("complex modrelu", True, 2))[: 1 if rounded else 2]:
            bias = v["bias"].detach()[:units].requires_grad_()
            arguments = (x, U, v["W"], None, bias, v["h0"], lengths, activation, False, 0.01, keep, *with_input)
            torch.library.opcheck(torch.ops.eigenloop.fused_simple.default, arguments)
    v = draw(3, 2, 4, 3, dtype=torch.float32)
    options = ("modrelu", "before", "write", True, 0.01)
    torch.library.opcheck(
        torch.ops.eigenloop.gated.default,
        (v["projected"], v["W"], v["bias"], None, v["h0"], lengths, *options, *rounding),
    )
    if kernel.library() is not None:
        torch.library.opcheck(
            torch.ops.eigenloop.fused_gated.default,
            (v["projected"], None, v["W"], None, v["bias"], None, v["h0"], lengths, *options, True, *fused_rounding),
        )
    v = draw(3, 2, 4, 4, dtype=torch.float32)
    c0 = torch.randn(2, 4, requires_grad=True)
    tensors = (v["W"], v["bias"], v["h0"], c0, lengths, "modrelu", True, *rounding)
    torch.library.opcheck(torch.ops.eigenloop.lstm.default, (v["projected"], *tensors))
    if kernel.library() is not None:
        arguments = (
            v["projected"],
            None,
            v["W"],
            None,
            v["bias"],
            v["h0"],
            c0,
            lengths,
            "modrelu",
            True,
            True,
            *fused_rounding,
        )
        torch.library.opcheck(torch.ops.eigenloop.fused_lstm.default, arguments)


def test_the_slope_of_leaky_relu_keeps_its_precision() -> None:
    """0.01 rounded to single precision would be off by 2e-8."""
    p = -torch.ones(1, 1, 1, dtype=torch.float64, requires_grad=True)
    zero = torch.zeros(1, 1, dtype=torch.float64)
    out, _ = recurrence.simple(p, zero, None, zero, activation="leaky_relu")
    assert torch.autograd.grad(out, p)[0].item() == 0.01


def test_modrelu_at_zero_and_below_threshold() -> None:
    """sign(0) = 0: with no input the state stays 0, whatever b is; units below the threshold are cut off."""
    h0, W = torch.zeros(1, 3), torch.eye(3)
    bias = torch.tensor([0.5, 0.0, -0.5])
    out, _ = recurrence.simple(torch.zeros(2, 1, 3), W, bias, h0)
    assert not out.any()
    out, _ = recurrence.simple(torch.tensor([[[-1.0, -0.2, 0.3]]]), W, bias, h0)
    assert relative(out, torch.tensor([[[-1.5, -0.2, 0.0]]])) < 1e-6


@pytest.mark.parametrize("gates", [1, 3])
@pytest.mark.parametrize("filler", [float("nan"), float("inf")])
def test_padding_of_the_projected_input_is_ignored(gates: int, filler: float) -> None:
    values = draw(4, 2, 3, gates)
    lengths = torch.tensor([4, 2])

    def run(projected: torch.Tensor) -> list[torch.Tensor]:
        leaves = [
            projected.detach().requires_grad_(),
            *(values[k].detach().clone().requires_grad_() for k in ("W", "bias", "h0")),
        ]
        p, W, bias, h0 = leaves
        if gates == 1:
            out, h_n = recurrence.simple(p, W, bias, h0, lengths)
        else:
            out, h_n = recurrence.gated(p, W, bias, None, h0, lengths, "modrelu", "before", "write")
        return [out, h_n, *torch.autograd.grad(out.sum() + h_n.square().sum(), leaves)]

    spoilt = values["projected"].detach().clone()
    spoilt[2:, 1] = filler
    for clean, other in zip(run(values["projected"]), run(spoilt), strict=True):
        assert relative(other, clean) < 1e-12


def test_unused_outputs_and_inputs_without_gradient() -> None:
    v = draw(3, 2, 4)
    out, _ = recurrence.simple(v["projected"].detach(), v["W"], None, v["h0"].detach())
    (grad,) = torch.autograd.grad(out.sum(), v["W"])
    assert torch.isfinite(grad).all()


GATES = {"simple": 1, "gated": 3, "lstm": 4, "fastgrnn": 1}


def states_of(kind: str) -> tuple[Callable[[torch.Tensor], torch.Tensor], torch.Tensor]:
    """Return the states as a function of the projected input, and that input."""
    v = {name: value.detach() for name, value in draw(3, 2, 4, GATES[kind]).items()}
    runs = {
        "simple": lambda p: recurrence.simple(p, v["W"], v["bias"], v["h0"])[0],
        "gated": lambda p: recurrence.gated(p, v["W"], None, None, v["h0"])[0],
        "lstm": lambda p: recurrence.lstm(p, v["W"], None, v["h0"], v["h0"])[0],
        "fastgrnn": lambda p: recurrence.fastgrnn(p, v["W"], v["h0"], v["bias"][:2].sigmoid(), v["h0"])[0],
    }
    return runs[kind], v["projected"]


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
@pytest.mark.parametrize("kind", GATES)
def test_forward_mode_is_refused_rather_than_zero(kind: str) -> None:
    states, projected = states_of(kind)
    with pytest.raises(RuntimeError, match=r"jvp function|forward mode"):
        torch.func.jvp(states, (projected,), (projected,))


@pytest.mark.filterwarnings("ignore:There is a performance drop because we have not yet implemented the batching rule")
@pytest.mark.parametrize("kind", GATES)
def test_torch_func(kind: str) -> None:
    states, projected = states_of(kind)

    def loss(projected: torch.Tensor) -> torch.Tensor:
        return states(projected).square().sum()

    leaf = projected.clone().requires_grad_()
    (expected,) = torch.autograd.grad(loss(leaf), leaf)
    assert relative(torch.func.grad(loss)(projected), expected) < 1e-12
    assert relative(torch.func.jacrev(loss)(projected), expected) < 1e-12
    several = torch.stack((projected, 2 * projected))
    assert relative(torch.func.vmap(states)(several), torch.stack([states(one) for one in several])) < 1e-12
    assert relative(torch.func.vmap(torch.func.grad(loss))(several)[0], expected) < 1e-12


def test_complex_modrelu_at_zero_has_a_finite_gradient() -> None:
    p = torch.zeros(2, 1, 3, dtype=torch.complex64, requires_grad=True)
    bias = torch.full((3,), 5.0, requires_grad=True)
    out, _ = recurrence.simple(p, torch.eye(3, dtype=torch.complex64), bias, torch.zeros(1, 3, dtype=torch.complex64))
    out.abs().sum().backward()
    assert torch.isfinite(p.grad).all()
    assert torch.isfinite(bias.grad).all()


def test_second_derivatives_are_refused_rather_than_wrong() -> None:
    v = draw(3, 2, 4)
    out, _ = recurrence.simple(*v.values())
    (grad,) = torch.autograd.grad(out.square().sum(), v["W"], create_graph=True)
    with pytest.raises(RuntimeError, match="first derivatives only"):
        grad.sum().backward()


@pytest.mark.parametrize("candidate", ["identity", "modrelu", "tanh"])
@pytest.mark.parametrize("reset", ["before", "after"])
@pytest.mark.parametrize("update", ["keep", "write"])
def test_a_gate_that_is_nearly_shut_costs_no_digits(update: str, reset: str, candidate: str) -> None:
    n, bias = 6, torch.tensor([-12.0] * 12 + [0.0] * 6)  # both gates of about 6e-6

    def gradients(dtype: torch.dtype) -> list[torch.Tensor]:
        values = draw(7, 3, n, gates=3, dtype=torch.float64)
        leaves = [value.detach().to(dtype).requires_grad_() for value in values.values()]
        projected, W, threshold, h0 = leaves
        threshold = threshold if candidate == "modrelu" else None
        out, h_n = recurrence.gated(
            projected + bias.to(dtype), W, threshold, None, h0, None, candidate, reset, update, input_bias=None
        )
        (out.square().sum() + h_n.sum()).backward()
        gates = (leaf.grad for leaf in (projected, W))  # each gate by itself: their gradients differ by orders
        return [*(part for grad in gates for part in grad.split(n, dim=-1 if grad.dim() == 3 else 0)), h0.grad]

    for single, double in zip(gradients(torch.float32), gradients(torch.float64), strict=True):
        assert (single - double).norm() < 3e-6 * double.norm()


def test_what_a_nearly_shut_gate_writes_has_a_gradient() -> None:
    x = torch.tensor([[[0.0, -18.0, 1.0]]], requires_grad=True)
    out, _ = recurrence.gated(x, torch.zeros(3, 1), None, None, torch.zeros(1, 1), None, "identity", "before", "write")
    out.sum().backward()
    assert x.grad[0, 0, 2].item() == pytest.approx(torch.tensor(-18.0, dtype=torch.float64).sigmoid().item(), rel=1e-6)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("gates", [1, 3, 4])
def test_no_steps_at_all(gates: int, reverse: bool) -> None:
    values = draw(0, 3, 4, gates=gates)
    lengths = torch.zeros(3, dtype=torch.int64)
    for given_lengths in (None, lengths):
        if gates == 1:
            out, h_n = recurrence.simple(*values.values(), given_lengths, "tanh", reverse)
        elif gates == 3:
            projected, W, bias, h0 = values.values()
            out, h_n = recurrence.gated(projected, W, bias, None, h0, given_lengths, "tanh", reverse=reverse)
        else:
            projected, W, bias, h0 = values.values()
            out, h_n, c_n = recurrence.lstm(projected, W, None, h0, h0, given_lengths, reverse=reverse)
            assert torch.equal(c_n, h0)
        assert out.shape == (0, 3, 4)
        assert torch.equal(h_n, values["h0"])
        grads = torch.autograd.grad(h_n.sum() + out.sum(), [values["h0"], values["W"]])
        assert torch.equal(grads[0], torch.ones(3, 4, dtype=torch.float64))
        assert not grads[1].any()


@pytest.mark.parametrize(("name", "gates"), [("simple", 1), ("gated", 3), ("lstm", 4)])
def test_the_former_name_of_the_input_works(name: str, gates: int) -> None:
    run = getattr(recurrence, name)
    p, W, zeros = torch.randn(5, 2, gates * 4), torch.randn(gates * 4, 4), torch.zeros(2, 4)
    others = {"simple": {}, "gated": {"recurrent_bias": None}, "lstm": {"c0": zeros}}[name]
    given = {"W": W, "bias": None, "h0": zeros, **others}
    with pytest.warns(FutureWarning, match="projected= is called x= now"):
        out = run(projected=p, **given)[0]
    assert torch.equal(out, run(p, **given)[0])
    assert torch.equal(out, run(x=p, **given)[0])
