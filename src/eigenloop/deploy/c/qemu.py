"""Run a network on a Cortex-M0, M3, M4 or M7 in QEMU and measure flash, memory and instructions.

Note [Instructions, not cycles]
    With `-icount shift=0` QEMU's clock advances by 1 ns per instruction, and SysTick, at 25 MHz on these boards, counts
    one tick per 40 instructions. So instructions are measured; a real core needs more cycles than that.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eigenloop.deploy.c.source import source_of
from eigenloop.deploy.c.vectors import vectors_header
from eigenloop.deploy.network import IntegerNetwork

#: The board on which the code of a core runs; the code of an M0 runs on an M3.
BOARDS = {
    "cortex-m0": "mps2-an385",
    "cortex-m3": "mps2-an385",
    "cortex-m4": "mps2-an386",
    "cortex-m7": "mps2-an500",
}
TOOLS = ("arm-none-eabi-gcc", "arm-none-eabi-size", "arm-none-eabi-nm", "qemu-system-arm")
_TICK = 40
_FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-mthumb", "-ffreestanding")

_LINKER = """MEMORY { flash (rx) : ORIGIN = 0, LENGTH = 4M
         ram (rwx) : ORIGIN = 0x20000000, LENGTH = 4M }
ENTRY(start)
SECTIONS {
  .harness : { KEEP(*(.vectors)) *harness.o(.text .text.* .rodata .rodata.*) } > flash
  .network : { *(.text .text.*) } > flash
  .constants : { *(.rodata SORT_BY_ALIGNMENT(.rodata.*)) } > flash
  .variables : { *(.data .data.* .bss .bss.* COMMON) } > ram
}
"""

#: The beginning of every harness: start-up, and printing by semihosting. The harness then defines `main`.
BEGIN = """#include <stdint.h>

int main(void);

static void call(uint32_t operation, uint32_t argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register uint32_t r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

static void print(uint32_t value)
{
    char text[12];
    char *p = text + 11;
    *p = 0;
    *--p = ' ';
    do
        *--p = (char)('0' + value % 10u);
    while ((value /= 10u) != 0u);
    call(4u, (uint32_t)(uintptr_t)p);
}

void start(void);
void start(void)
{
    main();
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

_HARNESS = """#include "net_vectors.h"

#define REPEATS %(repeats)d
#define SYSTICK ((volatile uint32_t *)0xE000E010)

static net_state state;
static net_sum sums[NET_OUTPUTS];

/* How deep the stack went below this function during a step and a read-out. */
static __attribute__((noinline)) uint32_t depth(void)
{
    volatile uint32_t here = 0;
    volatile uint32_t *low = &here - 16384;
    uint32_t i;
    for (i = 0; i < 16376u; i++) /* up to a few words below this function's own */
        low[i] = 0xA5A5A5A5u;
    net_init(&state);
    net_step(&state, net_inputs);
    net_output(&state, sums);
    for (i = 0; i < 16376u && low[i] == 0xA5A5A5A5u; i++)
        ;
    return (uint32_t)(16384u - i) * 4u;
}

int main(void)
{
    uint32_t wrong = 0, t, i, r, ticks, readout;
    print(depth());
    net_init(&state);
    for (t = 0; t < NET_STEPS; t++) {
        if (net_step(&state, net_inputs + t * NET_INPUTS) != 0)
            wrong++;
        net_output(&state, sums);
        for (i = 0; i < NET_OUTPUTS; i++)
            wrong += sums[i] != net_expected[t * NET_OUTPUTS + i];
    }
    SYSTICK[1] = 0xFFFFFFu;
    SYSTICK[2] = 0;
    SYSTICK[0] = 5;
    ticks = SYSTICK[2];
    for (r = 0; r < REPEATS; r++) {
        net_init(&state);
        for (t = 0; t < NET_STEPS; t++)
            net_step(&state, net_inputs + t * NET_INPUTS);
    }
    ticks = (ticks - SYSTICK[2]) & 0xFFFFFFu;
    readout = SYSTICK[2];
    for (r = 0; r < REPEATS * NET_STEPS; r++)
        net_output(&state, sums);
    readout = (readout - SYSTICK[2]) & 0xFFFFFFu;
    print(wrong);
    print(NET_STEPS);
    print(ticks);
    print(readout);
    print(sizeof state);
    print(sizeof sums);
    return 0;
}
"""


@dataclass(frozen=True)
class Measured:
    """Flash, memory and instructions of a network on a core.

    Attributes:
        core: a key of `BOARDS`, such as ``cortex-m4``.
        flash: bytes of constants, code and the compiler's helpers.
        state: bytes of the state's struct.
        stack: bytes of stack below the caller in a time step or read-out.
        sums: bytes of the outputs.
        instructions: instructions of a time step.
        readout: instructions of a read-out.
        products: multiplications of codes in a time step.
        steps: how many time steps were compared with the reference.
        different: how many sums differ from the reference.
        constants: bytes of constants in flash, with alignment; the rest is code.
        arrays: bytes of each constant array.
    """

    core: str
    flash: int
    state: int
    stack: int
    sums: int
    instructions: float
    readout: float
    products: int
    steps: int
    different: int
    constants: int
    arrays: dict[str, int]

    @property
    def code(self) -> int:
        """Bytes of code, with the compiler's helpers."""
        return self.flash - self.constants

    @property
    def ram(self) -> int:
        """Bytes of the state, the stack and the outputs."""
        return self.state + self.stack + self.sums

    @property
    def per_product(self) -> float:
        """Instructions of a time step per multiplication of codes."""
        return self.instructions / self.products


def missing_tools() -> list[str]:
    """Return the tools that are not installed."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def measure(
    network: IntegerNetwork, core: str, *, optimise: str = "-O2", steps: int = 16, repeats: int = 8
) -> Measured:
    """Build a network for a core, run test vectors in QEMU, and return measurements.

    Instructions are counted as in Note [Instructions, not cycles].

    Args:
        network: built by `eigenloop.deploy.integer`.
        core: a key of `BOARDS`.
        optimise: the compiler's optimisation option.
        steps: the number of test vectors.
        repeats: how often they are run while instructions are counted.

    Raises:
        ValueError: the core is not known.
        RuntimeError: tools are not installed, or a build or the program failed.
    """
    if core not in BOARDS:
        raise ValueError(f"core {core!r} is not known: choose one of {', '.join(BOARDS)}")
    if missing := missing_tools():
        raise RuntimeError(
            f"{', '.join(missing)} not installed: on Debian and Ubuntu, apt-get install gcc-arm-none-eabi "
            "libnewlib-arm-none-eabi qemu-system-arm"
        )
    source = source_of(network, "net")
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "net.h").write_text(source.header)
        (here / "net.c").write_text(source.code)
        (here / "net_vectors.h").write_text(vectors_header(network, source, "net", steps))
        (here / "harness.c").write_text(BEGIN + _HARNESS % {"repeats": repeats})
        words = run(here, core, ["net.c"], optimise=optimise)
        listing = _run(["arm-none-eabi-size", "-A", "harness.elf"], here)
        constants = _section(listing, ".constants")
        flash = _section(listing, ".network") + constants
        arrays = _arrays(_run(["arm-none-eabi-nm", "-S", "harness.elf"], here))
    if len(words) != 7:
        raise RuntimeError(f"the program in QEMU printed {words}")
    stack, wrong, count, ticks, readout, state, sums = words
    products, runs = sum(cell.products for cell in network.cells), count * repeats
    step, read = ticks * _TICK / runs, readout * _TICK / runs
    return Measured(core, flash, state, stack, sums, step, read, products, count, wrong, constants, arrays)


def run(folder: Path, core: str, sources: Sequence[str], *, optimise: str = "-O2") -> list[int]:
    """Build C files and harness.c, which begins with `BEGIN`, for a core; return the numbers that it prints."""
    (folder / "harness.ld").write_text(_LINKER)
    gcc = ["arm-none-eabi-gcc", f"-mcpu={core}", *_FLAGS, "-ffunction-sections", "-fdata-sections"]
    objects = [f"{Path(one).stem}.o" for one in sources]
    _run([*gcc, optimise, "-c", *sources], folder)
    _run([*gcc, "-O1", "-Wno-pedantic", "-c", "harness.c"], folder)
    link = ["-nostartfiles", "-specs=nano.specs", "-Wl,--gc-sections", "-T", "harness.ld", "-o", "harness.elf"]
    _run([*gcc, *link, "harness.o", *objects], folder)
    machine = ["-M", BOARDS[core], "-icount", "shift=0", "-display", "none", "-monitor", "none", "-serial", "none"]
    semihosting = ["-semihosting-config", "enable=on,target=native"]
    done = subprocess.run(
        ["qemu-system-arm", *machine, *semihosting, "-kernel", "harness.elf"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        raise RuntimeError(f"QEMU ended with {done.returncode}: {done.stdout[-300:]} {done.stderr[-300:]}")
    return [int(word) for word in (done.stdout + done.stderr).split()]


def _arrays(listing: str) -> dict[str, int]:
    """Return the bytes of each array of constants from the output of `nm -S`."""
    rows = [line.split() for line in listing.splitlines()]
    return {row[3]: int(row[1], 16) for row in rows if len(row) == 4 and row[2] == "r"}


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stderr[-4000:]}")
    return done.stdout


def _section(listing: str, name: str) -> int:
    """Return the bytes of a section from the output of `size -A`."""
    return next(int(line.split()[1]) for line in listing.splitlines() if line.startswith(name + " "))
