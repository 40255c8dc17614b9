"""The training loop: updates, evaluations, checkpoints, and the reasons to stop."""

from __future__ import annotations

import datetime
import math
import time
from typing import Any

import torch

from eigenloop.errors import ConfigError, DivergedError
from eigenloop.matrices.errors import NotFiniteError
from eigenloop.numerics import revised_since
from eigenloop.quantization import calibrating
from eigenloop.runs import RunFolder, Spectra, Summary
from eigenloop.runs.checkpoints import DamagedError
from eigenloop.tasks import DataError
from eigenloop.tasks.tally import Tally
from eigenloop.training import checkpoint, endings
from eigenloop.training.evaluation import evaluate
from eigenloop.training.forward import run
from eigenloop.training.memory import is_out_of_memory
from eigenloop.training.network import build_network, take_scalings_
from eigenloop.training.numerics import numerics_in
from eigenloop.training.optimizers import make_optimizer
from eigenloop.training.processes import Processes
from eigenloop.training.progress import Progress
from eigenloop.training.reporter import Beginning, Reporter
from eigenloop.training.saving import Saver
from eigenloop.training.schedule import Schedule, scale_rates
from eigenloop.training.settings.config import Config
from eigenloop.training.signals import Interruption
from eigenloop.training.spectra import largest_defect, smallest_ratio, spectra
from eigenloop.training.summary import count_parameters, describe, summarise
from eigenloop.training.tensorboard import TensorBoard, require_tensorboard
from eigenloop.training.update import Updater

#: Steps between evaluations if there are no epochs.
_EVAL_EVERY = 100


class Trainer:
    """Trains the network of a configuration in a run folder, from the start or from the newest checkpoint."""

    def __init__(self, config: Config, folder: RunFolder, reporter: Reporter, processes: Processes) -> None:
        self.config, self.folder, self.reporter, self.processes = config, folder, reporter, processes
        self.task, self.section = config.task, config.training
        if self.section.batch_size < processes.count * self.section.accumulate:
            raise ConfigError(
                f"training.batch_size={self.section.batch_size} is too small for {processes.count} processes x "
                f"{self.section.accumulate} parts: raise it, or lower training.accumulate"
            )
        if self.section.tensorboard:
            require_tensorboard()
        for line in self.task.introduction():
            self.reporter.notice(line)
        self.per_epoch = self._prepared()
        self.steps = self._planned_steps()
        self.baseline = self.task.baseline()
        self.net = build_network(config)
        take_scalings_(self.net, self.task)
        self.optimizer = make_optimizer(config.optimizer, self.net, self.section.seed)
        self.schedule = Schedule(config.schedule)
        self.updater = Updater(self.net, self.task, self.optimizer, self.section, processes)
        self.saver = Saver(folder, self.net, self.optimizer, self.schedule, self.updater, processes)
        self.progress = Progress()
        self.board: TensorBoard | None = None

    def _prepared(self) -> int | None:
        """Read the data and draw a first batch of each split, to find errors early; return the steps per epoch."""
        try:
            self.task.prepare()
            self.task.train_batch(0, self.section.batch_size, self.section.seed)
            for split in self.task.splits:
                next(iter(self.task.evaluation(split, 1)))
            return self.task.steps_per_epoch(self.section.batch_size)
        except DataError:
            raise
        except ValueError as error:
            raise ConfigError(f"task {self.task.name}: {error}") from error

    def _planned_steps(self) -> int:
        if self.section.epochs is None or self.per_epoch is None:
            assert self.section.steps is not None  # exactly one of the two is set, and epochs only if the task has them
            return self.section.steps
        return math.ceil(self.section.epochs * self.per_epoch - 1e-9)

    # ---------------------------------------------------------------- the loop

    def run(self, resume: bool = False) -> dict[str, Any]:
        """Train until there is a reason to stop; return the summary. A resumed run stores its settings anew."""
        if self.section.threads is not None:
            torch.set_num_threads(self.section.threads)
        torch.manual_seed(self.section.seed + self.processes.rank)
        self.net.train()
        try:
            restored = self.saver.restore(self.reporter) if resume else None
            if resume and self.processes.first:
                self.folder.write_config(self.config.as_dict())
            if restored is not None:
                self.progress = restored
                self._tell_revisions()
            else:
                self._start()
            if self.section.tensorboard and self.processes.first:
                self.board = TensorBoard(self.folder.path, self.progress.step)
            self._tell_beginning()
            with Interruption() as interruption:
                status, reason = self._loop(interruption)
            return self._finish(status, reason)
        except (NotFiniteError, DivergedError) as error:
            raise self._diverged(error.problem if isinstance(error, NotFiniteError) else str(error)) from error
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            raise endings.out_of_memory(self.progress.step + 1) from error
        except BrokenPipeError:  # the reader of the reporter's output is gone; the folder is fine
            raise
        except OSError as error:
            raise endings.unwritable(error, self.folder) from error
        finally:
            if self.board is not None:
                self.board.close()

    def _tell_revisions(self) -> None:
        for revision in revised_since(self.progress.numerics, numerics_in(self.net, self.optimizer)):
            self.reporter.notice(
                f"this run began with an older version of the arithmetic ({revision}). It resumes with today's: "
                "start a new run for numbers that can be reproduced"
            )

    def _start(self) -> None:
        self._calibrate()
        self.progress.numerics = numerics_in(self.net, self.optimizer)
        self.progress.started = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        if self.processes.first:
            self.folder.write_spectra(Spectra(before=spectra(self.net)))
        self.saver.save(self.progress)

    def _calibrate(self) -> None:
        """Choose the ranges of quantized states from the first batch, which is the same in all processes."""
        if self.net.rnn.state_quantizer is None:
            return
        weight = self.net.readout.weight
        batch = self.task.train_batch(0, self.section.batch_size, self.section.seed).to(weight.device, weight.dtype)
        with calibrating(self.net):
            run(self.net, self.task, batch)

    def _loop(self, interruption: Interruption) -> tuple[str, str]:
        began = time.monotonic() - self.progress.seconds
        while True:
            done = self._reason_to_stop()
            if done is not None:
                return done
            self._step()
            step = self.progress.step
            self.progress.seconds = time.monotonic() - began
            if step % self.section.log_every == 0 or step == self.steps:
                self._log()
            due = self._evaluation_due(step) or step == self.steps
            if due:
                self._evaluate()
            stopping = self.processes.any(interruption.asked)
            late = self.processes.any(self.saver.seconds_ago() >= self.section.checkpoint_seconds)
            self.progress.seconds = time.monotonic() - began
            if due or late or stopping:
                self.saver.save(self.progress)
            if stopping:
                return "stopped", f"interrupted at step {step}"

    def _step(self) -> None:
        step = self.progress.step
        batch = self.task.train_batch(step, self.section.batch_size, self.section.seed)
        scale_rates(self.optimizer, self.schedule.factor(step, self.per_epoch) * batch.lr_scale)
        tally, norm = self.updater.step(batch)
        self.progress.step += 1
        self.progress.window.add(tally)
        self.progress.norm = norm
        self.reporter.step(self.progress.step, tally.means()["loss"])

    def _reason_to_stop(self) -> tuple[str, str] | None:
        progress, section = self.progress, self.section
        if section.until is not None and "valid" in progress.latest:
            wanted, reached = section.until * self.baseline["loss"], progress.latest["valid"]["loss"]
            if reached < wanted:
                return "solved", f"validation loss {reached:.3g} is below {section.until:g} x baseline = {wanted:.3g}"
        if progress.step >= self.steps:
            return "finished", f"all {self.steps} steps are done"
        if section.patience is not None and progress.misses >= section.patience:
            return "finished", f"no improvement in {section.patience} evaluations"
        if section.max_seconds is not None and self.processes.any(progress.seconds >= section.max_seconds):
            return "finished", f"the {section.max_seconds:g} seconds are over"
        return None

    def _diverged(self, what: str) -> DivergedError:
        """Write the summary of a diverged training, and return the error."""
        error = endings.diverged(what, self.progress.step, self.folder)
        if self.processes.first:
            self.folder.write_summary(self._summary("diverged", str(error)))
        return error

    # ---------------------------------------------------------------- measuring

    def _record(self, kind: str, values: dict[str, Any]) -> None:
        seconds = round(self.progress.seconds, 3)
        record = {"kind": kind, "step": self.progress.step, "epoch": self._epochs(), **values, "seconds": seconds}
        if self.processes.first:
            self.folder.log(record)
            if not self.folder.has_config():
                self.folder.write_config(self.config.as_dict())
                self.reporter.notice(f"{self.folder.path / 'config.yaml'} was deleted, and is written again")
            if self.board is not None:
                self.board.write(record)
        self.reporter.metrics(record)

    def _epochs(self) -> float | None:
        return None if self.per_epoch is None else round(self.progress.step / self.per_epoch, 4)

    def _log(self) -> None:
        means = self.task.metrics(self.processes.added(self.progress.window).means())
        with torch.no_grad():
            penalty = float(self.net.penalty())
        rest = {**self._rates(), "gradient_norm": self.progress.norm, "penalty": penalty}
        ratio = smallest_ratio(self.net)
        conditioning = {} if ratio is None else {"singular_ratio": ratio}
        self._record("train", means | rest | {"defect": largest_defect(self.net)} | conditioning)
        self.progress.window = Tally()

    def _rates(self) -> dict[str, float | None]:
        rates = {group["name"]: group["lr"] for group in self.optimizer.param_groups}
        return {"lr": rates.get("other"), "recurrent_lr": rates.get("recurrent", rates.get("projected"))}

    def _evaluation_due(self, step: int) -> bool:
        return step % (self.section.eval_every or self.per_epoch or _EVAL_EVERY) == 0

    def _evaluate(self) -> None:
        """Evaluate on the validation split; without one, on the test split, which then does not select a network."""
        if not self.task.splits:
            self.progress.evaluated = self.progress.step
            return
        split = self.task.splits[0]
        measures = self._measured(split)
        if not math.isfinite(measures["loss"]):
            for batch in self.task.evaluation(split, self.section.batch_size):
                self.processes.refuse_broken(batch, self.task.name, f"the {split} split")
            raise DivergedError(f"the loss on {split} is {measures['loss']:g}")
        self.progress.latest[split], self.progress.evaluated = measures, self.progress.step
        self._record(split, measures)
        if split != "valid":
            return
        value, best = measures[self.task.metric], self.progress.best
        sign = 1 if self.task.higher_is_better else -1
        improved = best is None or sign * (value - best[self.task.metric]) > 0
        # On a small validation split many networks reach the same accuracy: the one with the smallest loss is kept.
        equal = best is not None and value == best[self.task.metric] and measures["loss"] < best["loss"]
        if improved or equal:
            self.progress.best = {"step": self.progress.step, **measures}
        if self._evaluation_due(self.progress.step):  # an extra one at the end must not affect a later resume
            self.progress.misses = 0 if improved else self.progress.misses + 1
            self.schedule.observe(improved)

    def _measured(self, split: str) -> dict[str, float]:
        size = self.section.eval_batch_size or self.section.batch_size
        return evaluate(self.net, self.task, split, size, self.processes)

    def _tested(self) -> dict[str, float] | None:
        """Evaluate on the test split once: the best network if there was a validation split, otherwise the last."""
        best, latest = self.progress.best, self.progress.latest
        if "test" not in self.task.splits:
            return None
        if "test" in latest:  # without a validation split it was evaluated during training
            return latest["test"]
        if best is None or best["step"] == self.progress.step:
            return self._measured("test")
        last = {name: tensor.clone() for name, tensor in self.net.state_dict().items()}
        self.net.load_state_dict(checkpoint.load(self.folder.checkpoints, int(best["step"])).weights)
        try:
            return self._measured("test")
        finally:
            self.net.load_state_dict(last)

    # ---------------------------------------------------------------- beginning and end

    def _tell_beginning(self) -> None:
        self.reporter.begin(
            Beginning(
                title=describe(self.config),
                folder=str(self.folder.path),
                parameters=count_parameters(self.net),
                steps=self.steps,
                done=self.progress.step,
                baseline=self.baseline,
                metric=self.task.metric,
                max_seconds=self.section.max_seconds,
                seconds=self.progress.seconds,
                counted=self.task.counted,
                **self._rates(),
            )
        )
        if self.progress.step == 0 and self.config.source is not None:
            self.reporter.notice(self.config.source)

    def _finish(self, status: str, reason: str) -> dict[str, Any]:
        if status != "stopped" and self.progress.evaluated != self.progress.step:
            if self.progress.window:
                self._log()
            self._evaluate()
            self.saver.save(self.progress)
        test, damaged = None, None
        if status != "stopped":
            try:
                test = self._tested()
            except DamagedError as error:
                damaged = error
                reason += f". The test split was not measured, because the best checkpoint is lost: {error}"
        summary = self._summary(status, reason, test)
        if self.processes.first:
            self.folder.write_spectra(Spectra(after=spectra(self.net)))
            self.folder.write_summary(summary)
        told = summary.model_dump()
        self.reporter.end(told)
        self.processes.wait()
        if damaged is not None:
            raise endings.best_is_lost(damaged, self.folder) from damaged
        return told

    def _summary(self, status: str, reason: str, test: dict[str, float] | None = None) -> Summary:
        count = self.processes.count
        return summarise(self.config, self.net, self.progress, self._epochs(), count, status, reason, test)
