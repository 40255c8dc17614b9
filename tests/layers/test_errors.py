"""Bad input costs a sentence that says what was given and what is wanted, of the type torch raises."""

from functools import partial

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence

import eigenloop as el
from eigenloop.matrices import Exponential, Free, ScaledCayley, Schur

x = torch.zeros(4, 2, 3)
complex_free = partial(Free, dtype=torch.complex64)
rnn, gru, lstm = el.RNN(3, 5), el.GRU(3, 5), el.LSTM(3, 5)
packed = pack_padded_sequence(x, torch.tensor([4, 2]))

CASES = [
    ("input_size zero", lambda: el.RNN(0, 5), ValueError, "input_size must be at least 1, got 0"),
    ("input_size float", lambda: el.RNN(3.0, 5), TypeError, "input_size is an int, got float"),
    ("hidden_size zero", lambda: el.GRU(3, 0), ValueError, "hidden_size must be at least 1, got 0"),
    ("hidden_size float", lambda: el.RNN(3, 5.0), TypeError, "hidden_size is an int or a tuple"),
    ("hidden_size tuple", lambda: el.RNN(3, (4, 5), 3), ValueError, "describes 2 layers, but num_layers=3"),
    ("hidden_size empty", lambda: el.RNN(3, ()), ValueError, "describes 0 layers"),
    ("num_layers zero", lambda: el.RNN(3, 5, 0), ValueError, "num_layers must be at least 1"),
    ("dropout", lambda: el.RNN(3, 5, 2, dropout=1.5), ValueError, "between 0 and 1, got 1.5"),
    ("nonlinearity", lambda: el.RNN(3, 5, 1, "sigmoid"), ValueError, "'sigmoid'.*choose one of modrelu, relu"),
    ("candidate", lambda: el.GRU(3, 5, candidate="elu"), ValueError, "candidate='elu'.*choose one of"),
    ("reset", lambda: el.GRU(3, 5, reset="middle"), ValueError, "choose one of before, after"),
    ("update", lambda: el.GRU(3, 5, update="z"), ValueError, "choose one of keep, write"),
    ("gate", lambda: el.GRU(3, 5, constrained=("forget",)), ValueError, "choose one of reset, update, candidate"),
    (
        "lstm gate",
        lambda: el.LSTM(3, 5, constrained=("reset",)),
        ValueError,
        "choose one of input, forget, cell, output",
    ),
    ("lstm cell", lambda: el.LSTM(3, 5, cell="rellu"), ValueError, "choose one of modrelu, relu"),
    ("lstm leaky cell", lambda: el.LSTM(3, 5, cell="leaky_relu"), ValueError, "has no slope in an LSTM"),
    ("lstm projection", lambda: el.LSTM(3, 5, proj_size=2), ValueError, "no projection, got proj_size=2: leave it out"),
    ("lstm recurrent", lambda: el.LSTM(3, 5, recurrent="schur"), ValueError, "say which with constrained="),
    ("lstm state", lambda: lstm(x, torch.zeros(1, 2, 5)), TypeError, r"a pair \(h_0, c_0\), got one Tensor"),
    ("lstm states", lambda: lstm(x, (torch.zeros(1, 2, 5),)), TypeError, r"a pair \(h_0, c_0\), got 1 of them"),
    ("recurrent name", lambda: el.RNN(3, 5, recurrent="caley"), ValueError, "choose one of free, cayley"),
    (
        "recurrent type",
        lambda: el.RNN(3, 5, recurrent=lambda n: torch.eye(n)),
        TypeError,
        "size n, got Tensor",
    ),
    ("recurrent size", lambda: el.RNN(3, 5, recurrent=lambda n: Free(4)), ValueError, "size 4 where 5 is needed"),
    ("integer dtype", lambda: el.RNN(3, 5, dtype=torch.int32), TypeError, "floating-point"),
    ("complex dtype", lambda: el.RNN(3, 5, dtype=torch.complex64), TypeError, "complex matrix as `recurrent`"),
    ("unknown option", lambda: el.RNN(3, 5, foo=1), TypeError, "foo"),
    ("last dimension", lambda: rnn(torch.zeros(4, 2, 7)), RuntimeError, "is 7, .*input_size=3"),
    ("dimensions", lambda: rnn(torch.zeros(4, 2, 3, 3)), ValueError, "2-D .* or 3-D .* got 4-D"),
    ("no tensor", lambda: rnn([1.0, 2.0]), TypeError, "a tensor or a PackedSequence, got list"),
    (
        "dtype",
        lambda: rnn(x.double()),
        ValueError,
        r"float64 .*float32: .*input.to\(torch.float32\)",
    ),
    ("integers", lambda: gru(x.long()), ValueError, "int64"),
    ("no steps", lambda: rnn(torch.zeros(0, 2, 3)), RuntimeError, "at least one time step"),
    ("no steps, single", lambda: rnn(torch.zeros(0, 3)), RuntimeError, "at least one time step"),
    ("state shape", lambda: rnn(x, torch.zeros(1, 3, 5)), RuntimeError, r"\(1, 2, 5\), got \(1, 3, 5\)"),
    ("state dimensions", lambda: rnn(x, torch.zeros(1, 5)), RuntimeError, "a batch .* 3 dimensions"),
    (
        "state of a sequence",
        lambda: rnn(x[:, 0], torch.zeros(1, 1, 5)),
        RuntimeError,
        "sequence .* 2 dimensions",
    ),
    ("state dtype", lambda: rnn(x, torch.zeros(1, 2, 5).double()), ValueError, "initial state is torch.float64"),
    ("state list", lambda: rnn(x, [torch.zeros(1, 2, 5)]), TypeError, "one tensor, got list"),
    ("one state for sizes", lambda: el.RNN(3, (4, 5))(x, torch.zeros(2, 2, 5)), RuntimeError, "a list of 2"),
    ("length zero", lambda: rnn(x, lengths=[4, 0]), RuntimeError, "at least 1, got 0"),
    ("length negative", lambda: gru(x, lengths=torch.tensor([-1, 2])), RuntimeError, "at least 1, got -1"),
    ("length too long", lambda: rnn(x, lengths=[5, 2]), RuntimeError, "length of 5 is longer .* 4 steps"),
    ("length count", lambda: rnn(x, lengths=[4, 2, 1]), RuntimeError, "each of the 2 sequences"),
    ("length fraction", lambda: rnn(x, lengths=[4.0, 2.5]), TypeError, "whole numbers"),
    ("lengths and packed", lambda: rnn(packed, lengths=[4, 2]), ValueError, "brings its own lengths"),
    ("lengths and single", lambda: rnn(x[:, 0], lengths=[4]), ValueError, "is for a batch"),
    ("layer index", lambda: rnn.recurrent_matrix(1), IndexError, r"no layer 1 .* layers 0\.\.0"),
    ("reverse", lambda: gru.recurrent_matrix(0, True), IndexError, "bidirectional=False"),
    ("gate name", lambda: gru.recurrent_matrix(gate="forget"), ValueError, "choose one of reset"),
    (
        "complex relu",
        lambda: el.RNN(3, 4, 1, "relu", recurrent=complex_free),
        ValueError,
        "complex",
    ),
    (
        "complex layers",
        lambda: el.RNN(3, 4, 2, recurrent=complex_free),
        ValueError,
        "one layer",
    ),
    ("complex gates", lambda: el.GRU(3, 4, recurrent=complex_free), ValueError, "real"),
    ("odd Schur", lambda: Schur(5), ValueError, "even n.*got 5: use 4 or 6"),
    ("blocks", lambda: Schur(4, blocks="printed"), ValueError, "'exact' .* or 'paper'"),
    ("delta", lambda: Schur(4, delta=-1.0), ValueError, "must not be negative"),
    ("P", lambda: Schur(4, orthogonal=Free), TypeError, "real orthogonal 4 x 4 matrix"),
    ("negative", lambda: ScaledCayley(4, negative=5), ValueError, r"0\.\.4, got 5"),
    ("negative below", lambda: ScaledCayley(4, negative=-1), ValueError, r"0\.\.4, got -1"),
    ("negative type", lambda: ScaledCayley(4, negative=0.5), TypeError, "is an int, got float"),
    ("rebase", lambda: Exponential(4, rebase_every=0), ValueError, "at least 1"),
    ("rebase type", lambda: Exponential(4, rebase_every="infty"), TypeError, "optimizer steps or None"),
    ("init", lambda: ScaledCayley(4, init="helfrich"), ValueError, "choose one of cayley, henaff"),
    ("size", lambda: Free(0), ValueError, "at least 1, got 0"),
    ("size type", lambda: Free("4"), TypeError, "an int, got str"),
    ("outside", lambda: ScaledCayley(4).assign_(2 * torch.eye(4)), ValueError, r"max\|W'W - I\| = 3 "),
    ("outside, init", lambda: Exponential(4, init=torch.ones(4, 4)), ValueError, "nearest_orthogonal"),
    ("shape", lambda: Exponential(4).assign_(torch.eye(3)), ValueError, r"4 x 4 tensor, got shape \(3, 3\)"),
    ("assign type", lambda: Free(2).assign_([[1, 0], [0, 1]]), TypeError, "got list"),
    ("assign complex", lambda: Free(2).assign_(torch.eye(2) * 1j), TypeError, "real matrices"),
    ("assign NaN", lambda: Free(2).assign_(torch.full((2, 2), torch.nan)), ValueError, "NaN or inf"),
    ("no model", lambda: el.build("scorn", 3, 4), ValueError, "did you mean 'scornn'.*The models are rnn, rnn-orth"),
    ("no option", lambda: el.build("scornn", 3, 4, negatives=2), TypeError, "'negatives': its options are negative"),
    ("no such option here", lambda: el.build("exprnn", 3, 4, negative=2), TypeError, "'negative'"),
    ("torch baseline", lambda: el.build("lstm", 3, 4, nonlinearity="relu"), TypeError, "'nonlinearity'"),
    ("embedding", lambda: el.Model(rnn, 4, tied=True), ValueError, "embedding=4"),
    ("tied sizes", lambda: el.Model(rnn, 4, embedding=4, tied=True), ValueError, "got 5 and 3"),
    ("readout", lambda: el.Model(rnn, 4, complex_readout="abs"), ValueError, "'real' or 'both'"),
    ("finished matrix", lambda: el.RNN(3, 5, recurrent=ScaledCayley(5)), TypeError, "got a finished ScaledCayley"),
    ("finished P", lambda: Schur(4, orthogonal=ScaledCayley(4)), TypeError, "got a finished ScaledCayley"),
    ("no matrix", lambda: el.RNN(3, 5, recurrent=None), TypeError, "is called with n .* got NoneType"),
    ("slope", lambda: el.RNN(3, 5, 1, "leaky_relu", negative_slope=-0.5), ValueError, "must be positive, got -0.5"),
    ("init list", lambda: Free(2, init=[[1, 0], [0, 1]]), TypeError, "init is a name or an n x n tensor, got list"),
    ("complex Cayley", lambda: ScaledCayley(4, dtype=torch.complex64), TypeError, "ScaledCayley is real"),
    ("complex Schur", lambda: Schur(4, dtype=torch.complex64), TypeError, "Schur is real"),
    ("D twice", lambda: ScaledCayley(4, negative=2, init="haar"), ValueError, "D follows from a matrix"),
    ("torch layer", lambda: el.Model(torch.nn.LSTM(3, 5), 2), TypeError, r"el.LSTM\(...\) compute what torch's"),
    ("groups of a list", lambda: el.optim.param_groups(list(rnn.parameters()), 1e-3), TypeError, "network itself"),
    ("rate", lambda: el.optim.param_groups(rnn, lr=-1.0), ValueError, "lr must not be negative"),
]


@pytest.mark.parametrize(("call", "error", "message"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_one_sentence(call, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_dropout_without_a_second_layer_warns() -> None:
    with pytest.warns(UserWarning, match="acts between layers"):
        el.RNN(3, 5, dropout=0.1)


@pytest.mark.parametrize("name", ["rnn", "scornn", "exprnn", "nnrnn"])
def test_nan_parameters_are_named(name: str) -> None:
    layer = el.build(name, 3, 4)
    with torch.no_grad():
        for parameter in layer.recurrent_l0.parameters():
            parameter.fill_(torch.nan)
    with pytest.raises(RuntimeError, match=r"holds NaN or inf.*learning rate"):
        layer(x)


def test_nan_weights_do_not_load() -> None:
    theirs = torch.nn.RNN(3, 5)
    with torch.no_grad():
        theirs.weight_hh_l0[0, 0] = torch.nan
    with pytest.raises(RuntimeError, match=r"weight_hh_l0: the matrix given to Free.assign_ holds NaN"):
        el.RNN(3, 5, nonlinearity="tanh", recurrent="free").load_state_dict(theirs.state_dict())
