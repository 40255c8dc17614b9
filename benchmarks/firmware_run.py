"""Export the network of a run to C and compare it with the reference, on this computer and on Cortex-M cores in QEMU.

    eigenloop fit har.npz --model ncgru --bits 4 --set state_bits=8 --by order --out runs/har
    python benchmarks/firmware_run.py runs/har --sequences 200

Every sum on the test split (in QEMU on some of its sequences) is compared with the integer network in NumPy. Bytes and
instructions are measured as well.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from eigenloop.deploy.c.about import MEASURED_COLUMNS, measured_rows
from eigenloop.deploy.c.qemu import BOARDS
from eigenloop.deploy.c.simulation import run_sequences
from eigenloop.deploy.exporting import export_c
from eigenloop.training import run_outcome


def main() -> None:
    """Compare and measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of a run with quantized weights")
    parser.add_argument("--sequences", type=int, default=200, help="test sequences that are run on each core")
    parser.add_argument("--cores", default=",".join(BOARDS), help="cores, separated by commas")
    options = parser.parse_args()
    cores = options.cores.split(",")
    with TemporaryDirectory() as folder:
        exported = export_c(options.run, Path(folder) / "firmware", cores=cores)
    task: Any = exported.run.config.task
    batch = task.batch_of(task.pieces["test"])
    truth = batch.targets.numpy()
    counts = np.rint(batch.inputs.numpy() * exported.counts).astype(np.int64)
    network = exported.run.config.network
    bits = exported.network.cells[0].formats.state.bits
    print(f"{network.name}, {network.hidden_size} units, state of {bits} bits, step {exported.run.step:,}")
    reference, reference_time = _timed(lambda: exported.network.sums(counts))
    compiled, compiled_time = _timed(lambda: exported.network.compiled().sums(counts))
    steps = counts.shape[0] * counts.shape[1]
    trained = run_outcome(options.run).measures()["accuracy"]
    print(
        f"test part, {len(truth)} sequences, {steps:,} steps: accuracy {trained:.4f} as it was trained, "
        f"{np.mean(reference.argmax(-1) == truth):.4f} in whole numbers"
    )
    print(
        f"C on this computer: {int((compiled != reference).sum())} of {reference.size:,} sums differ from the "
        f"reference; {compiled_time:.2f} s with compiling, the reference {reference_time:.2f} s"
    )
    for core in cores:
        fed = counts[:, : options.sequences].swapaxes(0, 1)
        played, seconds = _timed(lambda core=core, fed=fed: run_sequences(exported.network, core, fed))
        wanted = reference[: options.sequences]
        print(
            f"C on {core} in QEMU: {int((played != wanted).sum())} of {wanted.size:,} sums of {len(fed)} sequences "
            f"differ; {seconds:.0f} s",
            flush=True,
        )
    size = exported.network.report().size
    print(f"constants {size.bytes:,} B, memory {size.ram_bytes:,} B")
    for row in (MEASURED_COLUMNS, *measured_rows(exported.measured)):
        print("  ".join(f"{cell:>19}" for cell in row))


def _timed(call: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


if __name__ == "__main__":
    main()
