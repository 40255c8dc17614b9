"""Saving a training in checkpoints, and resuming it from one."""

from __future__ import annotations

import time

import torch

from eigenloop.errors import DivergedError, RunError
from eigenloop.optim.stepwise import OutdatedStateError
from eigenloop.readout import Model
from eigenloop.runs import RunFolder, checkpoints
from eigenloop.tasks.tally import Tally
from eigenloop.training import checkpoint, states
from eigenloop.training.processes import Processes
from eigenloop.training.progress import Progress
from eigenloop.training.reporter import Reporter
from eigenloop.training.schedule import Schedule
from eigenloop.training.update import Updater


class Saver:
    """Saves the complete state of a training, and restores it so that the training continues bit for bit.

    A checkpoint holds weights and buffers, optimizer, schedule and progress; for every process its random state, its
    carried hidden states and its sums since the last line of metrics; and the number of threads, which determines the
    order of summation.
    """

    def __init__(
        self,
        folder: RunFolder,
        net: Model,
        optimizer: torch.optim.Optimizer,
        schedule: Schedule,
        updater: Updater,
        processes: Processes,
    ) -> None:
        self.folder, self.net, self.optimizer = folder, net, optimizer
        self.schedule, self.updater, self.processes = schedule, updater, processes
        self._saved_at = time.monotonic()

    def seconds_ago(self) -> float:
        """Return the number of seconds since the last checkpoint."""
        return time.monotonic() - self._saved_at

    def save(self, progress: Progress) -> None:
        """Write a checkpoint, and remove all others except the first, the best and the last two.

        Raises:
            DivergedError: the last step made a weight NaN or inf; earlier checkpoints are not changed.
        """
        if not all(torch.isfinite(tensor).all() for tensor in self.net.state_dict().values()):
            raise DivergedError("the weights hold NaN or inf")
        self.processes.check_equal(self.net, progress.step)
        random = [self.processes.gathered(state) for state in self._random_states()]
        carried = states.gathered(self.updater.carried, self.processes)
        entries = progress.window.items()
        sums = torch.tensor([entries[name] for name in entries], dtype=torch.float64).reshape(-1, 2)
        windows = self.processes.gathered(sums)
        if self.processes.first:
            state = {
                "progress": progress.state(),
                "optimizer": self.optimizer.state_dict(),
                "schedule": self.schedule.state(),
                "carried": carried,
                "random": random,
                "window": {"names": list(entries), "sums": windows},
                "threads": torch.get_num_threads(),
                "processes": self.processes.count,
                "metrics_size": self.folder.metrics_size(),
            }
            checkpoint.save(self.folder.checkpoints, progress.step, self.net.state_dict(), state)
            best = 0 if progress.best is None else int(progress.best["step"])
            checkpoints.prune(self.folder.checkpoints, {0, best})
        self.processes.wait()
        self._saved_at = time.monotonic()

    def restore(self, reporter: Reporter) -> Progress | None:
        """Load the newest undamaged checkpoint and return its progress; None if there is no checkpoint yet.

        Raises:
            RunError: all checkpoints are damaged, or the run cannot be resumed with this code or configuration.
        """
        try:
            newest = checkpoint.newest(self.folder.checkpoints)
        except checkpoints.DamagedError as error:
            fix = "start the run again: train from its config.yaml in another folder"
            raise RunError(str(error), fix, flags=f"{fix}, --out") from error
        if newest is None:
            self._set_back(0)
            return None
        step, kept, problems = newest
        for problem in problems:
            reporter.notice(f"{problem}. Resuming from step {step}, the newest undamaged one")
        state = kept.state
        if state["processes"] != self.processes.count:
            raise RunError(
                f"this run was trained by {state['processes']} processes and is resumed by {self.processes.count}: use "
                f"torchrun --nproc-per-node {state['processes']} -m eigenloop train ..."
            )
        self.processes.wait()  # until all processes have read the checkpoint
        if problems and self.processes.first:
            checkpoints.set_aside(self.folder.checkpoints, step)
        rank = self.processes.rank
        torch.set_num_threads(state["threads"])
        self._load(step, kept)
        self.schedule.restore(state["schedule"])
        self._set_random_states([everyones[rank] for everyones in state["random"]])
        device = self.net.readout.weight.device
        self.updater.carried = [states.moved(part, device) for part in state["carried"][rank]]
        window = zip(state["window"]["names"], state["window"]["sums"][rank].tolist(), strict=True)
        self._set_back(state["metrics_size"])
        return Progress(**state["progress"], window=Tally(**{name: (entry[0], entry[1]) for name, entry in window}))

    def _load(self, step: int, kept: checkpoint.Checkpoint) -> None:
        """Load weights and optimizer state; learning rates come from the configuration, which may have changed."""
        if kept.of_torchs_layers:
            raise RunError(
                f"the run in {self.folder.path} was begun when models lstm and gru were torch's own layers, and its "
                "optimizer's state does not fit theirs now (eigenloop eval and load_run still take its networks)",
                "start a new run in another folder",
                flags="start a new run with another --out",
            )
        rates = [group["initial_lr"] for group in self.optimizer.param_groups]
        try:
            self.net.load_state_dict(kept.weights)
            self.optimizer.load_state_dict(kept.state["optimizer"])
        except OutdatedStateError as error:
            raise RunError(f"the run in {self.folder.path} cannot be resumed: {error}, in another folder") from error
        except (RuntimeError, ValueError) as error:
            raise RunError(
                f"{checkpoints.folder_of(self.folder.checkpoints, step)} does not fit the network of "
                f"{self.folder.path / 'config.yaml'}, which was changed: restore it, or start another run"
            ) from error
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["initial_lr"] = rate

    def _random_states(self) -> list[torch.Tensor]:
        """Return the state of torch's random generator, and that of the device if it has its own."""
        device = self.net.readout.weight.device
        own = [torch.get_device_module(device).get_rng_state(device)] if device.type != "cpu" else []
        return [torch.get_rng_state(), *own]

    def _set_random_states(self, states: list[torch.Tensor]) -> None:
        device = self.net.readout.weight.device
        torch.set_rng_state(states[0])
        if device.type != "cpu" and len(states) > 1:
            torch.get_device_module(device).set_rng_state(states[1], device)

    def _set_back(self, metrics_size: int) -> None:
        """Remove the metrics that were written after the checkpoint, and the summary."""
        if self.processes.first:
            self.folder.set_back(metrics_size)
        self.processes.wait()
