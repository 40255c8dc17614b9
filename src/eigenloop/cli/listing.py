"""``eigenloop list``."""

from __future__ import annotations

import dataclasses
import inspect
import json as json_text
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenloop import registry
from eigenloop.errors import unknown_name

if TYPE_CHECKING:
    from eigenloop.experiments import Row


def show(
    kind: Annotated[str | None, typer.Argument(help=f"{', '.join(registry.KINDS)}; all names if left out.")] = None,
    name: Annotated[str | None, typer.Argument(help="One of them, with its options or rows.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object, options included.")] = False,
) -> None:
    """List what there is, each with one line; or one thing with its own options.

    Examples:
        eigenloop list models

        eigenloop list models scornn
    """
    if kind is None:
        names = {each: list(registry.lines(each)) for each in registry.KINDS}
        print(json_text.dumps(names) if json else "\n".join(f"{k}: {', '.join(v)}" for k, v in names.items()))
        return
    if kind not in registry.KINDS:
        raise unknown_name("list of", kind, registry.KINDS, f"There are lists of {', '.join(registry.KINDS)}")
    lines = registry.lines(kind)
    if name is not None and name not in lines:
        raise unknown_name(kind.removesuffix("s"), name, lines, f"The {kind} are {', '.join(lines)}")
    if name is not None:
        lines = {name: lines[name]}
    if json:
        print(json_text.dumps({n: {"description": line, "options": _options(kind, n)} for n, line in lines.items()}))
        return
    width = max(map(len, lines))
    for each, line in lines.items():
        print(f"{each:<{width}}  {line}")
    if name is None:
        print(f"{'Rows' if kind == 'experiments' else 'Options'} of one: eigenloop list {kind} NAME")
    else:
        for key, value in _options(kind, name).items():
            print(f"  {key}: {value}" if kind == "experiments" else f"  {key}={_short(value)}")


def _short(value: Any) -> str:
    """Return a value as ``--set`` takes it."""
    return value if isinstance(value, str) else json_text.dumps(value)


def _options(kind: str, name: str) -> dict[str, Any]:
    """Return a thing's own options with their defaults, or an experiment's rows with their labels."""
    return {"models": _model, "tasks": _task, "optimizers": _optimizer, "experiments": _experiment}[kind](name)


def _model(name: str) -> dict[str, Any]:
    return {
        p.name: list(p.default) if isinstance(p.default, tuple) else p.default
        for p in inspect.signature(registry.MODELS[name].load()).parameters.values()
        if p.kind is p.KEYWORD_ONLY and p.name not in ("generator", "orthogonal")
    }


def _task(name: str) -> dict[str, Any]:
    return {field.name: field.default for field in dataclasses.fields(registry.TASKS[name].load())}


def _optimizer(name: str) -> dict[str, Any]:
    from eigenloop.training.optimizers import defaults

    return defaults(name)


def _experiment(name: str) -> dict[str, Any]:
    from eigenloop import experiments

    return {row: f"{r.label}{_published(r)}" for row, r in experiments.load(name).rows.items()}


def _published(row: Row) -> str:
    from eigenloop.published.numerals import printed

    return "" if row.published is None else f" (published {printed(row.published, row.digits)})"
