"""What there is by name, known without importing torch; a new thing has one line in `eigenloop.registry.builtin`.

    >>> from eigenloop import registry
    >>> registry.TASKS["copying"].line
    'Repeat ten symbols after `delay` blanks.'

One's own come from an installed package with entry points (``eigenloop.matrices``, ``eigenloop.tasks``, ...), or from
a module that calls ``registry.MATRICES.register(...)`` when it is imported.
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

#: The sets in which W is trained: called as ``matrix(n, generator=...)``.
MATRICES = Kind("matrices", "matrix", builtin.MATRICES)
#: The nonlinearities: each an `eigenloop.recurrence.Activation`.
ACTIVATIONS = Kind("activations", "activation", builtin.ACTIVATIONS)
#: The published models: each a recipe that makes a layer.
MODELS = Kind("models", "model", builtin.MODELS)
#: The problems: each an `eigenloop.tasks.Task`.
TASKS = Kind("tasks", "task", builtin.TASKS)
#: The optimizers, with the options that a configuration may set.
OPTIMIZERS = Kind("optimizers", "optimizer", builtin.OPTIMIZERS)
#: What is computed beside training: each a function that returns an `eigenloop.analysis.Result`.
ANALYSES = Kind("analyses", "analysis", builtin.ANALYSES)
#: The published tables and figures: each a file, as `pathlib` or `importlib.resources` have it.
EXPERIMENTS = Kind("experiments", "experiment", experiment_entries())

#: All kinds by name.
KINDS = {kind.name: kind for kind in (MODELS, MATRICES, ACTIVATIONS, TASKS, OPTIMIZERS, ANALYSES, EXPERIMENTS)}


def lines(kind: str) -> dict[str, str]:
    """Return the names of a kind, each with one line.

    >>> lines("matrices")["free"]
    'All matrices.'
    """
    if kind == "experiments":
        return {name: entry.line or experiment_line(entry) for name, entry in EXPERIMENTS.items()}
    return {name: entry.line for name, entry in KINDS[kind].items()}
