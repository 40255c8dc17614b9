"""ENRNN's block matrix."""

import pytest
import torch
from comparing import relative

import eigenloop as el
from eigenloop.matrices import Exponential, Free, LongShort, ScaledCayley


def test_blocks_are_eq_5_and_6() -> None:
    """z_L = U_L x + W_L h_L + W_C h_S and z_S = U_S x + W_S h_S, step by step."""
    n, q, T = 10, 6, 5
    rnn = el.build("enrnn", 3, n, short=4, negative=2, dtype=torch.float64)
    with torch.no_grad():
        for parameter in rnn.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    matrix = rnn.recurrent_l0
    W_L, W_S, W_C = matrix.long(), matrix.short(), matrix.coupling
    U_L, U_S = rnn.weight_ih_l0[:q], rnn.weight_ih_l0[q:]
    h_L, h_S = torch.zeros(q, dtype=torch.float64), torch.zeros(n - q, dtype=torch.float64)
    x = torch.randn(T, 3, dtype=torch.float64)
    out, _ = rnn(x)
    for t in range(T):
        z = torch.cat((U_L @ x[t] + W_L @ h_L + W_C @ h_S, U_S @ x[t] + W_S @ h_S))
        h = torch.sign(z) * torch.relu(z.abs() + rnn.bias_l0)
        h_L, h_S = h[:q], h[q:]
        assert relative(out[t], h) < 1e-12


def test_only_the_long_part_is_slow() -> None:
    matrix = LongShort(10, short=4)
    assert [id(p) for p in matrix.slow_parameters()] == [id(matrix.long.skew)]
    assert LongShort(10, short=10).slow_parameters() == []


@pytest.mark.parametrize("short", [0, 1, 5, 10])
@pytest.mark.parametrize("coupling", [True, False])
def test_every_split(short: int, coupling: bool) -> None:
    matrix = LongShort(10, short=short, coupling=coupling, dtype=torch.float64)
    W = matrix()
    assert matrix.defect() < 1e-12
    assert not W[10 - short :, : 10 - short].any()
    assert (matrix.coupling is not None) == (coupling and 0 < short < 10)
    other = LongShort(10, short=short, coupling=coupling, dtype=torch.float64).assign_(W)
    assert relative(other(), W) < 1e-10


def test_coupling_starts() -> None:
    glorot = LongShort(60, short=20).coupling
    assert glorot.abs().max() <= (6 / 60) ** 0.5
    orthogonal = LongShort(60, short=20, coupling_init="orthogonal").coupling.double()
    assert relative(orthogonal.T @ orthogonal, torch.eye(20, dtype=torch.float64)) < 1e-6
    given = torch.ones(40, 20)
    assert torch.equal(LongShort(60, short=20, coupling_init=given).coupling, given)
    assert isinstance(LongShort(6, short=2, long=Exponential).long, Exponential)


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"0\.\.10, got 11"):
        LongShort(10, short=11)
    with pytest.raises(TypeError, match="real orthogonal 8 x 8"):
        LongShort(10, short=2, long=Free)
    with pytest.raises(ValueError, match="8 x 2"):
        LongShort(10, short=2, coupling_init=torch.ones(2, 8))
    with pytest.raises(ValueError, match="'glorot', 'orthogonal'"):
        LongShort(10, short=2, coupling_init="zeros")
    matrix = LongShort(6, short=2)
    before = matrix().detach().clone()
    with pytest.raises(ValueError, match="matrix has an entry of size 1 outside the blocks"):
        matrix.assign_(torch.ones(6, 6))
    bad_short = torch.block_diag(torch.eye(4), 3 * torch.eye(2))
    with pytest.raises(ValueError, match="matrix has spectral radius 3, above 1"):
        matrix.assign_(bad_short)
    assert torch.equal(matrix(), before)


def test_identity_input_weight() -> None:
    """ENRNN on Penn Treebank: an embedding into the state, U = I, ReLU, coupling from an orthogonal matrix."""
    rnn = el.build("enrnn", 8, 8, short=4, nonlinearity="relu", input_weight="identity", coupling_init="orthogonal")
    net = el.Model(rnn, 50, embedding=50)
    assert "weight_ih_l0" not in rnn.state_dict()
    x = torch.randn(4, 2, 8)
    W, h = rnn.recurrent_matrix(), torch.zeros(2, 8)
    for t, out in enumerate(rnn(x)[0]):
        h = torch.relu(h @ W.T + x[t] + rnn.bias_ih_l0)
        assert relative(out, h) < 1e-5
    assert net(torch.randint(50, (6, 2)))[0].shape == (6, 2, 50)
    with pytest.raises(ValueError, match="as many inputs as units"):
        el.RNN(3, 8, input_weight="identity")
    count = 310 * 309 // 2 + 720**2 + 310 * 720 + 50 * 1030 + 1030 + 1030 * 50 + 50
    big = el.build("enrnn", 1030, 1030, short=720, nonlinearity="relu", input_weight="identity", negative=5)
    assert sum(p.numel() for p in el.Model(big, 50, embedding=50).parameters()) == count == 893_575


def test_the_long_part_may_be_any_negative() -> None:
    assert el.build("enrnn", 2, 160, short=64, negative=29).recurrent_l0.long.negative == 29
    assert isinstance(el.build("enrnn", 2, 10).recurrent_l0.long, ScaledCayley)
    assert el.build("enrnn", 2, 160).recurrent_l0.short_size == 64
