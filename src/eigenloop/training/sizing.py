"""The largest network that fits into so many bytes."""

from __future__ import annotations

import dataclasses

from eigenloop.errors import ConfigError
from eigenloop.quantization import size_report
from eigenloop.training.network import build_network
from eigenloop.training.settings.config import Config

#: No network for a device is larger.
_LARGEST = 4096


def largest_hidden_size(config: Config, max_bytes: int) -> int:
    """Return the largest hidden size with which the network of a configuration takes at most `max_bytes`.

    Counted are U and the dense W in the bits that are set, and all else in float32, as `size_report` does.
    """
    config = dataclasses.replace(config, task=config.task.settled())

    def bytes_of(size: int) -> int:
        network = config.network.model_copy(update={"hidden_size": size})
        # Settings that count units go with one size only.
        options = {key: value for key, value in config.options.items() if key not in ("negative", "short")}
        return size_report(build_network(dataclasses.replace(config, network=network, options=options))).bytes

    low, high = 2, 4
    if (least := bytes_of(low)) > max_bytes:
        raise ConfigError(
            f"a network of {low} units takes {least:,} bytes already, more than {max_bytes:,}",
            "allow more, or fewer bits",
            flags="give a larger --max-bytes, or fewer --bits",
        )
    while high < _LARGEST and bytes_of(high) <= max_bytes:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if bytes_of(middle) <= max_bytes else (low, middle)
    return low
