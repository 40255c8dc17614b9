"""The registry of one kind: built-in entries, those of installed packages, and those that an imported module adds."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from eigenloop.errors import ConfigError, unknown_name
from eigenloop.registry.entry import Entry

T = TypeVar("T")


class Kind(Mapping[str, Entry]):
    """The registry of one kind of object: a mapping from names to entries; looking up an entry imports nothing.

    Note [Three places, in this order]
        Built-in entries, which nothing can replace; those of installed packages, declared in the entry-point group
        ``eigenloop.<name>``; and those that a module registers when it is imported. No file, such as a configuration,
        can name a module to import.

    Args:
        name: the name of the kind, in the plural.
        word: the same in the singular.
        own: the built-in entries.
    """

    def __init__(self, name: str, word: str, own: Iterable[Entry]) -> None:
        self.name, self.word = name, word
        self.own: Mapping[str, Entry] = {entry.name: entry for entry in own}
        self._registered: dict[str, Entry] = {}

    @functools.cached_property
    def _installed(self) -> dict[str, list[Entry]]:
        """Entries of installed packages, by name; a list has several entries if packages use the same name."""
        offered: dict[str, list[Entry]] = {}
        for point in entry_points(group=f"eigenloop.{self.name}"):
            package = "" if point.dist is None else point.dist.name
            line = f"{point.value}, of the package {package}"
            entry = Entry(point.name, point.name, line, "", point.value, package=package or "without a name")
            if entry not in offered.setdefault(point.name, []):
                offered[point.name].append(entry)
        return offered

    def __getitem__(self, name: str) -> Entry:
        installed = self._installed.get(name, [])
        if name in self.own:
            for other in installed:
                warnings.warn(f"{self._clash(name)}: the one of the package {other.package} is left out", stacklevel=2)
            return self.own[name]
        if len(installed) > 1:
            packages = " and ".join(entry.package for entry in installed)
            raise ConfigError(f"the {self.word} {name!r} is brought by the packages {packages}: remove all but one")
        return installed[0] if installed else self._registered[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self.own, *self._installed, *self._registered)))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self._registered or name in self._installed

    def register(
        self, name: str, target: Any, *, title: str = "", line: str = "", page: str = "", options: Iterable[str] = ()
    ) -> None:
        """Register an entry; call this from a module that is imported (``--import`` on the command line).

        Args:
            name: the name by which users select it; it must not be in use.
            target: the object, or its import path ``module:attribute``.
            title: the name shown to readers; default: `name`.
            line: a one-line description.
            page: its documentation page.
            options: for an optimizer, the options that a configuration may set.

        Raises:
            ConfigError: the name is in use.

        >>> kind = Kind("matrices", "matrix", [])
        >>> kind.register("mine", "my_module:Mine", line="what I like")
        >>> kind["mine"].line
        'what I like'
        """
        if name in self.own:
            raise ConfigError(self._clash(name))
        if name in self:
            raise ConfigError(f"there is a {self.word} {name!r} already: choose another name for the second")
        self._registered[name] = Entry(name, title or name, line, page, target, tuple(options))

    def _clash(self, name: str) -> str:
        return f"{name!r} is the name of a built-in {self.word}: choose another name"

    def title(self, name: str) -> str:
        """Return the title of an entry; an unknown name is returned unchanged."""
        return self[name].title if name in self else name

    def unknown(self, name: object, setting: str = "") -> ConfigError:
        """Return the error for an unknown name; `setting` is the setting whose value it was, if any."""
        listed = ", ".join(self)
        if setting:
            problem = f"{setting}={name!r} is not known: choose one of {listed}"
        else:
            problem = str(unknown_name(self.word, name, self, f"The {self.name} are {listed}"))
        return ConfigError(
            f"{problem}; if it is your own, import the module that registers it first",
            flags="name the module with --import",
        )


class Loaded(Mapping[str, T], Generic[T]):
    """A mapping from the names of a registry to the objects themselves, each imported when it is first looked up.

    Args:
        kind: the registry.
        made: converts an entry into the object; default: import it.
    """

    def __init__(self, kind: Kind, made: Callable[[Entry], T] = Entry.load) -> None:
        self.kind, self._make, self._made = kind, made, dict[str, T]()

    def __getitem__(self, name: str) -> T:
        if name not in self._made:
            self._made[name] = self._make(self.kind[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.kind)

    def __len__(self) -> int:
        return len(self.kind)

    def __contains__(self, name: object) -> bool:
        return name in self.kind

    def working(self) -> Iterator[tuple[str, T]]:
        """Yield (name, object) for all that can be imported, so that a broken package affects only its own entries."""
        for name in self:
            try:
                yield name, self[name]
            except ConfigError:
                continue
