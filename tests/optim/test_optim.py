"""Parameter groups and TensorFlow's RMSprop."""

import copy
import math

import pytest
import torch
from comparing import relative

import eigenloop as el


def test_groups_hold_every_parameter_once() -> None:
    net = el.Model(el.build("nnrnn", 10, 16, num_layers=2, triangle_decay=1e-4), 9)
    groups = {group["name"]: group for group in el.optim.param_groups(net, 1e-3, 1e-5)}
    assert {name: (group["lr"], group.get("weight_decay")) for name, group in groups.items()} == {
        "other": (1e-3, None),
        "recurrent": (1e-5, 0.0),
        "decay 0": (1e-3, 0.0),
        "decay 0.0001": (1e-3, 1e-4),
    }
    listed = [id(p) for group in groups.values() for p in group["params"]]
    assert len(listed) == len(set(listed))
    assert set(listed) == {id(p) for p in net.parameters()}
    slow = {id(net.rnn.get_submodule(f"recurrent_l{i}").orthogonal.skew) for i in range(2)}
    assert {id(p) for p in groups["recurrent"]["params"]} == slow
    assert {id(p) for p in groups["decay 0.0001"]["params"]} == {
        id(net.rnn.recurrent_l0.triangle),
        id(net.rnn.recurrent_l1.triangle),
    }


def test_eigenvalues_may_be_slow_too() -> None:
    net = el.Model(el.build("nnrnn", 10, 16, triangle_decay=1e-4, slow_eigenvalues=True), 9)
    groups = {group["name"]: group for group in el.optim.param_groups(net, 1e-3, 1e-5)}
    assert list(groups) == ["other", "recurrent", "decay 0.0001"]
    W = net.rnn.recurrent_l0
    assert {id(p) for p in groups["recurrent"]["params"]} == {id(p) for p in (W.orthogonal.skew, W.gamma, W.theta)}
    listed = [id(p) for group in groups.values() for p in group["params"]]
    assert sorted(listed) == sorted(id(p) for p in net.parameters())

    before = {name: tensor.detach().clone() for name, tensor in W.named_parameters()}
    optimizer = torch.optim.Adam(list(groups.values()))
    net(torch.randn(7, 3, 10))[0].square().sum().backward()
    optimizer.step()
    moved = {name: float((tensor - before[name]).detach().abs().max()) for name, tensor in W.named_parameters()}
    assert math.isclose(moved["triangle"], 1e-3, rel_tol=1e-3)  # Adam's first step is the learning rate
    # The step of 1e-5 on numbers of order 1 is rounded to float32.
    assert all(math.isclose(moved[name], 1e-5, rel_tol=0.1) for name in ("gamma", "theta"))


def test_fixed_gamma_is_not_a_slow_parameter() -> None:
    W = el.matrices.Schur(4, train_gamma=False, slow_eigenvalues=True)
    assert [id(p) for p in W.slow_parameters()] == [id(W.orthogonal.skew), id(W.theta)]
    assert "slow_eigenvalues=True" in repr(W)


def test_frozen_tied_and_plain_modules() -> None:
    net = el.Model(el.build("scornn", 8, 8), 20, embedding=20, tied=True)
    net.rnn.weight_ih_l0.requires_grad_(False)
    groups = el.optim.param_groups(net, 1e-3, weight_decay=0.5)
    assert [len(group["params"]) for group in groups] == [3, 1]
    assert groups[0]["weight_decay"] == 0.5
    assert math.isclose(groups[1]["lr"], 1e-4)
    assert len(el.optim.param_groups(torch.nn.Linear(2, 2), 1e-3)) == 1


@pytest.mark.parametrize("make", [torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, el.optim.TFRMSprop])
def test_groups_train(make: type[torch.optim.Optimizer]) -> None:
    net = el.Model(el.build("nnrnn", 3, 8), 2)
    optimizer = make(el.optim.param_groups(net, 1e-2, 1e-3))
    x, y = torch.randn(5, 4, 3), torch.randn(5, 4, 2)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = (net(x)[0] - y).square().mean() + net.penalty()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def by_hand(p: float, gradients: list[float], lr: float, decay: float, eps: float, momentum: float, wd: float) -> float:
    ms, m = 1.0, 0.0
    for g in gradients:
        g = g + wd * p
        ms = decay * ms + (1 - decay) * g * g
        m = momentum * m + lr * g / math.sqrt(ms + eps)
        p -= m
    return p


@pytest.mark.parametrize(
    "options",
    [
        {"lr": 0.1, "decay": 0.9, "eps": 1e-10, "momentum": 0.0, "weight_decay": 0.0},
        {"lr": 0.05, "decay": 0.5, "eps": 0.1, "momentum": 0.9, "weight_decay": 0.3},
    ],
)
def test_tf_rmsprop_equals_its_formula(options: dict[str, float]) -> None:
    p = torch.nn.Parameter(torch.tensor([0.3, -2.0], dtype=torch.float64))
    optimizer = el.optim.TFRMSprop([p], **options)
    gradients = torch.randn(20, 2, dtype=torch.float64)
    start = p.tolist()
    for g in gradients:
        p.grad = g.clone()
        optimizer.step()
    expected = [
        by_hand(
            start[i],
            gradients[:, i].tolist(),
            *(options[k] for k in ("lr", "decay", "eps", "momentum", "weight_decay")),
        )
        for i in range(2)
    ]
    assert relative(p, torch.tensor(expected, dtype=torch.float64)) < 1e-12


def test_tf_rmsprop_resumes_exactly_and_takes_closures_and_complex() -> None:
    p = torch.nn.Parameter(torch.randn(3, dtype=torch.complex128))
    optimizer = el.optim.TFRMSprop([p], lr=0.1)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = p.abs().square().sum()
        loss.backward()
        return loss

    first = optimizer.step(closure)
    twin = torch.nn.Parameter(p.detach().clone())
    other = el.optim.TFRMSprop([twin], lr=0.5)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert optimizer.step(closure) < first
    twin.grad = p.grad.clone()
    other.step()
    assert torch.equal(p, twin)
    assert not optimizer.state[p]["mean_square"].is_complex()


@pytest.mark.parametrize("options", [{"lr": -1.0}, {"decay": 1.0}, {"eps": -1e-3}, {"momentum": -0.1}])
def test_tf_rmsprop_refuses(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        el.optim.TFRMSprop([torch.nn.Parameter(torch.zeros(1))], **options)


def test_momentum_may_be_switched_on_later() -> None:
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = el.optim.TFRMSprop([p], lr=0.1)
    for momentum in (0.0, 0.9):
        optimizer.param_groups[0]["momentum"] = momentum
        p.grad = torch.ones(2)
        optimizer.step()
    assert torch.equal(optimizer.state[p]["momentum_buffer"], torch.full((2,), 0.1))


def test_decay_does_not_reach_a_constrained_matrix() -> None:
    net = el.Model(el.build("nnrnn", 3, 8, triangle_decay=0.0), 2)
    decayed = [
        p
        for group in el.optim.param_groups(net, 1e-3, weight_decay=0.1)
        if group["weight_decay"]
        for p in group["params"]
    ]
    assert not {id(p) for p in decayed} & {id(p) for p in net.rnn.recurrent_l0.parameters()}


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_tf_rmsprop_treats_the_parts_of_a_complex_number_as_numbers_of_their_own(momentum: float) -> None:
    pair = torch.nn.Parameter(torch.zeros(1, dtype=torch.complex128))
    parts = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
    for p, grad in (
        (pair, torch.tensor([1 + 1e-3j], dtype=torch.complex128)),
        (parts, torch.tensor([1.0, 1e-3], dtype=torch.float64)),
    ):
        optimizer = el.optim.TFRMSprop([p], lr=1e-3, momentum=momentum, weight_decay=0.1)
        for _ in range(200):
            p.grad = grad.clone()
            optimizer.step()
    assert relative(torch.view_as_real(pair.detach())[0], parts) < 1e-13


def test_a_state_of_pooled_parts_is_refused() -> None:
    p = torch.nn.Parameter(torch.zeros(3, dtype=torch.complex64))
    p.grad = torch.ones_like(p)
    optimizer = el.optim.TFRMSprop([p])
    optimizer.step()
    saved = copy.deepcopy(optimizer.state_dict())
    optimizer.load_state_dict(saved)
    saved["state"][0]["mean_square"] = saved["state"][0]["mean_square"][..., 0]
    with pytest.raises(ValueError, match="Start the training again"):
        optimizer.load_state_dict(saved)
