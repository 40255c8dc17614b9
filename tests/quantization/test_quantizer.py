"""The quantizer against its definition written out, and layers that use it against the plain ones."""

import copy
import pickle

import numpy as np
import pytest
import torch
from comparing import finite_difference, relative
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import eigenloop as el
from eigenloop.quantization import Quantizer, codes, quantize, quantize_

bits_ = st.integers(2, 16)


@st.composite
def matrices(draw: st.DrawFn) -> Tensor:
    """Matrices of all kinds of sizes and scales, among them zeros and single entries."""
    rows, columns = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    scale = 10.0 ** draw(st.integers(-6, 6))
    W = torch.randn(rows, columns, generator=generator, dtype=torch.float64) * scale
    return W * (
        torch.rand(rows, columns, generator=generator, dtype=torch.float64) < draw(st.sampled_from([1.0, 0.5, 0.0]))
    )


@settings(max_examples=200)
@given(W=matrices(), bits=bits_, per_row=st.booleans())
def test_every_entry_is_the_nearest_on_the_grid(W: Tensor, bits: int, per_row: bool) -> None:
    found = quantize(W, bits, per_row)
    half = 2 ** (bits - 1)
    for row, quantized in zip(W.tolist(), found.tolist(), strict=True):
        alpha = max(map(abs, row if per_row else W.flatten().tolist()))
        grid = np.arange(-half, half) * (alpha / half)
        for entry, value in zip(row, quantized, strict=True):
            assert abs(entry - value) <= np.abs(grid - entry).min() * (1 + 1e-9) + 1e-300
            assert np.abs(grid - value).min() <= 1e-12 * max(alpha, 1e-300)


@settings(max_examples=100)
@given(W=matrices(), bits=bits_)
def test_error_range_and_step(W: Tensor, bits: int) -> None:
    number, step = codes(W, bits)
    half = 2 ** (bits - 1)
    assert number.min() >= -half
    assert number.max() <= half - 1
    alpha = float(W.abs().max())
    assert float(step) == pytest.approx((alpha or 1.0) / half)
    error = (quantize(W, bits) - W).abs()
    assert float(error.max()) <= float(step) * (1 + 1e-9)  # a whole step for +alpha itself, which has no code
    inside = alpha - 0.5 * step > W
    assert float(torch.where(inside, error, 0.0).max()) <= float(step) / 2 * (1 + 1e-9)


def test_halves_go_to_even_and_the_top_is_cut() -> None:
    W = torch.tensor([[-1.0, 1.0, 0.25, 0.75, -0.25, -0.75]])
    assert quantize(W, 2).tolist() == [[-1.0, 0.5, 0.0, 0.5, 0.0, -1.0]]
    assert quantize(-W, 2).tolist() != (-quantize(W, 2)).tolist()  # the range is not symmetric
    assert quantize(torch.zeros(2, 3), 4).tolist() == [[0.0] * 3] * 2
    assert quantize(torch.zeros(0, 3), 4).shape == (0, 3)


@settings(max_examples=100)
@given(W=matrices(), bits=bits_)
def test_idempotent_for_a_fixed_alpha(W: Tensor, bits: int) -> None:
    """-alpha has a code, so a matrix that holds it keeps its alpha."""
    alpha = W.abs().max()
    W = torch.cat([W, torch.full((1, W.shape[1]), -float(alpha), dtype=W.dtype)])
    once = quantize(W, bits)
    assert torch.equal(quantize(once, bits), once)


def test_sixteen_bits_are_within_a_step() -> None:
    W = el.initializers.haar(50)
    assert float((quantize(W, 16) - W).abs().max()) <= float(W.abs().max()) / 2**15


@settings(max_examples=50)
@given(W=matrices(), bits=bits_, per_row=st.booleans())
def test_the_gradient_passes_unchanged(W: Tensor, bits: int, per_row: bool) -> None:
    W.requires_grad_()
    weight = torch.randn_like(W)
    (quantize(W, bits, per_row) * weight).sum().backward()
    assert torch.equal(W.grad, weight)


def test_under_vmap_and_grad() -> None:
    W = torch.randn(3, 4, 5)
    separately = torch.stack([quantize(matrix, 4) for matrix in W])
    assert torch.equal(torch.func.vmap(lambda matrix: quantize(matrix, 4))(W), separately)
    assert torch.equal(torch.func.grad(lambda matrix: quantize(matrix, 4).sum())(W[0]), torch.ones(4, 5))


@pytest.mark.parametrize(
    ("bits", "kind", "message"),
    [
        (1, ValueError, "from 2 to 16, got 1"),
        (17, ValueError, "got 17"),
        (4.0, TypeError, "got 4.0"),
        (True, TypeError, "True"),
    ],
)
def test_widths_that_are_not_offered(bits: object, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        quantize(torch.randn(2, 2), bits)
    with pytest.raises(kind, match=message):
        el.RNN(2, 3, bits=bits)


#: QORNN figure 1, right: quantiles of sigma_min / sigma_max of q(W) for Haar 10 x 10 (section 5.3 of the facts).
RATIOS = {
    2: (0.279, 0.370, 0.456),
    3: (0.579, 0.642, 0.701),
    4: (0.764, 0.807, 0.841),
    5: (0.877, 0.899, 0.919),
    8: (0.984, 0.987, 0.990),
}


@pytest.mark.parametrize("bits", RATIOS)
def test_conditioning_of_quantized_orthogonal_matrices(bits: int) -> None:
    generator = torch.Generator().manual_seed(bits)
    drawn = torch.stack([el.initializers.haar(10, generator=generator) for _ in range(1000)]).double()
    sigma = torch.linalg.svdvals(torch.func.vmap(lambda W: quantize(W, bits))(drawn))
    found = torch.quantile(sigma[:, -1] / sigma[:, 0], torch.tensor([0.05, 0.5, 0.95]).double())
    for ours, theirs in zip(found.tolist(), RATIOS[bits], strict=True):
        assert ours == pytest.approx(theirs, abs=0.02 if bits < 5 else 0.004)


def test_bounds_of_the_paper_hold() -> None:
    """(3) ||Wq Wq^T - I||_F <= 2e + e^2 and (4) |sigma - 1| <= e, with e = n / 2^(k-1), over 1,000 draws."""
    generator = torch.Generator().manual_seed(0)
    for draw in range(1000):
        bits, n = 2 + draw % 9, 2 + draw % 13
        W = el.initializers.haar(n, generator=generator).double()
        quantized, e = quantize(W, bits), n / 2 ** (bits - 1)
        assert float(torch.linalg.matrix_norm(quantized @ quantized.mT - torch.eye(n))) <= 2 * e + e * e
        assert float((torch.linalg.svdvals(quantized) - 1).abs().max()) <= e


# -------------------------------------------------------------------- layers

LAYERS = {
    "scornn": lambda **k: el.build("scornn", 3, 8, **k),
    "nnrnn": lambda **k: el.build("nnrnn", 3, 8, **k),
    "enrnn": lambda **k: el.build("enrnn", 3, 8, **k),
    "bjorck, relu, two layers": lambda **k: el.RNN(3, 8, 2, "relu", recurrent="bjorck", **k),
    "both directions": lambda **k: el.RNN(3, 8, bidirectional=True, **k),
    "ncgru": lambda **k: el.build("ncgru", 3, 8, constrained=("candidate", "reset"), **k),
    "gru": lambda **k: el.GRU(3, 8, **k),
}
layers = pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS.keys())


@layers
def test_without_bits_it_is_the_plain_layer(make) -> None:
    x = torch.randn(6, 2, 3)
    torch.manual_seed(0)
    plain = make()
    torch.manual_seed(0)
    none = make(bits=None)
    assert torch.equal(plain(x)[0], none(x)[0])
    quantized = quantize_(copy.deepcopy(plain), 4)
    assert not torch.equal(plain(x)[0], quantized(x)[0])
    assert torch.equal(quantize_(quantized, None)(x)[0], plain(x)[0])


@layers
@pytest.mark.parametrize("bits", [2, 5])
def test_a_quantized_layer_is_the_plain_one_with_quantized_matrices(make, bits: int) -> None:
    """The same outputs, and the gradients of W and U, as with free matrices that hold q(W) and q(U)."""
    layer = make(bits=bits, dtype=torch.float64)
    by_hand = copy.deepcopy(layer)
    by_hand.quantizer = None
    leaves = {}
    parts = 3 if isinstance(layer, el.GRU) else 1
    for _, _, cell in layer._cells():
        U = getattr(by_hand, f"weight_ih{cell}")
        with torch.no_grad():
            W = torch.cat([quantize(part, bits) for part in getattr(layer, f"recurrent{cell}")().chunk(parts)])
            U.copy_(torch.cat([quantize(part, bits) for part in U.chunk(parts)]))
        leaves[cell] = W.requires_grad_()
    by_hand._weight_hh = lambda cell: leaves[cell]
    x = torch.randn(7, 2, 3, dtype=torch.float64)
    outs = [net(x)[0] for net in (layer, by_hand)]
    assert relative(outs[0], outs[1]) < 1e-12
    for out in outs:
        (out * torch.arange(out.numel(), dtype=torch.float64).reshape(out.shape)).sum().backward()
    for _, _, cell in layer._cells():
        name = f"weight_ih{cell}"
        assert relative(getattr(layer, name).grad, getattr(by_hand, name).grad) < 1e-10


def test_straight_through_reaches_the_matrix() -> None:
    """dL/dskew of a quantized scoRNN is that of the plain map with dL/dWq put in."""
    rnn = el.RNN(3, 6, bits=3, dtype=torch.float64)
    x = torch.randn(5, 2, 3, dtype=torch.float64)
    Wq = rnn.recurrent_matrix().detach().requires_grad_()
    rnn(x)[0].sum().backward()
    free = el.RNN(3, 6, recurrent="free", dtype=torch.float64)
    with torch.no_grad():
        free.weight_ih_l0.copy_(quantize(rnn.weight_ih_l0, 3))
        free.bias_l0.copy_(rnn.bias_l0)
        free.recurrent_l0.weight.copy_(Wq)
    free(x)[0].sum().backward()
    by_hand = copy.deepcopy(rnn.recurrent_l0)
    by_hand.zero_grad()
    by_hand().backward(free.recurrent_l0.weight.grad)
    assert relative(rnn.recurrent_l0.skew.grad, by_hand.skew.grad) < 1e-10


def test_gates_have_steps_of_their_own() -> None:
    gru = el.GRU(3, 8, bits=4)
    with torch.no_grad():
        gru.weight_ih_l0[:8] *= 100
    inputs = gru._quantized_inputs(gru.weight_ih_l0, parts=3)
    assert len(inputs[8:16].unique()) > 8  # one step for all would leave them zero
    for gate in ("reset", "update", "candidate"):
        assert len(gru.recurrent_matrix(gate=gate).unique()) <= 16


def test_around_the_identity() -> None:
    rnn = el.RNN(
        3, 8, 1, "relu", recurrent=lambda n: el.matrices.Orthogonal(n, init="identity"), bits=3, around_identity=True
    )
    assert torch.equal(rnn.recurrent_matrix(), torch.eye(8))
    skew = torch.randn(8, 8)
    near = torch.linalg.matrix_exp(0.01 * (skew - skew.T))
    rnn.recurrent_l0.assign_(near)
    expected = torch.eye(8) + quantize(near - torch.eye(8), 3)
    assert relative(rnn.recurrent_matrix(), expected) < 1e-6
    plain = quantize(near, 3)
    assert relative(plain, torch.diag(plain.diagonal())) == 0  # all else is rounded away


def test_survival() -> None:
    rnn = el.RNN(3, 8, bits=4)
    x = torch.randn(5, 2, 3)
    expected = rnn(x)[0]
    for again in (copy.deepcopy(rnn), pickle.loads(pickle.dumps(rnn))):
        assert torch.equal(again(x)[0], expected)
    other = el.RNN(3, 8)
    other.load_state_dict(rnn.state_dict())
    assert torch.equal(quantize_(other, 4)(x)[0], expected)
    assert "bits=4" in repr(rnn)
    with el.cached(rnn), torch.no_grad():
        assert torch.equal(rnn(x)[0], expected)
    stream = el.Stream(rnn, batch_size=2)
    assert relative(torch.stack([stream(step) for step in x]), expected) < 1e-5
    with pytest.raises(ValueError, match=r"torch\.nn has no quantizer"):
        el.RNN(3, 8, 1, "tanh", bits=4).torch_state_dict()


def test_refusals() -> None:
    with pytest.raises(ValueError, match="this one is complex"):
        el.RNN(3, 8, recurrent="unitary", bits=4)
    with pytest.raises(ValueError, match="give bits="):
        el.RNN(3, 8, around_identity=True)
    with pytest.raises(ValueError, match="no recurrent layer"):
        quantize_(torch.nn.Linear(2, 2), 4)
    with pytest.raises(ValueError, match="complex"):
        quantize_(el.RNN(3, 8, recurrent="unitary"), 4)
    with pytest.raises(ValueError, match="choose gram or spectral"):
        Quantizer(4, regulariser="l1")


# -------------------------------------------------------------------- strategies


@pytest.mark.parametrize("regulariser", ["gram", "spectral"])
def test_the_penalty_of_ste_pen(regulariser: str) -> None:
    rnn = el.build("qornn", 3, 6, bits=4, strategy="ste-pen", penalty=0.3, regulariser=regulariser, dtype=torch.float64)
    with torch.no_grad():
        rnn.recurrent_l0.weight.mul_(1.7)
    Wq = quantize(rnn.recurrent_l0.weight.detach(), 4)
    sigma = torch.linalg.svdvals(Wq)
    assert relative(rnn.recurrent_matrix(), Wq / sigma[0]) < 1e-12
    values = sigma / sigma[0]
    expected = ((values**2 - 1) ** 2).sum() if regulariser == "gram" else ((values - 1) ** 2).sum()
    assert rnn.penalty().item() == pytest.approx(0.3 * float(expected), rel=1e-9)
    rnn.penalty().backward()
    M = (Wq / sigma[0]).clone()
    numerical = finite_difference(
        lambda: (
            ((M @ M.mT - torch.eye(6, dtype=M.dtype)) ** 2).sum()
            if regulariser == "gram"
            else ((torch.linalg.svdvals(M) - 1) ** 2).sum()
        ),
        M,
    )
    assert relative(rnn.recurrent_l0.weight.grad, 0.3 * numerical / sigma[0]) < 1e-5


STRATEGIES = {
    "ste-bjorck": (el.matrices.Bjorck, "relu"),
    "ste-projunn": (el.matrices.Orthogonal, "modrelu"),
    "ptq-projunn": (el.matrices.Orthogonal, "modrelu"),
    "ste-pen": (el.matrices.Free, "relu"),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_strategies(strategy: str) -> None:
    rnn = el.build("qornn", 3, 8, bits=3, strategy=strategy)
    kind, nonlinearity = STRATEGIES[strategy]
    assert isinstance(rnn.recurrent_l0, kind)
    assert rnn.nonlinearity == nonlinearity
    assert not hasattr(rnn, "bias_ih_l0")
    trained, evaluated = rnn.recurrent_matrix(), rnn.eval().recurrent_matrix()
    assert len(evaluated.unique()) <= 8
    if strategy == "ptq-projunn":
        assert torch.equal(trained, rnn.recurrent_l0())
        assert relative(evaluated, quantize(trained, 3)) == 0
    else:
        assert torch.equal(trained, evaluated)


def test_unknown_strategies() -> None:
    with pytest.raises(ValueError, match="choose one of ste-bjorck"):
        el.build("qornn", 3, 8, strategy="ste")


@pytest.mark.parametrize("bits", [2, 4])
def test_divided_by_its_radius_a_state_neither_grows_nor_fades(bits: int) -> None:
    """modReLU without a bias keeps norms, so over 784 steps they follow the spectral radius of q(W)."""

    def grown(normalise: str) -> float:
        layer = el.RNN(
            1,
            170,
            recurrent=lambda n: el.matrices.Orthogonal(n, generator=torch.Generator().manual_seed(0)),
            bits=Quantizer(bits, normalise=normalise),
            dtype=torch.float64,
        )
        W = layer.recurrent_matrix().detach()
        size = float(torch.linalg.matrix_norm(W, 2) if normalise == "norm" else torch.linalg.eigvals(W).abs().max())
        assert normalise == "none" or size == pytest.approx(1)
        h0 = torch.randn(1, 4, 170, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        with torch.no_grad():
            _, state = layer(torch.zeros(784, 4, 1, dtype=torch.float64), h0)
        return float(state.norm() / h0.norm())

    assert grown("none") > 1e5
    assert 0.01 < grown("radius") < 2
    assert grown("norm") < 1e-20


def test_normalising_what_is_not_finite_or_zero() -> None:
    for normalise in ("norm", "radius"):
        quantizer = Quantizer(4, normalise=normalise)
        assert torch.equal(quantizer.recurrent(torch.zeros(3, 3)), torch.zeros(3, 3))
        assert quantizer.recurrent(torch.full((3, 3), float("nan"))).isnan().all()
    with pytest.raises(ValueError, match="none, norm or radius"):
        Quantizer(4, normalise="size")
