"""Registries of everything that is chosen by name, readable without importing torch.

Each built-in entry is one line in `eigenloop.registry.builtin`.

    >>> from eigenloop import registry
    >>> registry.TASKS["copying"].line
    'Repeat ten symbols after `delay` blanks.'

User-defined entries come from an installed package with entry points (``eigenloop.matrices``, ``eigenloop.tasks``, ...)
or from a module that calls ``registry.MATRICES.register(...)`` when it is imported.
"""

from __future__ import annotations

from eigenloop.registry import builtin
from eigenloop.registry.entry import Entry
from eigenloop.registry.experiments import experiment_entries, experiment_line
from eigenloop.registry.kind import Kind, Loaded

__all__ = [
    "ACTIVATIONS",
    "ANALYSES",
    "EXPERIMENTS",
    "KINDS",
    "MATRICES",
    "MODELS",
    "OPTIMIZERS",
    "TASKS",
    "Entry",
    "Kind",
    "Loaded",
    "lines",
]

#: The matrix sets in which W is trained; each is called as ``matrix(n, generator=...)``.
MATRICES = Kind("matrices", "matrix", builtin.MATRICES)
#: The nonlinearities; each is an `eigenloop.recurrence.Activation`.
ACTIVATIONS = Kind("activations", "activation", builtin.ACTIVATIONS)
#: The published models; each is a recipe that builds a layer.
MODELS = Kind("models", "model", builtin.MODELS)
#: The tasks; each is an `eigenloop.tasks.Task`.
TASKS = Kind("tasks", "task", builtin.TASKS)
#: The optimizers, with the options that a configuration may set.
OPTIMIZERS = Kind("optimizers", "optimizer", builtin.OPTIMIZERS)
#: Computations other than training; each is a function that returns an `eigenloop.analysis.Result`.
ANALYSES = Kind("analyses", "analysis", builtin.ANALYSES)
#: The published tables and figures; each is a file, a path of `pathlib` or of `importlib.resources`.
EXPERIMENTS = Kind("experiments", "experiment", experiment_entries())

#: All registries by name.
KINDS = {kind.name: kind for kind in (MODELS, MATRICES, ACTIVATIONS, TASKS, OPTIMIZERS, ANALYSES, EXPERIMENTS)}


def lines(kind: str) -> dict[str, str]:
    """Return a one-line description of every entry of a registry, by name.

    >>> lines("matrices")["free"]
    'All matrices.'
    """
    if kind == "experiments":
        return {name: entry.line or experiment_line(entry) for name, entry in EXPERIMENTS.items()}
    return {name: entry.line for name, entry in KINDS[kind].items()}
