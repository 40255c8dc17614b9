"""Compare networks in C with the reference after every time step: the full grid, on this computer and in QEMU.

    make firmware-grid

RNN, GRU (reset before and after) and LSTM, each with five activations (an LSTM has no leaky ReLU), four read-outs,
states of 8, 12 and 16 bits and weights of 2 to 16 bits; gcc and clang at -O0, -O3 and with sanitizers; Cortex-M0, M3,
M4 and M7. One program contains all 15 widths of weights. The log has a line for each program and target; those that are
in the log are not run again, so that the grid can be interrupted and resumed at any time. Delete the log when the
generated C changes.
"""

from __future__ import annotations

import argparse
import itertools
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch

import eigenloop as el
from eigenloop.deploy.c import qemu
from eigenloop.deploy.c.compiled import FLAGS
from eigenloop.deploy.c.source import source_of
from eigenloop.deploy.c.vectors import vectors_header
from eigenloop.deploy.network import IntegerNetwork

LOG = Path(__file__).parent / "results" / "firmware-grid.txt"
Layer = el.RNN | el.GRU | el.LSTM
KINDS: dict[str, Callable[[str, int, torch.Generator], Layer]] = {
    "RNN": lambda f, k, g: el.RNN(3, 11, nonlinearity=f, bits=k, generator=g),
    "GRU, reset after": lambda f, k, g: el.GRU(3, 10, candidate=f, bits=k, generator=g),
    "GRU, reset before": lambda f, k, g: el.GRU(3, 9, candidate=f, reset="before", update="write", bits=k, generator=g),
    "LSTM": lambda f, k, g: el.LSTM(3, (6, 5), cell=f, bits=k, generator=g),
}
ACTIVATIONS = ("relu", "leaky_relu", "tanh", "identity", "modrelu")
POOLS = ("every step", "last", "mean", "max")
STATES = (8, 12, 16)
WIDTHS = range(2, 17)
SANITIZERS = ("-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover")
HOST = {f"{cc} {' '.join(f)}": (cc, f) for cc in ("gcc", "clang") for f in (("-O0",), ("-O3",), SANITIZERS)}
STEPS = 8
_RUN = """#define RUN(NAME, name) do { \\
    static name##_state state; \\
    static name##_sum sums[NAME##_OUTPUTS]; \\
    unsigned t, i; \\
    name##_init(&state); \\
    for (t = 0; t < NAME##_STEPS; t++, steps++) { \\
        wrong += name##_step(&state, name##_inputs + t * NAME##_INPUTS) != 0; \\
        name##_output(&state, sums); \\
        for (i = 0; i < NAME##_OUTPUTS; i++) \\
            wrong += sums[i] != name##_expected[t * NAME##_OUTPUTS + i]; \\
    } \\
} while (0)
"""


def programs() -> list[tuple[str, str, str, int]]:
    """Return kind, activation, read-out and state bits of each program.

    They are shuffled, so that an incomplete log has programs of all kinds.
    """
    every = [p for p in itertools.product(KINDS, ACTIVATIONS, POOLS, STATES) if p[:2] != ("LSTM", "leaky_relu")]
    random.Random(0).shuffle(every)
    return every


def network(kind: str, activation: str, pool: str, state_bits: int, bits: int) -> IntegerNetwork:
    """Return a network of the grid with random weights, biases and thresholds."""
    generator = torch.manual_seed(bits)  # torch's default generator, which the read-out uses too
    layer = KINDS[kind](activation, bits, generator)
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            if name.startswith("bias"):
                parameter.uniform_(-0.3, 0.3, generator=generator)
    net = el.Model(layer, 5, last=pool == "last", readout_bits=bits).eval()
    X = torch.randn(12, 6, 3, generator=generator)
    own = pool if pool in ("mean", "max") else None
    return el.deploy.integer(net, calibration=X, state_bits=state_bits, pool=own)


def write(folder: Path, kind: str, activation: str, pool: str, state_bits: int) -> list[str]:
    """Write the C files of a program's networks and return their names."""
    names = []
    for bits in WIDTHS:
        integer_net, name = network(kind, activation, pool, state_bits, bits), f"net{bits}"
        source = source_of(integer_net, name)
        (folder / f"{name}.h").write_text(source.header)
        (folder / f"{name}.c").write_text(source.code)
        (folder / f"{name}_vectors.h").write_text(vectors_header(integer_net, source, name, STEPS))
        names.append(name)
    return names


def main_of(names: list[str], printed: str) -> str:
    """Return the C program that runs all networks; `printed` is its last statements."""
    includes = "".join(f'#include "{name}_vectors.h"\n' for name in names)
    runs = "".join(f"    RUN({name.upper()}, {name});\n" for name in names)
    return f"{includes}{_RUN}int main(void)\n{{\n    unsigned wrong = 0, steps = 0;\n{runs}    {printed}\n}}\n"


def on_host(folder: Path, names: list[str], target: str) -> list[int]:
    """Build and run the program on this computer; return the numbers of differing sums and of time steps."""
    cc, flags = HOST[target]
    printed = 'printf("%u %u\\n", wrong, steps);\n    return 0;'
    (folder / "main.c").write_text("#include <stdio.h>\n" + main_of(names, printed))
    sources = [f"{name}.c" for name in names]
    subprocess.run([cc, *FLAGS, *flags, "-o", "main", "main.c", *sources], cwd=folder, check=True)
    done = subprocess.run([folder / "main"], capture_output=True, text=True, check=True)
    return [int(word) for word in done.stdout.split()]


def on_core(folder: Path, names: list[str], core: str) -> list[int]:
    """Build the program for a core and run it in QEMU; return the numbers of differing sums and of time steps."""
    printed = "print(wrong);\n    print(steps);\n    return 0;"
    (folder / "harness.c").write_text(qemu.BEGIN + main_of(names, printed))
    return qemu.run(folder, core, [f"{name}.c" for name in names])


def main() -> None:
    """Run the programs that are not in the log yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path, default=LOG, help="file of results, which is extended")
    options = parser.parse_args()
    targets = [target for target, (cc, _) in HOST.items() if shutil.which(cc)]
    cores = [] if qemu.missing_tools() else list(qemu.BOARDS)
    options.log.parent.mkdir(parents=True, exist_ok=True)
    done = set()
    if options.log.exists():
        lines = options.log.read_text().splitlines()
        done = {line.split(": ")[0] for line in lines if line.endswith(", 0 sums differ")}
    every = programs()
    failed = 0
    for kind, activation, pool, state_bits in every:
        head = f"{kind}, {activation}, {pool}, state of {state_bits} bits"
        left = [target for target in (*targets, *cores) if f"{head} | {target}" not in done]
        if not left:
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            names = write(folder, kind, activation, pool, state_bits)
            for target in left:
                wrong, steps = (on_core if target in cores else on_host)(folder, names, target)
                line = f"{head} | {target}: {len(names)} networks, {steps} steps, {wrong} sums differ"
                failed += wrong > 0
                print(line, flush=True)
                with options.log.open("a") as log:
                    log.write(line + "\n")
    print(f"{len(every) * len(targets + cores)} programs in all, {failed} of those that ran now differ")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
