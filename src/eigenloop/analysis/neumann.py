"""The inverse in NC-GRU's Cayley map, updated by a Neumann series, compared with the exact inverse (figures 5, 6, 8).

One training with the exact inverse records the optimizer's steps. Every method then updates Z along these same steps,
so that all methods approximate the same inverses. In addition every method trains its own network.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eigenloop.analysis.carried_inverse import SIZES, Drift, replays, update_seconds
from eigenloop.analysis.neumann_training import EXACT, LR, METHODS, PUBLISHED, RESET_EVERY, SIZE, Training, train
from eigenloop.analysis.result import Result, Table
from eigenloop.analysis.rounding import rounded
from eigenloop.analysis.style import COLOURS, panels, styled
from eigenloop.text.points import spread

#: Points of a curve in the file, and batches averaged for one point of a loss curve.
WRITTEN, SMOOTHED = 150, 20
_NAMES = (*METHODS, "least squares", "exact, float32")
_COLOURS = dict(zip(_NAMES, (*COLOURS[:4], COLOURS[6], COLOURS[5], COLOURS[4]), strict=True))

Trainings = dict[str, list[Training]]


def smoothed(values: Sequence[float], width: int = SMOOTHED) -> list[float]:
    """Return the means of consecutive groups of `width` values.

    >>> smoothed([1.0, 3.0, 5.0, 7.0], 2)
    [2.0, 6.0]
    """
    width = max(1, min(width, len(values)))
    return [statistics.fmean(values[i : i + width]) for i in range(0, len(values) - width + 1, width)]


def final_losses(trainings: Sequence[Training]) -> list[float]:
    """Return the mean loss of the last tenth of each training."""
    return [statistics.fmean(done.losses[-max(1, len(done.losses) // 10) :]) for done in trainings]


def loss_distance(trainings: Sequence[Training], exact: Sequence[Training]) -> list[float]:
    """Return |loss - loss with the exact inverse| at every step, on the same batches, averaged over seeds."""
    pairs = [zip(a.losses, b.losses, strict=True) for a, b in zip(trainings, exact, strict=True)]
    return [statistics.fmean(step) for step in zip(*([abs(x - y) for x, y in pair] for pair in pairs), strict=True)]


def neumann(
    steps: int = 500, seeds: int = 3, size: int = SIZE, length: int = 100, sizes: Sequence[int] = SIZES
) -> Result:
    """Compare methods to update (I + A)^-1: error, loss of orthogonality, time, and training loss.

    Args:
        steps: steps of each training, Adam with learning rate 1e-3 on the parenthesis problem.
        seeds: trainings per method, each with its own initial weights and batches.
        size: n.
        length: T.
        sizes: values of n for which an update is timed.
    """
    trainings = {method: [train(method, steps, seed, size, length) for seed in range(seeds)] for method in METHODS}
    drifts = replays(trainings[EXACT][0], RESET_EVERY)
    seconds = {n: update_seconds(n) for n in sizes}
    largest = {method: max(max(done.defects) for done in trainings[method]) for method in METHODS}
    rows = []
    for method in METHODS:
        drift, free, losses = drifts.get(method), drifts.get(f"{method}, no reset"), final_losses(trainings[method])
        rows.append(
            (
                method,
                max(drift.inverse_error) if drift else 0.0,
                free.inverse_error[-1] if free else None,
                max(drift.defect) if drift else None,
                largest[method],
                statistics.fmean(losses),
                statistics.stdev(losses) if seeds > 1 else None,
                1e3 * seconds[sizes[0]][method] if method in seconds[sizes[0]] else None,
                1e3 * seconds[sizes[-1]][method] if method in seconds[sizes[-1]] else None,
            )
        )
    step_norm, logged = drifts["order 2"].step_norm, drifts[PUBLISHED].step_norm
    return Result(
        name="neumann",
        title=f"NC-GRU's inverse, n = {size}, {steps} steps of Adam on parenthesis, resets every {RESET_EVERY}",
        numbers=_numbers(trainings, drifts, seconds, steps, seeds, size, length),
        table=Table(
            (
                "method",
                "inverse error",
                "no reset",
                "defect",
                "in training",
                "loss",
                "+-",
                f"ms, n={sizes[0]}",
                f"n={sizes[-1]}",
            ),
            tuple(rows),
        ),
        figure=_drawn(trainings, drifts, seconds),
        notes=(
            "inverse error: the largest ||Z - (I+A)^-1||_F with resets; no reset: the last without; defect: the "
            "largest ||U^T U - I||_F of U = Z (I - A) D; all three in float64 along the same steps. in training: the "
            "largest defect in float32, where ours forms (2 Z - I) D.",
            f"||Z dA||_2 is {statistics.median(step_norm):.3g} in the median and at most {max(step_norm):.3g}; with "
            f"lr times the gradient for dA, which is what the published code uses, {statistics.median(logged):.3g} "
            f"and {max(logged):.3g}.",
            f"loss: mean of the last tenth of {steps} steps, mean and standard deviation over {seeds} seeds.",
            f"Times: {torch.get_num_threads()} thread(s), Z in float32, exact inverses in float64 unless stated.",
        ),
    )


def _numbers(
    trainings: Trainings,
    drifts: dict[str, Drift],
    seconds: dict[int, dict[str, float]],
    steps: int,
    seeds: int,
    size: int,
    length: int,
) -> dict[str, object]:
    kept = spread(steps, WRITTEN)
    return {
        "size": size,
        "steps": steps,
        "seeds": seeds,
        "length": length,
        "lr": LR,
        "reset_every": RESET_EVERY,
        "shown_steps": [step + 1 for step in kept],
        "along_the_same_steps": {
            name: {
                "largest_inverse_error": rounded(max(drift.inverse_error)),
                "largest_defect": rounded(max(drift.defect)),
                "inverse_error": rounded([drift.inverse_error[i] for i in kept]),
                "defect": rounded([drift.defect[i] for i in kept]),
            }
            for name, drift in drifts.items()
        },
        "largest_step_norm": rounded(max(drifts["order 2"].step_norm)),
        "step_norm": rounded([drifts["order 2"].step_norm[i] for i in kept]),
        "step_norm_of_published_code": rounded([drifts[PUBLISHED].step_norm[i] for i in kept]),
        "training": {
            method: {
                "final_loss": rounded(final_losses(done)),
                "largest_defect": rounded([max(one.defects) for one in done]),
                "loss": [rounded(smoothed(one.losses)) for one in done],
                "distance_from_exact": rounded(smoothed(loss_distance(done, trainings[EXACT]))),
            }
            for method, done in trainings.items()
        },
        "seconds_per_update": rounded(seconds),
        "threads": torch.get_num_threads(),
    }


def _drawn(trainings: Trainings, drifts: dict[str, Drift], seconds: dict[int, dict[str, float]]) -> Figure:
    with styled():
        figure, (error, defect, norm, cost, loss, distance) = panels(3, rows=2, width=4.0)
        _draw_drifts(error, {name: drift.inverse_error for name, drift in drifts.items()})
        error.set(ylabel=r"$\|Z - (I+A)^{-1}\|_F$", title="The carried inverse")
        _draw_drifts(defect, {name: drift.defect for name, drift in drifts.items()})
        defect.set(ylabel=r"$\|U^T U - I\|_F$", title="Loss of orthogonality")
        for name, drift, colour in (
            (r"$\delta A$: Adam's step", drifts["order 2"], COLOURS[0]),
            (r"$\delta A$: lr $\times$ gradient (published)", drifts[PUBLISHED], COLOURS[6]),
        ):
            norm.semilogy(range(1, len(drift.step_norm) + 1), drift.step_norm, color=colour, lw=1, label=name)
        norm.axhline(1, color=COLOURS[1], lw=1, ls="--", label="the series converges below")
        norm.set(xlabel="step", ylabel=r"$\|Z\,\delta A\|_2$", title="The condition of the series")
        norm.set_ylim(top=10)
        norm.legend(loc="upper right", bbox_to_anchor=(1.0, 0.84))  # between the line at 1 and the curves
        for method in next(iter(seconds.values())):
            times = [1e3 * seconds_by_method[method] for seconds_by_method in seconds.values()]
            cost.loglog(list(seconds), times, "o-", ms=3, color=_COLOURS[method], label=method)
        cost.set_xticks(list(seconds), [str(n) for n in seconds])
        cost.set_xticks([], minor=True)
        cost.set(xlabel="size $n$", ylabel="ms", title="One update of the inverse")
        cost.legend()
        _draw_losses(loss, distance, trainings)
    return figure


def _draw_drifts(axis: Axes, curves: dict[str, list[float]]) -> None:
    for name, values in curves.items():
        method = name.removesuffix(", no reset")
        places = range(1, len(values) + 1)
        # After a reset only rounding error is left; drawing it would stretch the axis down to 1e-14.
        shown = [value if value > 1e-13 else float("nan") for value in values]
        if method == name:
            axis.semilogy(places, shown, color=_COLOURS[method], lw=1, label=name)
        else:
            axis.semilogy(places, shown, color=_COLOURS[method], lw=1, ls=":")
    axis.plot([], [], color="grey", lw=1, ls=":", label="without resets")
    axis.set_xlabel("step")
    low, high = axis.get_ylim()
    axis.set_ylim(low, high * 300)
    axis.legend(ncols=2, loc="upper center")


def _draw_losses(loss: Axes, distance: Axes, trainings: Trainings) -> None:
    for method, done in trainings.items():
        width = max(1, min(SMOOTHED, len(done[0].losses)))
        curves = [smoothed(one.losses) for one in done]
        places = [width * (i + 0.5) for i in range(len(curves[0]))]
        mean = [statistics.fmean(values) for values in zip(*curves, strict=True)]
        style = "--" if method == EXACT else "-"
        loss.plot(places, mean, style, color=_COLOURS[method], label=method, zorder=3 if method == EXACT else 2)
        if method != EXACT:
            distance.semilogy(
                places, smoothed(loss_distance(done, trainings[EXACT])), color=_COLOURS[method], label=method
            )
    loss.set(xlabel="step", ylabel="loss", title="Training loss (differences: right axis)")
    loss.legend()
    distance.set(xlabel="step", ylabel="|loss - loss with exact inverse|", title="How far a training departs")
    low, high = distance.get_ylim()
    distance.set_ylim(low, high * 30)
    distance.legend(ncols=2, loc="upper center")
