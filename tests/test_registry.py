"""What is known without torch agrees with what is there."""

import inspect

import pytest

import eigenloop
from eigenloop import experiments, registry
from eigenloop.models import build
from eigenloop.recipes import RECIPES
from eigenloop.report import names
from eigenloop.tasks import TASKS
from eigenloop.training.optimizers import OPTIMIZERS


def test_every_public_name_is_there() -> None:
    assert eigenloop.__all__ == sorted(eigenloop.__all__, key=lambda name: (not name.isupper(), name.islower(), name))
    for name in eigenloop.__all__:
        assert getattr(eigenloop, name) is not None
        assert name in dir(eigenloop)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = eigenloop.nothing


def test_tables_are_made_from_the_registry() -> None:
    assert [*RECIPES] == [*registry.MODELS]
    assert [*TASKS] == [*registry.TASKS]
    assert [*OPTIMIZERS] == [*registry.OPTIMIZERS]
    assert set(names.MODELS) == set(registry.MODELS)


@pytest.mark.parametrize("name", registry.MODELS)
def test_models_are_described_as_by_build(name: str) -> None:
    assert f"| ``{name}`` | {registry.MODELS[name].line} |" in str(build.__doc__)


@pytest.mark.parametrize("name", registry.TASKS)
def test_tasks_are_described_as_by_their_class(name: str) -> None:
    assert TASKS[name].name == name
    assert str(inspect.getdoc(TASKS[name])).startswith(registry.TASKS[name].line.removesuffix("."))


def test_experiments_are_described_as_by_their_file() -> None:
    assert registry.experiments() == {
        name: f"{e.paper}, {e.item}: {e.title}" for name in experiments.names() for e in [experiments.load(name)]
    }
