"""Every cell equals its paper's equation, written out here, at every time step."""

import math
from functools import partial

import pytest
import torch
from comparing import exponential, relative, weighted
from torch import Tensor

import eigenloop as el
from eigenloop.layers.gru import GRU

T, B, m, n = 6, 3, 4, 8


def modrelu(z: Tensor, b: Tensor) -> Tensor:
    """sign(z) ReLU(|z| + b)."""
    return torch.sign(z) * torch.relu(z.abs() + b)


POINTWISE = {
    "modrelu": modrelu,
    "relu": lambda z, b: torch.relu(z + b),
    "leaky_relu": lambda z, b: torch.where(z + b > 0, z + b, 0.01 * (z + b)),
    "tanh": lambda z, b: torch.tanh(z + b),
    "identity": lambda z, b: z + b,
}


def randomise_(layer: torch.nn.Module) -> None:
    """Move every parameter off its start, so that no term is zero by accident."""
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)


def check_gradients(layer: torch.nn.Module, ours: list[Tensor], theirs: list[Tensor]) -> None:
    """The hand-written backward pass equals autograd through the written-out loop."""
    parameters = list(layer.parameters())
    mine = torch.autograd.grad(weighted(ours), parameters)
    other = torch.autograd.grad(weighted(theirs), parameters)
    for a, b in zip(mine, other, strict=True):
        assert relative(a, b) < 1e-9


@pytest.mark.parametrize("recurrent", ["free", "cayley", "exponential", "schur"])
@pytest.mark.parametrize("nonlinearity", POINTWISE)
def test_simple(nonlinearity: str, recurrent: str) -> None:
    rnn = el.RNN(m, n, nonlinearity=nonlinearity, recurrent=recurrent, dtype=torch.float64)
    randomise_(rnn)
    x, h = torch.randn(T, B, m, dtype=torch.float64), torch.randn(B, n, dtype=torch.float64)
    out, h_n = rnn(x, h.unsqueeze(0))
    W, U = rnn.recurrent_matrix(), rnn.weight_ih_l0
    b = rnn.bias_l0 if nonlinearity == "modrelu" else rnn.bias_ih_l0 + rnn.bias_hh_l0
    states = []
    for t in range(T):
        h = torch.stack([POINTWISE[nonlinearity](W @ h[i] + U @ x[t, i], b) for i in range(B)])
        states.append(h)
        assert relative(out[t], h) < 1e-12
    assert relative(h_n[0], h) < 1e-12
    check_gradients(rnn, [out, h_n], [torch.stack(states), h.unsqueeze(0)])


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("update", ["keep", "write"])
@pytest.mark.parametrize("reset", ["before", "after"])
@pytest.mark.parametrize("candidate", POINTWISE)
@pytest.mark.parametrize("constrained", [(), ("candidate",), ("candidate", "reset"), GRU.GATES])
def test_gated(constrained: tuple[str, ...], candidate: str, reset: str, update: str, bias: bool) -> None:
    gru = el.GRU(
        m, n, bias=bias, constrained=constrained, candidate=candidate, reset=reset, update=update, dtype=torch.float64
    )
    randomise_(gru)
    x, h = torch.randn(T, B, m, dtype=torch.float64), torch.randn(B, n, dtype=torch.float64)
    out, h_n = gru(x, h.unsqueeze(0))
    U = dict(zip(GRU.GATES, gru.weight_ih_l0.chunk(3), strict=True))
    W = {gate: gru.recurrent_matrix(gate=gate) for gate in GRU.GATES}
    zero = torch.zeros(n, dtype=torch.float64)
    if not bias:
        b, c_inside = dict.fromkeys(GRU.GATES, zero), zero
    elif candidate == "modrelu":
        b, c_inside = dict(zip(GRU.GATES, gru.bias_l0.chunk(3), strict=True)), zero
    else:
        b_ih, b_hh = (dict(zip(GRU.GATES, v.chunk(3), strict=True)) for v in (gru.bias_ih_l0, gru.bias_hh_l0))
        b = {gate: b_ih[gate] + (b_hh[gate] if gate != "candidate" or reset == "before" else 0) for gate in GRU.GATES}
        c_inside = b_hh["candidate"] if reset == "after" else zero
    states = []
    for t in range(T):
        rows = []
        for i in range(B):
            r = torch.sigmoid(U["reset"] @ x[t, i] + W["reset"] @ h[i] + b["reset"])
            u = torch.sigmoid(U["update"] @ x[t, i] + W["update"] @ h[i] + b["update"])
            if reset == "before":
                through = W["candidate"] @ (r * h[i])
            else:
                through = r * (W["candidate"] @ h[i] + c_inside)
            c = POINTWISE[candidate](U["candidate"] @ x[t, i] + through, b["candidate"])
            rows.append(u * h[i] + (1 - u) * c if update == "keep" else (1 - u) * h[i] + u * c)
        h = torch.stack(rows)
        states.append(h)
        assert relative(out[t], h) < 1e-12
    check_gradients(gru, [out, h_n], [torch.stack(states), h.unsqueeze(0)])


def test_scornn_is_its_paper() -> None:
    """W = (I + A)^-1 (I - A) D and h' = modReLU(W h + U x): Helfrich et al. 2018, eq. 5 and section 3."""
    rnn = el.build("scornn", m, n, negative=3, dtype=torch.float64)
    randomise_(rnn)
    A = torch.zeros(n, n, dtype=torch.float64)
    A[tuple(torch.triu_indices(n, n, 1))] = rnn.recurrent_l0.skew.detach()
    A = A - A.T
    D = torch.diag(torch.tensor([1.0] * 5 + [-1.0] * 3, dtype=torch.float64))
    I = torch.eye(n, dtype=torch.float64)  # noqa: E741
    W = torch.inverse(I + A) @ (I - A) @ D
    x, h = torch.randn(T, m, dtype=torch.float64), torch.zeros(n, dtype=torch.float64)
    out, _ = rnn(x)
    for t in range(T):
        h = modrelu(W @ h + rnn.weight_ih_l0 @ x[t], rnn.bias_l0)
        assert relative(out[t], h) < 1e-12


def test_nnrnn_is_its_paper() -> None:
    """V = P (Lambda + T) P^T with eq. 5 entry by entry: Kerg et al. 2019, section 3."""
    rnn = el.build("nnrnn", m, n, dtype=torch.float64)
    randomise_(rnn)
    schur = rnn.recurrent_l0
    form = torch.zeros(n, n, dtype=torch.float64)
    for i in range(n // 2):
        g, th = schur.gamma[i].item(), schur.theta[i].item()
        form[2 * i, 2 * i] = form[2 * i + 1, 2 * i + 1] = g * math.cos(th)
        form[2 * i, 2 * i + 1], form[2 * i + 1, 2 * i] = -g * math.sin(th), g * math.sin(th)
    entries = iter(schur.triangle.tolist())
    for column in range(n):
        for row in range(column + 1, n):
            form[row, column] += next(entries)
    A = torch.zeros(n, n, dtype=torch.float64)
    A[tuple(torch.triu_indices(n, n, 1))] = schur.orthogonal.skew.detach()
    P = exponential(A - A.T)
    assert relative(rnn.recurrent_matrix(), P @ form @ P.T) < 1e-12
    expected = 1e-4 * sum((1 - g) ** 2 for g in schur.gamma.tolist())
    assert math.isclose(rnn.penalty().item(), expected, rel_tol=1e-12)


def test_exprnn_is_its_paper() -> None:
    """W = exp(A): Lezcano-Casado and Martinez-Rubio 2019, section 3."""
    rnn = el.build("exprnn", m, n, dtype=torch.float64)
    randomise_(rnn)
    A = torch.zeros(n, n, dtype=torch.float64)
    A[tuple(torch.triu_indices(n, n, 1))] = rnn.recurrent_l0.skew.detach()
    assert relative(rnn.recurrent_matrix(), exponential(A - A.T)) < 1e-13


@pytest.mark.parametrize("nonlinearity", ["modrelu", "identity"])
@pytest.mark.parametrize("form", ["plain", "lengths"])
def test_complex_state(nonlinearity: str, form: str) -> None:
    """h' = z / |z| ReLU(|z| + b) with z = W h + U x, W unitary: Wisdom et al. 2016, eq. 8."""
    unitary = partial(el.matrices.Free, init="haar", dtype=torch.complex128)
    rnn = el.RNN(m, n, nonlinearity=nonlinearity, bidirectional=True, recurrent=unitary, dtype=torch.float64)
    randomise_(rnn)
    x = torch.randn(T, B, m, dtype=torch.float64)
    h0 = torch.randn(2, B, n, dtype=torch.complex128)
    lengths = torch.tensor([T, 2, 4]) if form == "lengths" else torch.full((B,), T)
    out, h_n = rnn(x, h0, lengths=None if form == "plain" else lengths)
    assert out.dtype == h_n.dtype == torch.complex128
    assert rnn.bias_l0.dtype == torch.float64 if nonlinearity == "modrelu" else True
    expected, final = torch.zeros_like(out), []
    for d, cell in enumerate(("_l0", "_l0_reverse")):
        W, U = rnn.recurrent_matrix(reverse=d == 1), getattr(rnn, f"weight_ih{cell}")
        hs = []
        for i in range(B):
            h = h0[d, i]
            steps = range(lengths[i]) if d == 0 else reversed(range(lengths[i]))
            rows = {}
            for t in steps:
                z = W @ h + U @ x[t, i].to(W.dtype)
                if nonlinearity == "modrelu":
                    h = z / z.abs() * torch.relu(z.abs() + getattr(rnn, f"bias{cell}"))
                else:
                    h = z + getattr(rnn, f"bias_ih{cell}") + getattr(rnn, f"bias_hh{cell}")
                rows[t] = h
            padded = [rows.get(t, torch.zeros_like(h)) for t in range(T)]
            expected = expected + torch.nn.functional.pad(torch.stack(padded), (d * n, (1 - d) * n)).unsqueeze(
                1
            ) * torch.eye(B)[i].reshape(1, B, 1)
            hs.append(h)
        final.append(torch.stack(hs))
    assert relative(out, expected) < 1e-12
    assert relative(h_n, torch.stack(final)) < 1e-12
    check_gradients(rnn, [out, h_n], [expected, torch.stack(final)])
