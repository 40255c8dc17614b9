"""How far gradients reach in a trained network (ENRNN figures 4 and 5; the product of QORNN's appendix A).

With h_t = F(h_{t-1}, x_t) the chain rule gives, for tau >= t,

    dh_tau / dx_t = J_tau J_{tau-1} ... J_{t+1} B_t,    J_t = dh_t / dh_{t-1},    B_t = dh_t / dx_t,

and dh_T / dh_t = J_T ... J_{t+1}. J and B come from the network's own step and its backward pass, so that gates,
quantized matrices and every nonlinearity are those of training.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from eigenloop.analysis.origin import origin
from eigenloop.analysis.result import Result, Table
from eigenloop.analysis.rounding import rounded, spread
from eigenloop.analysis.state import Flat, parts_of
from eigenloop.analysis.style import COLOURS, panels, styled
from eigenloop.matrices import cached
from eigenloop.readout import Model
from eigenloop.tasks import Task
from eigenloop.training import ConfigError, load_run
from eigenloop.training.evaluation import inputs_for

#: Steps shown unless told, as in the figures; and how many of them, at most, in a file.
SHOWN, WRITTEN = 50, 60
#: Lags in the table, besides the longest.
TABLED = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500)
#: Rows of a batch of single steps: one for each entry of the state at each step.
ROWS = 16384


def step_jacobians(rnn: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return J and B of every step of one sequence in double precision: (T, N, N) and (T, N, m).

    Args:
        rnn: a recurrent layer, ours or torch's; N entries has its state, of all layers and, in an LSTM, with the cell.
        x: (T, m).
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
        # N copies of a step, each asked for the gradient of one entry of the state: the rows of the Jacobians.
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
    """Return ||dh_tau / dx_t||_2 of the entries `rows` of the state: (T, T), [tau, t], zero above the diagonal."""
    T = len(into)
    norms = into.new_zeros(T, T)
    carried = into[:0]
    for tau in range(T):
        carried = torch.cat((through[tau] @ carried, into[tau : tau + 1]))
        norms[tau, : tau + 1] = spectral_norm(carried[:, rows])
    return norms


def state_norms(through: Tensor, rows: slice) -> Tensor:
    """Return ||dh_T / dh_t||_2 of the block `rows` for t = 1..T: (T,), the last of them 1."""
    product = torch.eye(through.shape[-1], dtype=through.dtype, device=through.device)
    found = []
    for J in through.flip(0):
        found.append(spectral_norm(product[rows, rows]))
        product = product @ J
    return torch.stack(found[::-1])


def by_lag(norms: Tensor) -> list[float]:
    """Average ||dh_{t+lag} / dx_t|| over t, for every lag."""
    return [float(torch.diagonal(norms, -lag).mean()) for lag in range(len(norms))]


def gradients(
    run: Path, which: str | int = "best", steps: int | None = None, samples: int = 10, data_dir: Path | None = None
) -> Result:
    """Measure the gradients of a trained network's states, averaged over sequences it was not trained on.

    Args:
        run: folder of a run.
        which: ``"best"``, ``"last"`` or a step.
        steps: of a sequence, from its first; at most 50 unless given.
        samples: sequences.
        data_dir: where the data are now, if they have moved.
    """
    net, config, step = load_run(run, which, data_dir=data_dir)
    net.requires_grad_(False)
    parts = parts_of(net.rnn)
    x = _sequences(net, config.task, steps, samples)
    heat = {name: torch.zeros(x.shape[0], x.shape[0], dtype=torch.float64) for name in parts}
    flow = {name: torch.zeros(x.shape[0], dtype=torch.float64) for name in parts}
    with cached(net):
        for sequence in x.unbind(1):
            through, into = (jacobians.cpu() for jacobians in step_jacobians(net.rnn, sequence))
            for name, part in parts.items():
                heat[name] += input_norms(through, into, part) / x.shape[1]
                flow[name] += state_norms(through, part) / x.shape[1]
    T = x.shape[0]
    lags = {name: by_lag(norms) for name, norms in heat.items()}
    shown, kept = sorted({lag for lag in TABLED if lag < T} | {T - 1}), spread(T, WRITTEN)
    columns = ("lag", *(f"dh/dx {name}" for name in parts), *(f"dh_T/dh {name}" for name in parts))
    rows = tuple((lag, *(lags[p][lag] for p in parts), *(float(flow[p][T - 1 - lag]) for p in parts)) for lag in shown)
    quantizer = getattr(net.rnn, "quantizer", None)
    return Result(
        name="gradients",
        title=f"{config.network.name} on {config.task.name}, step {step}: norms of gradients over time",
        numbers={
            "model": config.network.name,
            "task": config.task.name,
            **origin(run, step),
            "quantized": quantizer is not None,
            "steps": T,
            "samples": x.shape[1],
            "input_norm_by_lag": rounded(lags),
            "state_norm": rounded(flow),
            "shown_steps": [t + 1 for t in kept],
            "input_norm": {p: [rounded(heat[p][i, kept[: k + 1]]) for k, i in enumerate(kept)] for p in parts},
        },
        table=Table(columns, rows),
        figure=_drawn(heat, flow, f"{config.network.name} on {config.task.name}, step {step}"),
        notes=(
            f"Means over {x.shape[1]} sequences; dh/dx is ||dh_(t+lag)/dx_t|| averaged over t, dh_T/dh is "
            "||dh_T/dh_(T-lag)||, each of the named part of the state.",
        ),
    )


def _sequences(net: Model, task: Task, steps: int | None, samples: int) -> Tensor:
    """Return inputs of the recurrent layer, (T, samples, m), from the part that is not trained on."""
    batch = next(iter(task.evaluation(task.splits[0], samples)))
    weight = net.readout.weight
    batch = batch.to(weight.device, weight.dtype)
    length = batch.steps if batch.lengths is None else int(batch.lengths[:samples].min())
    if steps is not None and steps > length:
        raise ConfigError(f"the sequences of {task.name} have {length} steps, fewer than {steps}: ask for {length}")
    with torch.no_grad():
        # Text comes in streams, of which there are as many as the task has.
        x = inputs_for(net, task, batch)[: min(SHOWN, length) if steps is None else steps, :samples]
        return x if net.embedding is None else net.embedded(x)


def _drawn(heat: dict[str, Tensor], flow: dict[str, Tensor], title: str) -> Figure:
    T = len(next(iter(flow.values())))
    with styled():
        columns = 2 if len(heat) % 2 == 0 else 3
        figure, axes = panels(columns, rows=-(-(len(heat) + 2) // columns), width=4.2)
        for axis, (name, norms) in zip(axes, heat.items(), strict=False):
            # From zero and each part for itself, as in the figures: columns of important inputs stand out.
            lower = torch.tril(torch.ones_like(norms)).bool()
            extent = (0.5, T + 0.5, T + 0.5, 0.5)
            image = axis.imshow(torch.where(lower, norms, torch.nan).numpy(), vmin=0, extent=extent, cmap="viridis")
            axis.set(xlabel="input step $t$", ylabel=r"state step $\tau$")
            axis.set_title(f"$\\|dh_\\tau/dx_t\\|$, {_said(name)}")
            axis.grid(visible=False)
            figure.colorbar(image, ax=axis, shrink=0.85, label="norm")
        forget, back, *unused = axes[len(heat) :]
        for colour, name in zip(COLOURS * len(flow), flow, strict=False):
            lags = [value or torch.nan for value in by_lag(heat[name])]
            forget.semilogy(range(T), lags, color=colour, label=_said(name))
            back.semilogy(range(1, T + 1), [value or torch.nan for value in flow[name].tolist()], color=colour)
        forget.set(xlabel=r"lag $\tau - t$", ylabel="mean $\\|dh_\\tau/dx_t\\|$", title="What is left of an input")
        back.set(xlabel="step $t$", ylabel="$\\|dh_T/dh_t\\|$", title="From the last state back")
        if len(flow) > 1:
            forget.legend()
        for axis in (forget, back):
            # A norm that hardly changes should look like it.
            low, high = axis.get_ylim()
            axis.set_ylim(min(low, high / 100), high * (3 if high / low < 100 else 1))
        for axis in unused:
            axis.set_axis_off()
        figure.suptitle(title, fontsize=11)
    return figure


def _said(part: str) -> str:
    return part if part.startswith("layer") else {"state": "the state"}.get(part, f"{part} part")
