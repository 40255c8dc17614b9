"""What a user relies on: state continuity, padding, batch order, norms, gradients, options."""

import contextlib
import gc
import weakref
from functools import partial

import pytest
import torch
from comparing import relative
from hypothesis import given
from hypothesis import strategies as st

import eigenloop as el
from eigenloop.matrices import Exponential, Free, ScaledCayley, Schur
from eigenloop.recurrence import kernel

LAYERS = {
    "rnn modrelu": partial(el.RNN, 3, 6),
    "rnn tanh": partial(el.RNN, 3, 6, nonlinearity="tanh", recurrent="exponential"),
    "rnn two layers": partial(el.RNN, 3, 6, 2, "relu", recurrent="schur"),
    "rnn sizes": partial(el.RNN, 3, (6, 4), nonlinearity="leaky_relu"),
    "gru": partial(el.GRU, 3, 6),
    "nc-gru": partial(el.GRU, 3, 6, 2, candidate="modrelu", reset="before", update="write"),
    "fastgrnn": partial(el.FastGRNN, 3, 6, 2, recurrent="cayley"),
    "complex": partial(el.RNN, 3, 6, recurrent=partial(Free, init="haar", dtype=torch.complex64)),
}


@pytest.fixture(params=LAYERS, ids=LAYERS)
def make(request: pytest.FixtureRequest):
    return LAYERS[request.param]


@given(T=st.integers(2, 8), cut=st.integers(1, 7), name=st.sampled_from(sorted(LAYERS)))
def test_one_call_equals_two_with_the_state_carried(T: int, cut: int, name: str) -> None:
    cut = min(cut, T - 1)
    layer = LAYERS[name](dtype=torch.float64)
    x = torch.randn(T, 2, 3, dtype=torch.float64)
    out, h_n = layer(x)
    first, h = layer(x[:cut])
    second, h = layer(x[cut:], h)
    assert relative(torch.cat((first, second)), out) < 1e-12
    for ours, whole in zip(h, h_n, strict=True):
        assert relative(ours, whole) < 1e-12


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("filler", [0.0, 1e6, float("nan"), float("inf")])
def test_padding_never_leaks(make, filler: float, bidirectional: bool) -> None:
    layer = make(dtype=torch.float64, bidirectional=bidirectional)
    x = torch.randn(7, 3, 3, dtype=torch.float64)
    lengths = [7, 1, 4]
    for i, length in enumerate(lengths):
        x[length:, i] = filler
    x.requires_grad_()
    out, h_n = layer(x, lengths=lengths)
    last = h_n[-1] if isinstance(h_n, tuple) else h_n
    (out.abs().square().sum() + last.abs().square().sum()).backward()
    gradients = [p.grad.clone() for p in layer.parameters()]
    assert all(torch.isfinite(g).all() for g in gradients)

    layer.zero_grad()
    for i, length in enumerate(lengths):
        alone, h_alone = layer(x[:length, i : i + 1].detach())
        assert relative(out[:length, i : i + 1], alone) < 1e-12
        assert not out[length:, i].any()
        assert not x.grad[length:, i].any()
        for whole, single in zip(h_n, h_alone, strict=True):
            assert relative(whole[..., i : i + 1, :].reshape(single.shape), single) < 1e-12
        last_alone = h_alone[-1] if isinstance(h_alone, tuple) else h_alone
        (alone.abs().square().sum() + last_alone.abs().square().sum()).backward()
    for whole, parameter in zip(gradients, layer.parameters(), strict=True):
        assert relative(whole, parameter.grad) < 1e-9


def test_batch_order_is_immaterial(make) -> None:
    layer = make(dtype=torch.float64, bidirectional=True)
    x, lengths = torch.randn(6, 5, 3, dtype=torch.float64), torch.tensor([6, 2, 5, 1, 6])
    order = torch.randperm(5)
    out, _ = layer(x, lengths=lengths)
    shuffled, _ = layer(x[:, order], lengths=lengths[order])
    assert relative(shuffled, out[:, order]) < 1e-12


@pytest.mark.parametrize("recurrent", [ScaledCayley, Exponential, Schur])
def test_norm_is_kept_over_10_000_steps(recurrent: type) -> None:
    rnn = el.RNN(1, 64, nonlinearity="identity", bias=False, recurrent=recurrent)
    h0 = torch.randn(1, 4, 64)
    with torch.no_grad():
        out, _ = rnn(torch.zeros(10_000, 4, 1), h0)
    norms = out.norm(dim=-1) / h0.norm(dim=-1)
    assert (norms - 1).abs().max() <= 1e-4


@pytest.mark.parametrize("outputs", ["out", "h_n", "both"])
def test_gradcheck(make, outputs: str) -> None:
    layer = make(dtype=torch.float64, bidirectional=True)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    names, parameters = zip(*layer.named_parameters(), strict=True)
    state = layer(torch.zeros(1, 2, 3, dtype=torch.float64))[1]
    sizes = isinstance(state, tuple)
    hx = [torch.randn_like(h).requires_grad_() for h in (state if sizes else [state])]

    def run(x, *rest):
        given_state = list(rest[: len(hx)]) if sizes else rest[0]
        values = dict(zip(names, rest[len(hx) :], strict=True))
        out, h_n = torch.func.functional_call(layer, values, (x, given_state), {"lengths": [4, 2]})
        h_n = h_n if sizes else (h_n,)
        return {"out": (out,), "h_n": tuple(h_n), "both": (out, *h_n)}[outputs]

    x = torch.randn(4, 2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(run, (x, *hx, *parameters), fast_mode=True)


def test_only_the_last_state_needs_no_gradient_of_the_outputs() -> None:
    rnn = el.RNN(2, 4)
    _, h_n = rnn(torch.randn(5, 3, 2))
    assert torch.autograd.grad(h_n.sum(), rnn.weight_ih_l0)[0].abs().sum() > 0


@pytest.mark.parametrize("layer", [el.RNN(3, 5, train_initial_state=True), el.GRU(3, 5, train_initial_state=True)])
def test_trained_initial_state(layer: el.RNN | el.GRU) -> None:
    with torch.no_grad():
        layer.h0_l0.normal_()
    x = torch.randn(4, 2, 3)
    out, _ = layer(x)
    given_h0 = layer.h0_l0.detach().expand(1, 2, 5).contiguous()
    assert torch.equal(out, layer(x, given_h0)[0])
    out.sum().backward()
    assert layer.h0_l0.grad.abs().sum() > 0
    assert "h0_l0" in layer.state_dict()


def test_dropout_acts_between_layers_in_training_only() -> None:
    rnn = el.RNN(3, 50, 2, dropout=0.5)
    x = torch.randn(4, 2, 3)
    assert not torch.equal(rnn(x)[0], rnn(x)[0])
    rnn.eval()
    assert torch.equal(rnn(x)[0], rnn(x)[0])
    one = el.RNN(3, 50, 2, dropout=1.0, nonlinearity="relu", bias=False)
    assert not one(x)[0].any()


def test_layers_and_directions_have_their_own_matrices() -> None:
    rnn = el.RNN(3, 6, 2, bidirectional=True, recurrent=Exponential)
    W = [rnn.recurrent_matrix(layer, reverse) for layer in range(2) for reverse in (False, True)]
    assert len({tuple(w.flatten().tolist()) for w in W}) == 4
    gru = el.GRU(3, 6, constrained=("reset", "update", "candidate"), recurrent=Exponential)
    W = [gru.recurrent_matrix(gate=gate) for gate in ("reset", "update", "candidate")]
    assert len({tuple(w.flatten().tolist()) for w in W}) == 3


@pytest.mark.parametrize("constrained", [(), "reset", ("reset",), ("update",), ("candidate", "update")])
def test_any_subset_of_gates_is_constrained(constrained: str | tuple[str, ...]) -> None:
    gru = el.GRU(3, 6, constrained=constrained)
    for gate in ("reset", "update", "candidate"):
        expected = ScaledCayley if gate in gru.constrained else Free
        assert isinstance(getattr(gru.recurrent_l0, gate), expected)


def test_state_dict_keys() -> None:
    assert set(el.RNN(3, 6, bidirectional=True).state_dict()) == {
        f"{name}_l0{suffix}{rest}"
        for suffix in ("", "_reverse")
        for name, rest in (("weight_ih", ""), ("bias", ""), ("recurrent", ".skew"), ("recurrent", ".signs"))
    }
    assert "recurrent_l0.candidate.skew" in el.GRU(3, 6).state_dict()
    assert {"bias_ih_l0", "bias_hh_l0"} <= set(el.RNN(3, 6, nonlinearity="relu").state_dict())
    assert "bias_ih_l0" in el.RNN(3, 6, input_bias=True).state_dict()


def test_generator_makes_draws_reproducible() -> None:
    made = [el.RNN(3, 6, recurrent="schur", generator=torch.Generator().manual_seed(7)) for _ in range(2)]
    first, second = (layer.state_dict() for layer in made)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["weight_ih_l0"], el.RNN(3, 6).weight_ih_l0)


def test_empty_batch_and_single_step() -> None:
    rnn = el.RNN(3, 5)
    out, h_n = rnn(torch.zeros(4, 0, 3))
    assert out.shape == (4, 0, 5)
    assert h_n.shape == (1, 0, 5)
    assert rnn(torch.zeros(1, 3))[0].shape == (1, 5)


def test_repr_shows_what_differs_from_the_defaults() -> None:
    assert repr(el.RNN(3, 5)).startswith("RNN(\n  3, 5\n")
    assert "num_layers=2, nonlinearity='relu', bidirectional=True" in repr(el.RNN(3, 4, 2, "relu", bidirectional=True))
    assert "reset='before', update='write'" in repr(el.GRU(3, 4, reset="before", update="write"))


def test_a_seed_means_the_same_in_every_dtype() -> None:
    for name in el.models.NAMES:
        made = [
            el.build(name, 3, 8, dtype=d, generator=torch.Generator().manual_seed(3))
            for d in (torch.float32, torch.float64)
        ]
        for (label, single), double in zip(made[0].state_dict().items(), made[1].state_dict().values(), strict=True):
            assert relative(single.to(torch.complex128), double.to(torch.complex128)) < 1e-6, (name, label)


@pytest.mark.parametrize("change", ["all of it", "a view"])
@pytest.mark.parametrize("path", ["reference", "kernel"])
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM", "complex"])
def test_an_output_may_be_changed_in_place(kind: str, path: str, change: str) -> None:
    """torch.nn allows it: the gradients are those of a change that makes a new tensor."""
    if path == "kernel" and kernel.library() is None:
        pytest.skip("the compiled kernel is not there")
    make = partial(el.build, "urnn-full") if kind == "complex" else getattr(el, kind)
    layer = make(3, 5, dtype=torch.float64)
    x = torch.randn(6, 4, 3, dtype=torch.float64, requires_grad=True)
    part = slice(None) if change == "all of it" else slice(2, 4)

    def gradients(in_place: bool) -> list[torch.Tensor]:
        out, h_n = layer(x)
        if in_place:
            out[part].mul_(3)
        else:
            scale = torch.ones(6, 1, 1, dtype=torch.float64)
            scale[part] = 3
            out = scale * out
        last = h_n[0] if kind == "LSTM" else h_n
        return list(torch.autograd.grad(out.abs().square().sum() + last.real.sum(), [x, *layer.parameters()]))

    with kernel.using("reference") if path == "reference" else contextlib.nullcontext():
        for ours, expected in zip(gradients(True), gradients(False), strict=True):
            assert relative(ours, expected) < 1e-13


def test_watching_an_output_keeps_nothing_alive() -> None:
    out, h_n = el.RNN(3, 5)(torch.randn(6, 4, 3))
    memory = weakref.ref(out.untyped_storage())
    gc.disable()  # so that a cycle of references would show
    try:
        del out, h_n
        assert memory() is None
    finally:
        gc.enable()
