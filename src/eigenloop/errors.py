"""Errors that the user can fix; each message says how. Without torch, so that every command can import them fast."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


class EigenloopError(Exception):
    """An error message that states the problem and how to fix it.

    Args:
        problem: what was given, and what is wrong with it.
        fix: what to do, for a caller in Python.
        flags: what to do on the command line, where it differs from `fix`.

    >>> error = EigenloopError("runs/a is there already", "choose another folder", flags="choose another --out")
    >>> print(error)
    runs/a is there already: choose another folder
    >>> error.on_command_line
    'runs/a is there already: choose another --out'
    """

    def __init__(self, problem: str, fix: str = "", *, flags: str = "") -> None:
        super().__init__(f"{problem}: {fix}" if fix else problem)
        #: The message that the command line prints.
        self.on_command_line = f"{problem}: {flags}" if flags else str(self)


class ConfigError(EigenloopError, ValueError):
    """A setting has an unknown name or an invalid value."""


class RunError(EigenloopError, RuntimeError):
    """A run folder cannot be used in its present state, or could not be written."""


class DivergedError(EigenloopError, RuntimeError):
    """The training diverged to NaN or inf."""


class DataError(EigenloopError, ValueError):
    """A data file is missing or damaged, or has unexpected contents."""

    def __init__(self, path: Path | str, wrong: str, fix: str = "", flags: str = "") -> None:
        self.path, self.wrong, self._told = Path(path), wrong, (fix, flags)
        super().__init__(f"{path}: {wrong}", fix, flags=flags)

    def __reduce__(self) -> tuple[type[DataError], tuple[Path, str, str, str]]:
        return type(self), (self.path, self.wrong, *self._told)


def unknown_name(what: str, name: object, known: Iterable[str], known_are: str) -> ConfigError:
    """Return the error for an unknown name, with the closest known name as a suggestion.

    Of names of the form ``section.key`` only the keys are compared.

    >>> print(unknown_name("model", "scornnn", ["scornn", "gru"], "The models are scornn, gru"))
    there is no model 'scornnn': did you mean 'scornn'? The models are scornn, gru
    """
    by_key = {each.rpartition(".")[2]: each for each in known}
    near = difflib.get_close_matches(str(name).rpartition(".")[2], by_key, n=1, cutoff=0.6)
    hint = f"did you mean {by_key[near[0]]!r}? " if near else ""
    return ConfigError(f"there is no {what} {str(name)!r}: {hint}{known_are}")
