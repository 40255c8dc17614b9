"""The problem sizes that are measured, with the goals for two cores with AVX-512."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Row:
    """A training step on T time steps, B sequences, n units and m inputs.

    Attributes:
        kind: ``"RNN"`` (modReLU), ``"GRU"`` (NC-GRU) or ``"LSTM"`` (torch's).
        eager_goal: the desired speed-up over a loop in eager torch.
        torch_goal: the desired speed-up over torch's layer of that kind.
    """

    kind: Literal["RNN", "GRU", "LSTM"]
    T: int
    B: int
    n: int
    m: int
    eager_goal: float
    torch_goal: float

    @property
    def gates(self) -> int:
        """The number of recurrent matrices, one for each gate."""
        return {"RNN": 1, "GRU": 3, "LSTM": 4}[self.kind]

    @property
    def flops(self) -> float:
        """Floating-point operations of all products: W one forward, two backward; U one each, as x has no gradient."""
        return self.gates * self.T * self.B * self.n * (6.0 * self.n + 4.0 * self.m)

    def __str__(self) -> str:
        name = {"RNN": "RNN modrelu", "GRU": "GRU (NC)", "LSTM": "LSTM"}[self.kind]
        return f"{name} {self.T}, {self.B}, {self.n}, {self.m}"


ROWS = (
    Row("RNN", 220, 10, 128, 10, 15, 9),
    Row("RNN", 750, 50, 170, 2, 5, 3.2),
    Row("RNN", 784, 128, 170, 1, 5, 2.7),
    Row("RNN", 2020, 20, 192, 10, 8, 3.8),
    Row("RNN", 784, 100, 512, 1, 2.4, 1.8),
    Row("RNN", 150, 128, 1024, 50, 1.5, 1.2),
    Row("GRU", 1020, 50, 96, 10, 6, 3.5),
    Row("GRU", 220, 128, 118, 11, 3.5, 3),
    Row("GRU", 100, 32, 435, 435, 2.5, 2.2),
    Row("LSTM", 220, 10, 128, 10, 8, 5),
    Row("LSTM", 1020, 50, 68, 10, 6, 4),
    Row("LSTM", 784, 128, 170, 1, 3, 2.5),
    Row("LSTM", 150, 128, 475, 200, 1.5, 1.3),
)
