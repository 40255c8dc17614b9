"""The problem sizes that are measured, with the goals for two cores with AVX-512."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One training step: T steps, B sequences, n units, m inputs.

    Attributes:
        gated: NC-GRU (True) or the simple recurrence with modReLU (False).
        eager_goal: how many times faster than an autograd loop we want to be.
        torch_goal: how many times faster than torch.nn.RNN or torch.nn.GRU.
    """

    gated: bool
    T: int
    B: int
    n: int
    m: int
    eager_goal: float
    torch_goal: float

    @property
    def flops(self) -> float:
        """Operations of the recurrent products: one forward and two backward, for each gate."""
        return (18.0 if self.gated else 6.0) * self.T * self.B * self.n**2

    def __str__(self) -> str:
        return f"{'GRU (NC)' if self.gated else 'RNN modrelu'} {self.T}, {self.B}, {self.n}, {self.m}"


ROWS = (
    Row(False, 220, 10, 128, 10, 15, 9),
    Row(False, 750, 50, 170, 2, 5, 3.2),
    Row(False, 784, 128, 170, 1, 5, 2.7),
    Row(False, 2020, 20, 192, 10, 8, 3.8),
    Row(False, 784, 100, 512, 1, 2.4, 1.8),
    Row(False, 150, 128, 1024, 50, 1.5, 1.2),
    Row(True, 1020, 50, 96, 10, 6, 3.5),
    Row(True, 220, 128, 118, 11, 3.5, 3),
    Row(True, 100, 32, 435, 435, 2.5, 2.2),
)
