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
