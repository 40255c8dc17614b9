"""``recurrent=``: a published model with another matrix than its own, whose options would have no effect."""

import inspect
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

import eigenloop as el
from eigenloop.models import NAMES
from eigenloop.recipes import RECIPES
from eigenloop.recipes.own_matrix import matrix_options
from eigenloop.training import ConfigError, make_config
from eigenloop.training.network import build_network


def keywords(matrix: Callable[..., Any]) -> set[str]:
    """Collect the names of all options that a partially called matrix holds, and those of its parts."""
    if not isinstance(matrix, partial):
        return set()
    return set(matrix.keywords).union(*(keywords(value) for value in matrix.keywords.values()))


@pytest.mark.parametrize("name", NAMES)
def test_every_recipe_says_which_options_its_matrix_takes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against what it hands to its matrix."""
    handed: set[str] = set()

    def watched(matrix: Callable[..., Any], layer: dict[str, Any]) -> dict[str, Any]:
        handed.update(keywords(matrix))
        return {"recurrent": matrix, **layer}

    for module in {sys.modules[recipe.__module__] for recipe, _ in RECIPES.values()}:
        monkeypatch.setattr(module, "with_matrix", watched)
    el.build(name, 3, 8)
    recipe, _ = RECIPES[name]
    own = handed & set(inspect.signature(recipe).parameters)
    assert set(matrix_options(recipe)) == own - {"generator"}


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("scornn", {"negative": 3}),
    ("exprnn", {"init": "cayley"}),
    ("exprnn", {"init": torch.eye(8)}),
    ("ncgru", {"order": 3}),
    ("enrnn", {"short": 4, "coupling": False}),
    ("nnrnn", {"delta": 0.5}),
]


@pytest.mark.parametrize(("name", "options"), REFUSED)
def test_an_option_without_effect_is_refused(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=rf"own matrix of {name}, .*: leave out {', '.join(options)}, or give"):
        el.build(name, 3, 8, recurrent="householder", **options)


def test_defaults_and_options_of_the_layer_are_taken() -> None:
    made = el.build("scornn", 3, 8, recurrent="householder", negative=None, init="cayley", num_layers=2)
    assert isinstance(made.recurrent_l1, el.matrices.Householder)
    # The width is the layer's, the start of the GRU its other weights'.
    assert el.build("qornn", 3, 8, recurrent="householder", bits=4, strategy="ste-projunn").quantizer is not None
    assert el.build("gru", 3, 8, recurrent="householder", init="tensorflow").constrained == ("candidate",)


@pytest.mark.parametrize("name", NAMES)
def test_none_is_the_models_own_matrix(name: str) -> None:
    """For an LSTM or GRU: no constraint, as el.LSTM has it."""
    plain, given = (
        el.build(name, 3, 8, generator=torch.Generator().manual_seed(0), **options)
        for options in ({}, {"recurrent": None})
    )
    assert repr(plain) == repr(given)
    for (key, ours), (other, theirs) in zip(plain.state_dict().items(), given.state_dict().items(), strict=True):
        assert key == other
        assert torch.equal(ours, theirs)


def test_none_leaves_the_options_of_the_own_matrix_their_effect() -> None:
    assert el.build("scornn", 3, 8, recurrent=None, negative=3).recurrent_l0.negative == 3
    for name, gate in (("lstm", "cell"), ("gru", "candidate")):
        made = el.build(name, 3, 8, recurrent=None, constrained=(gate,))
        assert isinstance(getattr(made.recurrent_l0, gate), el.matrices.ScaledCayley)


def settings(**model: Any) -> dict[str, Any]:
    return {"task": {"name": "parenthesis"}, "model": {"name": "scornn", **model}}


def test_the_papers_options_give_way_in_a_configuration() -> None:
    """scoRNN has 20 negative entries in the paper's parenthesis task."""
    assert make_config(settings()).options["negative"] == 20
    config = make_config(settings(recurrent="householder", hidden_size=6))
    assert config.options["negative"] is None
    assert isinstance(build_network(config).rnn.recurrent_l0, el.matrices.Householder)
    assert make_config(config.as_dict()) == config


def test_the_users_options_are_refused_in_a_configuration() -> None:
    sentence = r"model.negative=3 describes the own matrix of scornn .* model.recurrent='householder'.* leave one"
    with pytest.raises(ConfigError, match=sentence):
        make_config(settings(recurrent="householder", negative=3))
