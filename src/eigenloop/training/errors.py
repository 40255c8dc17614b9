"""What can stop a training, each with a sentence that says what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import torch


class ConfigError(ValueError):
    """A setting has a name or a value that is not known."""


class RunError(RuntimeError):
    """A run folder cannot be used as it is, or could not be written."""


class DivergedError(RuntimeError):
    """The training reached NaN or inf."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there is no memory left; torch has no class of its own for that on the CPU."""
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "allocate memory" in str(error)


def unknown_name(what: str, name: object, known: Iterable[str], known_are: str) -> ConfigError:
    """Make the error for a misspelt name, with the nearest one.

    >>> print(unknown_name("model", "scornnn", ["scornn", "gru"], "The models are scornn, gru"))
    there is no model 'scornnn': did you mean 'scornn'? The models are scornn, gru
    """
    near = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return ConfigError(f"there is no {what} {str(name)!r}: {hint}{known_are}")
