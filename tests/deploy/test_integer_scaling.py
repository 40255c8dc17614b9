"""What a Model carries besides its layer: pooling over time, scaling of inputs and outputs."""

import numpy as np
import pytest
import torch

import eigenloop as el


@pytest.mark.parametrize("pool", [None, "last", "mean", "max"])
@pytest.mark.parametrize("lengths", [None, [9, 3, 1, 6]])
def test_a_model_brings_its_pooling_and_scaling(pool: str | None, lengths: list[int] | None) -> None:
    generator = torch.Generator().manual_seed(0)
    rnn = el.RNN(3, 12, nonlinearity="relu", recurrent="bjorck", bits=6, generator=generator)
    net = el.Model(rnn, 2, pool=pool, scale_inputs=True, scale_outputs=True, readout_bits=10).eval()
    mean, scale = torch.tensor([100.0, -3.0, 0.5]), torch.tensor([50.0, 2.0, 0.01])
    assert net.input_scaling is not None
    assert net.output_scaling is not None
    net.input_scaling.set_(mean, scale)
    net.output_scaling.set_(torch.tensor([10.0, -20.0]), torch.tensor([5.0, 100.0]))
    X = mean + scale * torch.randn(9, 4, 3, generator=generator)
    whole = el.deploy.integer(net, calibration=X, lengths=lengths, state_bits=16)
    with torch.no_grad():
        expected = net(X, lengths=lengths)[0].double().numpy()
    got = whole.predict(X, lengths=lengths)
    if pool is None and lengths is not None:  # beyond the end of a sequence there is nothing to compare
        for i, length in enumerate(lengths):
            got[length:, i] = expected[length:, i] = 0
    np.testing.assert_allclose((got - expected) / np.array([5.0, 100.0]), 0, atol=2e-3)
    memory = {part.name: part.bytes for part in whole.report().size.ram}
    assert memory.get("sum of states") == (48 if pool == "mean" else None)
    assert memory.get("largest states") == (24 if pool == "max" else None)


def test_a_mean_that_would_overflow_is_refused() -> None:
    """The largest state at every step: the sum of states reaches its bound, and the step after that is refused."""
    rnn = el.RNN(1, 2, nonlinearity="relu", recurrent="free", bias=False, bits=8)
    with torch.no_grad():
        rnn.recurrent_l0.weight.zero_()
        rnn.weight_ih_l0.fill_(1.0)
    whole = el.deploy.integer(el.Model(rnn, 2), calibration=torch.ones(2, 1, 1), state_bits=16, pool="mean")
    most = whole.readout.most_steps
    assert most * whole.readout.state.largest <= 2**31 - 1 < (most + 1) * whole.readout.state.largest
    state = whole.initial_state(1)
    codes = whole.inputs.codes(np.array([[1.0]]))
    state = whole.advance(codes, state)
    assert int(state.cells[0][0].max()) == whole.readout.state.high
    kept = type(state.pooled)((most - 1) * state.cells[0][0].astype(np.int64), np.array([most - 1]))
    state = whole.advance(codes, type(state)(state.cells, kept))
    assert int(np.asarray(state.pooled.values).max()) == most * whole.readout.state.high <= 2**31 - 1
    with pytest.raises(ValueError, match="does not fit into int32"):
        whole.advance(codes, state)


def test_one_normalisation_is_enough() -> None:
    net = el.Model(el.RNN(1, 4, bits=4), 2, scale_inputs=True)
    with pytest.raises(ValueError, match="leave out normalise="):
        el.deploy.integer(net, calibration=torch.ones(2, 1, 1), normalise=([0.0], [1.0]))
