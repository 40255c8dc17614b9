"""The compiled kernel against the reference path, over shapes, precisions, threads and instruction sets."""

import contextlib
import threading
from collections.abc import Iterator

import pytest
import torch
from comparing import relative
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import eigenloop as el
from eigenloop import recurrence
from eigenloop.recurrence import kernel, kernel_calls

pytestmark = pytest.mark.skipif(kernel.library() is None, reason="the compiled kernel is not there")

ACTIVATION = st.sampled_from(sorted(recurrence.ACTIVATIONS))
TOLERANCE = {torch.float64: 1e-11, torch.float32: 2e-4}
GATES = {"simple": 1, "gated": 3, "lstm": 4}
OPTIONS = {
    "simple": {"activation": "tanh"},
    "gated": {"candidate": "tanh", "reset": "after", "update": "keep"},
    "lstm": {"cell": "tanh"},
}


def variants() -> list[str]:
    library = kernel.library()
    return [] if library is None else list(kernel.VARIANTS[: kernel.VARIANTS.index(library.best) + 1])


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Problem:
    """Random arguments for a recurrence, and a run that returns outputs and all gradients."""

    def __init__(self, kind: str, T: int, B: int, n: int, m: int, dtype: torch.dtype, seed: int) -> None:
        g = torch.Generator().manual_seed(seed)

        def normal(*shape: int, scale: float = 1.0) -> Tensor:
            return scale * torch.randn(shape, generator=g, dtype=dtype)

        gates = GATES[kind]
        self.kind, self.seed = kind, seed
        self.leaves = {
            "x": normal(T, B, m or gates * n),
            "U": normal(gates * n, m) if m else None,
            "W": normal(gates * n, n, scale=n**-0.5),
            "shift": normal(gates * n, scale=0.3),
            "bias": normal(n, scale=0.3),
            "inner": normal(n, scale=0.3),
            "h0": normal(B, n),
        }
        if kind == "lstm":
            self.leaves["c0"] = normal(B, n)
        self.lengths: Tensor | None = None
        self.options: dict = {}

    def run(self, loss: str = "both", frozen: tuple[str, ...] = ()) -> dict[str, Tensor]:
        v = {
            name: None if value is None else value.detach().clone().requires_grad_(name not in frozen)
            for name, value in self.leaves.items()
        }
        extra = {"input_weight": v["U"], "input_bias": v["shift"]}
        if self.kind == "gated":
            inner = v["inner"] if self.options.get("reset") == "after" else None
            tensors = (v["x"], v["W"], v["bias"], inner, v["h0"], self.lengths)
            out, *final = recurrence.gated(*tensors, **self.options, **extra, negative_slope=0.1)
        elif self.kind == "lstm":
            bias = v["bias"] if self.options.get("cell") == "modrelu" else None
            out, *final = recurrence.lstm(v["x"], v["W"], bias, v["h0"], v["c0"], self.lengths, **self.options, **extra)
        else:
            tensors = (v["x"], v["W"], v["bias"], v["h0"], self.lengths)
            out, *final = recurrence.simple(*tensors, **self.options, **extra, negative_slope=0.1)
        g = torch.Generator().manual_seed(self.seed + 1)
        weights = [torch.randn(t.shape, generator=g, dtype=t.dtype) for t in (out, *final)]
        total = out.new_zeros(())
        if loss != "h_n":
            total = total + (out * weights[0]).sum()
        if loss != "out":
            total = total + sum((t * weight).sum() for t, weight in zip(final, weights[1:], strict=True))
        leaves = {name: value for name, value in v.items() if value is not None and value.requires_grad}
        # Where only what is not used has a gradient (a bias inside a reset gate that acts before), there is no graph.
        grads = [None] * len(leaves)
        if total.requires_grad:
            grads = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
        states = {name: t.detach() for name, t in zip(("h_n", "c_n"), final, strict=False)}
        return {"out": out.detach(), **states, **dict(zip(leaves, grads, strict=True))}


def compare(problem: Problem, tolerance: float, **how) -> None:
    with kernel.using("reference"):
        expected = problem.run(**how)
    for name, value in problem.run(**how).items():
        if expected[name] is None:
            assert value is None, name
        else:
            assert relative(value, expected[name]) < tolerance, name


SHAPES = {
    "T": st.integers(1, 12),
    "B": st.integers(1, 9),
    "n": st.integers(1, 70),
    "m": st.integers(0, 20),
    "dtype": st.sampled_from([torch.float32, torch.float64]),
    "reverse": st.booleans(),
    "cut": st.booleans(),
    "loss": st.sampled_from(["out", "h_n", "both"]),
    "frozen": st.sets(st.sampled_from(["x", "U", "W", "shift", "bias", "inner", "h0", "c0"]), max_size=5),
    "count": st.integers(1, 4),
    "variant": st.sampled_from(variants() or ["portable"]),
    "seed": st.integers(0, 999),
}


def arranged(problem: Problem, T: int, B: int, cut: bool, seed: int, **options) -> Problem:
    if cut:
        problem.lengths = torch.randint(1, T + 1, (B,), generator=torch.Generator().manual_seed(seed))
    problem.options = options
    return problem


@given(activation=ACTIVATION, **SHAPES)
def test_simple(T, B, n, m, dtype, reverse, cut, loss, frozen, count, variant, seed, activation) -> None:
    problem = arranged(
        Problem("simple", T, B, n, m, dtype, seed), T, B, cut, seed, activation=activation, reverse=reverse
    )
    with threads(count), kernel.using(variant):
        compare(problem, TOLERANCE[dtype], loss=loss, frozen=tuple(frozen))


@given(
    candidate=ACTIVATION,
    reset=st.sampled_from(["before", "after"]),
    update=st.sampled_from(["keep", "write"]),
    **SHAPES,
)
def test_gated(T, B, n, m, dtype, reverse, cut, loss, frozen, count, variant, seed, candidate, reset, update) -> None:
    problem = Problem("gated", T, B, n, m, dtype, seed)
    arranged(problem, T, B, cut, seed, candidate=candidate, reset=reset, update=update, reverse=reverse)
    with threads(count), kernel.using(variant):
        compare(problem, TOLERANCE[dtype], loss=loss, frozen=tuple(frozen))


@given(cell=st.sampled_from(["tanh", "modrelu", "relu", "identity"]), **SHAPES)
def test_lstm(T, B, n, m, dtype, reverse, cut, loss, frozen, count, variant, seed, cell) -> None:
    problem = arranged(Problem("lstm", T, B, n, m, dtype, seed), T, B, cut, seed, cell=cell, reverse=reverse)
    with threads(count), kernel.using(variant):
        compare(problem, TOLERANCE[dtype], loss=loss, frozen=tuple(frozen))


@given(activation=st.sampled_from(["modrelu", "identity"]), real_input=st.booleans(), **SHAPES)
def test_complex(T, B, n, m, dtype, reverse, cut, loss, frozen, count, variant, seed, activation, real_input) -> None:
    """A complex state against the reference, which works with complex numbers; the phase where z is small is noise."""
    g = torch.Generator().manual_seed(seed)
    kind = torch.complex128 if dtype == torch.float64 else torch.complex64

    def normal(*shape: int, scale: float = 1.0) -> Tensor:
        return scale * torch.randn(shape, generator=g, dtype=kind)

    leaves = {
        "x": normal(T, B, m or n),
        "U": normal(n, m) if m else None,
        "W": normal(n, n, scale=n**-0.5),
        "shift": normal(n, scale=0.3),
        "bias": normal(n, scale=0.3).real,
        "h0": normal(B, n),
    }
    if real_input and m:
        leaves["x"] = leaves["x"].real
    lengths = torch.randint(1, T + 1, (B,), generator=g) if cut else None

    def run() -> dict[str, Tensor | None]:
        v = {k: None if t is None else t.clone().requires_grad_(k not in frozen) for k, t in leaves.items()}
        bias = v["bias"] if activation == "modrelu" else None
        x = v["x"].to(kind)
        options = {"input_weight": v["U"], "input_bias": v["shift"]}
        out, h_n = recurrence.simple(x, v["W"], bias, v["h0"], lengths, activation, reverse, **options)
        total = out.new_zeros(()).real
        for t, used in ((out, loss != "h_n"), (h_n, loss != "out")):
            total = total + (t.real.sin() + t.imag.cos()).sum() * used
        wanted = {k: t for k, t in v.items() if t is not None and t.requires_grad}
        grads = torch.autograd.grad(total, list(wanted.values()), allow_unused=True) if total.requires_grad else ()
        return {"out": out.detach(), "h_n": h_n.detach(), **dict(zip(wanted, grads, strict=False))}

    with kernel.using("reference"):
        expected = run()
    with threads(count), kernel.using(variant):
        found = run()
    for name, value in expected.items():
        assert (value is None) == (found[name] is None), name
        if value is not None:
            assert relative(found[name], value) < {torch.float64: 1e-9, torch.float32: 2e-2}[dtype], name


def test_complex_modrelu_of_numbers_whose_squares_vanish() -> None:
    """1e-30 squared is no float, and its phase counts all the same where b is positive; large ones do not overflow."""
    z = torch.tensor([[[1e-30 + 1e-30j, 0j, 1e25 - 1e25j]]])
    bias = torch.tensor([0.5, 0.5, -1.0])
    out, _ = recurrence.simple(z, torch.zeros(3, 3, dtype=z.dtype), bias, torch.zeros(1, 3, dtype=z.dtype))
    expected = torch.tensor([[[(1 + 1j) * 0.5 / 2**0.5, 0j, 1e25 - 1e25j]]])
    assert (out - expected).abs().max() <= 1e-6 * expected.abs().max()
    assert relative(out[..., :2], expected[..., :2]) < 1e-6


@pytest.mark.parametrize("size", [1e-6, 1e-4, 1e-2, 1.0])
def test_complex_modrelu_keeps_the_digits_of_a_short_argument(size: float) -> None:
    """Across the phase the slope is (|z| + b) / |z|; |z| read off as (|z| + b) - b would lose its digits."""
    z, b, phase = size * torch.tensor([[[0.6 + 0.8j]]], dtype=torch.complex128), 0.5, 0.6 + 0.8j
    expected = phase * (0 + 1j * (size + b) / size)  # for a gradient of 1 across the phase
    for dtype, tolerance in ((torch.complex64, 3e-7), (torch.complex128, 1e-15)):
        x = z.to(dtype).requires_grad_()
        zeros = torch.zeros(1, 1, dtype=dtype)
        out, _ = recurrence.simple(x, zeros, torch.tensor([b], dtype=x.real.dtype), zeros)
        out.backward(torch.tensor([[[1j * phase]]], dtype=dtype))
        assert abs(x.grad.item() - expected) < tolerance * abs(expected)


# Sizes at which the kernel changes its ways: several threads, blocks of steps, slabs of the packed matrix, one step.
LARGE = [
    (250, 5, 48, 3),
    (300, 2, 60, 1),
    (30, 70, 33, 1),
    (4, 3, 530, 2),
    (1, 1, 200, 7),
    (1, 1000, 20, 3),
    (7, 300, 40, 0),
]


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("shape", LARGE, ids=str)
@pytest.mark.parametrize("variant", variants())
def test_large(kind: str, shape: tuple[int, int, int, int], variant: str) -> None:
    T, B, n, m = shape
    for dtype in TOLERANCE:
        for cut in (False, True):
            problem = arranged(Problem(kind, T, B, n, m, dtype, 5), T, B, cut, 5, **OPTIONS[kind])
            with threads(3), kernel.using(variant):
                compare(problem, TOLERANCE[dtype])


@given(
    kind=st.sampled_from(sorted(GATES)),
    where=st.sampled_from(["x", "W", "h0", "bias", "U", "shift"]),
    what=st.sampled_from([float("nan"), float("inf"), -float("inf")]),
    activation=ACTIVATION,
    reset=st.sampled_from(["before", "after"]),
    variant=st.sampled_from(variants() or ["portable"]),
    seed=st.integers(0, 99),
)
def test_nan_and_infinity_come_out_as_in_the_reference(kind, where, what, activation, reset, variant, seed) -> None:
    problem = Problem(kind, 4, 3, 11, 2, torch.float64, seed)
    options = {
        "simple": {"activation": activation},
        "gated": {"candidate": activation, "reset": reset},
        "lstm": {"cell": "tanh" if activation == "leaky_relu" else activation},
    }
    arranged(problem, 4, 3, False, seed, **options[kind])
    flat = problem.leaves[where].view(-1)
    flat[seed % flat.numel()] = what
    with kernel.using("reference"):
        expected = problem.run()
    with kernel.using(variant):
        found = problem.run()
    for name, value in expected.items():
        if value is None:
            continue
        assert torch.equal(found[name].isnan(), value.isnan()), name
        torch.testing.assert_close(found[name], value, equal_nan=True, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", GATES)
def test_the_same_thread_count_gives_the_same_bits(count: int, kind: str) -> None:
    problem = Problem(kind, 60, 7, 50, 3, torch.float32, 1)
    with threads(count):
        first = problem.run()
        for _ in range(4):
            for name, value in problem.run().items():
                assert value is None or torch.equal(value, first[name]), name


def test_several_python_threads_at_once() -> None:
    problem = Problem("simple", 60, 7, 50, 3, torch.float32, 1)
    with threads(2):
        expected = problem.run()
        wrong: list[str] = []

        def work() -> None:
            for _ in range(5):
                found = problem.run()
                wrong.extend(name for name in ("out", "W", "x") if not torch.equal(found[name], expected[name]))

        callers = [threading.Thread(target=work) for _ in range(4)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    assert not wrong


@pytest.mark.parametrize("kind", GATES)
def test_memory_that_lies_another_way(kind: str) -> None:
    """Transposed weights and states, a batch-first input and gradient, an expanded gradient."""
    T, B, n, m = 6, 4, 9, 5
    gates = GATES[kind]
    x = torch.randn(B, T, m, dtype=torch.float64).transpose(0, 1)
    W = torch.randn(n, gates * n, dtype=torch.float64).t()
    U = torch.randn(m, gates * n, dtype=torch.float64).t()
    h0 = torch.randn(n, B, dtype=torch.float64).t()
    bias = torch.randn(2 * n, dtype=torch.float64)[::2]

    def run() -> list[Tensor]:
        leaves = [t.detach().requires_grad_() for t in (x, W, U, h0, bias)]
        a, w, u, h, b = leaves
        if kind == "gated":
            out, h_n = recurrence.gated(a, w, b, None, h, None, "modrelu", "before", "write", input_weight=u)
        elif kind == "lstm":
            out, h_n, c_n = recurrence.lstm(a, w, b, h, h, None, "modrelu", input_weight=u)
            h_n = h_n + c_n
        else:
            out, h_n = recurrence.simple(a, w, b, h, input_weight=u)
        turned = out.transpose(0, 1).contiguous()
        loss = (turned * torch.arange(float(n))).sum() + out.sum() + h_n.sum()
        return [out, h_n, *torch.autograd.grad(loss, leaves)]

    with kernel.using("reference"):
        expected = run()
    for ours, theirs in zip(run(), expected, strict=True):
        assert relative(ours, theirs) < 1e-12


def test_an_empty_batch() -> None:
    for dtype in TOLERANCE:
        x, W = torch.zeros(3, 0, 4, dtype=dtype), torch.eye(4, dtype=dtype, requires_grad=True)
        out, h_n = recurrence.simple(x, W, None, torch.zeros(0, 4, dtype=dtype))
        assert out.shape == (3, 0, 4)
        (out.sum() + h_n.sum()).backward()
        assert torch.equal(W.grad, torch.zeros_like(W))


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("name", ["x", "W", "U", "shift", "bias", "h0", "lengths"])
def test_wrong_shapes_and_dtypes_are_refused_before_c_sees_them(kind: str, name: str) -> None:
    problem = Problem(kind, 3, 2, 4, 5, torch.float32, 0)
    problem.options = {"simple": {}, "gated": {"candidate": "modrelu"}, "lstm": {"cell": "modrelu"}}[kind]
    if name == "lengths":
        problem.lengths = torch.tensor([3, 2, 1])
    else:
        problem.leaves[name] = problem.leaves[name][..., :-1]
    with pytest.raises(ValueError, match=r"must have shape|one entry for each"):
        problem.run()
    if name not in ("lengths", "W"):
        problem.leaves = Problem(kind, 3, 2, 4, 5, torch.float32, 0).leaves
        problem.leaves[name] = problem.leaves[name].double()
        with pytest.raises(ValueError, match=r"is torch.float64 on cpu and W is torch.float32"):
            problem.run()


def test_lengths_beyond_the_end_and_of_another_dtype() -> None:
    """A compiled graph cannot check lengths, so C must not read beyond the end for them."""
    x, W, h0 = torch.randn(5, 3, 4), torch.randn(4, 4) / 2, torch.randn(3, 4)
    for reverse in (False, True):
        expected = recurrence.simple(x, W, None, h0, None, "tanh", reverse)
        found = recurrence.simple(x, W, None, h0, torch.tensor([5, 7, 99], dtype=torch.int32), "tanh", reverse)
        assert torch.equal(found[0], expected[0])
        assert torch.equal(found[1], expected[1])


def test_what_is_not_wanted_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[bool, ...]] = []
    run = kernel_calls.run_simple

    def watched(name, *arguments, **rounding) -> None:
        asked.append(tuple(grad is not None for grad in arguments[-1]) if name == "simple_backward" else ())
        run(name, *arguments, **rounding)

    monkeypatch.setattr(kernel_calls, "run_simple", watched)
    Problem("simple", 3, 2, 4, 2, torch.float64, 0).run(frozen=("x", "W", "h0"))
    assert asked == [(), (False, True, False, True, True, False, False, False)]


MAKE = [lambda: el.RNN(3, 17), lambda: el.build("ncgru", 3, 17), lambda: el.GRU(3, 17), lambda: el.LSTM(3, 17)]


def flat(state: Tensor | tuple[Tensor, ...]) -> Tensor:
    return state if isinstance(state, Tensor) else torch.cat(state)


@pytest.mark.parametrize("make", MAKE)
def test_export(make) -> None:
    layer = make().eval()
    x = torch.randn(9, 2, 3)
    program = torch.export.export(layer, (x,))
    assert "eigenloop.fused" in str(program.graph)
    for ours, theirs in zip(program.module()(x), layer(x), strict=True):
        assert relative(flat(ours), flat(theirs)) < 1e-6


@pytest.mark.parametrize("make", MAKE)
def test_streaming_equals_one_call(make) -> None:
    layer, x, h = make().eval(), torch.randn(40, 1, 3), None
    with torch.inference_mode():
        expected, last = layer(x)
        with el.cached(layer):
            outs = []
            for step in x:
                out, h = layer(step[None], h)
                outs.append(out)
    assert relative(torch.cat(outs), expected) < 1e-5
    assert relative(flat(h), flat(last)) < 1e-5


def test_inference_keeps_nothing() -> None:
    gru = el.build("ncgru", 3, 8)
    kept: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        with torch.no_grad():
            gru(torch.randn(5, 2, 3))
        assert not kept
        gru(torch.randn(5, 2, 3))
    assert any(t.shape == (5, 2, 24) for t in kept)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("variant", variants())
def test_numbers_too_small_to_be_normal_are_zero_inside_and_stay_as_they_are_outside(variant: str, count: int) -> None:
    """A fading gradient passes through them for hundreds of steps, each several times slower: docs/speed.md."""
    W = torch.full((1, 1), 1e-10)
    with kernel.using(variant), threads(count):
        out, _ = recurrence.simple(torch.zeros(4, 200, 1), W, None, torch.full((200, 1), 1e-20), activation="identity")
    assert out[:2, 0, 0].tolist() == [pytest.approx(1e-30), 0.0]
    assert (torch.tensor(1e-30) * 1e-10).item() > 0
