"""The published models with a simple recurrence: each recipe has the matrix and initialisation of its paper."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from eigenloop.layers import RNN
from eigenloop.matrices import (
    Exponential,
    Free,
    Givens,
    Householder,
    HouseholderSVD,
    LongShort,
    Matrix,
    Orthogonal,
    ScaledCayley,
    Schur,
    Unitary,
)
from eigenloop.recipes.own_matrix import own_matrix, with_matrix
from eigenloop.recipes.starts import (
    Generator,
    Init,
    Size,
    constant_,
    glorot,
    initial_states_,
    kaiming,
    normal_inputs_,
    uniform_,
    uniform_inputs_,
)


def _modrelu_rnn(
    input_size: int, hidden_size: Size, matrix: Callable[[int], Matrix], generator: Generator, layer: dict[str, Any]
) -> RNN:
    """Return the RNN that nnRNN, expRNN and projUNN have in common: modReLU's b ~ U(-0.01, 0.01)."""
    rnn = RNN(input_size, hidden_size, generator=generator, **with_matrix(matrix, layer))
    uniform_(rnn, "bias_l", 0.01, generator)
    return rnn


@own_matrix("init")
def rnn(input_size: int, hidden_size: Size, *, init: Init = "glorot", generator: Generator = None, **layer: Any) -> RNN:
    """The plain RNN, a baseline of nnRNN: modReLU, U Glorot normal, and a bias added to U x."""
    matrix = partial(Free, init=init, generator=generator)
    made = _modrelu_rnn(input_size, hidden_size, matrix, generator, {"input_bias": True, **layer})
    normal_inputs_(made, glorot, generator)
    return made


@own_matrix("init")
def rnn_orth(
    input_size: int, hidden_size: Size, *, init: Init = "rotation", generator: Generator = None, **layer: Any
) -> RNN:
    """`rnn` with W initially orthogonal, of determinant 1, then trained without constraint (Kerg et al. 2019, A.4)."""
    return rnn(input_size, hidden_size, init=init, generator=generator, **layer)


@own_matrix("negative", "init")
def scornn(
    input_size: int,
    hidden_size: Size,
    *,
    negative: int | None = None,
    init: Init = "cayley",
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    """scoRNN: U ~ U(-0.01, 0.01), b = 0, negative = n // 2 (Helfrich et al. 2018, section 5)."""
    matrix = partial(ScaledCayley, negative=negative, init=init, generator=generator)
    made = RNN(input_size, hidden_size, generator=generator, **with_matrix(matrix, layer))
    uniform_(made, "weight_ih", 0.01, generator)
    return made


@own_matrix("init")
def exprnn(
    input_size: int, hidden_size: Size, *, init: Init = "henaff", generator: Generator = None, **layer: Any
) -> RNN:
    """expRNN: U Kaiming normal, W = exp(A) with A initially "henaff" (copying) or "cayley" (MNIST)."""
    matrix = partial(Exponential, init=init, generator=generator)
    made = _modrelu_rnn(input_size, hidden_size, matrix, generator, layer)
    normal_inputs_(made, kaiming, generator)
    return made


@own_matrix("rebase_every", "init")
def dtriv(
    input_size: int,
    hidden_size: Size,
    *,
    rebase_every: int = 100,
    init: Init = "henaff",
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    """dtriv: expRNN whose base changes every 100 steps (Lezcano-Casado 2019)."""
    matrix = partial(Exponential, rebase_every=rebase_every, init=init, generator=generator)
    made = _modrelu_rnn(input_size, hidden_size, matrix, generator, layer)
    normal_inputs_(made, kaiming, generator)
    return made


@own_matrix("delta", "triangle_decay", "train_gamma", "blocks", "slow_eigenvalues", "orthogonal", "init")
def nnrnn(
    input_size: int,
    hidden_size: Size,
    *,
    delta: float = 1e-4,
    triangle_decay: float = 1e-6,
    train_gamma: bool = True,
    blocks: str = "paper",
    slow_eigenvalues: bool = False,
    orthogonal: Callable[[int], Matrix] | None = None,
    init: Init = "henaff",
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    """nnRNN: U Glorot normal, P by the exponential map; delta and decay of the copying task (supplement, Table 2).

    `init` gives the initial P; the initial eigenvalues lie on the unit circle at theta ~ U(0, 2 pi).
    """
    matrix = partial(
        Schur,
        orthogonal=orthogonal or partial(Exponential, init=init, generator=generator),
        delta=delta,
        triangle_decay=triangle_decay,
        train_gamma=train_gamma,
        blocks=blocks,
        slow_eigenvalues=slow_eigenvalues,
        generator=generator,
    )
    made = _modrelu_rnn(input_size, hidden_size, matrix, generator, layer)
    normal_inputs_(made, glorot, generator)
    return made


@own_matrix("init")
def projunn(
    input_size: int, hidden_size: Size, *, init: Init = "henaff", generator: Generator = None, **layer: Any
) -> RNN:
    """projUNN: U Glorot uniform, W initially "henaff" (copying), "identity" (adding) or "haar" (MNIST).

    Train it with `eigenloop.optim.ProjUNN`.
    """
    matrix = partial(Orthogonal, init=init, generator=generator)
    made = _modrelu_rnn(input_size, hidden_size, matrix, generator, layer)
    uniform_inputs_(made, glorot, generator)
    return made


@own_matrix("reflections", "init")
def ornn(
    input_size: int,
    hidden_size: Size,
    *,
    reflections: int | None = None,
    init: Init = "gaussian",
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    """oRNN: leaky ReLU of slope 0.1 with one bias, U Glorot uniform, trained h0 (Mhammedi et al. 2017)."""
    matrix = partial(Householder, reflections=reflections, init=init, generator=generator)
    own = {"nonlinearity": "leaky_relu", "negative_slope": 0.1, "bias": False, "input_bias": True}
    layer = {**own, "train_initial_state": True, **layer}
    made = RNN(input_size, hidden_size, generator=generator, **with_matrix(matrix, layer))
    uniform_inputs_(made, glorot, generator)
    constant_(made, "bias", 0.0)
    initial_states_(made, generator)
    return made


@own_matrix("reflections", "margin")
def spectralrnn(
    input_size: int,
    hidden_size: Size,
    *,
    reflections: int | None = None,
    margin: float = 0.01,
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    """Spectral RNN: ReLU with one bias, singular values within 0.01 of 1, U Glorot uniform (Zhang et al. 2018)."""
    matrix = partial(HouseholderSVD, reflections=reflections, margin=margin, generator=generator)
    layer = {"nonlinearity": "relu", "bias": False, "input_bias": True, **layer}
    made = RNN(input_size, hidden_size, generator=generator, **with_matrix(matrix, layer))
    uniform_inputs_(made, glorot, generator)
    constant_(made, "bias", 0.0)
    return made


@own_matrix("style", "capacity", "complex")
def eurnn(
    input_size: int,
    hidden_size: Size,
    *,
    style: str = "tunable",
    capacity: int | None = None,
    complex: bool = True,
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    """EURNN: complex state, read-out of Re h, U ~ U(-0.01, 0.01), b = 0, capacity 2 (Jing et al. 2017)."""
    matrix = partial(Givens, style=style, capacity=capacity, complex=complex, generator=generator)
    made = RNN(input_size, hidden_size, generator=generator, **with_matrix(matrix, layer))
    uniform_(made, "weight_ih", 0.01, generator)
    return made


@own_matrix("init")
def urnn_full(
    input_size: int, hidden_size: Size, *, init: Init = "urnn", generator: Generator = None, **layer: Any
) -> RNN:
    """Full-capacity uRNN: complex state, read-out of both parts, U Glorot uniform, trained h0 (Wisdom et al. 2016).

    Train it with `eigenloop.optim.UnitaryCayley`.
    """
    matrix = partial(Unitary, init=init, generator=generator)
    made = _modrelu_rnn(input_size, hidden_size, matrix, generator, {"train_initial_state": True, **layer})
    made.complex_readout = "both"
    # In the published code real and imaginary parts are the columns of one m x 2n matrix.
    uniform_inputs_(made, lambda m, n: glorot(m, 2 * n), generator)
    initial_states_(made, generator)
    return made


@own_matrix("short", "negative", "coupling", "coupling_init", "eps")
def enrnn(
    input_size: int,
    hidden_size: Size,
    *,
    short: int | None = None,
    negative: int | None = None,
    coupling: bool = True,
    coupling_init: Init = "glorot",
    eps: float = 0.0,
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    """ENRNN: U ~ U(-0.01, 0.01), b = 0 (a single bias even with ReLU), short = 0.4 n (Helfrich, Ye 2020)."""
    matrix = partial(
        LongShort,
        short=short,
        coupling=coupling,
        coupling_init=coupling_init,
        long=partial(ScaledCayley, negative=negative, generator=generator),
        eps=eps,
        generator=generator,
    )
    if layer.get("nonlinearity", "modrelu") != "modrelu":
        layer = {"bias": False, "input_bias": True, **layer}
    made = RNN(input_size, hidden_size, generator=generator, **with_matrix(matrix, layer))
    uniform_(made, "weight_ih", 0.01, generator)
    constant_(made, "bias", 0.0)
    return made
