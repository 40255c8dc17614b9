"""One entry of a registry: its name, its description and where to import it from."""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from typing import Any

from eigenloop.errors import ConfigError


@dataclass(frozen=True)
class Entry:
    """An entry of a registry.

    Attributes:
        name: the name by which users select it.
        title: the name shown to readers.
        line: a one-line description.
        page: its documentation page, relative to ``docs/``; may be empty for entries of other packages.
        target: the import path ``module:attribute``, or the object itself.
        options: the options that a configuration may set; for optimizers, which accept others too.
        package: the installed package that provides it; empty for built-in entries and for those a module registered.
    """

    name: str
    title: str
    line: str
    page: str
    target: Any
    options: tuple[str, ...] = ()
    package: str = ""

    def load(self) -> Any:
        """Import the target and return it.

        Raises:
            ConfigError: the target of another package cannot be imported.
        """
        if not isinstance(self.target, str):
            return self.target
        module, _, attribute = self.target.partition(":")
        try:
            return functools.reduce(getattr, attribute.split("."), importlib.import_module(module))
        except Exception as error:
            if not self.package:
                raise
            raise ConfigError(
                f"{self.name!r} of the package {self.package} cannot be used, because {self.target} cannot be imported "
                f"({type(error).__name__}: {error})",
                "install that package again, or choose another name",
            ) from error
