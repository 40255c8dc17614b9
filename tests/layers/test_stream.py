"""el.Stream against the layer run over the whole sequence."""

import copy
import pickle

import pytest
import torch
from comparing import relative

import eigenloop as el
from eigenloop.recurrence import kernel

LAYERS = {
    "rnn": lambda **k: el.RNN(3, 17, **k),
    "three layers": lambda **k: el.RNN(3, (5, 8, 6), nonlinearity="tanh", **k),
    "two layers": lambda **k: el.GRU(3, 9, 2, dropout=0.5, **k),
    "ncgru": lambda **k: el.build("ncgru", 3, 11, **k),
    "trained start": lambda **k: el.RNN(3, 7, train_initial_state=True, **k),
    "lstm": lambda **k: el.LSTM(3, 9, **k),
    "two lstms": lambda **k: el.LSTM(3, (9, 4), train_initial_state=True, **k),
    "fastgrnn": lambda **k: el.FastGRNN(3, (9, 4), train_initial_state=True, **k),
    "complex": lambda **k: el.build("eurnn", 3, 6, **k),
}


def tensors_of(state) -> list[torch.Tensor]:
    return [state] if isinstance(state, torch.Tensor) else [t for part in state for t in tensors_of(part)]


@pytest.mark.parametrize("path", ["kernel", "reference"])
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("batch", [1, 4])
def test_a_stream_equals_one_call(name: str, batch: int, path: str) -> None:
    library = kernel.library()
    if path == "kernel" and library is None:
        pytest.skip("the compiled kernel is not there")
    layer = LAYERS[name]()
    if name == "trained start":
        torch.nn.init.normal_(layer.h0_l0)
    x = torch.randn(30, batch, 3)
    expected, last = layer.eval()(x)
    with kernel.using("reference" if path == "reference" or library is None else library.best):
        stream = el.Stream(layer.train(), batch_size=batch)
        for again in range(2):
            found = torch.stack([stream(step) for step in x])
            assert relative(found, expected) < 1e-5, again
            for ours, theirs in zip(tensors_of(stream.state), tensors_of(last), strict=True):
                assert relative(ours, theirs) < 1e-5
            stream.reset()


def test_state_can_be_set_and_outputs_are_ours_to_keep() -> None:
    rnn = el.RNN(3, 8).double()
    x, h = torch.randn(5, 2, 3, dtype=torch.float64), torch.randn(1, 2, 8, dtype=torch.float64)
    stream = el.Stream(rnn, batch_size=2)
    stream.reset(h)
    first = stream(x[0])
    kept, state = first.clone(), stream.state
    stream(x[1])
    assert torch.equal(first, kept)
    assert torch.equal(state[0], kept)
    assert relative(kept, rnn(x[:1], h)[0][0]) < 1e-12


def test_the_weights_are_those_of_the_start() -> None:
    rnn, x = el.RNN(3, 8), torch.randn(2, 1, 3)
    expected = rnn(x)[0]
    stream = el.Stream(rnn)
    with torch.no_grad():
        for parameter in rnn.parameters():
            parameter.add_(1)
    assert relative(torch.stack([stream(step) for step in x]), expected) < 1e-6


def test_inside_inference_mode_and_with_gradients() -> None:
    rnn, x = el.RNN(3, 8), torch.randn(3, 1, 3)
    with torch.inference_mode():
        stream = el.Stream(rnn)
        inside = torch.stack([stream(step) for step in x])
    stream = el.Stream(rnn)
    outside = torch.stack([stream(step) for step in x.requires_grad_()])
    assert not outside.requires_grad
    assert torch.equal(inside, outside)


@pytest.mark.parametrize("path", ["kernel", "reference"])
@pytest.mark.parametrize("name", LAYERS)
def test_it_may_leave_and_enter_inference_mode(name: str, path: str) -> None:
    """Also where the network itself was made inside of it."""
    library = kernel.library()
    if path == "kernel" and library is None:
        pytest.skip("the compiled kernel is not there")
    x = torch.randn(4, 2, 3)
    with kernel.using("reference" if path == "reference" or library is None else library.best):
        with torch.inference_mode():
            net = el.Model(LAYERS[name](), 2, pool="mean").eval()
            stream = el.Stream(net, batch_size=2)
            found = [stream(x[0])]
        copies = copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))
        found.append(stream(x[1]))
        assert all(torch.equal(one(x[1]), found[1]) for one in copies)
        with torch.inference_mode():
            found.append(stream(x[2]))
        found.append(stream(x[3]))
        with torch.inference_mode():
            expected = torch.stack([net(x[: t + 1])[0] for t in range(4)])
            stream.reset()
        assert relative(torch.stack(found), expected) < 1e-5
        stream(x[0])


@pytest.mark.parametrize("name", ["rnn", "two lstms", "complex"])
def test_a_copy_goes_on_by_itself(name: str) -> None:
    stream = el.Stream(LAYERS[name](), batch_size=2)
    first, second = torch.randn(2, 2, 3)
    stream(first)
    copies = copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))
    expected = stream(second)
    for one in copies:
        assert torch.equal(one(second), expected)
    assert not torch.equal(copies[0](first), expected)
    for ours, theirs in zip(tensors_of(copies[1].state), tensors_of(stream.state), strict=True):
        assert torch.equal(ours, theirs)


def test_refusals() -> None:
    other = torch.nn.Module()
    other.rnn = el.RNN(3, 4)
    with pytest.raises(TypeError, match="got Module"):
        el.Stream(other)
    with pytest.raises(TypeError, match=r"el\.LSTM or el\.Model, got GRU"):
        el.Stream(torch.nn.GRU(3, 4))
    with pytest.raises(ValueError, match="whole sequence"):
        el.Stream(el.RNN(3, 4, bidirectional=True))
    with pytest.raises(ValueError, match="at least 1"):
        el.Stream(el.RNN(3, 4), batch_size=0)
    stream = el.Stream(el.RNN(3, 4))
    with pytest.raises(RuntimeError, match=r"shape \(1, 3\), got \(3,\)"):
        stream(torch.randn(3))
    with pytest.raises(RuntimeError, match="initial state must have shape"):
        stream.reset(torch.zeros(1, 2, 4))
    model = el.Stream(el.Model(el.RNN(3, 4), 2, scale_inputs=True))
    for one, dtype in ((stream, torch.float64), (stream, torch.float16), (stream, torch.int64), (model, torch.float64)):
        with pytest.raises(ValueError, match=rf"input of this RNN is {dtype} and its weights are torch.float32"):
            one(torch.ones(1, 3, dtype=dtype))


@pytest.mark.parametrize("name", ["lstm", "scornn", "urnn-full"])
def test_a_model_reads_out_every_step(name: str) -> None:
    net = el.Model(el.build(name, 3, 8), 5, readout_bits=4).eval()
    x = torch.randn(12, 2, 3)
    stream = el.Stream(net, batch_size=2)
    assert relative(torch.stack([stream(step) for step in x]), net(x)[0]) < 1e-5
    last = el.Model(net.rnn, 5, last=True).eval()
    stream = el.Stream(last, batch_size=2)
    assert relative([stream(step) for step in x][-1], last(x)[0]) < 1e-5


@pytest.mark.parametrize("path", ["kernel", "reference"])
@pytest.mark.parametrize("pool", ["last", "mean", "max"])
@pytest.mark.parametrize("name", ["lstm", "scornn", "urnn-full"])
def test_a_model_pools_all_steps_since_the_reset(name: str, pool: str, path: str) -> None:
    library = kernel.library()
    if path == "kernel" and library is None:
        pytest.skip("the compiled kernel is not there")
    net = el.Model(el.build(name, 3, 8).double(), 5, pool=pool, scale_outputs=True).eval()
    x = torch.randn(9, 2, 3, dtype=torch.float64)
    with kernel.using("reference" if path == "reference" or library is None else library.best):
        stream = el.Stream(net, batch_size=2)
        for t, step in enumerate(x, start=1):
            if t == 4:
                for other in (copy.copy(stream), copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))):
                    assert relative(other(step), net(x[:t])[0]) < 1e-12
            assert relative(stream(step), net(x[:t])[0]) < 1e-12
        hx = stream.state
        stream.reset(hx)
        for t, step in enumerate(x, start=1):
            assert relative(stream(step), net(x[:t], hx)[0]) < 1e-12


def test_a_model_with_an_embedding_takes_tokens() -> None:
    net = el.Model(el.LSTM(6, 6), 11, embedding=11, tied=True).eval()
    tokens = torch.randint(11, (9, 2))
    stream = el.Stream(net, batch_size=2)
    assert relative(torch.stack([stream(step) for step in tokens]), net(tokens)[0]) < 1e-5
    with pytest.raises(RuntimeError, match=r"shape \(2,\), got \(2, 6\)"):
        stream(torch.randn(2, 6))
