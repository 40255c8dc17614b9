"""Display names of models, tasks, quantities and settings."""

from __future__ import annotations

import yaml

from eigenloop import registry

#: A task inside a sentence, where that differs from its title in the registry.
TASK_PHRASES = {
    "adding": "the adding task",
    "copying": "the copying task",
    "denoise": "the denoising task",
    "parenthesis": "the parenthesis task",
    "pmnist": "permuted MNIST",
    "ptb-char": "characters of Penn Treebank",
    "ptb-word": "words of Penn Treebank",
    "sequences": "own sequences",
    "smnist": "sequential MNIST",
}
QUANTITIES = {
    "bpc": "bits per character",
    "gradient_norm": "gradient norm",
    "lr": "learning rate",
    "mean_gamma": "mean gamma",
    "non_normality": "departure from normality",
    "singular_ratio": "smallest / largest singular value",
}


def model(name: str) -> str:
    """Return the display name of a model; an unknown name is returned unchanged."""
    return registry.MODELS.title(name)


def task(name: str) -> tuple[str, str]:
    """Return the display name of a task in a heading and in a sentence; an unknown name is returned unchanged."""
    title = registry.TASKS.title(name)
    return title, TASK_PHRASES.get(name, title)


def quantity(name: str) -> str:
    """Return the display name of a measured quantity.

    >>> quantity("gradient_norm"), quantity("edit_distance")
    ('gradient norm', 'edit distance')
    """
    return QUANTITIES.get(name, name.replace("_", " "))


def setting(value: object) -> str:
    """Return a value of a config as one line of YAML.

    >>> setting(None), setting([1, 2]), setting("marker")
    ('null', '[1, 2]', 'marker')
    """
    written = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=2**31)
    return written.removesuffix("\n").removesuffix("...").strip()
