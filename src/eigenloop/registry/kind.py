"""What there is of one kind: our own, what installed packages bring, and what an imported module registers."""

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
    """The things of one kind by name; looking one up imports nothing.

    Note [Three places, in this order]
        Ours, which no other can replace; those of installed packages, which name them in the entry-point group
        ``eigenloop.<name>``; and those that a module registers when it is imported. No file names a module to import.

    Args:
        name: of the kind, in the plural.
        word: the same in the singular.
        own: those that come with eigenloop.
    """

    def __init__(self, name: str, word: str, own: Iterable[Entry]) -> None:
        self.name, self.word = name, word
        self.own: Mapping[str, Entry] = {entry.name: entry for entry in own}
        self._registered: dict[str, Entry] = {}

    @functools.cached_property
    def _installed(self) -> dict[str, list[Entry]]:
        """What installed packages bring, by name; several where they do not agree."""
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
        """Register your own entry; a module does this when it is imported (``--import`` on the command line).

        Args:
            name: how it is asked for; one that is not taken.
            target: the thing, or where it is: ``module:attribute``.
            title: how it is written for people; default: the name.
            line: what it is, in one line.
            page: where it is described.
            options: of an optimizer, those that a configuration may set.

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
        return f"{name!r} is a {self.word} of eigenloop's own, so another {self.word} needs another name"

    def title(self, name: str) -> str:
        """Return how a name is written for people; an unknown one stays as it is."""
        return self[name].title if name in self else name

    def unknown(self, name: object, setting: str = "") -> ConfigError:
        """Make the error for a name that is not there, given perhaps as the value of a setting."""
        listed = ", ".join(self)
        if setting:
            problem = f"{setting}={name!r} is not known: choose one of {listed}"
        else:
            problem = str(unknown_name(self.word, name, self, f"The {self.name} are {listed}"))
        return ConfigError(
            f"{problem}; for your own",
            "import the module that registers it",
            flags="name the module that registers it with --import",
        )


class Loaded(Mapping[str, T], Generic[T]):
    """The things of a kind themselves, each imported when it is first looked up.

    Args:
        kind: which.
        made: turns an entry into what is looked up; default: imports it.
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
        """Yield all that can be imported; a broken package does not stop those who do not ask for it."""
        for name in self:
            try:
                yield name, self[name]
            except ConfigError:
                continue
