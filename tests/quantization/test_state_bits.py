"""Layers that round their state: what is on which grid, ranges from data and learned, and every way to run one."""

import copy
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import eigenloop as el
from eigenloop.quantization import StateQuantizer, calibrate_, size_report
from eigenloop.quantization.calibration import bounded_by
from eigenloop.recurrence import kernel

LAYERS: dict[str, Any] = {
    "relu": lambda **o: el.RNN(3, 8, nonlinearity="relu", **o),
    "tanh": lambda **o: el.RNN(3, 8, nonlinearity="tanh", **o),
    "modrelu": lambda **o: el.RNN(3, 8, bits=4, **o),
    "gru": lambda **o: el.GRU(3, 8, **o),
    "ncgru": lambda **o: el.GRU(3, 8, candidate="modrelu", reset="before", update="write", **o),
    "lstm": lambda **o: el.LSTM(3, 8, **o),
    "fastgrnn": lambda **o: el.FastGRNN(3, 8, **o),
}


def _made(name: str, seed: int = 0, **options: Any) -> Any:
    torch.manual_seed(seed)
    return LAYERS[name](**options)


def _on_grid(values: Tensor, step: Tensor | float) -> bool:
    codes = values.double() / float(step)
    return bool(((codes - codes.round()).abs() < 1e-3).all())


@pytest.mark.parametrize("name", LAYERS)
def test_states_are_on_their_grid(name: str) -> None:
    layer = _made(name, state_bits=8)
    out, final = layer(torch.randn(11, 4, 3))
    if name == "lstm":
        assert _on_grid(out, 2.0**-7)
        assert _on_grid(final[1], layer.state_step())
    else:
        assert _on_grid(out, layer.state_step())
    if name in ("tanh", "gru"):
        assert float(layer.state_step()) == 2.0**-7
    assert out.unique().numel() > 10


@pytest.mark.parametrize("name", LAYERS)
def test_off_there_is_nothing_new(name: str) -> None:
    """The state_dict of before loads, and rounding that is taken off again leaves the layer as it was."""
    layer = _made(name)
    assert not any("range" in key for key in layer.state_dict())
    rounding = _made(name, state_bits=8)
    assert any("range" in key for key in rounding.state_dict())
    rounding.round_state_(None)
    rounding.load_state_dict(layer.state_dict())
    x = torch.randn(5, 2, 3)
    assert torch.equal(rounding(x)[0], layer(x)[0])


def test_learned_ranges_are_parameters_and_fixed_ones_buffers() -> None:
    learned, fixed = (el.LSTM(3, 8, state_bits=StateQuantizer(8, learned=on)) for on in (True, False))
    names = {"input_range", "cell_range_l0"}
    assert names <= {name for name, _ in learned.named_parameters()}
    assert names == {name for name, _ in fixed.named_buffers()}
    x = torch.randn(6, 2, 3)
    learned(x)[0].square().sum().backward()
    assert all(float(learned.get_parameter(name).grad.abs()) > 0 for name in names)


def test_gradient_of_a_range_is_that_of_lsq() -> None:
    """One step from zero with U = I: h = q(relu(q(x))), so dh/dR is known entry by entry."""
    rnn = el.RNN(4, 4, nonlinearity="relu", bias=False, input_weight="identity", recurrent="free")
    rnn = rnn.double()
    rnn.round_state_(StateQuantizer(6, input_range=64.0, state_range=1.0))
    x = torch.tensor([[[0.36, 0.0, 7.0, -2.0]]], dtype=torch.float64)
    x = (x * 2).round() / 2  # on the input's grid, whose step is 2
    rnn.input_range.data.fill_(16.0)  # step 1/2
    rnn(x)[0].sum().backward()
    step = 1 / 32
    codes = torch.tensor([0.5, 0.0, 7.0, 0.0], dtype=torch.float64) / step
    slopes = torch.tensor([16 - codes[0], 0.0, 31.0, 0.0], dtype=torch.float64)
    assert float(rnn.state_range_l0.grad) == pytest.approx(float(slopes.sum()) / 32 / (4 * 32) ** 0.5)


@pytest.mark.parametrize("name", ["relu", "ncgru", "lstm"])
@pytest.mark.parametrize("share", [1.0, 0.9])
def test_calibration_takes_the_ranges_of_the_data(name: str, share: float) -> None:
    layer, x = _made(name), 5 * torch.randn(30, 6, 3)
    with torch.no_grad():
        states = []
        carried = None
        for step in x:
            _, carried = layer(step[None], carried)
            states.append((carried[1] if name == "lstm" else carried).clone())
    calibrate_(layer, x, state_bits=StateQuantizer(8, learned=False), share=share)
    state = layer.cell_range_l0 if name == "lstm" else layer.state_range_l0
    for found, values in ((layer.input_range, x), (state, torch.stack(states))):
        assert float(found) == pytest.approx(bounded_by(values, share) * 128 / 127, rel=1e-4)
    assert layer.observed is None
    assert layer.training


def test_calibration_with_lengths_both_directions_and_a_model() -> None:
    net = el.Model(el.RNN(3, 8, num_layers=2, nonlinearity="relu", bidirectional=True, state_bits=8), 2)
    x = torch.randn(9, 4, 3)
    before = net.rnn.state_range_l1_reverse.item()
    calibrate_(net, x, lengths=torch.tensor([9, 3, 5, 1]))
    assert net.rnn.state_range_l1_reverse.item() != before
    out, _ = net(x)
    assert bool(out.isfinite().all())


@pytest.mark.parametrize("name", ["relu", "ncgru", "lstm", "fastgrnn"])
@pytest.mark.parametrize("packed", [False, True])
def test_padding_is_no_value_of_the_data(name: str, packed: bool) -> None:
    """A share of the values is the same, whether the sequences come in one padded batch or one by one."""
    lengths = [9, 2, 5, 1]
    sequences = [5 * torch.randn(length, 3) for length in lengths]
    batch = nn.utils.rnn.pad_sequence(sequences)
    quantizer = StateQuantizer(8, learned=False)
    layer = _made(name, bidirectional=True)
    if packed:
        together = nn.utils.rnn.pack_padded_sequence(batch, torch.tensor(lengths), enforce_sorted=False)
        calibrate_(layer, together, state_bits=quantizer, share=0.6)
    else:
        calibrate_(layer, batch, lengths=lengths, state_bits=quantizer, share=0.6)
    alone = _made(name, bidirectional=True, state_bits=quantizer)
    seen: dict[str, list[Tensor]] = {}
    for sequence in sequences:
        alone.observed = {}
        with torch.no_grad():
            alone(sequence)
        for range_name, values in alone.observed.items():
            seen.setdefault(range_name, []).extend(one.flatten() for one in values)
    assert len(seen) == 3
    for range_name, values in seen.items():
        assert float(getattr(layer, range_name)) == pytest.approx(bounded_by(torch.cat(values), 0.6) * 128 / 127)


@pytest.mark.parametrize("power_of_two", [False, True])
def test_power_of_two(power_of_two: bool) -> None:
    rnn = el.RNN(3, 8, state_bits=StateQuantizer(8, power_of_two=power_of_two, state_range=3.0))
    assert float(rnn.state_step()) == (4.0 if power_of_two else 3.0) / 128


@pytest.mark.parametrize("name", LAYERS)
def test_every_way_to_run_it_agrees(name: str) -> None:
    """Stream, single steps inside `cached`, a packed sequence, two calls with the state carried, a copy."""
    layer = _made(name, state_bits=8).eval()
    x = torch.randn(8, 3, 3)
    with torch.no_grad():
        wanted, _ = layer(x)
        stream = el.Stream(layer, batch_size=3)
        torch.testing.assert_close(torch.stack([stream(step) for step in x]), wanted)
        with el.cached(layer):
            carried, steps = None, []
            for step in x:
                out, carried = layer(step[None], carried)
                steps.append(out)
        torch.testing.assert_close(torch.cat(steps), wanted)
        first, carried = layer(x[:3])
        second, _ = layer(x[3:], carried)
        torch.testing.assert_close(torch.cat((first, second)), wanted)
        lengths = torch.tensor([8, 5, 2])
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths)
        padded, _ = nn.utils.rnn.pad_packed_sequence(layer(packed)[0])
        torch.testing.assert_close(padded, layer(x, lengths=lengths)[0])
        torch.testing.assert_close(copy.deepcopy(layer)(x)[0], wanted)


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch's compiler does so itself
def test_export_and_compiled_graph() -> None:
    rnn = el.RNN(3, 8, nonlinearity="relu", state_bits=8).eval()
    x = torch.randn(5, 2, 3)
    exported = torch.export.export(rnn, (x,)).module()
    torch.testing.assert_close(exported(x)[0], rnn(x)[0])
    compiled = torch.compile(rnn.train(), fullgraph=True, backend="aot_eager")
    ours = torch.autograd.grad(compiled(x)[0].square().sum(), list(rnn.parameters()))
    theirs = torch.autograd.grad(rnn(x)[0].square().sum(), list(rnn.parameters()))
    torch.testing.assert_close(ours, theirs)


def test_size_report_has_the_states() -> None:
    report = size_report(el.LSTM(3, 16, bits=4, state_bits=8))
    assert report.ram_bytes == 32
    assert "in memory, 32 bytes" in str(report)
    assert not size_report(el.LSTM(3, 16, bits=4)).ram
    assert report.bytes == size_report(el.LSTM(3, 16, bits=4)).bytes


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: el.RNN(3, 8, state_bits=5), "6 to 16"),
        (lambda: el.RNN(3, 8, state_bits=17), "6 to 16"),
        (lambda: el.build("eurnn", 3, 8, state_bits=8), "complex"),
        (lambda: StateQuantizer(8, state_range=-1.0), "state_range"),
        (lambda: calibrate_(el.RNN(3, 8), torch.zeros(2, 1, 3)), "state_bits"),
        (lambda: calibrate_(nn.Linear(3, 3), torch.zeros(2, 3)), "no recurrent layer"),
        (lambda: el.RNN(3, 8, nonlinearity="tanh", state_bits=8).torch_state_dict(), "round"),
    ],
)
def test_refusals(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("name", ["relu", "ncgru", "lstm"])
def test_training_with_eight_bits_learns_what_floating_point_learns(name: str) -> None:
    """Which of three signs is held for ten steps; a second of training."""
    losses = {}
    for bits in (None, 8):
        net = el.Model(_made(name, state_bits=bits), 2, last=True)
        generator = torch.Generator().manual_seed(1)
        x = torch.randn(10, 128, 3, generator=generator) * 0.1
        y = torch.randint(0, 2, (128,), generator=generator)
        x[0, :, 0] = 2.0 * y - 1
        if bits is not None:
            calibrate_(net, x)
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
        for _ in range(120):
            loss = nn.functional.cross_entropy(net(x)[0], y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses[bits] = float(loss.detach())
    assert losses[None] < 0.1
    assert losses[8] < 0.15


def _everything(layer: Any, x: Tensor, lengths: Tensor | None) -> dict[str, Tensor]:
    """The output, what is carried in the end, and the gradients of input, initial state, weights and ranges."""
    generator = torch.Generator().manual_seed(5)
    sizes = (layer.num_layers * (2 if layer.bidirectional else 1), x.shape[1], layer.hidden_size)
    starts = [torch.randn(sizes, generator=generator, dtype=x.dtype).requires_grad_() for _ in layer.CARRIED]
    x = x.clone().requires_grad_()
    out, final = layer(x, starts[0] if len(starts) == 1 else tuple(starts), lengths=lengths)
    values = {"out": out, **dict(zip(("h_n", "c_n"), final if isinstance(final, tuple) else (final,), strict=False))}
    loss = out.new_zeros(())
    for value in values.values():
        loss = loss + (value * torch.randn(value.shape, generator=generator, dtype=x.dtype)).sum()
    wanted = {"x": x, **{f"start {i}": one for i, one in enumerate(starts)}, **dict(layer.named_parameters())}
    grads = torch.autograd.grad(loss, list(wanted.values()), allow_unused=True)
    return {
        **{name: value.detach() for name, value in values.items()},
        **{f"d {name}": g for name, g in zip(wanted, grads, strict=True) if g is not None},
    }


@pytest.mark.skipif(kernel.library() is None, reason="no compiled kernel here")
@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(sorted(LAYERS)),
    T=st.integers(1, 14),
    B=st.integers(1, 5),
    bits=st.integers(6, 16),
    power_of_two=st.booleans(),
    lengths=st.booleans(),
    layers=st.integers(1, 2),
    bidirectional=st.booleans(),
    size=st.floats(0.5, 8.0),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_kernel_is_the_reference_in_a_layer(
    name: str,
    T: int,
    B: int,
    bits: int,
    power_of_two: bool,
    lengths: bool,
    layers: int,
    bidirectional: bool,
    size: float,
    seed: int,
    data: st.DataObject,
) -> None:
    """Every instruction set, with inputs inside and outside of their range; ranges are learned."""
    quantizer = StateQuantizer(bits, power_of_two=power_of_two, input_range=1.3, state_range=1.7)
    layer = _made(name, seed, num_layers=layers, bidirectional=bidirectional, state_bits=quantizer, dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    x = size * torch.randn(T, B, 3, dtype=torch.float64, generator=generator)
    valid = torch.randint(1, T + 1, (B,), generator=generator) if lengths else None
    with kernel.using("reference"):
        wanted = _everything(layer, x, valid)
    assert "d input_range" in wanted
    best = kernel.VARIANTS.index(kernel.library().best)
    with kernel.using(data.draw(st.sampled_from(kernel.VARIANTS[: best + 1]))):
        given_ = _everything(layer, x, valid)
    assert given_.keys() == wanted.keys()
    for key, value in given_.items():
        torch.testing.assert_close(value, wanted[key], rtol=1e-8, atol=1e-9, msg=lambda text, key=key: f"{key}: {text}")


@pytest.mark.parametrize("name", ["relu", "gru", "lstm", "fastgrnn"])
def test_gradient_of_the_input_range_alone(name: str) -> None:
    """Weights that stand still and an input without gradient leave that of the range as it was."""
    layer, x = _made(name, state_bits=8, dtype=torch.float64), 3 * torch.randn(9, 4, 3, dtype=torch.float64)
    layer(x)[0].square().sum().backward()
    whole = layer.input_range.grad.clone()
    for parameter in layer.parameters():
        parameter.requires_grad_(False)
    layer.input_range.requires_grad_().grad = None
    layer(x)[0].square().sum().backward()
    torch.testing.assert_close(layer.input_range.grad, whole)


@pytest.mark.parametrize("name", ["relu", "gru", "lstm", "fastgrnn"])
def test_padding_never_reaches_a_range(name: str) -> None:
    gradients = []
    for padding in (0.0, float("nan")):
        layer, lengths = _made(name, state_bits=8), torch.tensor([6, 2, 4])
        x = torch.randn(6, 3, 3, generator=torch.Generator().manual_seed(2))
        x[torch.arange(6)[:, None] >= lengths] = padding
        for kind in ("reference", *([] if kernel.library() is None else [kernel.library().best])):
            with kernel.using(kind):
                layer.zero_grad()
                layer(x, lengths=lengths)[0].square().sum().backward()
            gradients.append(float(layer.input_range.grad))
    assert gradients == pytest.approx([gradients[0]] * len(gradients), rel=1e-4)


def test_a_stream_without_an_input_weight_rounds_every_input() -> None:
    rnn = el.RNN(4, 4, nonlinearity="relu", input_weight="identity", state_bits=8).eval()
    x, stream = torch.randn(5, 2, 4), el.Stream(rnn, batch_size=2)
    with torch.no_grad():
        torch.testing.assert_close(torch.stack([stream(step) for step in x]), rnn(x)[0])
