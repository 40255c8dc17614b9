"""What is known without torch agrees with what is there: every class is registered, and every page is written."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest
import torch

import eigenloop
from eigenloop import analysis, experiments, matrices, registry
from eigenloop.cli import analyse
from eigenloop.matrices import Matrix
from eigenloop.models import build
from eigenloop.recurrence import ACTIVATIONS, kernel
from eigenloop.tasks import TASKS

DOCS = Path(__file__).parents[1] / "docs"
ENTRIES = [(kind.name, name) for kind in registry.KINDS.values() for name in kind.own]


def test_every_public_name_is_there() -> None:
    assert eigenloop.__all__ == sorted(eigenloop.__all__, key=lambda name: (not name.isupper(), name.islower(), name))
    for name in eigenloop.__all__:
        assert getattr(eigenloop, name) is not None
        assert name in dir(eigenloop)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = eigenloop.nothing


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_every_entry_is_there_and_described(kind: str, name: str) -> None:
    entry = registry.KINDS[kind].own[name]
    assert entry.load() is not None
    page = (DOCS / entry.page).read_text(encoding="utf-8")
    assert any(word in page for word in (f"`{name}`", f" {name}", f"`{entry.title}`", entry.title)), (
        f"add it to {entry.page}"
    )
    assert registry.lines(kind)[name] if kind == "experiments" else entry.line


def subclasses(kind: type) -> set[type]:
    return {kind, *(found for child in kind.__subclasses__() for found in subclasses(child))}


def test_every_matrix_is_registered() -> None:
    """A file in matrices/ without its line in registry/builtin.py fails here."""
    for module in pkgutil.iter_modules(matrices.__path__, "eigenloop.matrices."):
        importlib.import_module(module.name)
    ours = {found for found in subclasses(Matrix) if found.__module__.startswith("eigenloop.matrices.")}
    finished = {found for found in ours if not inspect.isabstract(found) and not found.__name__.startswith("_")}
    assert finished == {entry.load() for entry in registry.MATRICES.own.values()}


def test_every_page_of_a_matrix_belongs_to_one() -> None:
    pages = {f"matrices/{path.name}" for path in (DOCS / "matrices").glob("*.md") if path.name != "README.md"}
    assert pages == {entry.page for entry in registry.MATRICES.own.values()}


@pytest.mark.parametrize("name", registry.MATRICES.own)
def test_a_matrix_is_made_by_its_name(name: str) -> None:
    first, second = (matrices.NAMES[name](4, generator=torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first(), second())


def test_the_kernel_knows_our_activations() -> None:
    assert set(ACTIVATIONS) == set(kernel.ACTIVATIONS) - {"complex modrelu"}


@pytest.mark.parametrize("name", registry.MODELS.own)
def test_models_are_described_as_by_build(name: str) -> None:
    assert f"| ``{name}`` | {registry.MODELS[name].line} |" in str(build.__doc__)


@pytest.mark.parametrize("name", registry.TASKS.own)
def test_tasks_are_described_as_by_their_class(name: str) -> None:
    assert TASKS[name].name == name
    assert str(inspect.getdoc(TASKS[name])).startswith(registry.TASKS[name].line.removesuffix("."))


def test_analyses_are_described_as_by_their_command() -> None:
    for name, entry in registry.ANALYSES.own.items():
        assert str(inspect.getdoc(getattr(analyse, name))).splitlines()[0] == entry.line
    assert set(registry.ANALYSES.own) == set(analysis.__all__) - {"Result", "Table"}


def test_experiments_are_described_as_by_their_file() -> None:
    assert registry.lines("experiments") == {
        name: f"{e.paper}, {e.item}: {e.title}" for name in experiments.names() for e in [experiments.load(name)]
    }
