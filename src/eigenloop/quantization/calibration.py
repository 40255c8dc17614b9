"""Calibration: choosing the ranges of rounded inputs, states and cells from data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from eigenloop.quantization.layer import QuantizableLayer
from eigenloop.quantization.state_quantizer import StateQuantizer, made_state_quantizer

M = TypeVar("M", bound=nn.Module)


def calibrate_(
    network: M,
    X: Any,
    *,
    lengths: Any = None,
    state_bits: int | StateQuantizer | None = None,
    share: float = 1.0,
) -> M:
    """Set the range of every rounded input, state and cell from the values that occur on some data.

    The network runs over the data once, in evaluation mode and without rounding of states; its weights do not change.
    Before training this gives initial ranges; for a trained network it is post-training quantization.

    Args:
        network: a layer or Model with `state_bits`, changed in place and returned.
        X: the input of the network.
        lengths: valid steps of each sequence, as the network takes them.
        state_bits: round the states with this width or `StateQuantizer` from now on; default: as the network does.
        share: share of the values that must lie inside the range; below 1, some of the largest are clamped.

    Raises:
        ValueError: `share` is not in (0, 1], the network does not round its states, or its values are not finite.

    >>> import eigenloop as el
    >>> net = calibrate_(el.RNN(3, 8, nonlinearity="relu"), torch.randn(20, 4, 3), state_bits=8)
    >>> out, _ = net(torch.randn(20, 4, 3))
    >>> codes = out / net.state_step()
    >>> torch.allclose(codes, codes.round(), atol=1e-4)
    True
    """
    if state_bits is not None:
        chosen = made_state_quantizer(state_bits)
        for layer in _layers(network):
            layer.round_state_(chosen)
    with calibrating(network, share):
        network(X) if lengths is None else network(X, lengths=lengths)
    return network


@contextmanager
def calibrating(network: nn.Module, share: float = 1.0) -> Iterator[None]:
    """Set the ranges from all values that occur inside the ``with``, where the network runs without rounding states."""
    if not 0 < share <= 1:
        raise ValueError(f"share must be above 0 and at most 1, got {share!r}")
    layers = _layers(network)
    for layer in layers:
        if layer.state_quantizer is None:
            name = type(layer).__name__
            raise ValueError(f"this {name} does not round its state: build it with state_bits=, or give it here")
    was_training = network.training
    network.eval()
    for layer in layers:
        layer.observed = {}
    try:
        with torch.no_grad():
            yield
        for layer in layers:
            _set_ranges(layer, share)
    finally:
        for layer in layers:
            layer.observed = None
        network.train(was_training)


def _layers(network: nn.Module) -> list[QuantizableLayer]:
    layers = [module for module in network.modules() if isinstance(module, QuantizableLayer)]
    if not layers:
        raise ValueError(f"{type(network).__name__} has no recurrent layer of eigenloop to calibrate")
    return layers


@torch.no_grad()
def _set_ranges(layer: QuantizableLayer, share: float) -> None:
    assert layer.observed is not None
    assert layer.state_quantizer is not None
    largest: dict[str, float] = {}
    for name, values in layer.observed.items():
        largest[name] = max(bounded_by(one, share) for one in values)
        if not math.isfinite(largest[name]):
            raise ValueError(f"the {name} of this network is not finite for these data, so it has no range")
    for name, value in largest.items():
        tensor = layer.get_parameter(name) if name in dict(layer.named_parameters()) else layer.get_buffer(name)
        if value > 0:
            tensor.fill_(layer.state_quantizer.range_for(value))


def bounded_by(values: Tensor, share: float) -> float:
    """Return the smallest |value| that at least `share` of all |values| do not exceed.

    >>> bounded_by(torch.tensor([1.0, -9.0, 2.0, 3.0]), 0.75)
    3.0
    """
    sizes = values.abs().flatten()
    if not len(sizes) or not bool(sizes.isfinite().all()):
        return float("nan") if len(sizes) else 0.0
    return float(sizes.kthvalue(max(1, math.ceil(share * len(sizes)))).values)
