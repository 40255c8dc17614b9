"""One thing that is known by name, and where it is."""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from typing import Any

from eigenloop.errors import ConfigError


@dataclass(frozen=True)
class Entry:
    """A registration.

    Attributes:
        name: how it is asked for.
        title: how it is written for people.
        line: what it is, in one line.
        page: where it is described, from ``docs/``; a package of a user's may have none.
        target: where it is, ``module:attribute``; or the thing itself.
        options: those that a configuration may set, of a target that takes others too.
        package: the installed package that brings it; empty for ours, and for what a module registered.
    """

    name: str
    title: str
    line: str
    page: str
    target: Any
    options: tuple[str, ...] = ()
    package: str = ""

    def load(self) -> Any:
        """Import it."""
        if not isinstance(self.target, str):
            return self.target
        module, _, attribute = self.target.partition(":")
        try:
            return functools.reduce(getattr, attribute.split("."), importlib.import_module(module))
        except Exception as error:
            if not self.package:
                raise
            raise ConfigError(
                f"{self.name!r} of the package {self.package} cannot be used, because {self.target} is not to be had "
                f"({type(error).__name__}: {error})",
                "install that package again, or choose another name",
            ) from error
