"""A long text side by side: cut into as many streams as a batch is wide, and these into segments of some steps.

As in AWD-LSTM (Merity et al. 2018, section 5), nnRNN and NC-GRU: of the text, B streams of n = length // B tokens; a
segment reads T tokens of each, and its targets are the tokens that follow. The last segment takes what is left.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from eigenloop.tasks.base import Batch

#: Marks the numbers drawn for the lengths of an epoch's segments.
_LENGTHS = 4
#: Lengths that vary: their standard deviation, the shortest, and how often they are around half of the usual.
_SPREAD, _SHORTEST, _HALVED = 5.0, 5, 0.05


def predictions(size: int, streams: int) -> int:
    """Return how many tokens each stream of a text predicts: all but its first."""
    if size < 2 * streams:
        raise ValueError(
            f"a text of {size:,} tokens is too short for {streams:,} streams of at least two: "
            f"take at most {size // 2:,} streams"
        )
    return size // streams - 1


def segment_count(steps: int, bptt: int, varied: bool) -> int:
    """Return how many segments an epoch has; where lengths vary, as many as fit on average."""
    if not varied:
        return -(-steps // bptt)
    return max(1, round(steps / max(_SHORTEST, (1 - _HALVED / 2) * bptt)))


@functools.lru_cache(maxsize=2)
def varied_bounds(steps: int, bptt: int, seed: int, epoch: int) -> tuple[int, ...]:
    """Draw where the segments of an epoch begin and end.

    Their lengths are N(bptt, 5), one in twenty N(bptt / 2, 5), and at least 5, as in AWD-LSTM; but since an epoch has a
    fixed number of them they are stretched alike so that together they are the whole, each with one step or more.
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
    """Return the segment of a training step; with `varied`, the learning rate follows its length."""
    steps = predictions(len(tokens), streams)
    epoch, position = divmod(step, segment_count(steps, bptt, varied))
    if varied:
        start, stop = varied_bounds(steps, bptt, seed, epoch)[position : position + 2]
    else:
        start, stop = position * bptt, min((position + 1) * bptt, steps)
    scale = (stop - start) / bptt if varied else 1.0
    return _segment(tokens, streams, start, stop, carry and position > 0, scale)


def all_segments(tokens: NDArray[np.integer], streams: int, *, bptt: int, carry: bool) -> Iterator[Batch]:
    """Return the segments of a text one after the other."""
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
