"""Display names of models, tasks, quantities and settings."""

from __future__ import annotations

import yaml

from eigenloop import registry

#: The display name of a task in a heading, and inside a sentence.
TASKS = {
    "adding": ("Adding", "the adding task"),
    "copying": ("Copying", "the copying task"),
    "denoise": ("Denoising", "the denoising task"),
    "parenthesis": ("Parenthesis", "the parenthesis task"),
    "pmnist": ("Permuted MNIST", "permuted MNIST"),
    "ptb-char": ("Penn Treebank, characters", "characters of Penn Treebank"),
    "ptb-word": ("Penn Treebank, words", "words of Penn Treebank"),
    "sequences": ("Own sequences", "own sequences"),
    "smnist": ("Sequential MNIST", "sequential MNIST"),
    "timit": ("TIMIT", "TIMIT"),
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
    titled = registry.TASKS.title(name)
    return TASKS.get(name, (titled, titled))


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
