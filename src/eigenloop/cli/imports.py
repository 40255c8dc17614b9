"""``--import MODULE``: import modules that register your own matrices, tasks, ... before a command starts."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

from eigenloop.errors import ConfigError, EigenloopError

#: Environment variable that passes the modules, separated by commas, to child processes.
VARIABLE = "EIGENLOOP_IMPORT"
HELP = "A Python module that registers your own matrices, tasks, ... Works with every command; may be repeated."


def without_imports(arguments: Sequence[str]) -> list[str]:
    """Import the modules named by ``--import`` and the environment, and return the other arguments.

    This happens before arguments are parsed, since the registered names decide which arguments are valid.

    Raises:
        ConfigError: a module cannot be imported, or ``--import`` has no value.
    """
    named, rest = _split(list(arguments))
    modules = list(dict.fromkeys([*filter(None, os.environ.get(VARIABLE, "").split(",")), *named]))
    if modules:
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())  # finds modules in the current folder, like python -m
        for module in modules:
            _import(module)
        os.environ[VARIABLE] = ",".join(modules)
    return rest


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return the modules of ``--import MODULE`` and ``--import=MODULE``, and the other arguments.

    >>> _split(["list", "--import", "mine", "tasks", "--import=yours"])
    (['mine', 'yours'], ['list', 'tasks'])
    """
    modules: list[str] = []
    rest: list[str] = []
    while arguments:
        argument = arguments.pop(0)
        if argument == "--":
            return modules, [*rest, argument, *arguments]
        name, equals, value = argument.partition("=")
        if name != "--import":
            rest.append(argument)
        elif not equals and not arguments:
            raise ConfigError("--import needs the name of a module: write --import my_module")
        else:
            modules.append(value if equals else arguments.pop(0))
    return modules, rest


def _import(module: str) -> None:
    fix = "--import takes the name of a Python module that is installed or lies in this folder, such as my_module"
    try:
        importlib.import_module(module)
    except EigenloopError:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            raise ConfigError(f"there is no module {module!r}: {fix}") from error
        raise ConfigError(f"--import {module}: it needs the module {error.name!r}, which is not installed") from error
    except Exception as error:
        raise ConfigError(f"--import {module}: it cannot be imported ({type(error).__name__}: {error})") from error
