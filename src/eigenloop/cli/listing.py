"""``eigenloop list``."""

from __future__ import annotations

import dataclasses
import inspect
import json as json_text
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenloop import registry
from eigenloop.errors import unknown_name
from eigenloop.text.json_text import json_line

if TYPE_CHECKING:
    from eigenloop.experiments import Row


def show(
    kind: Annotated[str | None, typer.Argument(help=f"{', '.join(registry.KINDS)}. Default: all names.")] = None,
    name: Annotated[str | None, typer.Argument(help="One of them, with its options or rows.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object, with all options.")] = False,
) -> None:
    """List models, tasks, matrices, ... with a line each, or one entry with its options.

    Examples:
        eigenloop list models

        eigenloop list models scornn
    """
    if kind is None:
        names = {each: list(registry.lines(each)) for each in registry.KINDS}
        print(json_line(names) if json else "\n".join(f"{k}: {', '.join(v)}" for k, v in names.items()))
        return
    if kind not in registry.KINDS:
        raise unknown_name("list of", kind, registry.KINDS, f"There are lists of {', '.join(registry.KINDS)}")
    entries = registry.KINDS[kind]
    if name is not None and name not in entries:
        raise entries.unknown(name)
    lines = registry.lines(kind)
    if name is not None:
        lines = {name: lines[name]}
    if json:
        described = {
            n: {"title": entries[n].title, "description": line, "page": entries[n].page} for n, line in lines.items()
        }
        print(json_line({n: {**about, "options": _options(kind, n)} for n, about in described.items()}))
        return
    width = max(map(len, lines))
    for each, line in lines.items():
        print(f"{each:<{width}}  {line}")
    if name is None:
        print(f"{'Rows' if kind == 'experiments' else 'Options'} of one: eigenloop list {kind} NAME")
    else:
        if entries[name].page and kind != "experiments":
            print(f"  described in docs/{entries[name].page}")
        for key, value in _options(kind, name).items():
            print(f"  {key}: {value}" if kind == "experiments" else f"  {key}={_short(value)}")


def _short(value: Any) -> str:
    """Return a value in the syntax of ``--set``."""
    return value if isinstance(value, str) else json_text.dumps(value)


def _options(kind: str, name: str) -> dict[str, Any]:
    """Return the options of an entry with their defaults, or the rows of an experiment with their labels."""
    if kind in ("tasks", "optimizers", "experiments"):
        return {"tasks": _task, "optimizers": _optimizer, "experiments": _experiment}[kind](name)
    return {} if kind == "activations" else _keywords(registry.KINDS[kind][name].load(), every=kind == "analyses")


def _keywords(function: Any, every: bool) -> dict[str, Any]:
    """Return the options of a function, recipe or matrix, without those that a settings file cannot express."""
    defaults = {
        p.name: list(p.default) if isinstance(p.default, tuple) else p.default
        for p in inspect.signature(function).parameters.values()
        if (every or p.kind is p.KEYWORD_ONLY)
        and p.default is not p.empty
        and p.name not in ("generator", "orthogonal", "device", "dtype")
    }
    plain = (str, int, float, list, type(None))
    return {name: default for name, default in defaults.items() if isinstance(default, plain)}


def _task(name: str) -> dict[str, Any]:
    return {field.name: field.default for field in dataclasses.fields(registry.TASKS[name].load())}


def _optimizer(name: str) -> dict[str, Any]:
    from eigenloop.training.optimizers import defaults

    return defaults(name)


def _experiment(name: str) -> dict[str, Any]:
    from eigenloop import experiments

    return {row: f"{r.label}{_published(r)}" for row, r in experiments.load(name).rows.items()}


def _published(row: Row) -> str:
    from eigenloop.text.numbers import printed

    return "" if row.published is None else f" (published {printed(row.published, row.digits)})"
