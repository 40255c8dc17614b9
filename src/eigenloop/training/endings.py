"""The errors that end a training early."""

from __future__ import annotations

from eigenloop.errors import DivergedError, RunError
from eigenloop.runs import RunFolder, checkpoints


def diverged(what: str, step: int, folder: RunFolder) -> DivergedError:
    """Return the error for NaN or inf after a step."""
    saved = checkpoints.last_in(folder.checkpoints)
    last = None if saved is None else checkpoints.folder_of(folder.checkpoints, saved)
    good = f"No checkpoint is left in {folder.path}" if last is None else f"The last good checkpoint is {last}"
    return DivergedError(
        f"training stopped after step {step}: {what}. {good}",
        "resume the run with smaller optimizer.lr and optimizer.recurrent_lr, or with training.clip_norm=1",
        flags="continue with --resume and smaller --lr and --recurrent-lr, or with --set clip_norm=1",
    )


def unwritable(error: OSError, folder: RunFolder) -> RunError:
    """Return the error for a file that could not be written; it says which part of the run is saved."""
    problem = f"{error.filename or folder.path} could not be written: {error.strerror or error}"
    if not folder.has_config():
        return RunError(f"{problem}. Nothing of the run is left in {folder.path}", "start it again")
    saved = checkpoints.last_in(folder.checkpoints)
    kept = "No checkpoint is saved" if saved is None else f"Everything up to step {saved} is saved"
    return RunError(
        f"{problem}. {kept}", "correct that, then resume the run", flags="correct that, then continue with --resume"
    )


def out_of_memory(step: int) -> RunError:
    """Return the error for a step that does not fit into memory."""
    return RunError(
        f"memory ran out at step {step}",
        "lower training.batch_size or training.eval_batch_size, or compute a batch in parts with training.accumulate=2",
        flags="lower --batch-size or eval_batch_size, or compute a batch in parts with --set accumulate=2",
    )


def best_is_lost(damaged: checkpoints.DamagedError, folder: RunFolder) -> RunError:
    """Return the error for a training that is over, but whose best network cannot be read."""
    return RunError(
        f"the training is over and its last network is saved, but the best one is lost ({damaged}), so the test split "
        "was not measured",
        'measure the last network with load_run(folder, "last") and evaluate',
        flags=f"measure the last network with: eigenloop eval {folder.path} --checkpoint last",
    )
