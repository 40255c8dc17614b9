"""Run the generated C of a network as a shared library through ctypes: the same integers, at the speed of C."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenloop.deploy.arrays import arranged
from eigenloop.deploy.c.source import Source, source_of
from eigenloop.deploy.inputs import Tokens, Values
from eigenloop.deploy.network import IntegerNetwork
from eigenloop.deploy.operations import Whole

_RUN = """
#include "net.h"
#include <stddef.h>
/* Runs B sequences, x (T, B, inputs); sums are (T, B, outputs), or (B, outputs) of the last step alone. */
size_t net_size(void) { return sizeof(net_state); }
int net_run(net_state *states, const net_input *x, const int32_t *lengths, size_t T, size_t B, net_sum *y, int every)
{
    size_t t, b;
    for (b = 0; b < B; b++)
        for (t = 0; t < (size_t)lengths[b]; t++) {
            if (net_step(&states[b], x + (t * B + b) * NET_INPUTS))
                return 1;
            if (every)
                net_output(&states[b], y + (t * B + b) * NET_OUTPUTS);
        }
    (void)T;
    if (!every)
        for (b = 0; b < B; b++)
            net_output(&states[b], y + b * NET_OUTPUTS);
    return 0;
}
"""
FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")


def compiler() -> str:
    """Return the path of the C compiler: $CC, cc, gcc or clang; raise RuntimeError if there is none."""
    named = os.environ.get("CC")
    path = next(
        (executable for one in (named, "cc", "gcc", "clang") if one and (executable := shutil.which(one))), None
    )
    if path is None:
        raise RuntimeError("compiled() needs a C compiler: install gcc or clang, or name one in CC")
    return path


def build(source: Source, *, cc: str | None = None, flags: Sequence[str] = ("-O3",)) -> ctypes.CDLL:
    """Compile a source that was generated with the name ``net``, and load it; raise RuntimeError if that fails."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "net.h").write_text(source.header)
        (here / "net.c").write_text(source.code)
        (here / "run.c").write_text(_RUN)
        command = [cc or compiler(), *FLAGS, *flags, "-fPIC", "-shared", "-o", "net.so", "net.c", "run.c"]
        done = subprocess.run(command, cwd=here, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"the C compiler refused the network:\n{done.stderr[-4000:]}")
        library = ctypes.CDLL(str(here / "net.so"))  # stays loaded when the file is deleted
    library.net_size.restype = ctypes.c_size_t
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    library.net_run.argtypes = [pointer, pointer, pointer, size, size, pointer, ctypes.c_int]
    library.net_run.restype = ctypes.c_int
    for name, arguments in (("net_init", 1), ("net_step", 2), ("net_output", 2)):
        getattr(library, name).argtypes = [pointer] * arguments
    library.net_init.restype = library.net_output.restype = None
    return library


class CompiledNetwork:
    """An integer network in compiled C; `IntegerNetwork.compiled` builds one.

    Attributes:
        network: the NumPy reference, with which all results are identical.
    """

    def __init__(self, network: IntegerNetwork, *, cc: str | None = None, flags: Sequence[str] = ("-O3",)) -> None:
        self.network = network
        self._source = source_of(network, "net")
        self._library = build(self._source, cc=cc, flags=flags)
        self._bytes = int(self._library.net_size())
        signed = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
        tokens = isinstance(network.inputs, Tokens)
        self._input_type: Any = np.uint32 if tokens else signed[self._source.interface.input_bits]
        self._sum_type: Any = signed[self._source.interface.output_bits]

    def states(self, batch: int = 1) -> NDArray[np.uint8]:
        """Return the initial states of `batch` streams, as bytes (batch, size of a state)."""
        states = np.zeros((batch, self._bytes), np.uint8)
        for one in states:
            self._library.net_init(one.ctypes.data)
        return states

    def step(self, x: ArrayLike, states: NDArray[np.uint8]) -> Whole:
        """Compute one time step of each stream, (B, features) or (B,) tokens; return the sums, update `states`."""
        given = np.asarray(x)[None]
        return self._run(given, states, np.ones(len(states), np.int32), every=False)

    def sums(self, X: ArrayLike, *, lengths: Sequence[int] | None = None) -> Whole:
        """Return the integer outputs, as `IntegerNetwork.sums`."""
        tokens, size = isinstance(self.network.inputs, Tokens), self.network.cells[0].source.input_size
        given = arranged(X, lengths, self.network.batch_first, tokens, size)
        every = self.network.readout.pool is None
        y = self._run(given.x, self.states(given.x.shape[1]), given.valid.sum(0).astype(np.int32), every=every)
        return given.restored(y) if every else y if given.batched else y[0]

    def _run(self, x: NDArray[Any], states: NDArray[np.uint8], lengths: NDArray[np.int32], *, every: bool) -> Whole:
        T, B = x.shape[:2]
        codes = np.ascontiguousarray(self._entered(x).reshape(T, B, -1), self._input_type)
        y = np.zeros(
            (T, B, self._source.interface.outputs) if every else (B, self._source.interface.outputs), self._sum_type
        )
        refused = self._library.net_run(
            states.ctypes.data, codes.ctypes.data, lengths.ctypes.data, T, B, y.ctypes.data, int(every)
        )
        if refused:
            raise ValueError("there are more steps than the mean of states can hold: start a new sequence")
        return y.astype(np.int64)

    def _entered(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return inputs as the C code takes them: tokens, counts, or codes."""
        inputs = self.network.inputs
        if isinstance(inputs, Tokens):
            inputs.codes(x)  # raises for invalid tokens
            return x
        assert isinstance(inputs, Values)
        if not inputs.counts:
            return inputs.codes(x)
        if not np.issubdtype(x.dtype, np.integer):
            raise TypeError(f"this network takes whole counts of a sensor, got {x.dtype}")
        if x.size and (x.min() < -(2**31) or x.max() >= 2**31):
            raise ValueError(f"counts are 32-bit whole numbers, got {x.min()} to {x.max()}")
        return x
