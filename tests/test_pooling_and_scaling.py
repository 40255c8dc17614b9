"""What a Model reads of a whole sequence, and the scaling it carries: against the same written out."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils.rnn import pack_padded_sequence

import eigenloop as el
from eigenloop.quantization import size_report
from eigenloop.scaling import Scaling

MODELS = ("scornn", "ncgru", "lstm", "eurnn")


def written_out(net: el.Model, x: torch.Tensor, pool: str) -> torch.Tensor:
    """Read one sequence, (T, m), by the definition."""
    x = x if net.input_scaling is None else (x - net.input_scaling.mean) / net.input_scaling.scale
    states = net.rnn(x[:, None])[0][:, 0]
    states = states.real if states.is_complex() else states
    read = {"last": states[-1], "mean": states.sum(0) / len(states), "max": states.max(0).values}[pool]
    y = net.readout.weight @ read + net.readout.bias
    return y if net.output_scaling is None else y * net.output_scaling.scale + net.output_scaling.mean


def scaled(net: el.Model) -> el.Model:
    assert net.input_scaling is not None
    assert net.output_scaling is not None
    net.input_scaling.set_(torch.tensor([100.0, -3.0]), torch.tensor([20.0, 0.5]))
    net.output_scaling.set_(torch.tensor([7.0, 8.0, 9.0]), torch.tensor([2.0, 3.0, 4.0]))
    return net


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("pool", ["last", "mean", "max"])
@given(lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4), batch_first=st.booleans())
def test_every_sequence_is_read_to_its_end(model: str, pool: str, lengths: list[int], batch_first: bool) -> None:
    torch.manual_seed(0)
    layer = el.build(model, 2, 6, batch_first=batch_first)
    net = scaled(el.Model(layer, 3, pool=pool, scale_inputs=True, scale_outputs=True)).eval()
    x = torch.randn(max(lengths), len(lengths), 2) * 20 + 100
    alone = el.Model(el.build(model, 2, 6), 3, pool=pool, scale_inputs=True, scale_outputs=True).eval()
    alone.load_state_dict(net.state_dict())
    with torch.no_grad():
        y, _ = net(x.transpose(0, 1) if batch_first else x, lengths=torch.tensor(lengths))
        for column, length in enumerate(lengths):
            expected = written_out(alone, x[:length, column], pool)
            assert torch.allclose(y[column], expected, rtol=1e-4, atol=1e-3)
            single, _ = alone(x[:length, column])  # without a batch
            assert torch.allclose(single, expected, rtol=1e-4, atol=1e-3)
        packed = pack_padded_sequence(x, torch.tensor(lengths), enforce_sorted=False)
        assert torch.allclose(alone(packed)[0], y, rtol=1e-4, atol=1e-3)


def test_the_gradient_of_a_mean_reaches_every_step_and_no_padding() -> None:
    net = el.Model(el.build("ncgru", 2, 6), 3, pool="mean")
    x = torch.randn(5, 2, 2, requires_grad=True)
    net(x, lengths=[5, 2])[0].sum().backward()
    assert x.grad is not None
    assert (x.grad[:, 0].abs().sum(1) > 0).all()
    assert (x.grad[:2, 1].abs().sum(1) > 0).all()
    assert (x.grad[2:, 1] == 0).all()


def test_last_is_a_way_to_pool() -> None:
    layer = el.build("scornn", 2, 6)
    assert el.Model(layer, 3, last=True).pool == "last"
    assert el.Model(layer, 3, pool="last").last
    with pytest.raises(ValueError, match="exclude each other"):
        el.Model(layer, 3, last=True, pool="mean")
    with pytest.raises(ValueError, match="choose one of last, mean, max"):
        el.Model(layer, 3, pool="median")


def test_a_network_without_scaling_has_no_keys_for_it() -> None:
    """So that state_dicts from before load, and those of scaled networks are told apart."""
    plain = el.Model(el.build("scornn", 2, 6), 3)
    assert not [key for key in plain.state_dict() if "scaling" in key]
    both = el.Model(el.build("scornn", 2, 6), 3, scale_inputs=True, scale_outputs=True)
    kept = {key for key in both.state_dict() if "scaling" in key}
    assert kept == {f"{where}_scaling.{what}" for where in ("input", "output") for what in ("mean", "scale")}
    assert not [name for name, _ in both.named_parameters() if "scaling" in name]
    both.load_state_dict(plain.state_dict(), strict=False)
    x = torch.randn(4, 2, 2)
    assert torch.equal(both(x)[0], plain(x)[0])  # until it is set it changes nothing


def test_a_stream_scales_as_the_network_does() -> None:
    net = scaled(el.Model(el.build("ncgru", 2, 6), 3, scale_inputs=True, scale_outputs=True)).eval()
    x = torch.randn(9, 2, 2) * 20 + 100
    stream = el.Stream(net, batch_size=2)
    steps = torch.stack([stream(step) for step in x])
    with torch.no_grad():
        assert torch.allclose(steps, net(x)[0], rtol=1e-4, atol=1e-4)


def test_scaling_counts_in_bytes_and_is_checked() -> None:
    plain = el.Model(el.build("scornn", 2, 6), 3)
    both = el.Model(el.build("scornn", 2, 6), 3, scale_inputs=True, scale_outputs=True)
    assert size_report(both).bytes - size_report(plain).bytes == 2 * (2 + 3) * 4
    with pytest.raises(ValueError, match="above zero"):
        Scaling(2).set_(torch.zeros(2), torch.tensor([1.0, 0.0]))
    with pytest.raises(ValueError, match="tokens have none"):
        el.Model(el.build("scornn", 2, 6), 3, embedding=5, scale_inputs=True)
