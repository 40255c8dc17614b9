"""Train recurrent networks to remember ten symbols over hundreds of blank steps: the copying task.

    python examples/copying.py                               scoRNN, delay 200: about a minute on a laptop
    python examples/copying.py --models scornn,nnrnn,lstm    several models, drawn together
    python examples/copying.py --delay 1000 --steps 4000

A network that cannot remember is stuck at the baseline, 10 ln 8 / (delay + 20): it predicts blanks and guesses
the ten symbols. The script ends with a figure of the losses and of the eigenvalues it learned.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn

import eigenloop as el

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

SYMBOLS, BLANK, MARKER, DATA = 10, 0, 9, 10

#: Hidden size, optimizer and its two learning rates: scoRNN's own (TensorFlow's RMSprop) and nnRNN's table 2.
SETTINGS: dict[str, tuple[int, str, float, float]] = {
    "scornn": (190, "tf-rmsprop", 1e-3, 1e-4),
    "exprnn": (176, "rmsprop", 1e-3, 1e-4),
    "dtriv": (176, "rmsprop", 1e-3, 1e-4),
    "nnrnn": (128, "rmsprop", 5e-4, 1e-6),
    "rnn-orth": (128, "rmsprop", 2e-4, 2e-4),
    "rnn": (128, "rmsprop", 1e-3, 1e-3),
    "lstm": (68, "rmsprop", 1e-3, 1e-3),
    "gru": (78, "rmsprop", 1e-3, 1e-3),
}


@dataclass
class Run:
    """What one training left behind."""

    model: str
    losses: list[float] = field(default_factory=list)
    accuracy: float = 0.0
    spectrum_before: Tensor | None = None
    spectrum_after: Tensor | None = None


def copying_batch(delay: int, batch: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw ten symbols, `delay` blanks, a marker; the answer starts at the marker.

    Returns the input (delay + 20, batch, 10), one-hot, and the target (delay + 20, batch), classes 0 to 8.
    """
    data = torch.randint(1, 9, (DATA, batch), generator=generator)
    blanks = torch.full((delay + DATA, batch), BLANK)
    marker = torch.full((1, batch), MARKER)
    symbols = torch.cat((data, blanks[:delay], marker, blanks[: DATA - 1]))
    return nn.functional.one_hot(symbols, SYMBOLS).float(), torch.cat((blanks, data))


def baseline(delay: int) -> float:
    """Cross-entropy of the best network without memory."""
    return DATA * math.log(8) / (delay + 2 * DATA)


def make_optimizer(name: str, net: nn.Module, lr: float, recurrent_lr: float) -> torch.optim.Optimizer:
    """Make an optimizer with the two learning rates of the papers."""
    groups = el.optim.param_groups(net, lr, recurrent_lr)
    return el.optim.TFRMSprop(groups) if name == "tf-rmsprop" else torch.optim.RMSprop(groups)


def spectrum(net: el.Model) -> Tensor | None:
    """Eigenvalues of W, where there is one W."""
    if not isinstance(net.rnn, el.RNN):
        return None
    with torch.no_grad():
        return torch.linalg.eigvals(net.rnn.recurrent_matrix().double())


def train(model: str, options: argparse.Namespace) -> Run:
    """Train one model and report as it goes."""
    hidden, optimizer_name, lr, recurrent_lr = SETTINGS[model]
    generator = torch.Generator().manual_seed(options.seed)
    torch.manual_seed(options.seed)
    net = el.Model(el.build(model, SYMBOLS, hidden, generator=generator), output_size=9)
    optimizer = make_optimizer(optimizer_name, net, lr, recurrent_lr)
    parameters = sum(p.numel() for p in net.parameters())
    print(f"{model}: {hidden} units, {parameters:,} parameters, delay {options.delay}", flush=True)

    run = Run(model, spectrum_before=spectrum(net))
    with reporting(options) as report:
        for step in range(1, options.steps + 1):
            x, target = copying_batch(options.delay, options.batch_size, generator)
            y, _ = net(x)
            loss = nn.functional.cross_entropy(y.flatten(0, 1), target.flatten())
            optimizer.zero_grad()
            (loss + net.penalty()).backward()
            optimizer.step()
            run.losses.append(loss.item())
            run.accuracy = (y[-DATA:].argmax(-1) == target[-DATA:]).float().mean().item()
            if not math.isfinite(run.losses[-1]):
                raise SystemExit(
                    f"the loss became {run.losses[-1]} at step {step}: lower the learning rates in SETTINGS"
                )
            report.update(step, run)
    run.spectrum_after = spectrum(net)
    return run


class Report:
    """A progress bar on a terminal, a plain line now and then anywhere else."""

    def __init__(self, steps: int, delay: int, progress: Progress | None) -> None:
        self.steps, self.baseline, self.progress = steps, baseline(delay), progress
        self.task = progress.add_task("", total=steps) if progress else None
        self.started = time.monotonic()

    def update(self, step: int, run: Run) -> None:
        """Show how far the training is."""
        recent = run.losses[-20:]
        text = f"loss {sum(recent) / len(recent):.5f} (baseline {self.baseline:.5f}), recalled {run.accuracy:4.0%}"
        if self.progress is not None and self.task is not None:
            self.progress.update(self.task, completed=step, description=text)
        elif step % max(1, self.steps // 20) == 0 or step == self.steps:
            print(f"step {step}/{self.steps}  {text}  {time.monotonic() - self.started:.0f} s", flush=True)


@contextmanager
def reporting(options: argparse.Namespace) -> Iterator[Report]:
    """Open a report that suits where the output goes."""
    console = Console()
    if not console.is_terminal:
        yield Report(options.steps, options.delay, None)
        return
    columns = (BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        yield Report(options.steps, options.delay, progress)


def draw(runs: list[Run], delay: int, path: Path) -> None:
    """Draw the losses, and the eigenvalues of each W before and after training."""
    with_spectrum = [run for run in runs if run.spectrum_after is not None]
    panels = 2 if with_spectrum else 1
    figure, axes = plt.subplots(1, panels, figsize=(5.2 * panels, 4), squeeze=False, layout="constrained")
    for index, run in enumerate(runs):
        draw_losses(axes[0, 0], run, f"C{index}")
        if run in with_spectrum:
            draw_spectrum(axes[0, 1], run, f"C{index}")
    left = axes[0, 0]
    left.axhline(baseline(delay), color="0.4", linestyle="--", linewidth=1, label="no memory")
    left.set(yscale="log", xlabel="step", ylabel="cross-entropy", title=f"Copying ten symbols over {delay} steps")
    left.legend(frameon=False)
    if with_spectrum:
        right = axes[0, 1]
        turn = torch.linspace(0, 2 * math.pi, 200)
        right.plot(turn.cos(), turn.sin(), color="0.85", linewidth=1, zorder=0)
        right.set(title="Eigenvalues of W (hollow: before training)", aspect="equal", xlabel="Re", ylabel="Im")
        right.legend(frameon=False, loc="center")
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_losses(axis: Axes, run: Run, color: str) -> None:
    """Draw every loss faintly and the medians of some sixty stretches on top."""
    width = max(1, len(run.losses) // 60)
    starts = range(0, len(run.losses), width)
    medians = [statistics.median(run.losses[i : i + width]) for i in starts]
    axis.plot(range(1, len(run.losses) + 1), run.losses, color=color, alpha=0.25, linewidth=0.6)
    axis.plot([i + 1 + width / 2 for i in starts], medians, color=color, label=run.model, linewidth=1.8)


def draw_spectrum(axis: Axes, run: Run, color: str) -> None:
    """Draw the eigenvalues: hollow before training, filled after."""
    if run.spectrum_before is None or run.spectrum_after is None:
        return
    before, after = run.spectrum_before, run.spectrum_after
    axis.scatter(before.real, before.imag, s=26, facecolors="none", edgecolors=color, alpha=0.35, linewidths=0.8)
    axis.scatter(after.real, after.imag, s=7, color=color, label=run.model)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    usage = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usage.add_argument("--models", default="scornn", help=f"comma-separated, of: {', '.join(SETTINGS)}")
    usage.add_argument("--delay", type=int, default=200)
    usage.add_argument("--steps", type=int, default=1000)
    usage.add_argument("--batch-size", type=int, default=32)
    usage.add_argument("--seed", type=int, default=0)
    usage.add_argument("--figure", type=Path, default=Path("demo/copying.png"))
    options = usage.parse_args(arguments)
    options.models = options.models.split(",")
    unknown = [model for model in options.models if model not in SETTINGS]
    if unknown:
        usage.error(f"there is no model {', '.join(unknown)} here: choose from {', '.join(SETTINGS)}")
    if min(options.delay, options.steps, options.batch_size) < 1:
        usage.error("--delay, --steps and --batch-size are at least 1")
    return options


def main() -> None:
    """Train the models that were asked for, and draw what happened."""
    options = parse()
    runs = [train(model, options) for model in options.models]
    for run in runs:
        final = statistics.median(run.losses[-50:])  # single batches spike
        verdict = "solved" if run.accuracy > 0.95 else "not solved"
        print(f"{run.model}: {verdict}, loss {final:.5f} against {baseline(options.delay):.5f} without memory")
    draw(runs, options.delay, options.figure)
    print(f"figure: {options.figure}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped; nothing was written")
