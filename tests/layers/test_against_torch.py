"""With a free matrix our layers are torch's, in outputs, all gradients and state_dicts."""

from dataclasses import dataclass

import pytest
import torch
from comparing import relative, weighted
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

import eigenloop as el

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}


@dataclass(frozen=True)
class Case:
    """One point of the grid."""

    kind: str
    T: int
    B: int
    m: int
    n: int
    num_layers: int
    bidirectional: bool
    bias: bool
    batch_first: bool
    form: str
    initial: bool
    dtype: torch.dtype
    seed: int


cases = st.builds(
    Case,
    kind=st.sampled_from(["tanh", "relu", "gru", "lstm"]),
    T=st.integers(1, 9),
    B=st.integers(1, 5),
    m=st.integers(1, 6),
    n=st.integers(1, 9),
    num_layers=st.integers(1, 3),
    bidirectional=st.booleans(),
    bias=st.booleans(),
    batch_first=st.booleans(),
    form=st.sampled_from(["padded", "packed sorted", "packed", "lengths", "unbatched"]),
    initial=st.booleans(),
    dtype=st.sampled_from([torch.float64, torch.float32]),
    seed=st.integers(0, 2**16),
)


def pair(case: Case) -> tuple[torch.nn.Module, torch.nn.Module]:
    """Our layer and torch's with the same weights; ours loads torch's state_dict."""
    shared = {
        "num_layers": case.num_layers,
        "bidirectional": case.bidirectional,
        "bias": case.bias,
        "batch_first": case.batch_first,
        "dtype": case.dtype,
    }
    if case.kind == "lstm":
        ours, theirs = el.LSTM(case.m, case.n, **shared), torch.nn.LSTM(case.m, case.n, **shared)
    elif case.kind == "gru":
        ours = el.GRU(case.m, case.n, recurrent=el.matrices.Free, **shared)
        theirs = torch.nn.GRU(case.m, case.n, **shared)
    else:
        ours = el.RNN(case.m, case.n, recurrent=el.matrices.Free, nonlinearity=case.kind, **shared)
        theirs = torch.nn.RNN(case.m, case.n, nonlinearity=case.kind, **shared)
    ours.load_state_dict(theirs.state_dict())
    return ours, theirs


def matched_gradients(ours: torch.nn.Module, theirs: torch.nn.Module):
    """Pairs of gradients under torch's names; the gates of a GRU are stacked as torch does."""
    for name, parameter in theirs.named_parameters():
        if not name.startswith("weight_hh"):
            yield name, ours.get_parameter(name).grad, parameter.grad
            continue
        cell = ours.get_submodule(name.replace("weight_hh", "recurrent"))
        matrices = [cell] if isinstance(cell, el.matrices.Matrix) else cell.values()
        yield name, torch.cat([matrix.weight.grad for matrix in matrices]), parameter.grad


@given(cases)
def test_outputs_and_gradients(case: Case) -> None:
    torch.manual_seed(case.seed)
    ours, theirs = pair(case)
    unbatched = case.form == "unbatched"
    shape = (case.T, case.m) if unbatched else (case.T, case.B, case.m)
    x = torch.randn(shape, dtype=case.dtype)
    if case.batch_first and not unbatched:
        x = x.transpose(0, 1).contiguous()
    state_shape = (case.num_layers * (1 + case.bidirectional), case.B, case.n)
    given_shape = state_shape[::2] if unbatched else state_shape
    count = 2 if case.kind == "lstm" else 1
    initial = [torch.randn(given_shape, dtype=case.dtype) for _ in range(count)] if case.initial else None
    lengths = torch.randint(1, case.T + 1, (case.B,))
    lengths[0] = case.T
    if case.form == "packed sorted":
        lengths = lengths.sort(descending=True).values

    results = []
    for layer, is_ours in ((ours, True), (theirs, False)):
        leaf = x.clone().requires_grad_()
        leaves = None if initial is None else [h.clone().requires_grad_() for h in initial]
        state = None if leaves is None else leaves[0] if count == 1 else tuple(leaves)
        if case.form in ("packed", "packed sorted") or (case.form == "lengths" and not is_ours):
            sequence = pack_padded_sequence(
                leaf, lengths, batch_first=case.batch_first, enforce_sorted=case.form == "packed sorted"
            )
            out, h_n = layer(sequence, state)
            if case.form == "lengths":
                out, _ = torch.nn.utils.rnn.pad_packed_sequence(out, case.batch_first)
        elif case.form == "lengths":
            out, h_n = layer(leaf, state, lengths=lengths)
        else:
            out, h_n = layer(leaf, state)
        if isinstance(out, PackedSequence):
            assert torch.equal(out.batch_sizes, sequence.batch_sizes)
            assert (out.sorted_indices is None) == (sequence.sorted_indices is None)
            out = out.data
        final = [h_n] if count == 1 else list(h_n)
        weighted([out, *final]).backward()
        gradients = [None] if leaves is None else [h.grad for h in leaves]
        results.append([out.detach(), *(h.detach() for h in final), leaf.grad, *gradients])

    tolerance = TOLERANCE[case.dtype]
    for mine, other in zip(*results, strict=True):
        assert (mine is None) == (other is None)
        if mine is not None:
            assert relative(mine, other) <= tolerance
    for name, mine, other in matched_gradients(ours, theirs):
        assert relative(mine, other) <= tolerance, name


@given(cases)
def test_state_dict_round_trip(case: Case) -> None:
    ours, theirs = pair(case)
    emitted = ours.torch_state_dict()
    assert list(emitted) == list(theirs.state_dict())
    assert all(torch.equal(emitted[name], value) for name, value in theirs.state_dict().items())
    other = pair(case)[1]
    other.load_state_dict(emitted)


def test_constrained_layer_loads_an_orthogonal_torch_layer() -> None:
    theirs = torch.nn.RNN(3, 8, num_layers=2)
    for layer in range(2):
        torch.nn.init.orthogonal_(getattr(theirs, f"weight_hh_l{layer}"))
    ours = el.RNN(3, 8, 2, "tanh", recurrent="cayley")
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(7, 2, 3)
    assert relative(ours(x)[0], theirs(x)[0]) < 1e-5


def test_torch_dict_loads_inside_a_model() -> None:
    ours = el.Model(el.GRU(3, 4, recurrent="free"), 2)
    theirs = torch.nn.GRU(3, 4)
    state = {f"rnn.{name}": value for name, value in theirs.state_dict().items()}
    state |= {f"readout.{name}": value for name, value in ours.readout.state_dict().items()}
    ours.load_state_dict(state)
    x = torch.randn(5, 2, 3)
    assert relative(ours.rnn(x)[0], theirs(x)[0]) < 1e-5


def test_a_matrix_outside_the_set_is_refused_and_nothing_changes() -> None:
    ours = el.GRU(3, 8, recurrent="cayley")
    before = {name: value.clone() for name, value in ours.recurrent_l0.state_dict().items()}
    with pytest.raises(RuntimeError, match=r"candidate gate: ScaledCayley holds orthogonal.*max\|W'W - I\|"):
        ours.load_state_dict(torch.nn.GRU(3, 8).state_dict())
    assert all(torch.equal(before[name], value) for name, value in ours.recurrent_l0.state_dict().items())


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (el.RNN(2, 4), "modrelu"),
        (el.RNN(2, (4, 6), nonlinearity="tanh"), "one hidden size"),
        (el.RNN(2, 4, nonlinearity="tanh", train_initial_state=True), "trained initial state"),
        (el.RNN(2, 4, nonlinearity="tanh", bias=False, input_bias=True), "both biases or none"),
        (el.GRU(2, 4, update="write"), "tanh / after / write"),
        (el.GRU(2, (4, 6)), "one hidden size"),
        (el.GRU(2, 4, train_initial_state=True), "trained initial state"),
        (el.LSTM(2, 4, cell="modrelu"), "modrelu"),
        (el.LSTM(2, (4, 6)), "one hidden size"),
        (el.LSTM(2, 4, train_initial_state=True), "trained initial state"),
    ],
)
def test_what_torch_lacks_is_said(layer: el.RNN | el.GRU | el.LSTM, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        layer.torch_state_dict()


def test_assigning_a_dict_takes_over_its_dtype() -> None:
    ours = el.RNN(3, 8, nonlinearity="tanh", recurrent="free")
    theirs = torch.nn.RNN(3, 8, dtype=torch.float64)
    ours.load_state_dict(theirs.state_dict(), assign=True)
    x = torch.randn(4, 2, 3, dtype=torch.float64)
    assert relative(ours(x)[0], theirs(x)[0]) < 1e-12


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_a_dict_can_be_assigned_to_a_layer_without_memory(kind: str) -> None:
    options = {"RNN": {"nonlinearity": "tanh", "recurrent": "free"}, "GRU": {"constrained": ()}, "LSTM": {}}[kind]
    ours = getattr(el, kind)(3, 8, 2, device="meta", **options)
    theirs = getattr(torch.nn, kind)(3, 8, 2)
    ours.load_state_dict(theirs.state_dict(), assign=True)
    x = torch.randn(4, 2, 3)
    assert relative(ours(x)[0], theirs(x)[0]) < 1e-6
    if kind == "LSTM":
        constrained = el.LSTM(3, 8, 2, device="meta", constrained=("cell",))
        with pytest.raises(RuntimeError, match="on the meta device"):
            constrained.load_state_dict(theirs.state_dict(), assign=True)


def test_two_matrices_for_one_cell_are_reported() -> None:
    ours = el.RNN(3, 8, nonlinearity="tanh", recurrent="free")
    with pytest.raises(RuntimeError, match=r"Unexpected key.*weight_hh_l0"):
        ours.load_state_dict({**ours.state_dict(), **ours.torch_state_dict()})


def test_an_emitted_dict_is_a_snapshot() -> None:
    ours = el.GRU(3, 4)
    emitted = ours.torch_state_dict()
    before = {name: value.clone() for name, value in emitted.items()}
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.add_(1)
    assert all(torch.equal(before[name], value) for name, value in emitted.items())


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_a_training_goes_as_torchs_does(kind: str) -> None:
    """A hundred steps of Adam: the layers that papers compare with may take the place of torch's."""
    theirs = getattr(torch.nn, kind)(3, 12)
    ours = el.LSTM(3, 12) if kind == "LSTM" else el.GRU(3, 12, constrained=())
    ours.load_state_dict(theirs.state_dict())
    optimizers = [torch.optim.Adam(layer.parameters(), lr=1e-2) for layer in (ours, theirs)]
    generator = torch.Generator().manual_seed(0)
    for _ in range(100):
        x = torch.randn(10, 4, 3, generator=generator)
        losses = []
        for layer, optimizer in zip((ours, theirs), optimizers, strict=True):
            optimizer.zero_grad()
            loss = (layer(x)[0].mean(-1) - x.cumsum(0).tanh().mean(-1)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[0] == pytest.approx(losses[1], rel=1e-4)
