"""Plays whole sequences to a network on a Cortex-M in QEMU, and returns the sums that it ends with."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eigenloop.deploy.c.qemu import _FLAGS, _LINKER, BOARDS, _run, missing_tools
from eigenloop.deploy.c.source import source_of
from eigenloop.deploy.c.text import array, signed
from eigenloop.deploy.inputs import Tokens
from eigenloop.deploy.network import IntegerNetwork
from eigenloop.deploy.operations import Whole

#: Prints every sum as 16 hexadecimal digits of its 64 bits.
_PLAYER = """#include "net.h"
#include "fed.h"

static net_state state;
static net_sum sums[NET_OUTPUTS];

static void call(uint32_t operation, uint32_t argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register uint32_t r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

static void print(uint64_t value)
{
    char text[18];
    uint32_t i;
    for (i = 0; i < 16u; i++)
        text[i] = "0123456789abcdef"[(value >> (60u - 4u * i)) & 15u];
    text[16] = ' ';
    text[17] = 0;
    call(4u, (uint32_t)(uintptr_t)text);
}

void start(void);
void start(void)
{
    uint32_t s, t, i, refused = 0;
    for (s = 0; s < SEQUENCES; s++) {
        net_init(&state);
        for (t = 0; t < STEPS; t++)
            refused += (uint32_t)net_step(&state, fed + (s * STEPS + t) * NET_INPUTS);
        net_output(&state, sums);
        for (i = 0; i < NET_OUTPUTS; i++)
            print((uint64_t)(int64_t)sums[i]);
    }
    print(refused);
    call(0x18u, 0x20026u);
    for (;;)
        ;
}

static void fault(void)
{
    call(0x18u, 0x20023u);
}

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))0x20100000, start, fault, fault, fault, fault, fault,
};
"""


def play(network: IntegerNetwork, core: str, fed: NDArray[np.generic], *, optimise: str = "-O2") -> Whole:
    """Return the sums after each sequence, (sequences, outputs), as a core computes them.

    Args:
        network: made by `eigenloop.deploy.integer`.
        core: as in ``cortex-m4``.
        fed: (sequences, steps, inputs) codes or counts, or (sequences, steps) tokens: what `step` takes in C.
        optimise: the compiler's option.
    """
    if core not in BOARDS:
        raise ValueError(f"core {core!r} is not known: choose one of {', '.join(BOARDS)}")
    if missing := missing_tools():
        raise RuntimeError(f"{', '.join(missing)} not installed: a network is played with them")
    source = source_of(network, "net")
    kind = "uint32_t" if isinstance(network.inputs, Tokens) else signed(source.input_bits)
    count, steps = fed.shape[:2]
    if fed.size != count * steps * source.inputs:
        raise ValueError(f"sequences are (sequences, steps, {source.inputs}), got shape {fed.shape}")
    numbers = array(kind, "fed", fed.reshape(-1), source.input_bits)
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "net.h").write_text(source.header)
        (here / "net.c").write_text(source.code)
        (here / "fed.h").write_text(f"#define SEQUENCES {count}u\n#define STEPS {steps}u\n{numbers}")
        (here / "harness.c").write_text(_PLAYER)
        (here / "net.ld").write_text(_LINKER)
        gcc = ["arm-none-eabi-gcc", f"-mcpu={core}", *_FLAGS, "-ffunction-sections", "-fdata-sections"]
        _run([*gcc, optimise, "-c", "net.c"], here)
        _run([*gcc, "-O1", "-Wno-pedantic", "-c", "harness.c"], here)
        link = ["-nostartfiles", "-specs=nano.specs", "-Wl,--gc-sections", "-T", "net.ld", "-o", "net.elf"]
        _run([*gcc, *link, "harness.o", "net.o"], here)
        machine = ["-M", BOARDS[core], "-display", "none", "-monitor", "none", "-serial", "none"]
        semihosting = ["-semihosting-config", "enable=on,target=native", "-kernel", "net.elf"]
        done = subprocess.run(
            ["qemu-system-arm", *machine, *semihosting],
            cwd=here,
            capture_output=True,
            text=True,
            timeout=1800,
            stdin=subprocess.DEVNULL,
        )
    words = [int(word, 16) for word in (done.stdout + done.stderr).split()]
    if done.returncode or len(words) != count * source.outputs + 1 or words.pop():
        raise RuntimeError(f"QEMU ended with {done.returncode}: {done.stdout[-300:]} {done.stderr[-300:]}")
    return np.array(words, np.uint64).astype(np.int64).reshape(count, source.outputs)
