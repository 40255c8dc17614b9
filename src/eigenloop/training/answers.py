"""Predictions of a network on your own sequences: on a split of the data it was trained with, or on another file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eigenloop.errors import ConfigError
from eigenloop.matrices import cached
from eigenloop.readout import Model
from eigenloop.tasks import Sequences
from eigenloop.tasks.sequences import Outcome, Pieces, Preparation, SequenceData, whole
from eigenloop.tasks.sequences.batches import batch, inputs_of
from eigenloop.tasks.sequences.targets import class_shares
from eigenloop.tasks.sequences.windowing import windowing
from eigenloop.training.runs import load_run

_BATCH = 128


def predict(
    run: Path | str,
    data: Path | str,
    *,
    which: str | int = "best",
    batch_size: int = _BATCH,
    device: str | None = None,
) -> Outcome:
    """Return the predictions of a run's network on another file: for each case or step, or beyond the end of each case.

    The file needs the channels that the network was trained with, in any order if they have names. The training data
    are not needed.

    Args:
        run: the run folder.
        data: the file or folder with new sequences.
        which: the checkpoint: ``"best"``, ``"last"`` or a step.
        batch_size: number of sequences per forward pass.
        device: the device of the network; default: that of the training.

    Raises:
        ConfigError: the run was not trained on your own data (task ``sequences``).
        DataError: the file cannot be read or lacks a channel.
        RunError: the run or its checkpoint cannot be read.
    """
    net, config, _ = load_run(run, which, device=device)
    task = own_task(config.task, run)
    unlabelled = task.source.unlabelled(Path(data))
    return _Answering(net, task, unlabelled, batch_size).of(whole(unlabelled))


def outcome(net: Model, task: Sequences, split: str, batch_size: int = _BATCH) -> Outcome:
    """Return the predictions of a network on a split (``train``, ``valid``, ``test``) of its data, with the targets."""
    return _Answering(net, task, task.sequences, batch_size).measured(task.pieces[split])


def run_outcome(
    run: Path | str,
    split: str = "test",
    *,
    which: str | int = "best",
    data: Path | None = None,
    batch_size: int = _BATCH,
    device: str | None = None,
) -> Outcome:
    """Return the predictions of a run's network on a split of its data, with the targets.

    Args:
        run: the run folder.
        split: ``train``, ``valid`` or ``test``.
        which: the checkpoint: ``"best"``, ``"last"`` or a step.
        data: the path of the data, if they have moved.
        batch_size: number of sequences per forward pass.
        device: the device of the network; default: that of the training.

    Raises:
        ConfigError: the run has no such split, or was not trained on your own data (task ``sequences``).
        RunError: the run or its checkpoint cannot be read.
    """
    net, config, _ = load_run(run, which, data=data, device=device)
    task = own_task(config.task, run)
    task.checked_split(split, "train")
    return outcome(net, task, split, batch_size)


def own_task(task: object, run: Path | str) -> Sequences:
    """Return the task if it is `Sequences`; otherwise raise a ConfigError."""
    if not isinstance(task, Sequences):
        raise ConfigError(
            f"{run} was trained on {getattr(task, 'name', task)}, which draws or downloads its sequences: only a run "
            "on your own data (task sequences) can predict another file"
        )
    return task


class _Answering:
    """Runs a network over pieces of sequences and collects its predictions."""

    def __init__(self, net: Model, task: Sequences, data: SequenceData, batch_size: int) -> None:
        self.net, self.task, self.data, self.batch_size = net, task, data, batch_size
        self.preparation = _preparation(net, task)
        self.kind = task.known_kind

    def of(self, pieces: Pieces) -> Outcome:
        """Return the predictions for pieces without targets; a forecast starts after the end of each piece."""
        if self.kind == "forecast":
            return self._outcome(pieces, pieces.start + pieces.length - 1, self._after(pieces))
        if self.kind.startswith("step-"):
            cases, steps, answers = self._each_step(pieces)
            return self._outcome(Pieces(cases, steps, np.ones_like(cases)), steps, answers)
        return self._outcome(pieces, pieces.start, self._voted(pieces))

    def measured(self, pieces: Pieces) -> Outcome:
        """Return the predictions for pieces with known targets; forecasts are made as in `_forecasts`."""
        if self.kind == "forecast":
            return self._forecasts(pieces)
        labels, answers = self.data.labels, self.of(pieces)
        assert labels is not None  # kinds without labels are forecasts
        data = self.data
        truth = (
            labels[data.rows[answers.case], data.starts[answers.case] + answers.step]
            if data.per_step
            else labels[answers.case]
        )
        if self.kind.endswith("class"):
            guess: Any = class_shares(data, self.task.pieces["train"])
        else:
            assert self.net.output_scaling is not None
            guess = self.net.output_scaling.mean.double().cpu().numpy()
        return self._outcome(
            Pieces(answers.case, answers.step, answers.step), answers.step, answers.predicted, truth, guess
        )

    def _outcome(
        self,
        pieces: Pieces,
        step: NDArray[np.int64],
        answers: NDArray[np.float64],
        truth: NDArray[Any] | None = None,
        guess: NDArray[np.float64] | None = None,
    ) -> Outcome:
        names = tuple(self.data.name(case) for case in range(len(self.data)))
        return Outcome(self.kind, pieces.case, step, answers, self.task.output_names, names, truth, guess)

    # ---------------------------------------------------------------- classes and values

    def _voted(self, pieces: Pieces) -> NDArray[np.float64]:
        """Return the mean prediction over the windows of each piece: class probabilities or values."""
        cut, owner = self.task.windowing.for_evaluation(pieces)
        total = np.zeros((len(pieces), self.task.output_size))
        for chosen, inputs, lengths in self._inputs(cut):
            np.add.at(total, owner[chosen], self._answers(self.net(inputs, lengths=lengths)[0]))
        return total / np.bincount(owner, minlength=len(pieces))[:, None]

    def _each_step(self, pieces: Pieces) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return case, step and prediction of every time step, in order."""
        cut = self.task.windowing.for_evaluation(pieces)[0]
        answers_by_piece = [np.zeros((0, self.task.output_size))]
        for chosen, inputs, lengths in self._inputs(cut):
            answers = self._answers(self.net(inputs, lengths=lengths)[0])
            answers_by_piece += [answers[:length, k] for k, length in enumerate(cut.length[chosen].tolist())]
        steps = [np.arange(start, start + length) for start, length in zip(cut.start, cut.length, strict=True)]
        return (
            np.repeat(cut.case, cut.length),
            np.concatenate([*steps, np.zeros(0, np.int64)]),
            np.concatenate(answers_by_piece),
        )

    def _answers(self, outputs: Tensor) -> NDArray[np.float64]:
        values = outputs.double()
        if self.kind.endswith("class"):
            values = values.softmax(-1)
        return np.asarray(values.cpu().numpy())

    def _inputs(self, pieces: Pieces) -> Iterator[tuple[slice, Tensor, Tensor | None]]:
        """Yield the prepared inputs of the pieces in batches; every W is built once for all of them."""
        weight = self.net.readout.weight
        self.net.eval()
        with torch.no_grad(), cached(self.net):
            for start in range(0, len(pieces), self.batch_size):
                chosen = slice(start, start + self.batch_size)
                inputs, lengths = inputs_of(self.data, pieces[chosen], self.preparation)
                yield chosen, inputs.to(weight), None if lengths is None else lengths.to(weight.device)

    # ---------------------------------------------------------------- forecasts

    def _after(self, pieces: Pieces) -> NDArray[np.float64]:
        """Return the forecast after the end of each piece, (N, horizon, channels), from its last window."""
        window = self.task.windowing.window
        length = pieces.length if window is None else np.minimum(window, pieces.length)
        last = Pieces(pieces.case, pieces.start + pieces.length - length, length)
        result = np.empty((len(pieces), self.task.horizon, self.data.channels))
        for numbers in _equal_lengths(last):
            for chosen, inputs, _ in self._inputs(last[numbers]):
                outputs, state = self.net(inputs)
                result[numbers[chosen]] = self._ahead(outputs[-1], state)
        return result

    def _forecasts(self, pieces: Pieces) -> Outcome:
        """Forecast from every time step, or from every horizon-th one if predictions are fed back."""
        horizon = self.task.horizon
        cutting = windowing("forecast", self.task.windowing.window, self.task.windowing.stride, horizon)
        cut = cutting.for_evaluation(pieces)[0]
        weight, channels = self.net.readout.weight, self.data.channels
        parts: list[list[NDArray[Any]]] = [[], [], [], [], []]
        self.net.eval()
        with torch.no_grad(), cached(self.net):
            for numbers in _equal_lengths(cut):
                for start in range(0, len(numbers), self.batch_size):
                    chosen = cut[numbers[start : start + self.batch_size]]
                    made = batch(self.data, chosen, self.preparation, "forecast", horizon=horizon, normalise=False)
                    inputs = made.inputs.to(weight)
                    seen, answers = self._rolled(inputs)
                    true = made.targets.numpy()[seen].reshape(len(seen), len(chosen), horizon, channels)
                    naive = made.inputs.numpy()[seen][..., None, :channels]
                    case = np.broadcast_to(chosen.case, (len(seen), len(chosen)))
                    step = chosen.start + seen[:, None]
                    for kept, new in zip(parts, (case, step, answers, true, naive), strict=True):
                        kept.append(new.reshape(-1, *new.shape[2:]))
        case, step, answers, true, naive = (np.concatenate(part) for part in parts)
        return self._outcome(Pieces(case, step, step), step, answers, true.astype(np.float64), naive.astype(np.float64))

    def _rolled(self, inputs: Tensor) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the time steps at which forecasts start, and the forecasts, (steps, B, horizon, channels)."""
        horizon = self.task.horizon
        if not self.task.feedback:
            outputs = self.net(inputs)[0]
            shape = (*outputs.shape[:2], horizon, self.data.channels)
            return np.arange(len(inputs)), np.asarray(outputs.double().cpu().numpy()).reshape(shape)
        state: Any = None
        seen, forecasts = [], []
        for start in range(0, len(inputs), horizon):
            outputs, state = self.net(inputs[start : start + horizon], state)
            seen.append(min(start + horizon, len(inputs)) - 1)
            forecasts.append(self._ahead(outputs[-1], state))
        return np.array(seen), np.stack(forecasts)

    def _ahead(self, output: Tensor, state: Any) -> NDArray[np.float64]:
        """Return the next values, (B, horizon, channels), given the output and the state after the last time step."""
        if self.task.feedback:
            answers = [output]
            while len(answers) < self.task.horizon:
                outputs, state = self.net(self._fed_back(answers[-1])[None], state)
                answers.append(outputs[0])
            output = torch.cat(answers, dim=-1)
        return np.asarray(output.double().cpu().numpy()).reshape(len(output), self.task.horizon, -1)

    def _fed_back(self, values: Tensor) -> Tensor:
        """Return predicted values as the next inputs: none missing, at the usual time difference."""
        more = [torch.ones_like(values)] if self.preparation.missing == "mask" else []
        if self.preparation.time_unit is not None:
            more.append(torch.full_like(values[:, :1], self.preparation.time_unit))
        return torch.cat([values, *more], dim=-1)


def _equal_lengths(pieces: Pieces) -> list[NDArray[np.int64]]:
    """Return the indices of the pieces grouped by length, because a state that is used further must not see padding."""
    return [np.flatnonzero(pieces.length == length) for length in np.unique(pieces.length)]


def _preparation(net: Model, task: Sequences) -> Preparation:
    """Return how values become inputs, from the network's scaling; only without one are the data read for it."""
    if net.input_scaling is None:
        return task.preparation
    mean, scale = (part.double().cpu().numpy() for part in (net.input_scaling.mean, net.input_scaling.scale))
    channels = len(task.channel_names)
    unit = float(mean[-1]) if task.time_difference else None
    return Preparation(mean[:channels], scale[:channels], task.missing, unit)
