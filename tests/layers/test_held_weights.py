"""Inside el.cached a layer keeps all that its cells compute with: never out of date, and nothing is left behind."""

import copy
import pickle
from functools import partial

import pytest
import torch

import eigenloop as el
from eigenloop.quantization import Quantizer, quantize_
from eigenloop.recurrence import kernel, kernel_calls

LAYERS = {
    "rnn": partial(el.RNN, 3, 8),
    "tanh": partial(el.RNN, 3, 8, nonlinearity="tanh"),
    "gru": partial(el.GRU, 3, 8),
    "ncgru": partial(el.build, "ncgru", 3, 8),
    "lstm": partial(el.LSTM, 3, 8),
    "modrelu lstm": partial(el.LSTM, 3, 8, cell="modrelu", constrained=("cell",)),
    "fastgrnn": partial(el.build, "fastgrnn", 3, 8, bits=4),
    "complex": partial(el.build, "eurnn", 3, 8),
    "both directions": partial(el.GRU, 3, 8, 2, bidirectional=True),
    "4 bits": partial(el.RNN, 3, 8, 2, bits=4),
    "float64": partial(el.LSTM, 3, 8, dtype=torch.float64),
    "bfloat16": partial(el.LSTM, 3, 8, dtype=torch.bfloat16),
}


@pytest.fixture(params=LAYERS)
def layer(request: pytest.FixtureRequest) -> el.RNN | el.GRU | el.LSTM | el.FastGRNN:
    return LAYERS[request.param]().eval()


def inputs(layer: torch.nn.Module) -> torch.Tensor:
    return torch.randn(4, 2, 3, dtype=layer.weight_ih_l0.dtype).to(layer.state_dtype)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_the_same_numbers(layer: el.RNN, mode: type) -> None:
    x = inputs(layer)
    with mode():
        wanted, state = layer(x)
        with el.cached(layer):
            for _ in range(3):
                out, carried = layer(x)
                assert torch.equal(out, wanted)
    assert layer._held is None
    pairs = zip(carried, state, strict=True) if isinstance(state, tuple) else [(carried, state)]
    assert all(torch.equal(mine, other) for mine, other in pairs)


def test_every_parameter_is_watched(layer: el.RNN) -> None:
    x = inputs(layer)
    with torch.no_grad(), el.cached(layer):
        for name, parameter in layer.named_parameters():
            before = layer(x)[0]
            parameter.mul_(-0.5).add_(0.3)
            inside = layer(x)[0]
            assert torch.equal(inside, copy.deepcopy(layer)(x)[0]), name
            assert not torch.equal(inside, before), name


def test_a_parameter_and_a_matrix_may_be_replaced() -> None:
    rnn, x = el.RNN(3, 8).eval(), torch.randn(4, 2, 3)
    with torch.no_grad(), el.cached(rnn):
        rnn(x)
        rnn.weight_ih_l0 = torch.nn.Parameter(torch.ones(8, 3))
        first = rnn(x)[0]
        assert torch.equal(first, copy.deepcopy(rnn)(x)[0])
        rnn.recurrent_l0 = el.matrices.Free(8, init="identity")
        second = rnn(x)[0]
        assert torch.equal(second, copy.deepcopy(rnn)(x)[0])
        assert not torch.equal(first, second)


def test_the_quantizer_may_change() -> None:
    rnn, x = el.RNN(3, 8).eval(), torch.randn(4, 2, 3)
    found = []
    with torch.no_grad(), el.cached(rnn):
        for bits in (None, 2, 4, Quantizer(2, post_training=True)):
            quantize_(rnn, bits)
            found.append(rnn(x)[0])
            assert torch.equal(found[-1], copy.deepcopy(rnn)(x)[0])
        rnn.train()  # where the last of them does nothing
        found.append(rnn(x)[0])
    assert torch.equal(found[0], found[4])
    assert torch.equal(found[1], found[3])
    assert not torch.equal(found[0], found[1])
    assert not torch.equal(found[1], found[2])


def test_what_was_built_in_inference_mode_stays_there() -> None:
    gru, x = el.GRU(3, 8).eval(), torch.randn(4, 2, 3)
    with el.cached(gru):
        with torch.inference_mode():
            wanted = gru(x)[0].clone()
        with torch.no_grad():
            assert torch.equal(gru(x)[0], wanted)
        leaf = x.clone().requires_grad_()
        gru(leaf)[0].sum().backward()
        assert leaf.grad is not None
        assert gru.bias_hh_l0.grad is not None


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("kind", [el.RNN, el.FastGRNN])
def test_transforms_keep_nothing(kind: type) -> None:
    rnn, x = kind(3, 8).eval(), torch.randn(5, 4, 2, 3)
    weights = torch.randn(5, 8, 3)

    def run(U: torch.Tensor, one: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(rnn, {"weight_ih_l0": U}, (one,))[0]

    with torch.no_grad(), el.cached(rnn):
        rnn(x[0])
        found = torch.vmap(run)(weights, x)
        assert torch.allclose(found, torch.stack([run(U, one) for U, one in zip(weights, x, strict=True)]), atol=1e-5)
        assert torch.equal(rnn(x[0])[0], copy.deepcopy(rnn)(x[0])[0])


def test_copies_hold_nothing() -> None:
    lstm, x = el.LSTM(3, 8).eval(), torch.randn(4, 2, 3)
    with torch.no_grad(), el.cached(lstm):
        wanted = lstm(x)[0]
        assert lstm._held is not None
        for twin in (copy.deepcopy(lstm), pickle.loads(pickle.dumps(lstm))):
            assert not twin._holding
            assert twin._held is None
            assert torch.equal(twin(x)[0], wanted)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_single_steps_that_are_not_alike(layer: el.RNN, mode: type) -> None:
    """One step after another, each of another kind, beside a copy that keeps nothing."""
    x = inputs(layer)
    twin = copy.deepcopy(layer)
    wide = torch.stack((x, x), dim=-1)[..., 0]  # the same numbers with gaps between them
    with mode(), el.cached(layer):
        state = plain = None
        for one in (x[:1], x[1:2], wide[2:3], x[3:4], x[:2], x[:1], x[1:2].flip(1), x[2:3]):
            out, state = layer(one, state)
            wanted, plain = twin(one, plain)
            assert torch.equal(out, wanted)
        for one in (x[:1, :1], x[1:2, :1], x[:1, 0], x[:1, 1]):  # other batches, and none
            assert torch.equal(layer(one)[0], twin(one)[0])
            assert torch.equal(layer(one)[0], twin(one)[0])
        for lengths in ([1, 1], None):
            assert torch.equal(layer(x[:1], lengths=lengths)[0], twin(x[:1], lengths=lengths)[0])


def test_outputs_of_single_steps_are_memory_of_their_own() -> None:
    lstm, x = el.LSTM(3, 8).eval(), torch.randn(3, 2, 3)
    with torch.no_grad(), el.cached(lstm):
        given = (torch.randn(1, 2, 8), torch.randn(1, 2, 8))
        kept = [part.clone() for part in given]
        for one in x:
            out, state = lstm(one[None], given)
        wanted, (h, c) = out.clone(), (part.clone() for part in state)
        out.zero_()
        assert torch.equal(state[0], h)
        state[0].zero_()
        assert torch.equal(state[1], c)
        assert torch.equal(lstm(x[2:], given)[0], wanted)
        assert all(torch.equal(part, old) for part, old in zip(given, kept, strict=True))


def test_single_steps_follow_the_choice_of_the_kernel() -> None:
    if kernel.library() is None:
        pytest.skip("the compiled kernel is not there")
    gru, x = el.GRU(3, 8).eval(), torch.randn(1, 2, 3)
    with torch.no_grad(), el.cached(gru):
        wanted = gru(x)[0]
        gru(x)
        with kernel.using("reference"), kernel_calls.recording() as calls:
            assert torch.allclose(gru(x)[0], wanted, atol=1e-6)
            assert calls == []
        with kernel.using("portable"):
            assert torch.allclose(gru(x)[0], wanted, atol=1e-6)
        assert torch.equal(gru(x)[0], wanted)


def test_bad_input_is_refused_after_good_steps() -> None:
    rnn, x, h = el.RNN(3, 8).eval(), torch.randn(1, 2, 3), torch.zeros(1, 2, 8)
    with torch.no_grad(), el.cached(rnn):
        for _ in range(3):
            rnn(x, h)
        with pytest.raises(RuntimeError, match="last dimension"):
            rnn(torch.randn(1, 2, 4), h)
        with pytest.raises(RuntimeError, match=r"must have shape \(1, 2, 8\)"):
            rnn(x, torch.zeros(1, 3, 8))
        with pytest.raises(RuntimeError, match="has 3 dimensions"):
            rnn(x, torch.zeros(2, 8))
        with pytest.raises(ValueError, match="convert it with"):
            rnn(x.double(), h)
        with pytest.raises(ValueError, match="convert it with"):
            rnn(x, h.double())
        with pytest.raises(TypeError, match="one tensor"):
            rnn(x, (h, h))
