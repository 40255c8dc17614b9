"""Build the integer network of a trained one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import nn

from eigenloop.bit_widths import STATE, WEIGHTS
from eigenloop.deploy.arrays import arranged
from eigenloop.deploy.cells import cell_for
from eigenloop.deploy.describing import Real, cells_of, layer_of
from eigenloop.deploy.formats import Format
from eigenloop.deploy.inputs import Tokens, Values, values_for
from eigenloop.deploy.network import IntegerNetwork
from eigenloop.deploy.ranges import RangeOptions, cell_formats, input_format
from eigenloop.deploy.reading_out import POOLS, Readout
from eigenloop.deploy.statistics import Statistics
from eigenloop.deploy.sums import sum_of
from eigenloop.deploy.table import table_for
from eigenloop.deploy.trained import trained_bits, trained_formats, trained_input
from eigenloop.quantization import Codes, codes


@torch.no_grad()
def integer(
    network: nn.Module,
    *,
    calibration: ArrayLike | None = None,
    lengths: Sequence[int] | None = None,
    state_bits: int | None = None,
    cell_bits: int | None = None,
    input_bits: int | None = None,
    readout_bits: int | None = None,
    percentile: float = 100.0,
    power_of_two: bool = False,
    normalise: tuple[ArrayLike, ArrayLike] | None = None,
    pool: str | None = None,
    widen: bool = True,
) -> IntegerNetwork:
    """Return the integer network of a quantized network; docs/integers.md specifies its arithmetic.

    Its weights are the codes of the network's quantized weights (`quantization.network_codes`), which were trained with
    ``bits=`` or quantized afterwards by `quantization.quantize_`.

    Args:
        network: a unidirectional `el.RNN`, `el.GRU`, `el.LSTM` or `el.FastGRNN`, or an `el.Model` of one; it is not
            changed.
        calibration: input sequences from the training split: the values that occur on them give the ranges of input,
            hidden states and cell states. Integers are read as counts of a sensor, and the integer network then has
            the multipliers that turn counts into codes. A network that was trained with the same ``state_bits`` has
            its own ranges; the sequences then only count saturation, and may be left out.
        lengths: valid time steps of each sequence, for a padded batch.
        state_bits: width of states and gates, 6 to 16; int8 up to 8, int16 above. Default: the width that the network
            was trained with, or 12.
        cell_bits: width of an LSTM's cell state, which accumulates; default: as it was trained, or 16.
        input_bits: width of the input; default: `state_bits`.
        readout_bits: width of the weights of read-out and embedding; default: that of the network, or 8.
        percentile: percentile of the magnitudes that is taken as the range; 100 is the largest magnitude.
        power_of_two: round every quantization step up to a power of two, which leaves headroom.
        normalise: mean and scale of every channel, if the inputs are not normalised and the network was trained on
            (x - mean) / scale; not for a network that has its own (`Model.input_scaling`).
        pool: the state that is read out: the ``"last"``, or the ``"mean"`` or ``"max"`` over time; default: as the
            network does.
        widen: use int64 for a sum that may not fit into int32; with False such a network raises.

    Raises:
        TypeError: the network is none of these layers, or a width is not an integer.
        ValueError: the network has no integer form (complex, bidirectional, weights in floating point), or an argument
            does not fit it.

    >>> import eigenloop as el
    >>> net = el.Model(el.RNN(3, 8, nonlinearity="relu", bits=4), output_size=2, last=True)
    >>> X = torch.randn(20, 50, 3, generator=torch.Generator().manual_seed(0))
    >>> integer_net = integer(net, calibration=X, state_bits=12)
    >>> y = integer_net.predict(X)
    >>> y.shape, integer_net.report().products
    ((50, 2), 88)
    """
    layer = layer_of(network)
    cells = cells_of(layer)
    own = trained_bits(layer)
    bits = STATE.checked(state_bits if state_bits is not None else own or 12, "state_bits")
    trained = own == bits and input_bits in (None, bits) and cell_bits in (None, bits)
    options = RangeOptions(
        bits,
        STATE.checked((bits if trained else 16) if cell_bits is None else cell_bits, "cell_bits"),
        STATE.checked(bits if input_bits is None else input_bits, "input_bits"),
        percentile,
        power_of_two,
    )
    if calibration is None and not trained:
        raise ValueError("give calibration=, sequences of the training split from which the ranges of states are read")
    if readout_bits is None:
        readout_bits = getattr(network, "readout_bits", None) or 8
    width = WEIGHTS.checked(readout_bits, "readout_bits")
    tokens, size = getattr(network, "embedding", None) is not None, cells[0].input_size
    given = None if calibration is None else arranged(calibration, lengths, layer.batch_first, tokens, size)
    entered: Values | Tokens
    if tokens:
        if normalise is not None:
            raise ValueError("normalise is for measured values, and this network takes tokens: leave it out")
        entered = _tokens(network, width)
    else:
        mean, scale = _scaling(network, size, normalise)
        if trained:
            form = trained_input(layer)
        else:
            assert given is not None
            form = input_format((np.asarray(given.x, np.float64) - mean) / scale, given.valid, options)
        counts = given is not None and bool(np.issubdtype(given.x.dtype, np.integer))
        entered = values_for(form, mean, scale, counts)
    if trained:
        chosen = trained_formats(layer, cells, entered.format)
    else:
        assert given is not None
        chosen = cell_formats(cells, entered.normalised(given.x), given.valid, entered.format, options)
    table = table_for(bits)
    integer_cells = tuple(cell_for(cell, formats, table, widen) for cell, formats in zip(cells, chosen, strict=True))
    watch = Statistics()
    readout = _readout(network, chosen[-1].state, width, pool, widen)
    made = IntegerNetwork(entered, integer_cells, readout, layer.batch_first, watch)
    if calibration is not None:
        made._run(calibration, lengths, watch)
        watch.valid = None
    return made


def _scaling(network: nn.Module, size: int, normalise: tuple[ArrayLike, ArrayLike] | None) -> tuple[Real, Real]:
    """Return mean and scale of every channel: those given, those of the network, or 0 and 1."""
    carried = getattr(network, "input_scaling", None)
    if carried is not None and normalise is not None:
        raise ValueError("this network carries the mean and scale of its inputs: leave out normalise=")
    if carried is not None:
        return carried.mean.cpu().double().numpy(), carried.scale.cpu().double().numpy()
    if normalise is None:
        return np.zeros(size), np.ones(size)
    mean, scale = (np.asarray(one, np.float64) for one in normalise)
    if mean.shape != (size,) or scale.shape != mean.shape or not (scale > 0).all():
        raise ValueError(
            f"normalise is a mean and a scale above zero for each of the {size} channels, got shapes "
            f"{mean.shape} and {scale.shape}"
        )
    return mean, scale


def _tokens(network: Any, bits: int) -> Tokens:
    """Return the code table of an embedding; with tied weights it has the read-out's codes."""
    weight = network.embedding.weight
    numbers, step = codes(weight, bits)
    table = numbers.cpu().numpy().astype(np.int64)
    low, high = min(int(table.min()), 0), max(int(table.max()), 0)
    form = Format("input", bits, float(step), float(weight.abs().max()), low, high)
    return Tokens(form, table, weight is network.readout.weight)


def _readout(network: Any, state: Format, bits: int, pool: str | None, widen: bool) -> Readout:
    linear = getattr(network, "readout", None)
    pool = getattr(network, "pool", None) if pool is None else pool
    if pool not in POOLS:
        raise ValueError(f"pool={pool!r} is not known: choose one of {', '.join(map(repr, POOLS[1:]))}")
    if linear is None:
        return Readout(None, state, pool, np.ones(1), np.zeros(1))
    numbers, step = codes(linear.weight, bits)
    bias = None if linear.bias is None else linear.bias.detach().cpu().double().numpy()
    V = Codes(numbers.to(torch.int32), step, bits)
    scaling = getattr(network, "output_scaling", None)
    scale, offset = np.ones(len(numbers)), np.zeros(len(numbers))
    if scaling is not None:
        scale, offset = scaling.scale.cpu().double().numpy(), scaling.mean.cpu().double().numpy()
    return Readout(sum_of("readout.weight", V, state, bias, widen), state, pool, scale, offset)
