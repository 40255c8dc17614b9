"""The tasks of the papers, and your own sequences as a task: batches, loss, metrics and baseline."""

from __future__ import annotations

from eigenloop import registry
from eigenloop.errors import ConfigError, DataError
from eigenloop.tasks.adding import Adding
from eigenloop.tasks.base import Batch, Task
from eigenloop.tasks.copying import Copying
from eigenloop.tasks.denoise import Denoise
from eigenloop.tasks.mnist import PermutedMNIST, SequentialMNIST
from eigenloop.tasks.parenthesis import Parenthesis
from eigenloop.tasks.ptb import PTBCharacters, PTBWords
from eigenloop.tasks.sequences.task import Sequences
from eigenloop.tasks.synthetic import Synthetic
from eigenloop.tasks.timit import TIMIT

__all__ = [
    "TASKS",
    "TIMIT",
    "Adding",
    "Batch",
    "Copying",
    "DataError",
    "Denoise",
    "PTBCharacters",
    "PTBWords",
    "Parenthesis",
    "PermutedMNIST",
    "Sequences",
    "SequentialMNIST",
    "Synthetic",
    "Task",
]


def _checked(entry: registry.Entry) -> type[Task]:
    """Return the class of a task; its ``name``, which runs record, must be that of its registry entry."""
    task = entry.load()
    if not (isinstance(task, type) and issubclass(task, Task) and getattr(task, "name", None) == entry.name):
        raise ConfigError(f"task {entry.name} is not a Task whose name is {entry.name!r}: set name in its class")
    return task


#: The tasks by name.
TASKS: registry.Loaded[type[Task]] = registry.Loaded(registry.TASKS, _checked)
