"""Flash, memory and instructions of exported networks with about 8,288 weights on microcontrollers, measured in QEMU.

    python benchmarks/firmware.py

RNN, GRU and LSTM with weights (read-out included) of k = 2, 4 and 8 bits and an 8-bit state (the 4-bit RNN also with 12
bits), on four cores at -O2 and -Os. Weights are random, not trained; they only affect how many bytes the biases need.
Prints a table, and writes it to firmware.txt and firmware.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

import eigenloop as el
from eigenloop.deploy.c.qemu import BOARDS, measure, missing_tools
from eigenloop.deploy.network import IntegerNetwork

HERE = Path(__file__).parent / "results"
OUTPUTS = 6
#: The numbers of inputs and of units.
NETWORKS = {"RNN": (32, 74), "GRU": (9, 47), "LSTM": (9, 40)}
#: Goals for the 4-bit RNN: the most instructions per multiplication, and the most bytes.
GOALS = {"cortex-m0": 9.0, "cortex-m3": 4.0, "cortex-m4": 3.0, "cortex-m7": 3.0}
FLASH, RAM = 6000, 500


def network(kind: str, bits: int, state_bits: int) -> IntegerNetwork:
    """Return an integer network with random weights and biases."""
    generator = torch.Generator().manual_seed(0)
    inputs, units = NETWORKS[kind]
    layer: el.RNN | el.GRU | el.LSTM
    if kind == "RNN":
        layer = el.RNN(inputs, units, nonlinearity="relu", bits=bits, generator=generator)
    else:
        layer = (el.GRU if kind == "GRU" else el.LSTM)(inputs, units, bits=bits, generator=generator)
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            if name.startswith("bias"):
                parameter.uniform_(-0.1, 0.1, generator=generator)
    net = el.Model(layer, OUTPUTS, last=True).eval()
    return el.deploy.integer(net, calibration=torch.randn(50, 20, inputs, generator=generator), state_bits=state_bits)


def weights(integer_net: IntegerNetwork) -> int:
    """Return the number of weights of a network, including the read-out."""
    report = integer_net.report()
    return report.products + report.readout_products


def main() -> None:
    """Measure, print the table and write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the results")
    options = parser.parse_args()
    if missing := missing_tools():
        sys.exit(f"not installed: {', '.join(missing)}")
    cases = [(kind, bits, 8) for kind in NETWORKS for bits in (2, 4, 8)] + [("RNN", 4, 12)]
    head = f"{'':5}{'weights':>8}{'k':>3}{'state':>6}  {'core':10}{'':4}{'flash':>7}{'code':>7}{'consts':>7}"
    lines = [head + f"{'RAM':>6}{'struct':>7}{'stack':>6}{'a step':>9}{'a product':>10}{'read-out':>9}{'differ':>7}"]
    print(lines[0])
    rows: list[dict[str, Any]] = []
    for kind, bits, state_bits in cases:
        integer_net = network(kind, bits, state_bits)
        stored, count = integer_net.report().size.bytes, weights(integer_net)
        for core in BOARDS:
            for optimise in ("-O2", "-Os"):
                one = measure(integer_net, core, optimise=optimise)
                if sum(one.arrays.values()) != stored:
                    sys.exit(f"{kind}, {bits} bits: the report says {stored} bytes, the ELF {one.arrays}")
                figures = {**asdict(one), "code": one.code, "ram": one.ram, "per_product": round(one.per_product, 3)}
                figures |= {"network": kind, "weights": count, "bits": bits, "state_bits": state_bits}
                rows.append({**figures, "optimise": optimise})
                lines.append(
                    f"{kind:5}{count:>8,}{bits:>3}{state_bits:>6}  {core:10}{optimise:4}{one.flash:>7,}{one.code:>7,}"
                    f"{one.constants:>7,}{one.ram:>6}{one.state:>7}{one.stack:>6}{one.instructions:>9,.0f}"
                    f"{one.per_product:>10.2f}{one.readout:>9,.0f}{one.different:>7}"
                )
                print(lines[-1], flush=True)
    lines += [
        "",
        "RAM is struct, stack and outputs. Instructions, not cycles; `a product` has all of a step in it",
        "",
    ]
    lines += [verdict(rows, core) for core in BOARDS]
    print("\n".join(lines[-len(BOARDS) :]))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "firmware.txt").write_text("\n".join(lines) + "\n")
    (options.out / "firmware.json").write_text(json.dumps(rows, indent=1) + "\n")


def verdict(rows: list[dict[str, Any]], core: str) -> str:
    """Return a line that compares the 4-bit RNN at -O2 with the goals."""
    wanted = {"network": "RNN", "bits": 4, "state_bits": 8, "core": core, "optimise": "-O2"}
    one = next(row for row in rows if wanted.items() <= row.items())
    pairs = [(one["per_product"], GOALS[core]), (one["flash"], FLASH), (one["ram"], RAM)]
    met = "met" if all(value <= goal for value, goal in pairs) else "MISSED"
    figures = ", ".join(f"{value:,} of at most {goal:,}" for value, goal in pairs)
    return f"RNN, 4 bits, {core}: instructions a product, flash, RAM: {figures}: {met}"


if __name__ == "__main__":
    main()
