"""The problems of the papers: batches, loss, measures, and what a network that does not look reaches."""

from __future__ import annotations

from eigenloop import registry
from eigenloop.errors import DataError
from eigenloop.tasks.adding import Adding
from eigenloop.tasks.base import Batch, Task
from eigenloop.tasks.copying import Copying
from eigenloop.tasks.denoise import Denoise
from eigenloop.tasks.mnist import PermutedMNIST, SequentialMNIST
from eigenloop.tasks.parenthesis import Parenthesis
from eigenloop.tasks.ptb import PTBCharacters, PTBWords
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
    "SequentialMNIST",
    "Task",
]

#: The tasks by name.
TASKS: dict[str, type[Task]] = {name: entry.load() for name, entry in registry.TASKS.items()}
