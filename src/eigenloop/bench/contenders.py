"""The same training step in three implementations: our recurrence, a loop over time in eager torch, torch.nn's layer.

A step is forward and backward with the loss on h_n and a given W; gradients are computed for all weights, not for x.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import linear

from eigenloop import recurrence
from eigenloop.bench.rows import Row

Step = Callable[[], None]


class Problem:
    """Random data and weights for a row, and the steps to time on them."""

    def __init__(self, row: Row) -> None:
        generator = torch.Generator().manual_seed(0)

        def normal(*shape: int, scale: float) -> Tensor:
            return scale * torch.randn(shape, generator=generator)

        gates = row.gates
        self.row = row
        self.x = normal(row.T, row.B, row.m, scale=1.0)
        self.h0 = torch.zeros(row.B, row.n)
        self.grad = normal(row.B, row.n, scale=1.0)
        orthogonal = [torch.linalg.qr(normal(row.n, row.n, scale=1.0))[0] for _ in range(gates)]
        self.W = torch.cat(orthogonal).contiguous().requires_grad_()
        self.U = normal(gates * row.n, row.m, scale=0.1).requires_grad_()
        self.b = normal(row.n, scale=0.01).requires_grad_()
        self.b4 = normal(4 * row.n, scale=0.01).requires_grad_()
        options = {"nonlinearity": "relu"} if row.kind == "RNN" else {}
        self.layer = getattr(torch.nn, row.kind)(row.m, row.n, **options)

    def _finish(self, h_n: Tensor) -> None:
        h_n.backward(self.grad)
        for parameter in (self.W, self.U, self.b, self.b4, *self.layer.parameters()):
            parameter.grad = None

    def ours(self) -> None:
        """Run the training step with our recurrence."""
        if self.row.kind == "GRU":
            _, h_n = recurrence.gated(
                self.x, self.W, self.b, None, self.h0, None, "modrelu", "before", "write", input_weight=self.U
            )
        elif self.row.kind == "LSTM":
            _, h_n, _ = recurrence.lstm(self.x, self.W, None, self.h0, self.h0, input_weight=self.U, input_bias=self.b4)
        else:
            _, h_n = recurrence.simple(self.x, self.W, self.b, self.h0, input_weight=self.U)
        self._finish(h_n)

    def eager(self) -> None:
        """Run the step as a user would write it: one product for all inputs, then a loop over time."""
        loops = {"RNN": self._eager_simple, "GRU": self._eager_gated, "LSTM": self._eager_lstm}
        self._finish(loops[self.row.kind]())

    def _modrelu(self, z: Tensor) -> Tensor:
        return torch.sign(z) * torch.relu(z.abs() + self.b)

    def _eager_simple(self) -> Tensor:
        h = self.h0
        for p in linear(self.x, self.U):
            h = self._modrelu(torch.addmm(p, h, self.W.mT))
        return h

    def _eager_gated(self) -> Tensor:
        n, h = self.row.n, self.h0
        W_gates, W_candidate = self.W.split([2 * n, n])
        for p in linear(self.x, self.U):
            r, u = torch.sigmoid(torch.addmm(p[:, : 2 * n], h, W_gates.mT)).chunk(2, dim=-1)
            c = self._modrelu(torch.addmm(p[:, 2 * n :], r * h, W_candidate.mT))
            h = (1 - u) * h + u * c
        return h

    def _eager_lstm(self) -> Tensor:
        h = c = self.h0
        for p in linear(self.x, self.U, self.b4):
            i, f, g, o = torch.addmm(p, h, self.W.mT).chunk(4, dim=-1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        return h

    def torch(self) -> None:
        """Run the step with torch.nn.RNN (relu), torch.nn.GRU or torch.nn.LSTM."""
        final = self.layer(self.x)[1]
        self._finish((final[0] if self.row.kind == "LSTM" else final)[0])
