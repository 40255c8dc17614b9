"""How far back gradients reach in a trained network (ENRNN figures 4 and 5; the product in QORNN's appendix A).

With h_t = F(h_{t-1}, x_t) the chain rule gives, for tau >= t,

    dh_tau / dx_t = J_tau J_{tau-1} ... J_{t+1} B_t,    J_t = dh_t / dh_{t-1},    B_t = dh_t / dx_t,

and dh_T / dh_t = J_T ... J_{t+1}. J and B are computed with the network's own step and backward pass, so that they
include gates, quantized matrices and nonlinearities exactly as in training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from eigenloop.analysis.provenance import label_for, origin
from eigenloop.analysis.result import Result, Table
from eigenloop.analysis.rounding import rounded
from eigenloop.analysis.state import Flat, parts_of
from eigenloop.analysis.style import COLOURS, panels, styled
from eigenloop.matrices import cached
from eigenloop.readout import Model
from eigenloop.tasks import Task
from eigenloop.text.points import spread
from eigenloop.training import ConfigError, load_run
from eigenloop.training.forward import inputs_for

#: Limit of the default number of time steps, which takes seconds to compute; and of the steps written to the file.
SHOWN, WRITTEN = 200, 60
#: Lags in the table; the longest lag is added.
TABLED = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500)
#: Largest batch for single steps, which has one row for each entry of the state at each time step.
ROWS = 16384


def step_jacobians(rnn: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return J and B of every step of one sequence in double precision: (T, N, N) and (T, N, m).

    Args:
        rnn: a recurrent layer, ours or torch's. Its state has N entries, over all layers, with the cells of an LSTM.
        x: the input, (T, m).
    """
    flat = Flat(rnn)
    before, states = flat.initial(), []
    with torch.no_grad():
        for x_t in x:
            states.append(before)
            before = flat.step(x_t[None], before[None])[0]
    N, per_call = flat.size, max(1, ROWS // flat.size)
    through, into = [], []
    for some_x, some_h in zip(x.split(per_call), torch.stack(states).split(per_call), strict=True):
        # N copies of each step, each differentiated for one entry of the state: the rows of the Jacobians.
        copies_x = some_x.repeat_interleave(N, 0).requires_grad_()
        copies_h = some_h.repeat_interleave(N, 0).requires_grad_()
        with torch.enable_grad():
            after = flat.step(copies_x, copies_h)
        wanted = torch.eye(N, dtype=after.dtype, device=after.device).repeat(len(some_x), 1)
        to_h, to_x = torch.autograd.grad(after, (copies_h, copies_x), wanted)
        through.append(to_h.double().unflatten(0, (-1, N)))
        into.append(to_x.double().unflatten(0, (-1, N)))
    return torch.cat(through), torch.cat(into)


def spectral_norm(matrices: Tensor) -> Tensor:
    """Return the largest singular value of each matrix (..., r, c), from the Gram matrix of its shorter side."""
    short = matrices.mT if matrices.shape[-2] >= matrices.shape[-1] else matrices
    return torch.linalg.eigvalsh(short @ short.mT)[..., -1].clamp(min=0).sqrt()


def input_norms(through: Tensor, into: Tensor, rows: slice) -> Tensor:
    """Return ||dh_tau / dx_t||_2 for the entries `rows` of the state: (T, T), [tau, t], zero above the diagonal."""
    T = len(into)
    norms = into.new_zeros(T, T)
    carried = into[:0]
    for tau in range(T):
        carried = torch.cat((through[tau] @ carried, into[tau : tau + 1]))
        norms[tau, : tau + 1] = spectral_norm(carried[:, rows])
    return norms


def state_norms(through: Tensor, rows: slice) -> Tensor:
    """Return ||dh_T / dh_t||_2 of the block `rows` for t = 1..T: (T,); the last one is 1."""
    product = torch.eye(through.shape[-1], dtype=through.dtype, device=through.device)
    norms = []
    for J in through.flip(0):
        norms.append(spectral_norm(product[rows, rows]))
        product = product @ J
    return torch.stack(norms[::-1])


def by_lag(norms: Tensor) -> list[float]:
    """Return the mean of ||dh_{t+lag} / dx_t|| over t, for every lag."""
    return [float(torch.diagonal(norms, -lag).mean()) for lag in range(len(norms))]


@dataclass(frozen=True)
class Reach:
    """The gradient norms of one network, averaged over sequences.

    Attributes:
        inputs: ||dh_tau / dx_t|| by part of the state, (T, T).
        states: ||dh_T / dh_t|| by part of the state, (T,).
    """

    label: str
    inputs: dict[str, Tensor]
    states: dict[str, Tensor]

    @property
    def steps(self) -> int:
        """Return T."""
        return len(next(iter(self.states.values())))

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows of the table: run, part, lag and both norms."""
        T = self.steps
        shown = sorted({lag for lag in TABLED if lag < T} | {T - 1})
        lags = {name: by_lag(norms) for name, norms in self.inputs.items()}
        return [
            (self.label, name, lag, lags[name][lag], float(self.states[name][T - 1 - lag]))
            for name in self.inputs
            for lag in shown
        ]

    def numbers(self) -> dict[str, Any]:
        """Return the numbers to be written to the file."""
        kept = spread(self.steps, WRITTEN)
        return {
            "input_norm_by_lag": rounded({name: by_lag(norms) for name, norms in self.inputs.items()}),
            "state_norm": rounded(self.states),
            "shown_steps": [t + 1 for t in kept],
            "input_norm": {
                name: [rounded(norms[i, kept[: k + 1]]) for k, i in enumerate(kept)]
                for name, norms in self.inputs.items()
            },
        }


def gradients(
    runs: Sequence[Path],
    which: str | int = "best",
    steps: int | None = None,
    samples: int = 10,
    data_dir: Path | None = None,
) -> Result:
    """Measure the gradients of the states of trained networks, averaged over held-out sequences.

    The sequences are from the validation split, or from the test split of a task without one.

    Args:
        runs: folders of runs.
        which: checkpoint: ``"best"``, ``"last"`` or a training step.
        steps: time steps from the start of each sequence; default: all, but at most 200.
        samples: number of sequences.
        data_dir: folder of the data, if it has moved.

    Returns:
        The norms ||dh_tau / dx_t|| by lag and ||dh_T / dh_t|| for each run and part of its state.

    Raises:
        ConfigError: no run is given, or the sequences are shorter than `steps`.
    """
    if not runs:
        raise ConfigError("gradients needs the folder of at least one run")
    reaches: list[Reach] = []
    numbers, notes = [], []
    for run in runs:
        net, config, step = load_run(run, which, data_dir=data_dir)
        net.requires_grad_(False)
        name = f"{config.network.name} on {config.task.name}"
        label = label_for(name, run, [reach.label for reach in reaches])
        x, length = _sequences(net, config.task, steps, samples)
        reach = _reach(label, net, x)
        reaches.append(reach)
        said = {"model": config.network.name, "task": config.task.name, **origin(run, step)}
        said |= {"quantized": getattr(net.rnn, "quantizer", None) is not None, "steps": len(x), "samples": x.shape[1]}
        numbers.append({"run": label, **said, **reach.numbers()})
        if len(x) < length:
            notes.append(f"{label}: the first {len(x)} of {length} steps; {length} steps are all of them.")
    samples_of = {one["run"]: one["samples"] for one in numbers}
    if len(set(samples_of.values())) == 1:
        over = f"{x.shape[1]}"
    else:
        over = ", ".join(f"{count} ({label})" for label, count in samples_of.items())
    return Result(
        name="gradients",
        title="Norms of gradients over time",
        numbers={"runs": numbers},
        table=Table(
            ("run", "part", "lag", "dh/dx", "dh_T/dh"), tuple(row for reach in reaches for row in reach.rows())
        ),
        figure=_drawn(reaches),
        notes=(
            f"Means over {over} sequences; dh/dx is ||dh_(t+lag)/dx_t|| averaged over t, dh_T/dh is "
            "||dh_T/dh_(T-lag)||, each of the named part of the state.",
            *notes,
        ),
    )


def _reach(label: str, net: Model, x: Tensor) -> Reach:
    """Return the norms averaged over the sequences x, (T, samples, m)."""
    T, parts = len(x), parts_of(net.rnn)
    inputs = {name: torch.zeros(T, T, dtype=torch.float64) for name in parts}
    states = {name: torch.zeros(T, dtype=torch.float64) for name in parts}
    with cached(net):
        for sequence in x.unbind(1):
            through, into = (jacobians.cpu() for jacobians in step_jacobians(net.rnn, sequence))
            for name, part in parts.items():
                inputs[name] += input_norms(through, into, part) / x.shape[1]
                states[name] += state_norms(through, part) / x.shape[1]
    return Reach(label, inputs, states)


def _sequences(net: Model, task: Task, steps: int | None, samples: int) -> tuple[Tensor, int]:
    """Return inputs of the recurrent layer, (T, samples, m), from held-out sequences, and their full length."""
    batch = next(iter(task.evaluation(task.splits[0], samples)))
    weight = net.readout.weight
    batch = batch.to(weight.device, weight.dtype)
    length = batch.steps if batch.lengths is None else int(batch.lengths[:samples].min())
    if steps is not None and steps > length:
        raise ConfigError(f"the sequences of {task.name} have {length} steps, fewer than {steps}: ask for {length}")
    with torch.no_grad():
        # A text task may have fewer parallel streams than `samples`.
        x = inputs_for(net, task, batch)[: min(SHOWN, length) if steps is None else steps, :samples]
        return net.entered(x), length


def _drawn(reaches: Sequence[Reach]) -> Figure:
    """Draw one row of panels for each network."""
    with styled():
        columns = max(len(reach.inputs) for reach in reaches) + 2
        figure, axes = panels(columns, rows=len(reaches), width=3.8)
        for row, reach in enumerate(reaches):
            forget, back, *maps = axes[row * columns : (row + 1) * columns]
            _draw_lines(forget, back, reach)
            for axis, (name, norms) in zip(maps, reach.inputs.items(), strict=False):
                _draw_map(figure, axis, name, norms)
            for axis in maps[len(reach.inputs) :]:
                axis.set_axis_off()
    return figure


def _draw_map(figure: Figure, axis: Axes, name: str, norms: Tensor) -> None:
    # Each part has its own colour scale, from zero, as in the paper's figures: columns of important inputs stand out.
    T = len(norms)
    lower = torch.tril(torch.ones_like(norms)).bool()
    extent = (0.5, T + 0.5, T + 0.5, 0.5)
    image = axis.imshow(torch.where(lower, norms, torch.nan).numpy(), vmin=0, extent=extent, cmap="viridis")
    axis.set(xlabel="input step $t$", ylabel=r"state step $\tau$")
    axis.set_title(f"$\\|dh_\\tau/dx_t\\|$, {_said(name)}")
    axis.grid(visible=False)
    figure.colorbar(image, ax=axis, shrink=0.85, label="norm")


def _draw_lines(forget: Axes, back: Axes, reach: Reach) -> None:
    T = reach.steps
    for colour, name in zip(COLOURS * len(reach.states), reach.states, strict=False):
        lags = [value or torch.nan for value in by_lag(reach.inputs[name])]
        forget.semilogy(range(T), lags, color=colour, label=_said(name))
        back.semilogy(range(1, T + 1), [value or torch.nan for value in reach.states[name].tolist()], color=colour)
    forget.set(xlabel=r"lag $\tau - t$", ylabel="mean $\\|dh_\\tau/dx_t\\|$", title=f"{reach.label}: gradient by lag")
    back.set(xlabel="step $t$", ylabel="$\\|dh_T/dh_t\\|$", title="From the last state back")
    if len(reach.states) > 1:
        forget.legend()
    for axis in (forget, back):
        # A nearly constant norm should look nearly constant.
        low, high = axis.get_ylim()
        axis.set_ylim(min(low, high / 100), high * (3 if high / low < 100 else 1))


def _said(part: str) -> str:
    return part if part.startswith("layer") else {"state": "the state"}.get(part, f"{part} part")
