"""The eigenvalues of a network's recurrent matrices."""

from __future__ import annotations

import torch

from eigenloop.matrices import Matrix
from eigenloop.readout import Model


def outermost(net: Model) -> dict[str, Matrix]:
    """Return the matrices that the recurrence multiplies with, by name."""
    found: dict[str, Matrix] = {}
    for name, module in net.rnn.named_modules():
        inside = any(name.startswith(other + ".") for other in found)
        if isinstance(module, Matrix) and not inside:
            found[name] = module
    return found


@torch.no_grad()
def spectra(net: Model) -> dict[str, list[tuple[float, float]]]:
    """Return the eigenvalues of every matrix as (real, imaginary)."""
    found = {}
    for name, matrix in outermost(net).items():
        values = torch.linalg.eigvals(matrix().detach().to("cpu", torch.complex128))
        found[name] = [(round(z.real, 7), round(z.imag, 7)) for z in values.tolist()]
    return found


def largest_defect(net: Model) -> float | None:
    """Return the largest distance of a matrix from its set; None where there are no matrices of ours."""
    defects = [matrix.defect() for matrix in outermost(net).values()]
    return max(defects) if defects else None
