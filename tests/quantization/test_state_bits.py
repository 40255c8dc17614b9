"""Layers that round their state: what is on which grid, ranges from data and learned, and every way to run one."""

import copy
from typing import Any

import pytest
import torch
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


@pytest.mark.skipif(kernel.library() is None, reason="no compiled kernel here")
@pytest.mark.parametrize("name", LAYERS)
def test_kernel_and_reference_agree_in_a_layer(name: str) -> None:
    layer = _made(name, state_bits=8, dtype=torch.float64)
    x = torch.randn(12, 4, 3, dtype=torch.float64)
    gradients = []
    for kind in (kernel.library().best, "reference"):
        with kernel.using(kind):
            layer.zero_grad()
            layer(x, lengths=torch.tensor([12, 7, 1, 3]))[0].square().sum().backward()
        gradients.append([p.grad.clone() for p in layer.parameters() if p.grad is not None])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-9)
