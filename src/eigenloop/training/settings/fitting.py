"""Which defaults of a network go together with what is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eigenloop.training.settings.merging import Settings

#: Settings that count units of a layer.
COUNTING_UNITS = ("short", "negative")
#: Settings that go with the published size only.
_PARTS_OF_SIZE = (*COUNTING_UNITS, "reflections", "capacity", "num_layers")
#: Settings that act between layers.
_BETWEEN_LAYERS = ("dropout", "locked_dropout")
#: torch's, which have one size for all layers, and dropout between them of torch's kind only.
_ONE_SIZE = ("lstm", "gru")
#: These have a complex state, for one layer only.
_COMPLEX = ("eurnn", "urnn-full")


def fitting(model: str, published: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what does not go with the size that is given, or with the kind of layer."""
    network = dict(published)
    size = given.get("hidden_size", network.get("hidden_size"))
    if size == []:  # refused when it is checked
        return network
    if model in _COMPLEX and isinstance(size, list):
        network["hidden_size"] = size = size[-1]
    if size != published.get("hidden_size"):
        network = {key: value for key, value in network.items() if key not in _PARTS_OF_SIZE}
    if isinstance(size, list) and model in _ONE_SIZE:
        network |= {"hidden_size": size[0], "num_layers": len(size)}
    several = isinstance(size, list) or "num_layers" in given or "num_layers" in network
    if not several:
        network = {key: value for key, value in network.items() if key not in _BETWEEN_LAYERS}
    if model in _ONE_SIZE:
        network.pop("locked_dropout", None)
    last = size[-1] if isinstance(size, list) else size
    if network.get("tied") and "embedding_size" not in given:  # the read-out is the embedding
        network["embedding_size"] = last
    if given.get("embedding_size", last) != last or model == "urnn-full":  # which reads real and imaginary parts
        network.pop("tied", None)
    if "embedding_size" in given and given["embedding_size"] is None:
        network.pop("embedding_dropout", None)
    return network


def without_choosing(settings: Settings) -> Settings:
    """Leave out what stops or slows a training by the validation split, for data that have none."""
    training = {key: value for key, value in settings.get("training", {}).items() if key != "patience"}
    return {**settings, "training": training, "schedule": {}}
