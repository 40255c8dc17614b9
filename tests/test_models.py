"""The published models: parameter counts of their tables, their initialisers, and the read-out."""

import inspect
import math

import pytest
import torch
from comparing import relative
from torch.nn.utils.rnn import pack_padded_sequence

import eigenloop as el

# model, input size, hidden size, output size, parameters; the read-out and its bias included.
PUBLISHED = [
    # nnRNN, tables 2 and 3: copying (one-hot 10 in, 9 classes) and permuted MNIST
    ("nnrnn", 10, 128, 9, 18_953),
    ("exprnn", 10, 128, 9, 10_697),
    ("exprnn", 10, 176, 9, 18_929),
    ("rnn", 10, 128, 9, 19_081),
    ("rnn-orth", 10, 128, 9, 19_081),
    ("nnrnn", 1, 512, 10, 268_298),
    ("exprnn", 1, 512, 10, 136_970),
    ("exprnn", 1, 722, 10, 268_955),
    ("rnn-orth", 1, 512, 10, 268_810),
    # ENRNN, figures 1 and 2, table 1: adding, copying, TIMIT
    ("scornn", 2, 170, 1, 15_046),
    ("scornn", 10, 190, 9, 21_764),
    ("scornn", 129, 425, 129, 200_304),
    # NC-GRU, tables 1 to 3: parenthesis, denoise, adding
    ("scornn", 7, 110, 18, 8_873),
    ("scornn", 10, 200, 10, 24_110),
    ("scornn", 2, 190, 1, 18_716),
]

MORE_PUBLISHED = [
    # ENRNN, figures 1 and 2, table 1
    ("enrnn", {"short": 64, "negative": 29}, 2, 160, 1, 15_441),
    ("enrnn", {"short": 20, "negative": 52}, 10, 192, 9, 22_395),
    ("enrnn", {"short": 94, "coupling": False}, 129, 468, 129, 199_928),
    # GORU in NC-GRU's tables 1 to 4
    ("goru", {}, 7, 64, 18, 11_024),
    ("goru", {}, 10, 128, 10, 38_536),
    ("goru", {}, 2, 128, 1, 34_303),
    ("goru", {}, 10, 100, 9, 24_407),
    # QORNN's sizes: float W of n^2 entries
    ("projunn", {"nonlinearity": "relu", "bias": False}, 2, 170, 1, 29_411),
    ("projunn", {"bias": False}, 10, 256, 9, 70_409),
]

# NC-GRU: constrained gates, input, hidden, output, parameters (tables 1 to 4).
NC_GRU = [
    (("candidate",), 7, 56, 18, 10_182),
    (("candidate", "reset"), 7, 56, 18, 8_586),
    (("candidate",), 10, 118, 10, 39_835),
    (("candidate", "reset"), 10, 118, 10, 32_814),
    (("candidate",), 2, 80, 1, 16_761),
    (("candidate", "reset"), 2, 80, 1, 13_521),
    (("candidate",), 10, 96, 9, 27_033),
    (("candidate", "reset"), 10, 96, 9, 22_377),
]


def count(net: torch.nn.Module) -> int:
    return sum(p.numel() for p in net.parameters())


@pytest.mark.parametrize(("name", "m", "n", "o", "parameters"), PUBLISHED)
def test_parameters_are_the_papers(name: str, m: int, n: int, o: int, parameters: int) -> None:
    assert count(el.Model(el.build(name, m, n), o)) == parameters


@pytest.mark.parametrize(("constrained", "m", "n", "o", "parameters"), NC_GRU)
def test_nc_gru_parameters_are_the_papers(
    constrained: tuple[str, ...], m: int, n: int, o: int, parameters: int
) -> None:
    gru = el.build("ncgru", m, n, constrained=constrained)
    assert count(el.Model(gru, o)) == parameters


@pytest.mark.parametrize(("name", "options", "m", "n", "o", "parameters"), MORE_PUBLISHED)
def test_more_parameters_are_the_papers(name: str, options: dict, m: int, n: int, o: int, parameters: int) -> None:
    assert count(el.Model(el.build(name, m, n, **options), o)) == parameters


def test_char_ptb_counts_with_embedding() -> None:
    """nnRNN, table 1: embedding of 200, 50 symbols; 1,315,650 parameters."""
    assert count(el.Model(el.build("nnrnn", 200, 1024), 50, embedding=50)) == 1_315_650
    assert count(el.Model(el.build("exprnn", 200, 1024), 50, embedding=50)) == 790_850


@pytest.mark.parametrize(
    ("name", "deviation", "threshold"),
    [
        ("scornn", 0.01 / math.sqrt(3), 0.0),
        ("exprnn", math.sqrt(2 / 20), 0.01),
        ("dtriv", math.sqrt(2 / 20), 0.01),
        ("nnrnn", math.sqrt(2 / 420), 0.01),
        ("rnn", math.sqrt(2 / 420), 0.01),
        ("rnn-orth", math.sqrt(2 / 420), 0.01),
    ],
)
def test_initialisers(name: str, deviation: float, threshold: float) -> None:
    layer = el.build(name, 20, 400, generator=torch.Generator().manual_seed(0))
    assert math.isclose(layer.weight_ih_l0.std().item(), deviation, rel_tol=0.05)
    assert layer.bias_l0.abs().max() <= threshold
    assert math.isclose(layer.bias_l0.std().item(), threshold / math.sqrt(3), rel_tol=0.1, abs_tol=1e-9)
    if name == "rnn":
        assert math.isclose(layer.recurrent_matrix().std().item(), 1 / 20, rel_tol=0.05)
    else:
        assert el.matrices.orthogonality_defect(layer.recurrent_matrix()) < 1e-5


def test_every_name_builds_reproducibly_and_runs() -> None:
    x = torch.randn(4, 2, 3)
    for name in el.models.NAMES:
        layers = 1 if name in ("eurnn", "urnn-full") else 2
        made = [el.build(name, 3, 8, generator=torch.Generator().manual_seed(5), num_layers=layers) for _ in range(2)]
        first, second = (layer.state_dict() for layer in made)
        assert all(torch.equal(first[key], second[key]) for key in first), name
        out, _ = el.Model(made[0], 5)(x, lengths=[4, 2])
        assert out.shape == (4, 2, 5)
        assert made[0].penalty().shape == ()


@pytest.mark.parametrize("name", el.models.NAMES)
def test_double_precision_has_its_digits_from_the_start(name: str) -> None:
    """Numbers that were drawn in float32 and converted have none beyond the seventh."""
    made = el.build(name, 3, 8, dtype=torch.float64)
    drawn = [torch.view_as_real(p) if p.is_complex() else p for p in made.parameters()]
    for values in (p.detach() for p in drawn if p.unique().numel() > 2):
        assert values.dtype == torch.float64
        assert not torch.equal(values, values.float().double())
    if name == "rnn-orth":
        assert el.matrices.orthogonality_defect(made.recurrent_matrix()) < 1e-14


@pytest.mark.parametrize("name", ["eurnn", "urnn-full"])
def test_a_complex_state_has_no_bfloat16(name: str) -> None:
    with pytest.raises(TypeError, match="no complex bfloat16: use float32 or float64"):
        el.build(name, 3, 8, dtype=torch.bfloat16)


def test_options_reach_matrix_and_layer() -> None:
    scornn = el.build("scornn", 3, 8, negative=3, batch_first=True, nonlinearity="relu", dtype=torch.float64)
    assert scornn.recurrent_l0.negative == 3
    assert scornn(torch.randn(2, 5, 3, dtype=torch.float64))[0].shape == (2, 5, 8)
    assert el.build("scornn", 3, 9).recurrent_l0.negative == 4
    assert el.build("dtriv", 3, 8, rebase_every=7).recurrent_l0.rebase_every == 7
    W = torch.linalg.qr(torch.randn(8, 8))[0]
    for name in ("rnn", "rnn-orth", "scornn", "exprnn", "dtriv"):
        assert relative(el.build(name, 3, 8, init=W).recurrent_matrix(), W) < 1e-5
    nnrnn = el.build("nnrnn", 3, (8, 6), delta=0.5, triangle_decay=0.25, train_gamma=False, blocks="exact")
    assert (nnrnn.recurrent_l1.delta, nnrnn.recurrent_l1.triangle_decay) == (0.5, 0.25)
    assert nnrnn.recurrent_l0.blocks == "exact"
    assert "gamma" not in dict(nnrnn.recurrent_l0.named_parameters())


def test_nothing_is_passed_through_unchecked() -> None:
    for public in (
        el.RNN.__init__,
        el.GRU.__init__,
        el.LSTM.__init__,
        el.FastGRNN.__init__,
        el.Model.__init__,
        el.optim.param_groups,
    ):
        kinds = {p.kind for p in inspect.signature(public).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_torch_baselines_take_lengths(name: str) -> None:
    layer = el.build(name, 3, 5, bidirectional=True, batch_first=True)
    x = torch.randn(2, 6, 3)
    x[1, 2:] = torch.nan
    out, _ = layer(x, lengths=[6, 2])
    alone, _ = layer(x[1:, :2])
    assert relative(out[1:, :2], alone) < 1e-6
    assert not out[1, 2:].any()
    theirs = getattr(torch.nn, name.upper())(3, 5, bidirectional=True, batch_first=True)
    theirs.load_state_dict(layer.torch_state_dict())
    assert relative(layer(x[:1])[0], theirs(x[:1])[0]) < 1e-6


@pytest.mark.parametrize(("name", "gate"), [("lstm", "input"), ("gru", "reset")])
def test_constrained_gates_and_inputs_start_from_draws_of_their_own(name: str, gate: str) -> None:
    torch.manual_seed(0)
    weight = el.build(name, 2, 4, constrained=(gate,)).weight_ih_l0
    torch.manual_seed(0)  # the first draws are the matrix's
    assert not torch.equal(weight, torch.empty_like(weight).uniform_(-0.5, 0.5))


@pytest.mark.parametrize("name", ["scornn", "lstm", "gru"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_last_reads_the_final_state(name: str, bidirectional: bool) -> None:
    rnn = el.build(name, 3, 5, bidirectional=bidirectional)
    net = el.Model(rnn, 4, last=True)
    x, lengths = torch.randn(6, 2, 3), [6, 3]
    y, _ = net(x, lengths=lengths)
    out, _ = rnn(x, lengths=lengths)
    for i, length in enumerate(lengths):
        expected = out[length - 1, i]
        if bidirectional:
            expected = torch.cat((expected[:5], out[0, i, 5:]))
        assert relative(y[i], net.readout(expected)) < 1e-5
    assert net(x[:, 0])[0].shape == (4,)


def test_embedding_tied_packed_and_sizes() -> None:
    net = el.Model(el.build("scornn", 6, (8, 6)), 12, embedding=12, tied=True)
    assert net.readout.weight is net.embedding.weight
    tokens = torch.randint(12, (7, 3))
    y, state = net(tokens)
    assert y.shape == (7, 3, 12)
    assert [tuple(h.shape) for h in state] == [(1, 3, 8), (1, 3, 6)]
    packed = pack_padded_sequence(tokens, torch.tensor([7, 4, 4]))
    z, _ = net(packed)
    assert relative(z.data[: z.batch_sizes[0]], y[0]) < 1e-6
    last = el.Model(el.build("scornn", 6, (8, 6)), 4, last=True)
    assert last(torch.randn(5, 2, 6))[0].shape == (2, 4)


def test_complex_readout() -> None:
    def unitary(n: int) -> el.matrices.Matrix:
        return el.matrices.Free(n, init="haar", dtype=torch.complex64)

    x = torch.randn(5, 2, 3)
    rnn = el.RNN(3, 8, recurrent=unitary)
    for part, features in (("real", 8), ("both", 16)):
        net = el.Model(rnn, 4, complex_readout=part)
        y, _ = net(x)
        h, _ = rnn(x)
        read = h.real if part == "real" else torch.cat((h.real, h.imag), -1)
        assert net.readout.in_features == features
        assert relative(y, net.readout(read)) < 1e-6
        y.sum().backward()


def test_baselines_start_as_tensorflows() -> None:
    """BasicLSTMCell keeps sigmoid(1) of its cell where weights say nothing, GRUCell sigmoid(1) of its state."""
    n, kernels = 7, {"lstm": [(0, 4)], "gru": [(0, 2), (2, 3)]}
    for name in kernels:
        layer, again = (
            el.build(name, 3, n, init="tensorflow", num_layers=2, generator=torch.Generator().manual_seed(0))
            for _ in range(2)
        )
        assert all(torch.equal(a, b) for a, b in zip(layer.parameters(), again.parameters(), strict=True))
        weights = layer.torch_state_dict()
        for of_input, of_state in ((weights[f"weight_ih_l{i}"], weights[f"weight_hh_l{i}"]) for i in range(2)):
            for first, last in kernels[name]:
                bound = (6 / (of_input.shape[1] + n + (last - first) * n)) ** 0.5
                kernel = torch.cat((of_input, of_state), dim=1)[first * n : last * n]
                assert 0.9 * bound < kernel.abs().max() <= bound
        bare = el.build(name, 3, n, init="tensorflow")
        for weight in bare.parameters():
            weight.data *= weight.dim() == 1
        x, one, zero = torch.zeros(1, 1, 3), torch.ones(1, 1, n), torch.zeros(1, 1, n)
        state = bare(x, (zero, one))[1][1] if name == "lstm" else bare(x, one)[1]
        assert relative(state, torch.sigmoid(one)) < 1e-6
    with pytest.raises(ValueError, match="torch's two biases"):
        el.build("lstm", 3, 5, init="tensorflow", bias=False)
    with pytest.raises(ValueError, match="choose 'torch' or 'tensorflow'"):
        el.build("gru", 3, 5, init="keras")


def test_rnn_orth_starts_as_a_rotation() -> None:
    for seed in range(8):  # the supplement of nnRNN, A.4: drawn until the determinant is 1
        rnn = el.build("rnn-orth", 3, 7, generator=torch.Generator().manual_seed(seed))
        W = rnn.recurrent_matrix().double()
        assert torch.linalg.det(W).item() == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("name", [*el.models.NAMES])
def test_any_model_takes_any_matrix(name: str) -> None:
    """By its name or by a class; U and the biases start as the model's paper has them."""
    own, other = (
        el.build(name, 3, 8, generator=torch.Generator().manual_seed(5), **options)
        for options in ({}, {"recurrent": "householder"})
    )
    found = {type(matrix) for matrix in other.modules() if isinstance(matrix, el.matrices.Matrix)}
    assert el.matrices.Householder in found
    assert found <= {el.matrices.Householder, el.matrices.Free}
    assert set(dict(own.named_parameters(recurse=False))) == set(dict(other.named_parameters(recurse=False)))
    assert el.Model(other, 5)(torch.randn(4, 2, 3))[0].shape == (4, 2, 5)
    assert isinstance(el.build("scornn", 3, 8, recurrent=el.matrices.Exponential).recurrent_l0, el.matrices.Exponential)
