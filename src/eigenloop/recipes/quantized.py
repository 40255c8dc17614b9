"""QORNN: an orthogonal recurrent matrix in few bits, by one of four strategies (Foucault et al. 2024, section 4)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from eigenloop.layers import RNN
from eigenloop.matrices import Bjorck, Free, Matrix, Orthogonal
from eigenloop.quantization import Quantizer
from eigenloop.recipes.own_matrix import own_matrix, with_matrix
from eigenloop.recipes.starts import Generator, Init, Size, glorot, uniform_, uniform_inputs_

Strategy = Literal["ptq-projunn", "ste-pen", "ste-projunn", "ste-bjorck"]


@own_matrix("init")
def qornn(
    input_size: int,
    hidden_size: Size,
    *,
    bits: int | None = 8,
    strategy: Strategy = "ste-bjorck",
    init: Init = "haar",
    around_identity: bool = False,
    per_row: bool = False,
    penalty: float = 0.1,
    regulariser: Literal["gram", "spectral"] = "gram",
    normalise: Literal["none", "norm", "radius"] | None = None,
    generator: Generator = None,
    **layer: Any,
) -> RNN:
    """QORNN: W and U in `bits` bits (None: in floating point), U Glorot uniform, by one of four strategies.

    There is no additive bias. By default STE-pen divides q(W) by its norm (`normalise`), and the others do not; modReLU
    over many steps in few bits needs ``normalise="radius"`` (see `quantization.Quantizer`).

    * ``"ste-bjorck"``: q(Bjorck(W)), trained with Adam and a straight-through gradient; ReLU;
    * ``"ste-projunn"``: q(W) with W kept orthogonal by `optim.ProjUNN`; modReLU;
    * ``"ptq-projunn"``: the same trained in floating point, and quantized in evaluation only;
    * ``"ste-pen"``: q(W) / sigma_max with W free, and `penalty` times its distance from orthogonal added to the loss;
      ReLU.
    """
    matrices: dict[str, Callable[..., Matrix]] = {
        "ste-bjorck": Bjorck,
        "ste-projunn": Orthogonal,
        "ptq-projunn": Orthogonal,
        "ste-pen": Free,
    }
    if strategy not in matrices:
        raise ValueError(f"strategy={strategy!r} is not known: choose one of {', '.join(matrices)}")
    pen = strategy == "ste-pen"
    if bits is None and pen:
        raise ValueError("bits=None: ste-pen is about a quantized matrix, choose another strategy or give bits")
    quantizer = None
    if bits is not None:
        quantizer = Quantizer(
            bits,
            around_identity=around_identity,
            per_row=per_row,
            normalise=normalise or ("norm" if pen else "none"),
            penalty=penalty if pen else 0.0,
            regulariser=regulariser,
            post_training=strategy == "ptq-projunn",
        )
    layer = {"nonlinearity": "modrelu" if "projunn" in strategy else "relu", **layer}
    if layer["nonlinearity"] != "modrelu":
        layer = {"bias": False, **layer}
    matrix = partial(matrices[strategy], init=init, generator=generator)
    made = RNN(input_size, hidden_size, bits=quantizer, generator=generator, **with_matrix(matrix, layer))
    uniform_inputs_(made, glorot, generator)
    if made.nonlinearity == "modrelu":
        uniform_(made, "bias_l", 0.01, generator)
    return made
