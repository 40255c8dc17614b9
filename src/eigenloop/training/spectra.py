"""Measures of a network's recurrent matrices: eigenvalues, distance from the set, conditioning when quantized."""

from __future__ import annotations

import torch

from eigenloop.matrices.outermost import outermost
from eigenloop.quantization import singular_ratio
from eigenloop.readout import Model


@torch.no_grad()
def spectra(net: Model) -> dict[str, list[tuple[float, float]]]:
    """Return the eigenvalues of every recurrent matrix W, or of q(W) if it is quantized, as (real, imaginary) pairs."""
    eigenvalues = {}
    quantizer = net.rnn.quantizer
    for name, matrix in outermost(net.rnn):
        W = matrix() if quantizer is None else quantizer.recurrent(matrix())
        values = torch.linalg.eigvals(W.detach().to("cpu", torch.complex128))
        eigenvalues[name] = [(round(z.real, 7), round(z.imag, 7)) for z in values.tolist()]
    return eigenvalues


def largest_defect(net: Model) -> float | None:
    """Return the largest defect, the distance of a matrix from its set; None if the network has no `Matrix`."""
    defects = [matrix.defect() for _, matrix in outermost(net.rnn)]
    return max(defects) if defects else None


@torch.no_grad()
def smallest_ratio(net: Model) -> float | None:
    """Return sigma_min / sigma_max of the worst conditioned q(W), or None if nothing is quantized."""
    return min((singular_ratio(W) for W in net.rnn.quantized_matrices()), default=None)
