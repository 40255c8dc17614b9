"""What a checkpoint holds of a training, and how a training goes on from one."""

from __future__ import annotations

import time

import torch

from eigenloop.readout import Model
from eigenloop.tasks.tally import Tally
from eigenloop.training import checkpoint, states
from eigenloop.training.errors import RunError
from eigenloop.training.processes import Processes
from eigenloop.training.progress import Progress
from eigenloop.training.reporter import Reporter
from eigenloop.training.run_folder import RunFolder
from eigenloop.training.schedule import Schedule
from eigenloop.training.update import Updater


class Saver:
    """Saves a training whole, and restores it so that it goes on bit for bit.

    Kept are weights and buffers, optimizer, schedule and progress, and of every process its random numbers, the states
    it carries and its sums since the last line of metrics; and the number of threads, by which sums are ordered.
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
        """Return the time since the last checkpoint."""
        return time.monotonic() - self._saved_at

    def last_step(self) -> int:
        """Return the step of the last checkpoint on the disk."""
        return max(checkpoint.steps_in(self.folder.checkpoints), default=0)

    def save(self, progress: Progress) -> None:
        """Write a checkpoint, and remove those that are no longer needed: the first, best and last two stay."""
        self.processes.check_equal(self.net, progress.step)
        random = self.processes.gathered(torch.get_rng_state())
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
            checkpoint.prune(self.folder.checkpoints, {0, best})
        self.processes.wait()
        self._saved_at = time.monotonic()

    def restore(self, reporter: Reporter) -> Progress | None:
        """Go on from the newest whole checkpoint; None if the run was stopped before its first."""
        try:
            found = checkpoint.newest(self.folder.checkpoints)
        except checkpoint.DamagedError as error:
            raise RunError(f"{error}. Start the run anew: train from its config.yaml with another --out") from error
        if found is None:
            self._set_back(0)
            return None
        step, kept, problems = found
        for problem in problems:
            reporter.notice(f"{problem}. Going on from step {step}, the newest that is whole")
        state = kept.state
        if state["processes"] != self.processes.count:
            raise RunError(
                f"this run was trained by {state['processes']} processes and is resumed by {self.processes.count}: use "
                f"torchrun --nproc-per-node {state['processes']} -m eigenloop train ..."
            )
        if problems and self.processes.first:
            checkpoint.set_aside(self.folder.checkpoints, step)
        rank = self.processes.rank
        torch.set_num_threads(state["threads"])
        self.net.load_state_dict(kept.weights)
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.restore(state["schedule"])
        torch.set_rng_state(state["random"][rank])
        device = self.net.readout.weight.device
        self.updater.carried = [states.moved(part, device) for part in state["carried"][rank]]
        window = zip(state["window"]["names"], state["window"]["sums"][rank].tolist(), strict=True)
        self._set_back(state["metrics_size"])
        return Progress(**state["progress"], window=Tally(**{name: (entry[0], entry[1]) for name, entry in window}))

    def _set_back(self, metrics_size: int) -> None:
        """Forget what was written after the checkpoint."""
        if self.processes.first:
            self.folder.cut_metrics(metrics_size)
            (self.folder.path / "summary.json").unlink(missing_ok=True)
        self.processes.wait()
