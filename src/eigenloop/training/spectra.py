"""What is watched of a network's recurrent matrices: eigenvalues, distance from the set, conditioning in few bits."""

from __future__ import annotations

import torch

from eigenloop.layers.base import RecurrentLayer
from eigenloop.matrices.outermost import outermost
from eigenloop.quantization import singular_ratio
from eigenloop.readout import Model


@torch.no_grad()
def spectra(net: Model) -> dict[str, list[tuple[float, float]]]:
    """Return the eigenvalues of every matrix as (real, imaginary): of q(W) where it is quantized."""
    eigenvalues = {}
    quantizer = net.rnn.quantizer if isinstance(net.rnn, RecurrentLayer) else None
    for name, matrix in outermost(net.rnn):
        W = matrix() if quantizer is None else quantizer.recurrent(matrix())
        values = torch.linalg.eigvals(W.detach().to("cpu", torch.complex128))
        eigenvalues[name] = [(round(z.real, 7), round(z.imag, 7)) for z in values.tolist()]
    return eigenvalues


def largest_defect(net: Model) -> float | None:
    """Return the largest distance of a matrix from its set; None where there are no matrices of ours."""
    defects = [matrix.defect() for _, matrix in outermost(net.rnn)]
    return max(defects) if defects else None


@torch.no_grad()
def smallest_ratio(net: Model) -> float | None:
    """Return sigma_min / sigma_max of the worst conditioned q(W); None where nothing is quantized."""
    quantized = net.rnn.quantized_matrices() if isinstance(net.rnn, RecurrentLayer) else ()
    return min((singular_ratio(W) for W in quantized), default=None)
