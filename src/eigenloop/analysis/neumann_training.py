"""Trains NC-GRU on the parenthesis problem with different methods for the inverse (NC-GRU section 5.1, figure 5)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from eigenloop import models
from eigenloop.analysis.published_neumann import PublishedNeumann
from eigenloop.layers import GRU
from eigenloop.matrices import NeumannCayley, ScaledCayley
from eigenloop.optim import param_groups
from eigenloop.readout import Model
from eigenloop.tasks import Parenthesis

#: The paper's n, number of -1s in D, batch size, learning rate of all parameters, steps between two exact inverses.
SIZE, NEGATIVE, BATCH, LR, RESET_EVERY = 56, 40, 16, 1e-3, 50
#: The methods: an exact inverse at every step, the series of order 1, 2 and 3, and the authors' code.
EXACT, PUBLISHED = "exact inverse", "published code"
METHODS = (EXACT, "order 1", "order 2", "order 3", PUBLISHED)


@dataclass(frozen=True)
class Training:
    """A record of the K steps of a training.

    Attributes:
        losses: the loss of every batch, K of them.
        skews: the entries of A before each step and after the last: (K + 1, n (n - 1) / 2) float64.
        gradients: dL/dA of every step: (K, n (n - 1) / 2) float64.
        defects: ||U^T U - I||_F of the U that each step used, K of them.
        signs: the diagonal of D.
    """

    losses: list[float]
    skews: Tensor
    gradients: Tensor
    defects: list[float]
    signs: Tensor


def network(method: str, task: Parenthesis, size: int, seed: int) -> Model:
    """Return an NC-GRU with orthogonal U_c whose inverse is computed by `method`; a seed fixes its weights."""
    order = int(method[-1]) if method.startswith("order") else 2
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        rnn = models.build(
            "ncgru",
            task.input_size,
            size,
            negative=min(NEGATIVE, size),
            order=order,
            reset_every=RESET_EVERY,
            tolerance=math.inf,  # only the paper's periodic resets: none for a large residual
            exact=method == EXACT,
            generator=torch.Generator().manual_seed(seed),
        )
        net = Model(rnn, task.output_size)
    if method == PUBLISHED:
        gates = net.rnn.get_submodule("recurrent_l0")
        start = gates.candidate
        assert isinstance(start, ScaledCayley)
        gates.candidate = PublishedNeumann(start)
    return net


def train(method: str, steps: int, seed: int = 0, size: int = SIZE, length: int = 100) -> Training:
    """Train with Adam, on new batches at every step, and return the record that the analysis needs."""
    task = Parenthesis(length=length)
    net = network(method, task, size, seed)
    assert isinstance(net.rnn, GRU)
    matrix = net.rnn.get_submodule("recurrent_l0.candidate")
    assert isinstance(matrix, NeumannCayley | PublishedNeumann)
    optimizer = torch.optim.Adam(param_groups(net, lr=LR, recurrent_lr=LR))
    losses, skews, gradients, defects = [], [matrix.skew.detach().double().clone()], [], []
    for step in range(steps):
        batch = task.train_batch(step, BATCH, seed)
        optimizer.zero_grad(set_to_none=True)
        outputs, _ = net(batch.inputs)
        loss = task.loss(outputs, batch) / task.terms(batch)
        loss.backward()
        with torch.no_grad():
            defects.append(gram_distance(matrix.exact()))
        optimizer.step()
        assert matrix.skew.grad is not None
        losses.append(float(loss.detach()))
        gradients.append(matrix.skew.grad.double().clone())
        skews.append(matrix.skew.detach().double().clone())
        if isinstance(matrix, PublishedNeumann):
            matrix.follow_(LR)
    return Training(losses, torch.stack(skews), torch.stack(gradients), defects, matrix.signs.double())


def gram_distance(U: Tensor) -> float:
    """Return ||U^T U - I||_F, the Frobenius norm, as in the paper's figures."""
    return float(torch.linalg.matrix_norm(U.mT @ U - torch.eye(len(U), dtype=U.dtype, device=U.device)))
