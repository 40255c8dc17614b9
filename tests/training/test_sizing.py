"""The largest network within a limit: of every model, with the options of the user and of the papers."""

from collections.abc import Callable
from typing import Any

import pytest

from eigenloop import registry
from eigenloop.errors import ConfigError
from eigenloop.quantization import size_report
from eigenloop.readout import Model
from eigenloop.training.network import build_network
from eigenloop.training.settings.config import Config, make_config
from eigenloop.training.sizing import OfSize, hidden_size_of_parameters, largest_hidden_size
from eigenloop.training.summary import count_parameters


def of_size(model: dict[str, Any], task: str = "adding") -> OfSize:
    def sized(size: int) -> Config:
        return make_config({"task": {"name": task}, "model": {**model, "hidden_size": size}})

    return sized


def check(sized: OfSize, size: int, step: int, most: int, measure: Callable[[Model], int]) -> None:
    """The network of this size is within the limit, and the next larger one is not."""
    assert measure(build_network(sized(size))) <= most < measure(build_network(sized(size + step)))


@pytest.mark.parametrize("task", ["adding", "copying"])
@pytest.mark.parametrize("model", registry.MODELS)
def test_every_model(model: str, task: str) -> None:
    sized, step = of_size({"name": model}, task), 2 if model in ("nnrnn", "eurnn", "goru") else 1
    check(sized, hidden_size_of_parameters(sized, 800), step, 800, count_parameters)
    check(sized, largest_hidden_size(sized, 3000), step, 3000, lambda net: size_report(net).bytes)


@pytest.mark.parametrize(
    ("options", "step"),
    [
        ({"name": "ornn", "reflections": 17}, 1),
        ({"name": "spectralrnn", "reflections": 5}, 1),
        ({"name": "enrnn", "short": 9, "negative": 4}, 1),
        ({"name": "goru", "capacity": 8}, 2),
        ({"name": "scornn", "recurrent": "schur"}, 2),
        ({"name": "lstm", "num_layers": 2}, 1),
    ],
    ids=str,
)
def test_options_of_the_user_count(options: dict[str, Any], step: int) -> None:
    sized = of_size(options)
    check(sized, hidden_size_of_parameters(sized, 1000), step, 1000, count_parameters)


def test_powers_of_two() -> None:
    sized = of_size({"name": "eurnn", "style": "fft"})
    size = hidden_size_of_parameters(sized, 1000)
    assert size & (size - 1) == 0
    check(sized, size, size, 1000, count_parameters)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"name": "ornn", "reflections": 17}, "a network of 17 units has .* parameters already, more than 100: allow"),
        ({"name": "ornn", "reflections": 0}, "reflections is a whole number in"),
        ({"name": "ornn", "reflections": 10**6}, "reflections is a whole number in"),
        ({"name": "nnrnn", "blocks": "none"}, "blocks='none' is not known"),
    ],
    ids=str,
)
def test_what_cannot_be_is_said(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        hidden_size_of_parameters(of_size(options), 100)
