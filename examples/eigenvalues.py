"""Draw the eigenvalues of every family of matrices, as it starts and as it is after training on the copying task.

python examples/eigenvalues.py                     all families, into docs/images
python examples/eigenvalues.py --only schur
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import matplotlib
import torch
from torch import Tensor, nn

import eigenloop as el

matplotlib.use("Agg")
from matplotlib import pyplot as plt

N, DELAY, BATCH = 64, 50, 32

#: For each family the model that shows it, the two learning rates, and what the second panel is called.
FAMILIES: dict[str, tuple[str, dict[str, object], float, float]] = {
    "free": ("rnn", {}, 1e-3, 1e-3),
    "cayley": ("scornn", {}, 1e-3, 1e-3),
    "exponential": ("exprnn", {}, 1e-3, 1e-3),
    "schur": ("nnrnn", {"blocks": "exact"}, 1e-3, 1e-4),
    "long-short": ("enrnn", {"short": 26}, 1e-3, 1e-3),
    "projected": ("projunn", {"init": "haar"}, 1e-3, 1e-3),
    "householder": ("ornn", {"reflections": 16}, 1e-3, 1e-3),
    "householder-svd": ("spectralrnn", {"margin": 0.1}, 1e-3, 1e-3),
    "givens": ("eurnn", {"capacity": 4}, 1e-3, 1e-3),
    "neumann": ("ncgru", {}, 1e-3, 1e-3),
    "bjorck": ("", {}, 1e-3, 1e-3),
}


def network(family: str, generator: torch.Generator) -> el.Model:
    """Make the network that shows a family."""
    model, options, _, _ = FAMILIES[family]
    if model:
        return el.Model(el.build(model, 10, N, generator=generator, **options), 9)
    return el.Model(el.RNN(10, N, nonlinearity="relu", recurrent="bjorck", generator=generator), 9)


def spectrum(net: el.Model) -> Tensor:
    """Eigenvalues of W, of the candidate's W in a gated network."""
    assert isinstance(net.rnn, (el.RNN, el.GRU))
    with torch.no_grad():
        W = net.rnn.recurrent_matrix()
    return torch.linalg.eigvals(W.to(torch.complex128))


def trained_spectra(family: str, steps: int) -> tuple[Tensor, Tensor, float]:
    """Train on copying over 50 steps; return the eigenvalues before and after, and the final loss."""
    generator = torch.Generator().manual_seed(0)
    net = network(family, generator)
    _, _, lr, recurrent_lr = FAMILIES[family]
    groups = el.optim.param_groups(net, lr, recurrent_lr)
    projected = any(group.get("projected") for group in groups)
    optimizer = el.optim.ProjUNN(groups) if projected else torch.optim.RMSprop(groups)
    before, losses = spectrum(net), []
    task = el.tasks.Copying(delay=DELAY)
    for step in range(steps):
        batch = task.train_batch(step, BATCH, seed=0)
        loss = task.loss(net(batch.inputs)[0], batch) / task.terms(batch)
        optimizer.zero_grad()
        (loss + net.penalty()).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return before, spectrum(net), sum(losses[-20:]) / 20


def draw(family: str, before: Tensor, after: Tensor, path: Path) -> None:
    """Draw both spectra beside each other, with the unit circle."""
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.6), sharex=True, sharey=True, layout="constrained")
    turn = torch.linspace(0, 2 * math.pi, 200)
    for axis, values, title in ((axes[0], before, "start"), (axes[1], after, "after training on copying")):
        axis.plot(turn.cos(), turn.sin(), color="0.8", linewidth=1, zorder=0)
        axis.scatter(values.real, values.imag, s=14, color="C0")
        axis.set(title=title, aspect="equal", xlabel="Re")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set(ylabel="Im")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Draw the families that were asked for."""
    usage = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usage.add_argument("--only", choices=FAMILIES, help="one family")
    usage.add_argument("--steps", type=int, default=400)
    usage.add_argument("--out", type=Path, default=Path("docs/images"))
    options = usage.parse_args()
    for family in [options.only] if options.only else FAMILIES:
        before, after, loss = trained_spectra(family, options.steps)
        path = options.out / f"eigenvalues-{family}.png"
        draw(family, before, after, path)
        moduli = after.abs()
        print(
            f"{family}: loss {loss:.4f}, |eigenvalues| in [{moduli.min():.3f}, {moduli.max():.3f}], {path}", flush=True
        )


if __name__ == "__main__":
    main()
