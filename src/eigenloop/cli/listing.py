"""``eigenloop list``."""

from __future__ import annotations

import dataclasses
import inspect
import json as json_text
from typing import Annotated, Any

import typer

from eigenloop import experiments
from eigenloop.errors import unknown_name
from eigenloop.models import NAMES
from eigenloop.published.wording import printed
from eigenloop.recipes import RECIPES
from eigenloop.tasks import TASKS
from eigenloop.training.optimizers import OPTIMIZERS, defaults

_KINDS = ("models", "tasks", "optimizers", "experiments")


def show(
    kind: Annotated[str, typer.Argument(help="models, tasks, optimizers or experiments.")],
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """List what there is, with its own options.

    eigenloop list models
    """
    if kind not in _KINDS:
        raise unknown_name("list of", kind, _KINDS, f"There are lists of {', '.join(_KINDS)}")
    found = {"models": _models, "tasks": _tasks, "optimizers": _optimizers, "experiments": _experiments}[kind]()
    if json:
        print(json_text.dumps(found))
        return
    width = max(map(len, found))
    for name, entry in found.items():
        print(f"{name:<{width}}  {entry['description']}")
        if kind == "experiments":
            for row, described in entry["options"].items():
                print(f"{'':<{width}}    {row}: {described}")
        elif entry["options"]:
            options = ", ".join(f"{key}={_short(value)}" for key, value in entry["options"].items())
            print(f"{'':<{width}}    {options}")


def _short(value: Any) -> str:
    """Return a value as ``--set`` takes it."""
    return value if isinstance(value, str) else json_text.dumps(value)


def _first_sentence(documented: Any) -> str:
    return (inspect.getdoc(documented) or "").splitlines()[0]


def _models() -> dict[str, dict[str, Any]]:
    found = {}
    for name in NAMES:
        recipe, _ = RECIPES[name]
        parameters = inspect.signature(recipe).parameters.values()
        options = {
            p.name: list(p.default) if isinstance(p.default, tuple) else p.default
            for p in parameters
            if p.kind is p.KEYWORD_ONLY and p.name not in ("generator", "orthogonal")
        }
        found[name] = {"description": _first_sentence(recipe), "options": options}
    return found


def _tasks() -> dict[str, dict[str, Any]]:
    return {
        name: {
            "description": _first_sentence(task),
            "options": {f.name: f.default for f in dataclasses.fields(task)},  # type: ignore[arg-type]
        }
        for name, task in TASKS.items()
    }


def _optimizers() -> dict[str, dict[str, Any]]:
    return {
        name: {"description": _first_sentence(made).partition(". ")[0], "options": defaults(name)}
        for name, (made, _) in OPTIMIZERS.items()
    }


def _experiments() -> dict[str, dict[str, Any]]:
    found = {}
    for name in experiments.names():
        experiment = experiments.load(name)
        described = f"{experiment.paper}, {experiment.item}: {experiment.title}"
        rows = {row: f"{r.label}{_published(r)}" for row, r in experiment.rows.items()}
        found[name] = {"description": described, "options": rows}
    return found


def _published(row: experiments.Row) -> str:
    return "" if row.published is None else f" (published {printed(row.published, row.digits)})"
