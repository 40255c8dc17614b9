"""Adapting the published settings of a network to the settings that are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eigenloop.training.settings.merging import Settings

#: Settings whose sum is at most the hidden size.
WITHIN_SIZE = ("short", "negative", "reflections")
#: Settings that are valid only for the published hidden size.
_PARTS_OF_SIZE = (*WITHIN_SIZE, "capacity", "num_layers")
#: Settings that act between layers.
_BETWEEN_LAYERS = ("dropout", "locked_dropout")
#: Models like torch's layers: one size for all layers, and only torch's kind of dropout between them.
_ONE_SIZE = ("lstm", "gru")
#: Models with a complex hidden state, which have one layer only.
_COMPLEX = ("eurnn", "urnn-full")


def fitting(model: str, published: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the published settings without those that do not fit the given hidden size or the kind of layer."""
    network = dict(published)
    size = given.get("hidden_size", network.get("hidden_size"))
    if size == []:  # the check that follows rejects it
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
    if given.get("embedding_size", last) != last or model == "urnn-full":  # its read-out takes [Re h, Im h]
        network.pop("tied", None)
    if "embedding_size" in given and given["embedding_size"] is None:
        network.pop("embedding_dropout", None)
    return network


def without_choosing(settings: Settings) -> Settings:
    """Return settings without early stopping and schedule, which need a validation split, for data without one."""
    training = {key: value for key, value in settings.get("training", {}).items() if key != "patience"}
    return {**settings, "training": training, "schedule": {}}
