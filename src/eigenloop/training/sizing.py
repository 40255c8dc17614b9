"""The largest hidden size within a given number of bytes or of trained parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from eigenloop.errors import ConfigError
from eigenloop.quantization import size_report
from eigenloop.readout import Model
from eigenloop.training.network import build_network
from eigenloop.training.settings.config import Config
from eigenloop.training.settings.fitting import COUNTING_UNITS
from eigenloop.training.summary import count_parameters

#: Upper limit of the search; networks for devices are smaller.
_LARGEST = 4096


def largest_hidden_size(config: Config, max_bytes: int) -> int:
    """Return the largest hidden size with which the network of a configuration takes at most `max_bytes`.

    U and the dense W count with their configured bits, everything else as float32, as in `size_report`.

    Raises:
        ConfigError: even 2 units take more.
    """
    advice = ("allow more, or fewer bits", "give a larger --max-bytes, or fewer --bits")
    return _largest(config, max_bytes, lambda net: size_report(net).bytes, "takes {:,} bytes", advice)


def hidden_size_of_parameters(config: Config, most: int) -> int:
    """Return the largest hidden size with which a network has at most `most` trained parameters.

    Raises:
        ConfigError: even 2 units have more.
    """
    return _largest(config, most, count_parameters, "has {:,} parameters", ("allow more", "give a larger --parameters"))


def _largest(config: Config, most: int, measure: Callable[[Model], int], wording: str, advice: tuple[str, str]) -> int:
    """Return the largest hidden size for which `measure`, which grows with it, is at most `most`, by bisection."""
    config = dataclasses.replace(config, task=config.task.settled())

    def measured(size: int) -> int:
        network = config.network.model_copy(update={"hidden_size": size})
        options = {key: value for key, value in config.options.items() if key not in COUNTING_UNITS}
        return measure(build_network(dataclasses.replace(config, network=network, options=options)))

    low, high = 2, 4
    if (least := measured(low)) > most:
        raise ConfigError(
            f"a network of {low} units {wording.format(least)} already, more than {most:,}", advice[0], flags=advice[1]
        )
    while high < _LARGEST and measured(high) <= most:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if measured(middle) <= most else (low, middle)
    return low
