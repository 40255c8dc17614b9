"""Integer networks against the k-bit networks of torch that they are made from."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import eigenloop as el
from eigenloop import registry
from eigenloop.deploy.real_cells import RealCell
from eigenloop.quantization import Quantizer, quantize_, size_report

LAYERS: dict[str, Any] = {
    "relu": lambda **o: el.RNN(3, 12, nonlinearity="relu", **o),
    "leaky_relu": lambda **o: el.RNN(3, 12, nonlinearity="leaky_relu", negative_slope=0.1, **o),
    "tanh": lambda **o: el.RNN(3, 12, nonlinearity="tanh", **o),
    "linear": lambda **o: el.RNN(3, 12, nonlinearity="identity", **o),
    "modrelu": lambda **o: el.RNN(3, 12, **o),
    "modrelu without threshold": lambda **o: el.RNN(3, 12, bias=False, **o),
    "input as it is": lambda **o: el.RNN(3, (3, 3), nonlinearity="relu", input_weight="identity", **o),
    "two layers": lambda **o: el.RNN(3, (7, 5), nonlinearity="tanh", train_initial_state=True, **o),
    "gru": lambda **o: el.GRU(3, 12, **o),
    "gru, two layers": lambda **o: el.GRU(3, (6, 5), train_initial_state=True, **o),
    "gru before": lambda **o: el.GRU(3, 12, reset="before", update="write", **o),
    "gru relu": lambda **o: el.GRU(3, 12, candidate="relu", **o),
    "gru leaky": lambda **o: el.GRU(3, 12, candidate="leaky_relu", update="write", **o),
    "gru linear": lambda **o: el.GRU(3, 12, candidate="identity", bias=False, **o),
    "goru": lambda **o: el.GRU(3, 12, candidate="modrelu", **o),
    "ncgru": lambda **o: el.GRU(3, 12, candidate="modrelu", reset="before", update="write", **o),
    "lstm": lambda **o: el.LSTM(3, 12, **o),
    "lstm, two layers": lambda **o: el.LSTM(3, (6, 5), train_initial_state=True, **o),
    "fastgrnn": lambda **o: el.FastGRNN(3, 12, **o),
    "fastgrnn, two layers": lambda **o: el.FastGRNN(3, (6, 5), train_initial_state=True, bias=False, **o),
    "fastgrnn piecewise": lambda **o: el.FastGRNN(3, 12, piecewise=True, recurrent="cayley", **o),
    "lstm modrelu": lambda **o: el.LSTM(3, 12, cell="modrelu", constrained=("cell",), **o),
}


def made(name: str, bits: int | Quantizer = 6, last: bool = False, seed: int = 0, **options: Any) -> Any:
    """A Model of a layer whose biases, thresholds and initial states are not zero; its read-out has 8 bits."""
    generator = torch.Generator().manual_seed(seed)
    layer = LAYERS[name](bits=bits, generator=generator, **options)
    with torch.no_grad():
        for key, parameter in layer.named_parameters():
            if key.startswith("bias_l"):  # thresholds: no positive ones, with which modReLU jumps
                parameter.uniform_(-0.1, 0.0, generator=generator)
            elif key.startswith(("bias", "h0", "c0")):
                parameter.uniform_(-0.3, 0.3, generator=generator)
    net = el.Model(layer, 4, last=last, readout_bits=8).eval()
    with torch.no_grad():
        for parameter in net.readout.parameters():
            parameter.uniform_(-0.3, 0.3, generator=generator)
    return net


def sequences(T: int = 25, B: int = 20, seed: int = 1) -> torch.Tensor:
    return torch.randn(T, B, 3, generator=torch.Generator().manual_seed(seed))


def outputs(net: Any, X: torch.Tensor, **options: Any) -> np.ndarray:
    with torch.no_grad():
        return net(X, **options)[0].double().numpy()


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(
    "quantizer",
    [
        Quantizer(4),
        Quantizer(8, around_identity=True, per_row=True, normalise="radius"),
        Quantizer(2, normalise="norm"),
    ],
    ids=["4 bits", "8 bits around I, by rows, over the radius", "2 bits over the norm"],
)
def test_real_cells_are_the_torch_network_and_16_bits_agree_with_it(name: str, quantizer: Quantizer) -> None:
    net = made(name, quantizer)
    X = sequences()
    expected = outputs(net, X)
    whole = el.deploy.integer(net, calibration=X, state_bits=16)
    x = X.double().numpy()
    for cell in whole.cells:
        real = RealCell(cell.source)
        state = tuple(np.tile(one, (x.shape[1], 1)) for one in cell.source.initial)
        states = []
        for one in x:
            state, _ = real.step(one, state)
            states.append(state[0])
        x = np.stack(states)
    V = net.readout_weight().detach().double().numpy()
    exact = x @ V.T + net.readout.bias.detach().double().numpy()
    np.testing.assert_allclose(exact, expected, atol=3e-5 * np.abs(expected).max())
    error = np.abs(whole.predict(X) - exact).max()
    bound = whole.error_bound(len(X))
    assert error <= (2e-3 * np.abs(exact).max() if bound is None else bound)
    if bound is not None and whole.cells[0].source.activation != "tanh":
        assert bound < 0.1 * np.abs(exact).max()  # so that it says something


def one_step(net: Any, state_bits: int, power: bool, seed: int) -> list[tuple[np.ndarray, float, float]]:
    """Step every cell from random codes; return errors where nothing saturates, the bound, and the share of those."""
    X = sequences(8, 6, seed)
    whole = el.deploy.integer(net, calibration=X, state_bits=state_bits, power_of_two=power)
    generator = np.random.default_rng(seed)
    results = []
    for cell in whole.cells:
        forms, entered = cell.carried, cell.formats.entered
        # From the middle half of the range, so that most new codes are inside it.
        q = generator.integers(entered.low // 2, entered.high // 2, (6, cell.source.input_size))
        codes = tuple(generator.integers(form.low // 2, form.high // 2, (6, cell.source.size)) for form in forms)
        exact, others = RealCell(cell.source).step(
            entered.real(q), tuple(form.real(c) for form, c in zip(forms, codes, strict=True))
        )
        bounds = [cell.step_error] if len(forms) == 1 else [cell.step_error, cell.cell_error]  # type: ignore[attr-defined]
        fits = np.ones((6, cell.source.size), bool)
        for form, real, bound in zip(forms, exact, bounds, strict=True):
            fits &= np.abs(real / form.step) < form.high - bound
        for candidate in others.values():  # saturated before it is blended or added, so it has to fit as well
            form = cell._activated
            fits &= np.abs(candidate / form.step) < form.high - cell.step_error
        for form, got, real, bound in zip(forms, cell.step(q, codes), exact, bounds, strict=True):
            assert form.low <= got.min() <= got.max() <= form.high
            results.append((np.abs(got - real / form.step)[fits], bound, float(fits.mean())))
    return results


@settings(max_examples=60)
@given(
    name=st.sampled_from(list(LAYERS)),
    bits=st.integers(2, 12),
    state_bits=st.integers(6, 16),
    around=st.booleans(),
    per_row=st.booleans(),
    normalise=st.sampled_from(["none", "norm", "radius"]),
    power=st.booleans(),
    seed=st.integers(0, 999),
)
def test_one_step_is_within_its_stated_error(
    name: str, bits: int, state_bits: int, around: bool, per_row: bool, normalise: Any, power: bool, seed: int
) -> None:
    """From the same codes: what real arithmetic gives, and the integers, differ by `step_error` codes at most."""
    net = made(name, Quantizer(bits, around, per_row, normalise), seed=seed)
    for errors, bound, _ in one_step(net, state_bits, power, seed):
        assert (errors <= bound * (1 + 1e-9)).all()


@pytest.mark.parametrize("name", LAYERS)
def test_the_stated_error_of_a_step_says_something(name: str) -> None:
    for errors, bound, share in one_step(made(name, 4), 12, False, 3):
        assert share > 0.2
        assert errors.max() > bound / 40  # worst-case sums stand in it, which are rare
        assert bound < 60


@pytest.mark.parametrize(
    "name", ["relu", "modrelu", "two layers", "gru", "ncgru", "lstm, two layers", "fastgrnn", "fastgrnn piecewise"]
)
@pytest.mark.parametrize("pool", ["every", "last", "mean", "max"])
@pytest.mark.parametrize("state_bits", [8, 16])
def test_steps_over_time_are_predict(name: str, pool: str, state_bits: int) -> None:
    net = made(name, last=pool == "last")
    X = sequences(12, 5)
    given = None if pool in ("every", "last") else pool
    whole = el.deploy.integer(net, calibration=X, state_bits=state_bits, pool=given)
    expected = whole.predict(X)
    state, single, every = None, None, []
    for t, x in enumerate(X.numpy()):
        y, state = whole.step(x, state)
        alone, single = whole.step(x[2], single)
        assert np.array_equal(alone, y[2])
        every.append(y)
        if pool != "every":
            assert np.array_equal(y, whole.predict(X[: t + 1]))
    assert np.array_equal(np.stack(every) if pool == "every" else y, expected)
    assert state is not None
    assert {one.dtype for cell in state.cells for one in cell} <= {np.dtype(np.int8), np.dtype(np.int16)}
    states = _states(net, X)
    read = {"every": states, "last": states[-1], "mean": states.mean(0), "max": states.max(0)}[pool]
    V, c = net.readout_weight().detach().double().numpy(), net.readout.bias.detach().double().numpy()
    tolerance = 0.15 if state_bits == 8 else 2e-3
    np.testing.assert_allclose(expected, read @ V.T + c, atol=tolerance)


def _states(net: Any, X: torch.Tensor) -> np.ndarray:
    with torch.no_grad():
        return net.rnn(X)[0].double().numpy()


def test_padded_sequences_stop_at_their_end() -> None:
    X, lengths = sequences(9, 4), [9, 3, 1, 6]
    for name, last in (("gru", True), ("lstm", False), ("relu", True)):
        net = made(name, last=last)
        padded = X.clone()
        for i, length in enumerate(lengths):
            padded[length:, i] = float("nan")
        whole = el.deploy.integer(net, calibration=padded, lengths=lengths, state_bits=16)
        got = whole.predict(padded, lengths=lengths)
        for i, length in enumerate(lengths):
            alone = whole.predict(X[:length, i])
            assert np.array_equal(got[i] if last else got[:length, i], alone)
        counted = whole.report().ranges[0].total
        assert counted == 3 * sum(lengths)


def test_batch_first_and_single_sequences() -> None:
    X = sequences(7, 3)
    time_first, batch_first = made("relu"), made("relu", batch_first=True)
    first = el.deploy.integer(time_first, calibration=X).predict(X)
    second = el.deploy.integer(batch_first, calibration=X.transpose(0, 1)).predict(X.transpose(0, 1))
    assert np.array_equal(first, second.swapaxes(0, 1))


def test_a_layer_without_a_readout_gives_its_states() -> None:
    layer = made("gru").rnn
    X = sequences()
    whole = el.deploy.integer(layer, calibration=X, state_bits=16)
    with torch.no_grad():
        np.testing.assert_allclose(whole.predict(X), layer(X)[0].double().numpy(), atol=1e-3)


@pytest.mark.parametrize("tied", [False, True])
def test_tokens(tied: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    size = 12 if tied else 5
    net = el.Model(el.RNN(size, 12, nonlinearity="tanh", bits=6, generator=generator), 9, embedding=9, tied=tied)
    net = quantize_(net, 6, readout_bits=8).eval()
    tokens = torch.randint(9, (15, 30), generator=generator)
    whole = el.deploy.integer(net, calibration=tokens, state_bits=16)
    expected = outputs(net, tokens)
    tolerance = (1e-3 if tied else 1e-2) * np.abs(expected).max()  # alone, the embedding is in floating point there
    np.testing.assert_allclose(whole.predict(tokens), expected, atol=tolerance)
    y, _ = whole.step(np.array(3))
    assert y.shape == (9,)
    names = {part.name for part in whole.report().size.parts}
    assert ("embedding" in names) != tied
    with pytest.raises(ValueError, match="tokens are 0 to 8"):
        whole.predict(np.array([[9]]))
    with pytest.raises(TypeError, match="takes tokens"):
        whole.predict(np.array([[0.5]]))


def test_counts_of_a_sensor() -> None:
    """Mean and scale folded into the input: counts give what the normalised values give, to a code at the ties."""
    generator = np.random.default_rng(0)
    counts = generator.integers(-(2**12), 2**13, (20, 30, 3)).astype(np.int16)
    mean, scale = np.array([100.5, -3.25, 2047.0]), np.array([512.0, 1000.0, 33.3])
    net = made("relu", last=True)
    normalised = torch.tensor((counts - mean) / scale, dtype=torch.float32)
    plain = el.deploy.integer(net, calibration=normalised, state_bits=12)
    folded = el.deploy.integer(net, calibration=counts, normalise=(mean, scale), state_bits=12)
    difference = np.abs(folded.inputs.codes(counts) - plain.inputs.codes(normalised.numpy()))
    assert difference.max() <= 1
    assert (difference > 0).mean() < 1e-3
    np.testing.assert_allclose(folded.predict(counts), plain.predict(normalised), atol=0.02)
    as_real = folded.predict(counts.astype(np.float64))
    np.testing.assert_allclose(folded.predict(counts), as_real, atol=0.02)
    names = {part.name: part.bytes for part in folded.report().size.parts}
    assert names["input multipliers"] + names["input offsets"] == 3 * (4 + 8)


SUPPORTED = [name for name in registry.MODELS.own if name not in ("eurnn", "urnn-full")]


@pytest.mark.parametrize("name", registry.MODELS.own)
def test_every_published_model(name: str) -> None:
    """Quantized after it was made: everything in integers, or a sentence that says what to do."""
    layer = el.build(name, 3, 8, generator=torch.Generator().manual_seed(0))
    net = el.Model(layer, 4, last=True).eval()
    X = sequences(15, 40)
    if name not in SUPPORTED:
        with pytest.raises(ValueError, match="train a real matrix instead"):
            el.deploy.integer(net, calibration=X)
        return
    quantize_(net, 8, readout_bits=8)
    expected = outputs(net, X)
    largest = np.abs(expected).max()
    errors = {
        bits: np.abs(el.deploy.integer(net, calibration=X, state_bits=bits).predict(X) - expected).max()
        for bits in (16, 8)
    }
    jumps = layer.state_dict().get("bias_l0") is not None and bool((layer.state_dict()["bias_l0"] > 0).any())
    assert errors[16] <= (0.05 if jumps else 2e-3) * largest
    assert errors[8] <= 0.5 * largest


def test_refusals_say_what_to_do() -> None:
    X = sequences(3, 2)
    cases: list[tuple[Any, str]] = [
        (el.RNN(3, 4), "quantize_"),
        (el.RNN(3, 4, bits=4, bidirectional=True), "bidirectional=False"),
        (torch.nn.GRU(3, 4), "takes an el.RNN, el.GRU, el.LSTM, el.FastGRNN"),
    ]
    for net, sentence in cases:
        with pytest.raises((TypeError, ValueError), match=sentence):
            el.deploy.integer(net, calibration=X)
    net = made("relu")
    options: list[tuple[dict[str, Any], str]] = [
        ({"state_bits": 5}, "from 6 to 16"),
        ({"percentile": 20.0}, "percentile is between"),
        ({"pool": "median"}, "is not known"),
        ({"normalise": ([0.0], [1.0])}, "each of the 3 channels"),
        ({"lengths": [1, 9]}, "lengths has one entry"),
        ({"readout_bits": 1}, "from 2 to 16"),
        ({"calibration": None}, "give calibration="),
    ]
    for option, sentence in options:
        with pytest.raises(ValueError, match=sentence):
            el.deploy.integer(net, **{"calibration": X, **option})
    for bad, sentence in ((X[..., :2], "takes 3 features"), (X * float("nan"), "NaN"), (X[:0], "no step")):
        with pytest.raises(ValueError, match=sentence):
            el.deploy.integer(net, calibration=bad)


def test_steps_that_are_refused() -> None:
    whole = el.deploy.integer(made("relu"), calibration=sequences(3, 2))
    for x in (np.zeros(2), np.zeros((2, 4)), np.zeros((1, 2, 3)), np.array(1.0)):
        with pytest.raises(ValueError, match=r"a step takes \(3,\) or \(B, 3\)"):
            whole.step(x)
    with pytest.raises(ValueError, match="NaN"):
        whole.step(np.full(3, np.nan))


def test_a_state_that_runs_away_is_refused() -> None:
    rnn = el.RNN(1, 4, nonlinearity="identity", bias=False, recurrent="free", bits=8)
    with torch.no_grad():
        rnn.recurrent_l0.weight.copy_(1e30 * torch.eye(4))
    with pytest.raises(ValueError, match="the network diverges there"):
        el.deploy.integer(rnn, calibration=torch.ones(30, 1, 1))


def test_ranges_and_saturation() -> None:
    net, X = made("relu"), sequences(40, 50)
    widest = el.deploy.integer(net, calibration=X, state_bits=8).report()
    assert all(row.saturated == 0 for row in widest.ranges)
    narrow = el.deploy.integer(net, calibration=X, state_bits=8, percentile=95.0).report()
    state = narrow.ranges[1]
    assert state.range < widest.ranges[1].range
    assert 0.01 < state.saturated / state.total < 0.1
    assert state.total == 40 * 50 * 12
    powers = el.deploy.integer(net, calibration=X, state_bits=8, power_of_two=True).report()
    assert all(np.frexp(row.step)[0] == 0.5 for row in powers.ranges)
    for row in widest.sums:
        assert row.low <= row.seen_low <= row.seen_high <= row.high
        assert row.seen_high > 0
    assert "saturated" in str(narrow)


def test_bytes_and_multiplications_by_hand() -> None:
    whole = el.deploy.integer(made("gru before", 4, last=True), calibration=sequences(), state_bits=8)
    report = whole.report()
    assert report.products == 3 * (12 * 12 + 12 * 3)
    assert report.readout_products == 4 * 12
    sizes = {part.name: part.bytes for part in report.size.parts}
    for gate in ("reset", "update", "candidate"):
        assert sizes[f"recurrent_l0.{gate}"] == 12 * 6 + 2  # six bytes a row; the last one is read as eight
        assert sizes[f"weight_ih_l0.{gate}"] == 12 * 2 + 2  # 12 bits are two bytes; the last row is read as four
        packed = whole.cells[0].gates[gate].recurrent.packed()
        assert len(packed) == sizes[f"recurrent_l0.{gate}"]
    assert sizes["table of tanh"] == 66
    assert not any("multipliers" in name for name in sizes)  # one for a matrix: they stand in the code
    assert sizes["readout.weight"] == 48 + 4
    memory = {part.name: part.bytes for part in report.size.ram}
    assert memory == {"state of layer 0": 12, "vectors of a step": 2 * (16 + 16 + 8), "input": 3, "outputs": 16}
    assert size_report(whole) == report.size
    assert report.size.ram_bytes == 111
    assert "in memory, 111 bytes" in str(size_report(whole))
    with pytest.raises(ValueError, match="are fixed"):
        size_report(whole, bits=4)


def test_the_network_is_left_as_it_is() -> None:
    net = made("gru")
    before = {key: value.clone() for key, value in net.state_dict().items()}
    el.deploy.integer(net.train(), calibration=sequences())
    assert net.training
    assert all(torch.equal(before[key], value) for key, value in net.state_dict().items())
