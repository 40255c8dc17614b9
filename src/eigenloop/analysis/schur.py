"""The learned Schur form W = P Theta P^T (nnRNN figures 3 and 5): rotations on the diagonal, feed-forward part below.

An nnRNN is trained in this form, so Theta follows from its parameters. The Schur form of any other real W is computed
with LAPACK, for comparison. It is unique only up to the order of the eigenvalues: for other models the eigenvalues and
the departure from normality are properties of W, but the position of an entry in the triangle is not.

The paper plots the parameters gamma and theta. Since its T overlaps with the 2 x 2 blocks (see
`eigenloop.matrices.Schur`), they differ from the moduli and angles of the eigenvalues once T is not zero. Both are
shown.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
import torch
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from torch import Tensor

from eigenloop.analysis.provenance import label_for, origin
from eigenloop.analysis.result import Result, Table
from eigenloop.analysis.rounding import rounded
from eigenloop.analysis.style import COLOURS, panels, styled
from eigenloop.layers import RNN
from eigenloop.matrices import Schur
from eigenloop.text.points import spread
from eigenloop.training import ConfigError, load_run

#: Bins of the two histograms, sub-diagonals written to the file, and the lower end of the colour scale.
ANGLE_BINS, ENTRY_BINS, WRITTEN, FAINTEST = 24, 40, 200, 1e-4


@dataclass(frozen=True)
class Form:
    """A real Schur form W = P Theta P^T, lower (block) triangular, in double precision.

    Attributes:
        theta: Theta, (n, n).
        orthogonal: P, (n, n).
        trained: the parameters theta, in [0, 2 pi), and gamma of each block; None if Theta was computed from W.
    """

    theta: Tensor
    orthogonal: Tensor
    trained: tuple[Tensor, Tensor] | None = None

    @property
    def angles(self) -> Tensor:
        """Return an angle for each block: the trained theta, or the eigenvalue's angle in [0, pi]."""
        return self._upper.angle() if self.trained is None else self.trained[0]

    @property
    def gamma(self) -> Tensor:
        """Return a modulus for each block: the trained gamma, or |lambda|."""
        return self._upper.abs() if self.trained is None else self.trained[1]

    @property
    def _upper(self) -> Tensor:
        """Return the real eigenvalues and, of each complex pair, the one with positive imaginary part."""
        return self.eigenvalues[self.eigenvalues.imag >= 0]

    def inside_blocks(self) -> Tensor:
        """Return a mask of the entries of the first sub-diagonal that belong to a 2 x 2 block: (n - 1,)."""
        if self.trained is not None:
            return torch.arange(len(self.theta) - 1) % 2 == 0
        return torch.diagonal(self.theta, 1) != 0

    @functools.cached_property
    def eigenvalues(self) -> Tensor:
        """Return the eigenvalues of the diagonal blocks, which are those of W: (n,)."""
        spectra, row, inside = [], 0, [*self.inside_blocks().tolist(), False]
        while row < len(self.theta):
            size = 2 if inside[row] else 1
            spectra.append(torch.linalg.eigvals(self.theta[row : row + size, row : row + size]))
            row += size
        return torch.cat(spectra)

    def subdiagonal_means(self) -> Tensor:
        """Return the mean |Theta| along the k-th sub-diagonal for k = 0..n-1: figure 3c."""
        size = self.theta.abs()
        return torch.stack([torch.diagonal(size, -k).mean() for k in range(len(size))])


def trained_form(matrix: Schur) -> Form:
    """Return the Schur form given by an nnRNN's parameters (eq. 1 and 5)."""
    return Form(
        theta=matrix.form().detach().cpu(),
        orthogonal=matrix.orthogonal.exact().detach().cpu(),
        trained=(
            torch.remainder(matrix.theta.detach().double(), 2 * math.pi).cpu(),
            matrix.gamma.detach().double().cpu(),
        ),
    )


def computed_form(W: Tensor) -> Form:
    """Compute a lower real Schur form of W: the transpose of LAPACK's upper form of W^T."""
    upper, P = scipy.linalg.schur(W.detach().double().cpu().numpy().T, output="real")
    return Form(theta=torch.from_numpy(np.ascontiguousarray(upper.T)), orthogonal=torch.from_numpy(P))


def alignment(angles: Tensor) -> float:
    """Return |mean exp(i angle)|: 1 if all angles are equal, about sqrt(pi / 4 N) for N uniform angles."""
    return float(torch.polar(torch.ones_like(angles), angles).mean().abs())


def non_normality(form: Form) -> float:
    """Return Henrici's relative departure from normality: sqrt(1 - sum |lambda|^2 / ||W||_F^2)."""
    square = float(form.theta.square().sum())
    return math.sqrt(max(0.0, 1 - float(form.eigenvalues.abs().square().sum()) / square)) if square > 0 else 0.0


def schur(runs: Sequence[Path], which: str | int = "best", data_dir: Path | None = None) -> Result:
    """Show the Schur forms that networks have learned, one row of panels for each run.

    Args:
        runs: folders of runs of simple RNNs with real matrices; the first layer of each is shown.
        which: checkpoint: ``"best"``, ``"last"`` or a training step.
        data_dir: folder of the data, if it has moved.

    Raises:
        ConfigError: no run is given, or a run has no real simple recurrence.
    """
    if not runs:
        raise ConfigError("schur needs the folder of at least one run")
    forms: list[tuple[str, Form]] = []
    rows, numbers, notes = [], [], []
    for run in runs:
        net, config, step = load_run(run, which, data_dir=data_dir)
        name = f"{config.network.name} on {config.task.name}"
        if not isinstance(net.rnn, RNN) or net.rnn.state_dtype.is_complex:
            raise ConfigError(
                f"{run} is {name}, and schur shows the one real matrix of a simple RNN: give it a run of nnrnn, rnn, "
                "exprnn or the like"
            )
        matrix = net.rnn.get_submodule("recurrent_l0")
        form = trained_form(matrix) if isinstance(matrix, Schur) else computed_form(net.rnn.recurrent_matrix())
        if form.trained is not None and net.rnn.quantizer is not None:
            notes.append(f"{name}: Theta is that of W before it is quantized.")
        if net.rnn.num_layers > 1:
            notes.append(f"{name}: the first of {net.rnn.num_layers} layers.")
        label = label_for(name, run, [label for label, _ in forms])
        forms.append((label, form))
        numbers.append({"run": label, **origin(run, step), **_numbers(form)})
        inside, moduli = form.inside_blocks(), form.eigenvalues.abs()
        first = torch.diagonal(form.theta, -1).abs()
        rows.append(
            (
                label,
                len(form.theta),
                float(form.gamma.mean()) if form.trained is not None else None,
                float(moduli.mean()),
                float(moduli.max()),
                alignment(form.angles) if form.trained is not None else None,
                non_normality(form),
                float(first[inside].mean()) if inside.any() else None,
                float(first[~inside].mean()) if (~inside).any() else None,
                float(form.subdiagonal_means()[2:].mean()) if len(form.theta) > 2 else None,
            )
        )
    columns = (
        "run",
        "n",
        "mean gamma",
        "mean |lambda|",
        "max",
        "alignment",
        "non-normality",
        "in blocks",
        "1st sub-diag",
        "further below",
    )
    uniform = ", ".join(f"{math.sqrt(math.pi / (4 * len(form.angles))):.3f}" for _, form in forms)
    return Result(
        name="schur",
        title="Learned Schur forms W = P Theta P^T",
        numbers={"runs": numbers},
        table=Table(columns, tuple(rows)),
        figure=_drawn(forms),
        notes=(
            f"alignment is |mean exp(i theta)|, about {uniform} for uniform angles; non-normality is Henrici's, "
            "sqrt(1 - sum |lambda|^2 / ||W||^2); the last three columns are mean |entries| of Theta.",
            *notes,
        ),
    )


def _numbers(form: Form) -> dict[str, Any]:
    means, first, inside = form.subdiagonal_means(), torch.diagonal(form.theta, -1), form.inside_blocks()
    kept = spread(len(means), WRITTEN)
    return {
        "size": len(form.theta),
        "trained_in_this_form": form.trained is not None,
        "mean_gamma": rounded(float(form.gamma.mean())) if form.trained is not None else None,
        "mean_modulus": rounded(float(form.eigenvalues.abs().mean())),
        "largest_modulus": rounded(float(form.eigenvalues.abs().max())),
        "alignment": rounded(alignment(form.angles)) if form.trained is not None else None,
        "non_normality": rounded(non_normality(form)),
        "angles": rounded(form.angles),
        "gamma": rounded(form.gamma),
        "subdiagonals": kept,
        "mean_along_subdiagonal": rounded(means[kept]),
        "first_subdiagonal_in_blocks": rounded(first[inside]),
        "first_subdiagonal_between_blocks": rounded(first[~inside]),
    }


def _drawn(forms: Sequence[tuple[str, Form]]) -> Figure:
    with styled():
        figure, axes = panels(4, rows=len(forms), width=3.8, height=3.1)
        for row, (label, form) in enumerate(forms):
            image, angles, means, entries = axes[4 * row : 4 * row + 4]
            _draw_image(figure, image, form, label)
            _draw_angles(angles, form)
            means.semilogy(form.subdiagonal_means().clamp(min=FAINTEST / 100).numpy(), lw=1, color=COLOURS[0])
            low, high = means.get_ylim()
            means.set_ylim(10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high)))
            means.set(
                xlabel="sub-diagonal $k$ (0: the diagonal)", ylabel=r"mean $|\Theta|$", title="Along sub-diagonals"
            )
            _draw_entries(entries, form)
    return figure


def _draw_image(figure: Figure, axis: Axes, form: Form, label: str) -> None:
    size = form.theta.abs()
    norm = LogNorm(FAINTEST, max(1.0, float(size.max())))
    shown = np.ma.masked_equal(size.numpy(), 0.0).clip(min=FAINTEST)  # entries that are 0 by construction stay white
    picture = axis.imshow(shown, norm=norm, cmap="magma_r", interpolation="nearest")
    axis.grid(visible=False)
    axis.set(title=f"$|\\Theta|$, {label}", xlabel="column", ylabel="row")
    figure.colorbar(picture, ax=axis, shrink=0.85, extend="min")


def _draw_angles(axis: Axes, form: Form) -> None:
    whole = 2 * math.pi if form.trained is not None else math.pi
    axis.hist(form.angles.numpy(), bins=ANGLE_BINS, range=(0, whole), color=COLOURS[0])
    axis.axhline(len(form.angles) / ANGLE_BINS, color="black", lw=0.8, ls="--", label="uniform")
    ticks = {0.0: "0", math.pi / 2: r"$\pi/2$", math.pi: r"$\pi$", 1.5 * math.pi: r"$3\pi/2$", 2 * math.pi: r"$2\pi$"}
    axis.set_xticks([tick for tick in ticks if tick <= whole], [ticks[tick] for tick in ticks if tick <= whole])
    axis.set(
        xlabel=r"angle $\theta_i$" + (" as trained" if form.trained is not None else ""),
        ylabel="blocks",
        xlim=(0, whole),
    )
    moduli = f"mean $|\\lambda|$ = {float(form.eigenvalues.abs().mean()):.3f}"
    trained = rf"mean $\gamma$ = {float(form.gamma.mean()):.3f}, " if form.trained is not None else "Angles; "
    axis.set_title(trained + moduli)
    axis.margins(y=0.2)
    axis.legend(loc="upper right")


def _draw_entries(axis: Axes, form: Form) -> None:
    first, inside = torch.diagonal(form.theta, -1), form.inside_blocks()
    groups = {"in a block": first[inside], "between blocks": first[~inside]}
    if len(first):
        edges = np.linspace(float(first.min()) - 1e-9, float(first.max()) + 1e-9, ENTRY_BINS + 1).tolist()
        for colour, (name, entries) in zip(COLOURS, groups.items(), strict=False):
            if len(entries):
                axis.hist(entries.numpy(), bins=edges, histtype="step", lw=1.3, color=colour, label=name)
    axis.set(xlabel=r"$\Theta_{i+1,i}$", ylabel="entries", title="The first sub-diagonal", yscale="log")
    axis.margins(y=0.25)
    if len(first):
        axis.legend()
