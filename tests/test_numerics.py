"""Versions of the arithmetic: what has them, what raises them, and how a result from before is told."""

import pytest
import torch

import eigenloop as el
from eigenloop import experiments, numerics
from eigenloop.matrices import NAMES
from eigenloop.training import make_config
from eigenloop.training.numerics import numerics_in, numerics_of


def test_a_version_is_one_more_for_each_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numerics, "REVISIONS", {"a": ("first", "second")})
    assert numerics.versions(["b", "a"]) == {"a": 3, "b": 1}
    now = numerics.versions(["a", "b"])
    assert numerics.revised_since({}, now) == ["a: first", "a: second"]
    assert numerics.revised_since({"a": 2}, now) == ["a: second"]
    assert numerics.revised_since({"a": 3, "gone": 7}, now) == []
    assert numerics.revised_since({"a": 4}, now) == [], "a result of a later version of the library is not stale"


def test_every_revised_part_is_one_that_networks_have() -> None:
    names = {cls.__name__ for cls in NAMES.values()}
    names |= {f"gated recurrence, update={update!r}" for update in ("keep", "write")}
    names |= {"simple recurrence", "simple recurrence, complex state"}
    for optimizer in ("TFRMSprop", "ProjUNN", "UnitaryCayley"):
        names |= {optimizer, f"{optimizer}, complex parameters"}
    assert set(numerics.REVISIONS) <= names
    used = {part for name in experiments.names() if (a := experiments.load(name).analysis) for part in a.trains}
    assert used <= names


def test_the_parts_of_a_network() -> None:
    net = el.Model(el.build("ncgru", 3, 8), 2)
    optimizer = torch.optim.Adam(net.parameters())
    assert set(numerics_in(net, optimizer)) == {"gated recurrence, update='write'", "NeumannCayley", "Free", "Adam"}
    net = el.Model(el.build("eurnn", 3, 8), 2)
    found = numerics_in(net, el.optim.TFRMSprop(el.optim.param_groups(net, 1e-3)))
    assert found["TFRMSprop, complex parameters"] == 2
    assert found["TFRMSprop"] == 1
    assert "simple recurrence, complex state" in found


@pytest.mark.parametrize("model", ["ncgru", "scornn", "eurnn", "lstm", "enrnn"])
def test_they_are_known_without_data_from_the_settings(model: str) -> None:
    config = make_config({"task": {"name": "ptb-char"}, "model": {"name": model, "hidden_size": 12}})
    found = numerics_of(config)
    layer = el.build(model, 5, 12)
    assert found == numerics_in(layer, _optimizer(config.optimizer["name"], layer))


def _optimizer(name: str, layer: torch.nn.Module) -> torch.optim.Optimizer:
    kind = {"tf-rmsprop": el.optim.TFRMSprop, "adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop}[name]
    return kind(el.optim.param_groups(layer, 1e-3))
