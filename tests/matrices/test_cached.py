"""el.cached: W is built once, is never stale, and leaves nothing behind."""

import copy

import pytest
import torch
from comparing import relative

import eigenloop as el
from eigenloop.matrices import Matrix


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record every build of a matrix."""
    seen: list[str] = []
    original = Matrix._build

    def counting(self: Matrix) -> torch.Tensor:
        seen.append(type(self).__name__)
        return original(self)

    monkeypatch.setattr(Matrix, "_build", counting)
    return seen


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", ["rnn", "scornn", "exprnn", "dtriv", "nnrnn"])
def test_streaming_equals_one_call_and_builds_once(name: str, grad: bool, builds: list[str]) -> None:
    rnn = el.build(name, 3, 8)
    x, h = torch.randn(50, 2, 3), None
    with torch.set_grad_enabled(grad):
        whole, _ = rnn(x)
        builds.clear()
        with el.cached(rnn):
            outs = []
            for step in x:
                out, h = rnn(step[None], h)
                outs.append(out)
        assert len(builds) == 1
        assert relative(torch.cat(outs), whole) < 1e-5
        rnn(x)
        assert len(builds) == 2


def test_gradients_inside(builds: list[str]) -> None:
    rnn = el.build("scornn", 3, 8)
    x = torch.randn(4, 2, 3)
    with el.cached(rnn):
        (rnn(x)[0].sum() + rnn(2 * x)[0].sum()).backward()
    assert len(builds) == 1
    inside = rnn.recurrent_l0.skew.grad.clone()
    rnn.zero_grad()
    (rnn(x)[0].sum() + rnn(2 * x)[0].sum()).backward()
    assert relative(inside, rnn.recurrent_l0.skew.grad) < 1e-6


def test_a_step_inside_is_seen(builds: list[str]) -> None:
    rnn = el.build("exprnn", 3, 8)
    optimizer = torch.optim.SGD(rnn.parameters(), lr=0.1)
    x = torch.randn(4, 2, 3)
    with el.cached(rnn):
        rnn(x)[0].sum().backward()
        optimizer.step()
        inside, _ = rnn(x)
    assert len(builds) == 2
    assert torch.equal(inside, rnn(x)[0])


@pytest.mark.parametrize("first", [torch.no_grad, torch.inference_mode])
def test_a_w_without_graph_does_not_swallow_gradients(first: type) -> None:
    rnn = el.build("scornn", 3, 8)
    x = torch.randn(4, 2, 3)
    with el.cached(rnn):
        with first():
            rnn(x)
        rnn(x)[0].sum().backward()
    assert rnn.recurrent_l0.skew.grad.abs().sum() > 0


def test_frozen_layer_used_after_inference_mode() -> None:
    rnn = el.build("scornn", 3, 8).requires_grad_(False)
    x = torch.randn(4, 2, 3)
    with el.cached(rnn):
        with torch.inference_mode():
            rnn(x)
        leaf = x.clone().requires_grad_()
        rnn(leaf)[0].sum().backward()
    assert leaf.grad is not None


def test_nesting_copying_and_errors_leave_nothing_behind(builds: list[str]) -> None:
    net = el.Model(el.GRU(3, 8, constrained=("candidate", "reset")), 2)
    x = torch.randn(4, 2, 3)
    twin = None

    def fail_inside() -> None:
        nonlocal twin
        with el.cached(net):
            with el.cached(net.rnn):
                net(x)
            net(x)
            assert builds.count("ScaledCayley") == 2
            twin = copy.deepcopy(net)
            net(torch.zeros(4, 2, 5))

    with pytest.raises(RuntimeError, match="last dimension"):
        fail_inside()
    assert twin is not None
    for module in (*net.modules(), *twin.modules()):
        assert not getattr(module, "_holding", False)
        assert getattr(module, "_held", None) is None
    assert torch.equal(twin(x)[0], net(x)[0])


def test_gradient_accumulation_inside() -> None:
    rnn = el.build("scornn", 3, 8)
    x = torch.randn(4, 2, 3)
    with el.cached(rnn):
        for _ in range(2):
            rnn(x)[0].sum().backward()
    twice = rnn.recurrent_l0.skew.grad.clone()
    rnn.zero_grad()
    rnn(x)[0].sum().backward()
    assert relative(twice, 2 * rnn.recurrent_l0.skew.grad) < 1e-6


@pytest.mark.parametrize("change", ["in place", "data replaced", "functional_call", "load_state_dict"])
def test_every_way_of_changing_a_parameter_is_seen(change: str) -> None:
    rnn = el.build("scornn", 3, 8).eval()
    x, skew = torch.randn(4, 2, 3), rnn.recurrent_l0.skew

    def run(k: int) -> torch.Tensor:
        moved = skew.detach() * 0 + k
        if change == "functional_call":
            return torch.func.functional_call(rnn, {"recurrent_l0.skew": moved}, (x,))[0]
        if change == "in place":
            skew.copy_(moved)
        elif change == "data replaced":
            skew.data = moved
        else:
            rnn.load_state_dict({**rnn.state_dict(), "recurrent_l0.skew": moved})
        return rnn(x)[0]

    with torch.no_grad():
        with el.cached(rnn):
            inside = [run(k) for k in range(4)]
        outside = [run(k) for k in range(4)]
    for mine, other in zip(inside, outside, strict=True):
        assert torch.equal(mine, other)


def test_the_held_w_is_not_handed_out() -> None:
    rnn = el.RNN(3, 8).eval()
    with torch.no_grad(), el.cached(rnn):
        before = rnn.recurrent_matrix()
        rnn.recurrent_matrix().zero_()
        assert torch.equal(rnn.recurrent_matrix(), before)
