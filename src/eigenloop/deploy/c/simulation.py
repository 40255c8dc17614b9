"""Run a network on complete sequences on a Cortex-M in QEMU, and return its integer outputs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eigenloop.deploy.c.qemu import BEGIN, BOARDS, missing_tools, run
from eigenloop.deploy.c.source import source_of
from eigenloop.deploy.c.text import array
from eigenloop.deploy.network import IntegerNetwork
from eigenloop.deploy.operations import Whole

#: Prints the low and the high half of every sum, and at the end how many inputs were rejected.
_PLAYER = """#include "net.h"
#include "fed.h"

static net_state state;
static net_sum sums[NET_OUTPUTS];

int main(void)
{
    uint32_t s, t, i, refused = 0;
    for (s = 0; s < SEQUENCES; s++) {
        net_init(&state);
        for (t = 0; t < STEPS; t++)
            refused += (uint32_t)net_step(&state, fed + (s * STEPS + t) * NET_INPUTS);
        net_output(&state, sums);
        for (i = 0; i < NET_OUTPUTS; i++) {
            print((uint32_t)(uint64_t)(int64_t)sums[i]);
            print((uint32_t)((uint64_t)(int64_t)sums[i] >> 32));
        }
    }
    print(refused);
    return 0;
}
"""


def run_sequences(network: IntegerNetwork, core: str, fed: NDArray[np.generic], *, optimise: str = "-O2") -> Whole:
    """Return the integer outputs after each sequence, (sequences, outputs), computed on a core.

    Args:
        network: built by `eigenloop.deploy.integer`.
        core: a key of `BOARDS`, such as ``cortex-m4``.
        fed: the inputs of the C function `step`: (sequences, steps, inputs) codes or counts, or (sequences, steps)
            tokens.
        optimise: the compiler's optimisation option.

    Raises:
        ValueError: the core is not known, or the shape does not fit.
        RuntimeError: tools are not installed, or the program failed.
    """
    if core not in BOARDS:
        raise ValueError(f"core {core!r} is not known: choose one of {', '.join(BOARDS)}")
    if missing := missing_tools():
        raise RuntimeError(f"{', '.join(missing)} not installed: a network is simulated with them")
    source = source_of(network, "net")
    kind = source.interface.input_type
    count, steps = fed.shape[:2]
    if fed.size != count * steps * source.interface.inputs:
        raise ValueError(f"sequences are (sequences, steps, {source.interface.inputs}), got shape {fed.shape}")
    numbers = array(kind, "fed", fed.reshape(-1), source.interface.input_bits)
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "net.h").write_text(source.header)
        (here / "net.c").write_text(source.code)
        (here / "fed.h").write_text(f"#define SEQUENCES {count}u\n#define STEPS {steps}u\n{numbers}")
        (here / "harness.c").write_text(BEGIN + _PLAYER)
        words = run(here, core, ["net.c"], optimise=optimise)
    if len(words) != 2 * count * source.interface.outputs + 1 or words.pop():
        raise RuntimeError(f"the program in QEMU printed {len(words)} numbers, of which the last is {words[-1:]}")
    halves = np.array(words, np.uint64).reshape(count, source.interface.outputs, 2)
    return (halves[..., 0] | halves[..., 1] << np.uint64(32)).astype(np.int64)
