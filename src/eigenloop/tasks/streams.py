"""A long text as B parallel streams, which are cut into segments for truncated backpropagation.

As in AWD-LSTM (Merity et al. 2018, section 5), nnRNN and NC-GRU: the text is cut into B streams of n = length // B
tokens; a segment reads T tokens of each, and its targets are the tokens that follow. The last segment may be shorter.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from eigenloop.tasks.base import Batch

#: Part of the seed for the lengths of an epoch's segments.
_LENGTHS = 4
#: Random lengths: standard deviation, minimum, and the probability that the mean is halved.
_SPREAD, _SHORTEST, _HALVED = 5.0, 5, 0.05


def predictions(size: int, streams: int) -> int:
    """Return the number of tokens that each stream predicts: all but its first.

    Raises:
        ValueError: the text is too short for this many streams.
    """
    if size < 2 * streams:
        raise ValueError(
            f"a text of {size:,} tokens is too short for {streams:,} streams of at least two: "
            f"take at most {size // 2:,} streams"
        )
    return size // streams - 1


def segment_count(steps: int, bptt: int, varied: bool) -> int:
    """Return the number of segments in an epoch; if lengths vary, as many as fit on average."""
    if not varied:
        return -(-steps // bptt)
    return max(1, round(steps / max(_SHORTEST, (1 - _HALVED / 2) * bptt)))


@functools.lru_cache(maxsize=2)
def varied_bounds(steps: int, bptt: int, seed: int, epoch: int) -> tuple[int, ...]:
    """Draw the boundaries of the segments of an epoch.

    As in AWD-LSTM, lengths are drawn from N(bptt, 5), one in twenty from N(bptt / 2, 5), and are at least 5. Unlike
    there, an epoch has a fixed number of segments, so their lengths are then scaled by a common factor to cover the
    stream, each with at least one step.
    """
    count = segment_count(steps, bptt, varied=True)
    generator = np.random.default_rng((seed, _LENGTHS, epoch))
    means = np.where(generator.random(count) < _HALVED, bptt / 2, bptt)
    beyond_one = np.maximum(_SHORTEST, generator.normal(means, _SPREAD)) - 1
    ends = np.cumsum(beyond_one)
    stops = np.arange(1, count + 1) + np.floor(ends / ends[-1] * (steps - count)).astype(np.int64)
    return (0, *stops.tolist())


def train_segment(
    tokens: NDArray[np.integer], step: int, streams: int, *, bptt: int, varied: bool, carry: bool, seed: int
) -> Batch:
    """Return the segment of a training step; with `varied`, its learning rate is proportional to its length."""
    steps = predictions(len(tokens), streams)
    epoch, position = divmod(step, segment_count(steps, bptt, varied))
    if varied:
        start, stop = varied_bounds(steps, bptt, seed, epoch)[position : position + 2]
    else:
        start, stop = position * bptt, min((position + 1) * bptt, steps)
    scale = (stop - start) / bptt if varied else 1.0
    return _segment(tokens, streams, start, stop, carry and position > 0, scale)


def all_segments(tokens: NDArray[np.integer], streams: int, *, bptt: int, carry: bool) -> Iterator[Batch]:
    """Yield the segments of a text in order."""
    steps = predictions(len(tokens), streams)
    for start in range(0, steps, bptt):
        yield _segment(tokens, streams, start, min(start + bptt, steps), carry and start > 0, 1.0)


def _segment(
    tokens: NDArray[np.integer], streams: int, start: int, stop: int, continues: bool, lr_scale: float
) -> Batch:
    n = len(tokens) // streams
    side_by_side = tokens[: n * streams].reshape(streams, n).T
    segment = torch.from_numpy(np.array(side_by_side[start : stop + 1], dtype=np.int64, order="C"))
    return Batch(segment[:-1], segment[1:], continues=continues, lr_scale=lr_scale)
