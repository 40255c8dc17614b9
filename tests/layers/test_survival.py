"""After a forward, a backward and a step: copying, saving, averaging, compiling, casting all work."""

import copy
import io
import pickle
from functools import partial

import pytest
import torch
import torch.utils.checkpoint
from comparing import relative
from torch import nn
from torch.optim.swa_utils import AveragedModel

import eigenloop as el

LAYERS = {
    "free": partial(el.build, "rnn", 3, 8),
    "scornn": partial(el.build, "scornn", 3, 8),
    "exprnn": partial(el.build, "exprnn", 3, 8),
    "dtriv": partial(el.build, "dtriv", 3, 8, rebase_every=2),
    "nnrnn": partial(el.build, "nnrnn", 3, 8),
    "ncgru": partial(el.build, "ncgru", 3, 8, constrained=("candidate", "reset", "update")),
    "goru": partial(el.build, "goru", 3, 8),
    "enrnn": partial(el.build, "enrnn", 3, 8, short=4),
    "ornn": partial(el.build, "ornn", 3, 8, reflections=4),
    "spectralrnn": partial(el.build, "spectralrnn", 3, 8, reflections=4),
    "eurnn": partial(el.build, "eurnn", 3, 8),
    "projunn": partial(el.build, "projunn", 3, 8),
    "urnn-full": partial(el.build, "urnn-full", 3, 8),
    "bjorck": partial(el.RNN, 3, 8, recurrent="bjorck"),
    "gru": partial(el.GRU, 3, 8, constrained=("candidate", "reset"), recurrent="exponential"),
    "lstm": partial(el.build, "lstm", 3, 8),
    "orthogonal lstm": partial(el.LSTM, 3, 8, constrained=("cell", "forget"), cell="modrelu"),
    "fastgrnn": partial(el.build, "fastgrnn", 3, 8),
    "orthogonal fastgrnn": partial(el.FastGRNN, 3, 8, recurrent="cayley", piecewise=True),
    "bidirectional": partial(el.RNN, 3, 8, 2, bidirectional=True),
}
x = torch.randn(6, 2, 3)


def optimizer_for(net: nn.Module) -> torch.optim.Optimizer:
    groups = el.optim.param_groups(net, lr=1e-2)
    kinds = {type(m) for m in net.modules()}
    if el.matrices.Orthogonal in kinds:
        return el.optim.ProjUNN(groups)
    return el.optim.UnitaryCayley(groups) if el.matrices.Unitary in kinds else torch.optim.Adam(groups)


def train_(net: nn.Module, steps: int, optimizer: torch.optim.Optimizer | None = None) -> torch.optim.Optimizer:
    optimizer = optimizer or optimizer_for(net)
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        optimizer.zero_grad()
        inputs = torch.randn(6, 2, 3, generator=generator).to(next(net.parameters()).dtype)
        loss = net(inputs)[0].square().mean() + net.penalty()
        loss.backward()
        optimizer.step()
    return optimizer


def carries_state(module: nn.Module) -> bool:
    """Whether a training forward looks at the data of the parameters, which splits a compiled graph."""
    kinds = ("Orthogonal", "Unitary")
    return bool(getattr(module, "rebase_every", None)) or type(module).__name__ in kinds


def worst_defect(net: nn.Module) -> float:
    return max(m.defect() for m in net.modules() if isinstance(m, el.matrices.Matrix))


@pytest.fixture(params=LAYERS)
def net(request: pytest.FixtureRequest) -> el.Model:
    made = el.Model(LAYERS[request.param](), 4)
    train_(made, 3)
    made(x)[0].sum().backward()
    return made


def same(one: nn.Module, other: nn.Module) -> bool:
    neumann = any(isinstance(m, el.matrices.NeumannCayley) for m in other.modules())
    return torch.equal(one(x)[0], other(x)[0]) and worst_defect(other) < (1e-4 if neumann else 1e-6)


def test_deepcopy(net: el.Model) -> None:
    twin = copy.deepcopy(net)
    assert same(net, twin)
    before = net(x)[0]
    train_(twin, 2)
    assert torch.equal(net(x)[0], before)


def test_pickle_and_torch_save(net: el.Model) -> None:
    assert same(net, pickle.loads(pickle.dumps(net)))
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    assert same(net, torch.load(file, weights_only=False))


def test_strict_state_dict_reload_and_resume(net: el.Model, request: pytest.FixtureRequest) -> None:
    other = el.Model(LAYERS[request.node.callspec.params["net"]](), 4)
    other.load_state_dict(net.state_dict(), strict=True)
    assert same(net, other)
    # A resumed run goes on exactly as the uninterrupted one: optimizer state and carried buffers included.
    first, second = optimizer_for(net), optimizer_for(other)
    train_(net, 2, first)
    other.load_state_dict(net.state_dict())
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    train_(net, 3, first)
    train_(other, 3, second)
    assert same(net, other)
    assert all(torch.equal(a, b) for a, b in zip(net.state_dict().values(), other.state_dict().values(), strict=True))


def test_averaged_model(net: el.Model) -> None:
    average = AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.5))
    optimizer = optimizer_for(net)
    for _ in range(3):
        train_(net, 1, optimizer)
        average.update_parameters(net)
    assert average.eval()(x)[0].shape == net(x)[0].shape
    # The average of matrices that are their own parameter is near the set, not on it.
    own = any(isinstance(m, (el.matrices.Orthogonal, el.matrices.Unitary)) for m in net.modules())
    assert worst_defect(average) < (1e-2 if own else 1e-6)


def test_functional_call(net: el.Model) -> None:
    net.eval()  # in training a matrix that is its own parameter would refuse to be moved like this
    moved = {name: p.detach() + 0.1 for name, p in net.named_parameters()}
    out, _ = torch.func.functional_call(net, moved, (x,))
    before = net(x)[0]
    assert not torch.equal(out, before)
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            parameter.copy_(moved[name])
    assert relative(net.eval()(x)[0], out) < 1e-6


COMPILER_WARNINGS = [
    # Dynamo itself looks at .grad of everything where a graph is split, as counting steps does.
    "ignore:The .grad attribute of a Tensor that is not a leaf",
    "ignore:.torch.jit.script_method. is deprecated:DeprecationWarning",
    "ignore:.*should not be instantiated:DeprecationWarning",
    "ignore:.torch._prims_common.check. is deprecated:FutureWarning",
]


def check_compiled(net: el.Model, backend: str) -> None:
    torch.compiler.reset()
    compiled = torch.compile(net, backend=backend, fullgraph=not any(map(carries_state, net.modules())))
    net.zero_grad()
    out, _ = compiled(x)
    out.square().sum().backward()
    gradients = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    expected, _ = net(x)
    expected.square().sum().backward()
    assert relative(out, expected) < 1e-5
    for ours, parameter in zip(gradients, net.parameters(), strict=True):
        assert relative(ours, parameter.grad) < 1e-4
    train_(net, 2)
    assert relative(compiled(x)[0], net(x)[0]) < 1e-5


@pytest.mark.filterwarnings(*COMPILER_WARNINGS)
def test_compile(net: el.Model) -> None:
    check_compiled(net, "aot_eager")


@pytest.mark.slow
@pytest.mark.filterwarnings(*COMPILER_WARNINGS)
@pytest.mark.parametrize("net", ["scornn", "dtriv", "nnrnn", "ncgru"], indirect=True)
def test_compile_to_machine_code(net: el.Model) -> None:
    check_compiled(net, "inductor")


@pytest.mark.filterwarnings(*COMPILER_WARNINGS)
@pytest.mark.parametrize("net", ["ncgru", "enrnn"], indirect=True)
def test_what_a_matrix_carries_is_carried_in_one_graph(net: el.Model) -> None:
    """The Neumann inverse with its age, ENRNN's switch and leading vectors: as in eager code, step for step."""
    if hasattr(net.rnn.recurrent_l0, "short"):
        with torch.no_grad():
            net.rnn.recurrent_l0.short.weight.mul_(1.5)  # so that the switch goes on
    twin = copy.deepcopy(net)
    torch.compiler.reset()
    compiled = torch.compile(twin, backend="aot_eager", fullgraph=True)
    optimizers = [optimizer_for(net), optimizer_for(twin)]
    for _ in range(4):
        for model, optimizer in zip((net, compiled), optimizers, strict=True):
            optimizer.zero_grad()
            model(x)[0].square().mean().backward()
            optimizer.step()
    ours, theirs = twin.state_dict(), net.state_dict()
    for name in theirs:
        assert relative(ours[name].double(), theirs[name].double()) < 1e-4, name


@pytest.mark.filterwarnings(*COMPILER_WARNINGS)
def test_export(net: el.Model) -> None:
    net.eval()
    exported = torch.export.export(net, (x,)).module()
    for inputs in (x, torch.randn_like(x)):
        assert relative(exported(inputs)[0], net(inputs)[0]) < 1e-6


@pytest.mark.filterwarnings("ignore:.torch.jit.trace:DeprecationWarning")
def test_tracing_by_torch_jit_is_refused(net: el.Model) -> None:
    with pytest.raises(RuntimeError, match=r"torch\.export"):
        torch.jit.trace(net.rnn, (x,))


def test_compile_does_not_unroll_time() -> None:
    """One node for the recurrence whatever T is."""
    graphs: list[torch.fx.GraphModule] = []

    def keep(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]):
        graphs.append(graph)
        return graph

    torch.compiler.reset()
    torch.compile(el.RNN(3, 8), backend=keep, fullgraph=True)(torch.randn(500, 2, 3))
    targets = [str(node.target) for node in graphs[0].graph.nodes]
    assert sum("eigenloop" in target for target in targets) == 1, targets
    assert len(targets) < 100


@pytest.mark.parametrize("wrapped", [True, False])
def test_autocast(net: el.Model, wrapped: bool) -> None:
    before = net.rnn(x)[0]
    with torch.autocast("cpu", torch.bfloat16):
        inputs = x.bfloat16() if wrapped else x  # what a layer under autocast hands on
        out, _ = net.rnn(inputs)
        W = net.rnn.recurrent_matrix()
    assert out.real.dtype == W.real.dtype == torch.float32
    assert relative(out, before) < (1e-1 if wrapped else 1e-6)
    assert worst_defect(net) < 1e-6


def test_double_after_a_step(net: el.Model) -> None:
    before = net(x)[0]
    net.double()
    assert relative(net(x.double())[0], before.double()) < 1e-5
    train_(net, 3)
    assert worst_defect(net) < 1e-13
    net.float()
    train_(net, 1)
    assert worst_defect(net) < 1e-6


def test_bfloat16_weights(net: el.Model) -> None:
    if net.rnn.state_dtype.is_complex:
        with pytest.raises(TypeError, match="no complex bfloat16"):
            net.bfloat16()
        return
    net.bfloat16()
    out, _ = net(x.bfloat16())
    out.sum().backward()
    assert torch.isfinite(out).all()
    assert worst_defect(net) < 0.05  # the rounding of W itself


def test_activation_checkpointing(net: el.Model) -> None:
    net.zero_grad()
    torch.utils.checkpoint.checkpoint(lambda inputs: net(inputs)[0], x, use_reentrant=False).sum().backward()
    gradients = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    net(x)[0].sum().backward()
    for ours, parameter in zip(gradients, net.parameters(), strict=True):
        assert relative(ours, parameter.grad) < 1e-5


@pytest.mark.parametrize("name", ["scornn", "exprnn", "nnrnn"])
def test_an_average_of_parameters_stays_near_the_network(name: str) -> None:
    model = el.Model(LAYERS[name](), 4)
    average = AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.5))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(8):
        train_(model, 1, optimizer)
        average.update_parameters(model)
        assert (average.module.rnn.recurrent_matrix() - model.rnn.recurrent_matrix()).abs().max() < 1e-2


def test_averaged_buffers_keep_the_set() -> None:
    model = el.build("dtriv", 3, 8, rebase_every=2)
    average = AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.5), use_buffers=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(6):
        train_(model, 1, optimizer)
        average.update_parameters(model)
    assert worst_defect(average) < 1e-6


def test_float32_checkpoint_in_a_float64_network() -> None:
    single, double = (el.build("exprnn", 3, 8, init="haar", dtype=dtype) for dtype in (torch.float32, torch.float64))
    double.load_state_dict(single.state_dict())
    assert worst_defect(double) < 1e-13


def test_bfloat16_network_loads_its_own_dict() -> None:
    """A W that is orthogonal up to bfloat16's rounding is taken for a member of the set, and built again."""
    rnn, other = (el.RNN(4, 64, nonlinearity="tanh").bfloat16() for _ in range(2))
    theirs = rnn.torch_state_dict()
    other.load_state_dict(theirs)
    assert (other.recurrent_matrix() - theirs["weight_hh_l0"]).abs().max() <= 2**-8  # half a step below 1
    for name in ("weight_ih_l0", "bias_ih_l0", "bias_hh_l0"):
        assert torch.equal(other.get_parameter(name), theirs[name])


def test_frozen_matrices_are_left_alone() -> None:
    rnn = el.build("dtriv", 3, 8, rebase_every=1).requires_grad_(False)
    with torch.no_grad():
        rnn.recurrent_l0.skew.add_(0.1)
    before = rnn.recurrent_l0.skew.clone()
    rnn(x.clone().requires_grad_())
    assert torch.equal(rnn.recurrent_l0.skew, before)


@pytest.mark.filterwarnings("ignore:Complex modules are a new feature")
@pytest.mark.parametrize("convert", ["double", "to real", "to complex"])
def test_complex_networks_change_precision(convert: str) -> None:
    rnn = el.RNN(3, 6, recurrent=partial(el.matrices.Free, init="haar", dtype=torch.complex64))
    before = rnn(x)[0]
    target = {
        "double": nn.Module.double,
        "to real": lambda m: m.to(torch.float64),
        "to complex": lambda m: m.to(torch.complex128),
    }
    target[convert](rnn)
    assert rnn.bias_l0.dtype == torch.float64
    assert rnn.weight_ih_l0.dtype == rnn.recurrent_matrix().dtype == torch.complex128
    out, _ = rnn(x.double())
    out.abs().sum().backward()
    assert relative(out, before) < 1e-5


def test_initial_state_under_autocast() -> None:
    rnn = el.RNN(3, 8)
    with torch.autocast("cpu", torch.bfloat16):
        out, _ = rnn(x, torch.zeros(1, 2, 8, dtype=torch.bfloat16))
    assert out.dtype == torch.float32


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("how", ["device=", "default device"])
def test_meta_device_has_shapes(name: str, dtype: torch.dtype, how: str) -> None:
    with torch.device("meta" if how == "default device" else "cpu"):
        net = el.Model(LAYERS[name](dtype=dtype, **{"device": "meta"} if how == "device=" else {}), 4)
    assert repr(net)
    assert all(tensor.is_meta for tensor in (*net.parameters(), *net.buffers()))
    out, state = net(x.to("meta", dtype))
    assert out.shape == (6, 2, 4)
    (out.sum() + net.penalty()).backward()
    assert all(p.grad is not None and p.grad.is_meta for p in net.parameters() if p.requires_grad)
    assert net.eval()(x.to("meta", dtype), state, lengths=[6, 3])[0].shape == (6, 2, 4)


@pytest.mark.parametrize("name", LAYERS)
def test_another_default_device_changes_nothing(name: str) -> None:
    found = []
    for default in ("cpu", "meta"):
        readout = torch.randn(4, 16, generator=torch.Generator().manual_seed(1))
        with torch.device(default):
            net = el.Model(LAYERS[name](device="cpu", generator=torch.Generator().manual_seed(0)), 4)
            with torch.no_grad():
                net.readout.weight.copy_(readout[:, : net.readout.in_features])
                net.readout.bias.zero_()
            optimizer = optimizer_for(net)
            for lengths in (None, [6, 3]):
                (net(x, lengths=lengths)[0].square().mean() + net.penalty()).backward()
                optimizer.step()
            with torch.no_grad(), el.cached(net.eval()):
                found.append([net(x)[0], *net.parameters()])
                if not net.rnn.bidirectional:
                    stream = el.Stream(net, batch_size=2)
                    found[-1] += [stream(step) for step in x]
    for ours, theirs in zip(*found, strict=True):
        assert torch.equal(ours, theirs)
