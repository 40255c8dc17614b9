"""The largest hidden size within a given number of bytes or of trained parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from eigenloop.errors import ConfigError
from eigenloop.quantization import size_report
from eigenloop.readout import Model
from eigenloop.training.network import build_network
from eigenloop.training.settings.config import Config
from eigenloop.training.settings.fitting import WITHIN_SIZE
from eigenloop.training.summary import count_parameters

#: Upper limit of the search; networks for devices are smaller.
_LARGEST = 4096

#: Completes the settings with a hidden size. Other settings may follow from it, so a size cannot be put in afterwards.
OfSize = Callable[[int], Config]


def largest_hidden_size(of_size: OfSize, max_bytes: int) -> int:
    """Return the largest hidden size with which the network of a configuration takes at most `max_bytes`.

    U and the dense W count with their configured bits, everything else as float32, as in `size_report`.

    Raises:
        ConfigError: even the smallest network takes more.
    """
    advice = ("allow more, or fewer bits", "give a larger --max-bytes, or fewer --bits")
    return _largest(of_size, max_bytes, lambda net: size_report(net).bytes, "takes {:,} bytes", advice)


def hidden_size_of_parameters(of_size: OfSize, most: int) -> int:
    """Return the largest hidden size with which a network has at most `most` trained parameters.

    Raises:
        ConfigError: even the smallest network has more.
    """
    return _largest(
        of_size, most, count_parameters, "has {:,} parameters", ("allow more", "give a larger --parameters")
    )


def _largest(of_size: OfSize, most: int, measure: Callable[[Model], int], wording: str, advice: tuple[str, str]) -> int:
    """Return the largest hidden size for which `measure`, which grows with it, is at most `most`, by bisection."""
    task = of_size(2).task.settled()  # read the files once

    def network(size: int) -> Model:
        return build_network(dataclasses.replace(of_size(size), task=task))

    sizes = _possible(of_size(2), network)
    if (least := measure(network(sizes[0]))) > most:
        raise ConfigError(
            f"a network of {sizes[0]} units {wording.format(least)} already, more than {most:,}",
            advice[0],
            flags=advice[1],
        )
    low, high = 0, 1
    while high < len(sizes) and measure(network(sizes[high])) <= most:  # large networks take long to build
        low, high = high, 2 * high
    high = min(high, len(sizes))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if measure(network(sizes[middle])) <= most else (low, middle)
    return sizes[low]


def _possible(config: Config, network: Callable[[int], Model]) -> Sequence[int]:
    """Return the sizes that a network can have: all, the even ones or the powers of two, as its matrix requires."""
    counts = [config.options.get(key) for key in WITHIN_SIZE]
    least = min(_LARGEST, max(2, sum(count for count in counts if isinstance(count, int))))
    powers = [2**k for k in range(1, _LARGEST.bit_length()) if 2**k >= least]
    for step in (1, 2):
        try:
            network(max(4, powers[0]) + step)
        except ConfigError:
            continue  # if no size is possible, the smallest says why
        return range(least + -least % step, _LARGEST + 1, step)
    return powers
