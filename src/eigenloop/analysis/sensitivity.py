r"""How accurate the eigenvalues from a computed Schur decomposition are (nnRNN, SM section C).

The decomposition is backward stable: its result is exact for a matrix within rounding error of A. An eigenvalue moves
by up to 1 / s times that rounding error, where s is the cosine of the angle between its left and right eigenvectors.
Normal matrices have s = 1; for others, such as the Grcar matrix, 1 / s grows without bound. nnRNN stores P, Lambda and
T, so that its eigenvalues are known without a decomposition. The network multiplies by their product, however, rounded
to float32, and the eigenvalues of that matrix move by the same factor 1 / s. The paper gives no numbers; this analysis
measures both errors.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.linalg
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eigenloop import initializers
from eigenloop.analysis.feed_forward import Doubles, theta
from eigenloop.analysis.grcar import Complexes, Spectrum, grcar, grcar_spectrum
from eigenloop.analysis.result import Result, Table
from eigenloop.analysis.rounding import rounded
from eigenloop.analysis.style import COLOURS, panels, styled
from eigenloop.matrices import Exponential, Schur
from eigenloop.training import ConfigError

#: Values of tau: the entries of T are normal with standard deviation tau / sqrt(n).
TAUS = (0.0, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0)
LEVELS = (-15, -12, -9, -6, -3)
GREYS = ("#8c8c8c", "#a6a6a6", "#bfbfbf", "#d6d6d6", "#ebebeb", "#ffffff")


@dataclass(frozen=True)
class Accuracy:
    """The errors of Schur decompositions of a matrix A whose eigenvalues are known.

    Attributes:
        median_condition: median of 1 / s over the eigenvalues.
        worst_condition: largest 1 / s.
        residual: ||A - Q R Q^H||_F / ||A||_F in double precision.
        expected: 1 / s times the rounding of A to doubles, 2^-53 ||A||_2, for the worst eigenvalue.
        double: largest error of an eigenvalue, in double precision.
        single: the same in single precision.
        stored: the same for A rounded to single precision and decomposed in double: the error due to storage alone.
    """

    median_condition: float
    worst_condition: float
    residual: float
    expected: float
    double: float
    single: float
    stored: float

    @property
    def angle(self) -> float:
        """Return the largest angle between a left and a right eigenvector, in degrees."""
        return math.degrees(math.acos(min(1.0, 1.0 / self.worst_condition)))


def conditions(A: Doubles) -> Doubles:
    """Return 1 / s for every eigenvalue of A, from eigenvectors computed in double precision."""
    # scipy's type stubs omit the left eigenvectors.
    decomposition: Any = scipy.linalg.eig(A, left=True, right=True)
    _, left, right = decomposition
    cosines: Doubles = np.abs(np.sum(left.conj() * right, axis=0))
    return 1 / cosines


def distances(computed: Complexes, true: Complexes) -> Doubles:
    """Return the distance of every computed eigenvalue from its true one, paired so that the sum is minimal."""
    # Imported here because the import is slow, and the command line imports this file for every command.
    from scipy.optimize import linear_sum_assignment

    apart: Doubles = np.abs(computed[:, None] - true)
    return apart[linear_sum_assignment(apart)]


def schur_values(A: Doubles, single: bool = False) -> tuple[Complexes, float]:
    """Return the diagonal of the Schur form A = Q R Q^H and the relative residual of the decomposition."""
    R, Q = scipy.linalg.schur(A.astype(np.float32) if single else A, output="complex")
    residual = np.linalg.norm(Q @ R @ Q.conj().T - A) / np.linalg.norm(A)
    return np.diag(R).astype(np.complex128), float(residual)


def accuracy(A: Doubles, true: Complexes, known: Doubles | None = None) -> Accuracy:
    """Return the errors of decompositions of A in double and in single precision.

    Args:
        A: a matrix.
        true: its exact eigenvalues.
        known: their condition numbers, where they are known more accurately than by `conditions`.
    """
    computed, residual = schur_values(A)
    rough, _ = schur_values(A, single=True)
    stored, _ = schur_values(A.astype(np.float32).astype(np.float64))
    kappa = conditions(A) if known is None else known
    return Accuracy(
        median_condition=float(np.median(kappa)),
        worst_condition=float(kappa.max()),
        residual=residual,
        expected=float(kappa.max() * 2.0**-53 * np.linalg.norm(A, 2)),
        double=float(distances(computed, true).max()),
        single=float(distances(rough, true).max()),
        stored=float(distances(stored, true).max()),
    )


def smallest_singular(A: Doubles, real: Doubles, imaginary: Doubles) -> Doubles:
    """Return sigma_min(z I - A) for z on a grid (imaginary, real).

    Where it is below eps, z is an eigenvalue of some A + E with ||E|| < eps.
    """
    eye = np.eye(len(A))
    rows = [
        np.linalg.svd((real + 1j * y)[:, None, None] * eye - A, compute_uv=False)[:, -1] for y in imaginary.tolist()
    ]
    return np.stack(rows)


def non_normal(n: int, tau: float, seed: int) -> tuple[Doubles, Complexes]:
    """Return an nnRNN's W = P (Lambda + T) P^T with eigenvalues on the unit circle, and these eigenvalues.

    P is dense, as after training: with the initial block-diagonal P, W would already be block triangular.
    """
    generator = torch.Generator().manual_seed(seed)
    dense = functools.partial(Exponential, init="haar", generator=generator, dtype=torch.float64)
    matrix = Schur(n, orthogonal=dense, generator=generator, train_gamma=False, dtype=torch.float64)
    with torch.no_grad():
        drawn = torch.randn(matrix.triangle.shape, generator=generator, dtype=torch.float64)
        matrix.triangle.copy_(drawn * (tau / math.sqrt(n)))
        W: Doubles = matrix().numpy()
        angles: Doubles = matrix.theta.numpy()
    return W, np.exp(1j * np.concatenate((angles, -angles)))


def turned(A: Doubles, seed: int) -> Doubles:
    """Return P A P^T with a random orthogonal P, so that a triangular A is no longer triangular."""
    P: Doubles = initializers.haar(len(A), torch.Generator().manual_seed(seed)).double().numpy()
    return P @ A @ P.T


def sensitivity(size: int = 100, seed: int = 0) -> Result:
    """Measure Schur decompositions of Grcar matrices, of nnRNN's W and of a delay line against true eigenvalues.

    Args:
        size: n, even; the largest size of the Grcar matrices.
        seed: seed for P, theta and T.
    """
    if size < 10 or size % 2:
        raise ConfigError(
            f"size is even and at least 10, because nnRNN's eigenvalues come in pairs, got {size}: use "
            f"{max(10, size + size % 2)}"
        )
    sizes = sorted({max(5, size * tenths // 10) for tenths in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)})
    spectra = {n: grcar_spectrum(n) for n in sizes}
    upright = {n: accuracy(grcar(n), s.values, s.conditions) for n, s in spectra.items()}
    transposed = {n: accuracy(grcar(n).T, s.values, s.conditions) for n, s in spectra.items()}
    networks = {tau: accuracy(*non_normal(size, tau, seed)) for tau in TAUS}
    # All its eigenvalues are zero and share one eigenvector, so 1 / s is infinite.
    delay = accuracy(turned(theta(size, 1.0, 0.0), seed), np.zeros(size, complex), np.array([np.inf]))
    rows = [(f"nnRNN, tau = {tau:g}", size, *_cells(one)) for tau, one in networks.items()]
    rows.append(("delay line, turned", size, *_cells(delay)))
    for n in sorted({*sizes[1::3], sizes[-1]}):
        rows.append(("Grcar", n, *_cells(upright[n])))
        rows.append(("Grcar, transposed", n, *_cells(transposed[n])))
    columns = (
        "matrix",
        "n",
        "1/s median",
        "worst",
        "angle (deg)",
        "residual",
        "expected",
        "double",
        "single",
        "stored",
    )
    return Result(
        name="sensitivity",
        title="Eigenvalues from a Schur decomposition, and how far they are from the true ones",
        numbers={
            "size": size,
            "seed": seed,
            "grcar": {n: _listed(one) for n, one in upright.items()},
            "grcar_transposed": {n: _listed(one) for n, one in transposed.items()},
            "nnrnn": {f"{tau:g}": _listed(one) for tau, one in networks.items()},
            "delay_line": _listed(delay),
            "grcar_eigenvalues": {
                "real": rounded(spectra[size].values.real.tolist(), 10),
                "imaginary": rounded(spectra[size].values.imag.tolist(), 10),
                "condition": rounded(spectra[size].conditions.tolist()),
            },
        },
        table=Table(columns, tuple(rows)),
        figure=_drawn(spectra, upright, transposed, networks),
        notes=(
            "Expected is 1/s times the rounding of the matrix to doubles; Grcar's true eigenvalues have 60 digits.",
            "Stored is what the eigenvalues move by where the matrix is only kept in single precision.",
            "Grcar's matrix has Hessenberg form already, and its decomposition does better than it has to; that of its "
            "transpose, which has the same eigenvalues, does not.",
            f"Rounding u moves the eigenvalues of a delay line, which are all 0, by about u^(1/n): "
            f"{2.0**-53:.0e}^(1/{size}) = {2.0 ** (-53 / size):.2f}.",
        ),
    )


def _cells(one: Accuracy) -> tuple[float, ...]:
    return (
        one.median_condition,
        one.worst_condition,
        round(one.angle, 2),
        one.residual,
        one.expected,
        one.double,
        one.single,
        one.stored,
    )


def _listed(one: Accuracy) -> Any:
    return rounded({**asdict(one), "angle": one.angle})


def _drawn(
    spectra: Mapping[int, Spectrum],
    upright: Mapping[int, Accuracy],
    transposed: Mapping[int, Accuracy],
    networks: Mapping[float, Accuracy],
) -> Figure:
    with styled():
        figure, (plane, growth, trained) = panels(3, width=4.1, height=3.4)
        _draw_plane(figure, plane, max(spectra), spectra[max(spectra)])
        sizes = list(upright)
        _lines(
            growth,
            sizes,
            {
                "expected, double": ([upright[n].expected for n in sizes], "-", "#999999"),
                "$A$, single": ([upright[n].single for n in sizes], "o--", COLOURS[0]),
                "$A^T$, single": ([transposed[n].single for n in sizes], "o--", COLOURS[1]),
                "$A^T$, double": ([transposed[n].double for n in sizes], "o-", COLOURS[1]),
                "$A$, double": ([upright[n].double for n in sizes], "o-", COLOURS[0]),
            },
        )
        growth.set(title="Grcar matrices", xlabel="size n", ylabel="error of the eigenvalues")
        taus = list(networks)
        _lines(
            trained,
            taus,
            {
                "expected, double": ([networks[tau].expected for tau in taus], "-", "#999999"),
                "single": ([networks[tau].single for tau in taus], "o--", COLOURS[2]),
                "$W$ stored in float32": ([networks[tau].stored for tau in taus], ":", COLOURS[6]),
                "double": ([networks[tau].double for tau in taus], "o-", COLOURS[2]),
            },
        )
        trained.set(title=r"nnRNN: $P\,(\Lambda + T)\,P^\top$, $|\lambda| = 1$", ylabel="error of the eigenvalues")
        trained.set_xlabel(r"size of $T$: entries have deviation $\tau\,/\,\sqrt{n}$")
    return figure


def _lines(axis: Axes, x: Sequence[float], lines: Mapping[str, tuple[list[float], str, str]]) -> None:
    for label, (y, form, colour) in lines.items():
        axis.semilogy(x, y, form, ms=3, color=colour, label=label)
    axis.set_ylim(1e-19, 20)
    axis.legend(loc="lower right")


def _draw_plane(figure: Figure, axis: Axes, n: int, spectrum: Spectrum) -> None:
    A = grcar(n)
    real, upper = np.linspace(-0.8, 3.0, 58), np.linspace(0.0, 3.3, 45)
    # A is real, so the lower half plane mirrors the upper one.
    sigma = np.log10(np.maximum(smallest_singular(A, real, upper), 1e-17))
    imaginary, both = np.concatenate((-upper[:0:-1], upper)), np.concatenate((sigma[:0:-1], sigma))
    shades: Any = axis.contourf(real, imaginary, both, levels=LEVELS, colors=GREYS, extend="both")
    bar = figure.colorbar(shades, ax=axis, shrink=0.85, label=r"$\log_{10}\ \sigma_{min}(\lambda I - A)$")
    bar.set_ticks(list(LEVELS))
    computed, _ = schur_values(A.T.copy())
    axis.plot(computed.real, computed.imag, "x", ms=4, color=COLOURS[1], label="double, from $A^T$")
    axis.plot(spectrum.values.real, spectrum.values.imag, ".", ms=4, color=COLOURS[0], label="true")
    axis.set(title=f"Grcar, n = {n}: eigenvalues", xlabel=r"Re $\lambda$", ylabel=r"Im $\lambda$")
    axis.grid(visible=False)
    axis.legend(loc="center left")
