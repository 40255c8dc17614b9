"""ProjUNN and UnitaryCayley: the projections, the samplers, state, and matrices that stay on their sets."""

import copy
import io
import math
import pickle

import pytest
import torch
from comparing import exponential, relative

import eigenloop as el
from eigenloop.matrices import nearest_orthogonal, orthogonality_defect
from eigenloop.optim.projunn import _columns, _lsi, along, nearest


def drawn(n: int, k: int, scale: float = 0.3) -> tuple[torch.Tensor, ...]:
    W = torch.linalg.qr(torch.randn(n, n, dtype=torch.float64))[0]
    return W, scale * torch.randn(n, k, dtype=torch.float64), torch.linalg.qr(torch.randn(n, k, dtype=torch.float64))[0]


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("scale", [1e-6, 0.01, 0.02, 0.1, 2.0])
def test_d_is_the_polar_factor_and_t_the_exponential(k: int, scale: float) -> None:
    W, a, b = drawn(9, k, scale)
    assert relative(nearest(W, a, b), nearest_orthogonal(W + a @ b.T)) < 1e-10
    skew = W.T @ a @ b.T - b @ a.T @ W
    # Rounding grows with the angle turned by; torch.matrix_exp was wrong by 1e-10.
    assert relative(along(W, a, b), W @ exponential(skew / 2)) < 3e-15 * max(1.0, skew.norm().item())


def test_a_step_that_annihilates_a_direction_stays_finite() -> None:
    W, _, b = drawn(6, 1)
    assert torch.isfinite(nearest(W, -W @ b, b)).all()


def test_samplers_project_the_direction() -> None:
    d = torch.randn(8, 8, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    a, b = _lsi(d, 3, generator)
    assert relative(a @ b.T, d @ b @ b.T) < 1e-12
    assert relative(b.T @ b, torch.eye(3, dtype=torch.float64)) < 1e-12
    a, b = _columns(d, 3, generator)
    assert relative(a @ b.T, a @ a.T @ d) < 1e-12
    # A direction of rank k is kept whole by either.
    low = torch.randn(8, 2, dtype=torch.float64) @ torch.randn(2, 8, dtype=torch.float64)
    for sampler in (_lsi, _columns):
        a, b = sampler(low, 2, generator)
        assert relative(a @ b.T, low) < 1e-10
        a, b = sampler(torch.zeros(4, 4, dtype=torch.float64), 2, generator)
        assert not (a @ b.T).any()


def network(kind: str, n: int = 8, dtype: torch.dtype = torch.float32) -> el.Model:
    return el.Model(el.build(kind, 3, n, dtype=dtype), 2)


def train_(net: el.Model, optimizer: torch.optim.Optimizer, steps: int, seed: int = 0) -> float:
    generator = torch.Generator().manual_seed(seed)
    loss = torch.zeros(())
    for _ in range(steps):
        x = torch.randn(6, 4, 3, generator=generator).to(net.readout.weight.dtype)
        optimizer.zero_grad()
        loss = (net(x)[0] - x[..., :2].roll(1, 0)).square().mean()
        loss.backward()
        optimizer.step()
    return loss.item()


@pytest.mark.parametrize("base", ["rmsprop", "sgd"])
@pytest.mark.parametrize("sampler", ["lsi", "column"])
@pytest.mark.parametrize("variant", ["D", "T"])
@pytest.mark.parametrize("rank", [1, 3])
def test_projunn_trains_and_keeps_the_set(rank: int, variant: str, sampler: str, base: str) -> None:
    net = network("projunn")
    groups = el.optim.param_groups(net, 1e-2, 1e-2)
    optimizer = el.optim.ProjUNN(groups, rank=rank, variant=variant, sampler=sampler, base=base)
    first = train_(net, optimizer, 1)
    assert train_(net, optimizer, 150, seed=1) < first
    assert net.rnn.recurrent_l0.defect() < 2e-6


@pytest.mark.parametrize("normalise", [False, True])
def test_unitary_cayley_trains_and_keeps_the_set(normalise: bool) -> None:
    net = network("urnn-full")
    optimizer = el.optim.UnitaryCayley(el.optim.param_groups(net, 1e-2, 1e-3), normalise=normalise)
    first = train_(net, optimizer, 1)
    assert train_(net, optimizer, 150, seed=1) < first
    assert net.rnn.recurrent_l0.defect() < 2e-6


def test_unitary_cayley_is_its_formula_and_descends() -> None:
    W = torch.linalg.qr(torch.randn(5, 5, dtype=torch.complex128))[0]
    target = torch.linalg.qr(torch.randn(5, 5, dtype=torch.complex128))[0]
    matrix = el.matrices.Unitary(5, init=W, dtype=torch.complex128)
    optimizer = el.optim.UnitaryCayley(el.optim.param_groups(matrix, 0.02, 0.02))
    loss = (matrix() - target).abs().square().sum()
    loss.backward()
    G = matrix.weight.grad.clone()
    optimizer.step()
    A = G @ W.mH - W @ G.mH
    eye = torch.eye(5)
    assert relative(matrix.weight, torch.linalg.solve(eye + 0.01 * A, eye - 0.01 * A) @ W) < 1e-13
    assert (matrix() - target).abs().square().sum() < loss


@pytest.mark.parametrize("rate", [1e-2, 1.0])
@pytest.mark.parametrize(("kind", "n"), [("orthogonal", 3), ("orthogonal", 64), ("unitary", 2), ("unitary", 64)])
def test_the_set_survives_random_steps(kind: str, n: int, rate: float) -> None:
    matrix = el.matrices.NAMES[kind](n)
    groups = el.optim.param_groups(matrix, rate, rate)
    optimizer = el.optim.ProjUNN(groups) if kind == "orthogonal" else el.optim.UnitaryCayley(groups)
    for _ in range(1000):
        matrix.weight.grad = torch.randn_like(matrix.weight)
        optimizer.step()
    matrix()
    assert orthogonality_defect(matrix()) <= 1e-5


def test_the_divider_divides_the_preconditioned_step() -> None:
    moved = []
    for divider in (1.0, 32.0):
        matrix = el.matrices.Orthogonal(6, init="identity", dtype=torch.float64)
        optimizer = el.optim.ProjUNN(el.optim.param_groups(matrix, 1e-4, 1e-4), divider=divider)
        matrix.weight.grad = torch.ones(6, 6, dtype=torch.float64).triu()
        optimizer.step()
        moved.append((matrix.weight - torch.eye(6)).norm().item())
    assert abs(moved[0] / moved[1] - 32) < 0.5


def test_along_the_group_before_rmsprop() -> None:
    net = network("projunn", dtype=torch.float64)
    (W,) = (p for group in el.optim.param_groups(net, 0.1) if group.get("projected") for p in group["params"])
    before, G = W.detach().clone(), torch.randn_like(W)
    tangent = before @ (before.T @ G - G.T @ before) / 2
    assert relative(before.T @ tangent, -(before.T @ tangent).T) < 1e-12
    assert float((tangent * (G - tangent)).sum()) == pytest.approx(0, abs=1e-10)  # an orthogonal projection
    optimizer = el.optim.ProjUNN(el.optim.param_groups(net, 0.1, 0.1), 0.1, rank=len(W), tangent=True, alpha=0.9)
    for p in net.parameters():
        p.grad = G.clone() if p is W else torch.zeros_like(p)
    optimizer.step()
    step = 0.1 * tangent / (math.sqrt(0.1) * tangent.abs() + 1e-8)  # RMSprop's first one
    assert relative(W, nearest_orthogonal(before - step)) < 1e-9


def test_a_state_that_was_saved_before_tangent_loads() -> None:
    """It goes on as the optimizer that wrote it, which knew no tangent."""
    net = network("projunn")
    optimizer = el.optim.ProjUNN(el.optim.param_groups(net, 0.1), 0.1)
    train_(net, optimizer, 2)
    twin = copy.deepcopy(net)
    old = copy.deepcopy(optimizer.state_dict())
    for group in old["param_groups"]:
        del group["tangent"]
    loaded = el.optim.ProjUNN(el.optim.param_groups(twin, 0.1), 0.1, seed=5)
    loaded.load_state_dict(old)
    assert [group["tangent"] for group in loaded.param_groups] == [False] * len(loaded.param_groups)
    train_(net, optimizer, 2)
    train_(twin, loaded, 2)
    for ours, theirs in zip(net.parameters(), twin.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_several_groups_each_take_their_own_step() -> None:
    """The published RMSprop updates the last group only."""
    rnn = el.RNN(3, 6, 2, recurrent="orthogonal")
    groups = [
        {"params": [rnn.recurrent_l0.weight], "lr": 0.1, "projected": True},
        {"params": [rnn.recurrent_l1.weight], "lr": 0.1, "projected": True, "rank": 2},
        {"params": [rnn.weight_ih_l0], "lr": 0.1},
    ]
    optimizer = el.optim.ProjUNN(groups)
    before = [group["params"][0].detach().clone() for group in groups]
    rnn(torch.randn(4, 2, 3))[0].sum().backward()
    optimizer.step()
    assert all(not torch.equal(old, group["params"][0]) for old, group in zip(before, groups, strict=True))


def test_resume_is_exact_with_the_samplers_generator() -> None:
    net = network("projunn")
    optimizer = el.optim.ProjUNN(el.optim.param_groups(net, 1e-2), seed=3)
    train_(net, optimizer, 5)
    file = io.BytesIO()
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    other = network("projunn")
    resumed = el.optim.ProjUNN(el.optim.param_groups(other, 1e-2))
    other.load_state_dict(saved["net"])
    resumed.load_state_dict(saved["optimizer"])
    train_(net, optimizer, 5, seed=1)
    train_(other, resumed, 5, seed=1)
    assert torch.equal(net.rnn.recurrent_l0.weight, other.rnn.recurrent_l0.weight)
    twin = copy.deepcopy(optimizer)
    assert torch.equal(twin.generator.get_state(), optimizer.generator.get_state())


OPTIMIZERS = {
    "ProjUNN": ("projunn", el.optim.ProjUNN, {"rank": 2, "tangent": True, "divider": 2.0}),
    "UnitaryCayley": ("urnn-full", el.optim.UnitaryCayley, {"normalise": False}),
    "UnitaryCayley, normalised": ("urnn-full", el.optim.UnitaryCayley, {"normalise": True}),
    "TFRMSprop": ("scornn", el.optim.TFRMSprop, {"momentum": 0.5}),
}


@pytest.mark.parametrize("how", ["copied", "pickled", "saved without normalise"])
@pytest.mark.parametrize("case", OPTIMIZERS)
def test_another_optimizer_with_the_same_state_takes_the_same_steps(case: str, how: str) -> None:
    kind, make, options = OPTIMIZERS[case]
    net = network(kind)
    optimizer = make(el.optim.param_groups(net, 1e-2), **options)
    train_(net, optimizer, 2)
    if how == "copied":
        twin, other = copy.deepcopy((net, optimizer))
    elif how == "pickled":
        twin, other = pickle.loads(pickle.dumps((net, optimizer)))
    else:
        twin = copy.deepcopy(net)
        other = make(el.optim.param_groups(twin, 1e-2), **options)
        saved = copy.deepcopy(optimizer.state_dict())
        for group in saved["param_groups"]:
            group.pop("normalise", None)
        other.load_state_dict(saved)
    train_(net, optimizer, 3)
    train_(twin, other, 3)
    for ours, theirs in zip(net.parameters(), twin.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize(("kind", "right"), [("projunn", "ProjUNN"), ("urnn-full", "UnitaryCayley")])
def test_other_optimizers_are_caught_with_the_right_ones_name(kind: str, right: str) -> None:
    net = network(kind)
    with pytest.raises(RuntimeError, match=right):
        train_(net, torch.optim.Adam(net.parameters(), lr=1e-2), 5)


def test_refusals() -> None:
    net = network("projunn")
    groups = el.optim.param_groups(net, 1e-2)
    for options in (
        {"rank": 0},
        {"sampler": "svd"},
        {"variant": "X"},
        {"divider": 0},
        {"base": "adam"},
        {"alpha": 1.0},
    ):
        with pytest.raises(ValueError, match=next(iter(options))):
            el.optim.ProjUNN(groups, **options)
    with pytest.raises(ValueError, match="found no matrix"):
        el.optim.ProjUNN(net.parameters())
    with pytest.raises(ValueError, match="UnitaryCayley"):
        el.optim.ProjUNN(el.optim.param_groups(network("urnn-full"), 1e-2))
    optimizer = el.optim.ProjUNN(groups)
    before = net.rnn.recurrent_l0.weight.detach().clone()
    net.rnn.recurrent_l0.weight.grad = torch.full_like(before, torch.nan)
    with pytest.raises(RuntimeError, match="NaN or inf"):
        optimizer.step()
    assert torch.equal(net.rnn.recurrent_l0.weight, before)


def test_complex_parameters_take_the_step_of_torchs_rmsprop() -> None:
    net = network("urnn-full")
    twin = copy.deepcopy(net)
    ours = el.optim.UnitaryCayley(el.optim.param_groups(net, 1e-3, 0.0), alpha=0.99)
    theirs = torch.optim.RMSprop([twin.rnn.weight_ih_l0], lr=1e-3, alpha=0.99)
    start = net.rnn.weight_ih_l0.detach().clone()
    for _ in range(200):
        for U in (net.rnn.weight_ih_l0, twin.rnn.weight_ih_l0):
            U.grad = torch.full_like(U, 1 + 1e-3j)
        ours.step()
        theirs.step()
    assert relative(net.rnn.weight_ih_l0, twin.rnn.weight_ih_l0) < 1e-6
    assert (net.rnn.weight_ih_l0 - start).imag.abs().min() > 0.08


def test_a_normalised_unitary_step_has_parts_of_their_own() -> None:
    net = network("urnn-full")
    optimizer = el.optim.UnitaryCayley(el.optim.param_groups(net, 1e-3, 1e-3), normalise=True)
    (group,) = (group for group in optimizer.param_groups if group["projected"])
    W = group["params"][0]
    direction = optimizer._preconditioned(W, torch.full_like(W, 1 + 1e-3j).conj(), group)
    assert relative(direction.real, -direction.imag) < 1e-3
