"""FastGRNN, the baseline for the smallest devices, initialised as in its published code."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from eigenloop import initializers
from eigenloop.layers import FastGRNN
from eigenloop.matrices import Free
from eigenloop.recipes.own_matrix import own_matrix, with_matrix
from eigenloop.recipes.starts import Generator, Init, Size, parameters_of

#: The initial standard deviation of every weight.
_DEVIATION = 0.1


@own_matrix("init")
def fastgrnn(
    input_size: int, hidden_size: Size, *, init: Init = "published", generator: Generator = None, **layer: Any
) -> FastGRNN:
    """FastGRNN: W and U from N(0, 0.1^2), biases 1, zeta and nu 1 and -4 before the sigmoid (Kusupati et al. 2018).

    ``init`` gives W another initial value, as for the matrix ``free``. The paper's low rank and sparsity, and with them
    its model sizes, are not implemented: this is the paper's FastGRNN-LSQ, with ``bits=`` quantized to k bits.
    """
    published = isinstance(init, str) and init == "published"
    matrix = partial(Free, init="torch" if published else init, generator=generator)
    made = FastGRNN(input_size, hidden_size, generator=generator, **with_matrix(matrix, layer))
    with torch.no_grad():
        for U in parameters_of(made, "weight_ih"):
            initializers.fill_normal_(U, _DEVIATION, generator)
        for free in (module for module in made.modules() if isinstance(module, Free)):
            if published and "recurrent" not in layer:
                initializers.fill_normal_(free.weight, _DEVIATION, generator)
    return made
