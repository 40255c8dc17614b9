"""Accuracy and agreement of integer networks with few bits of state, trained with 4-bit weights on the HAR subset.

    EIGENLOOP_DATA=data python benchmarks/integers.py

Accuracy is measured on the test split (950 sequences). Agreement is the fraction of 1,000 sequences (the test split and
50 training sequences that were not used for ranges) whose class is the same as with a state in floating point.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

import eigenloop as el

NETWORKS: dict[str, Callable[[], el.RNN | el.GRU | el.LSTM | el.FastGRNN]] = {
    "RNN, ReLU, bjorck, n = 48": lambda: el.RNN(
        9, 48, nonlinearity="relu", recurrent="bjorck", bits=4, batch_first=True
    ),
    "NC-GRU, n = 32": lambda: el.build("ncgru", 9, 32, bits=4, batch_first=True),
    "GRU, n = 24": lambda: el.GRU(9, 24, constrained=(), bits=4, batch_first=True),
    "LSTM, n = 24": lambda: el.LSTM(9, 24, bits=4, batch_first=True),
}


def load(folder: Path) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return normalised sequences (B, T, 9) and classes of the training split and of the test split."""
    with np.load(folder / "har_subset" / "har_subset.npz") as file:
        X, X_test = (file[name].astype(np.float32).swapaxes(1, 2) for name in ("X_train", "X_test"))
        y, y_test = (file[name].astype(np.int64) for name in ("y_train", "y_test"))
    mean, scale = X.mean((0, 1)), X.std((0, 1))
    first = y.min()
    arrays = ((X - mean) / scale, y - first, (X_test - mean) / scale, y_test - first)
    return tuple(map(torch.from_numpy, arrays))  # type: ignore[return-value]


def train(net: el.Model, X: torch.Tensor, y: torch.Tensor, epochs: int, generator: torch.Generator) -> None:
    """Train with Adam and batches of 64."""
    optimizer = torch.optim.Adam(el.optim.param_groups(net, lr=3e-3, recurrent_lr=1e-3))
    for _ in range(epochs):
        for batch in torch.randperm(len(X), generator=generator).split(64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(X[batch])[0], y[batch]).backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
    net.eval()


def main() -> None:
    """Train, and print a line for each network and width."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=12, help="epochs of each training")
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=Path(os.environ.get("EIGENLOOP_DATA", "data")),
        help="folder with har_subset; default: EIGENLOOP_DATA",
    )
    options = parser.parse_args()
    X, y, X_test, y_test = load(options.data_dir)
    for name, made in NETWORKS.items():
        torch.manual_seed(0)
        generator = torch.Generator().manual_seed(0)
        net = el.Model(made(), 6, last=True)
        train(net, X, y, options.epochs, generator)
        order = torch.randperm(len(X), generator=generator)
        calibration, every = X[order[:200]], torch.cat((X_test, X[order[200:250]]))
        with torch.no_grad():
            classes = net(every)[0].argmax(-1).numpy()
        right = float(np.mean(classes[: len(y_test)] == y_test.numpy()))
        thresholds = [b.chunk(3)[-1] for key, b in net.named_parameters() if key.endswith("bias_l0")]
        positive = "".join(f", {float((b > 0).float().mean()):.0%} of thresholds above 0" for b in thresholds)
        print(f"{name}: {right:.1%} with a float state{positive}", flush=True)
        for bits in (16, 12, 8, 6):
            integer_net = el.deploy.integer(net, calibration=calibration, state_bits=bits)
            start = time.perf_counter()
            got = integer_net.predict(every).argmax(-1)
            seconds = time.perf_counter() - start
            accuracy, size = np.mean(got[: len(y_test)] == y_test.numpy()), integer_net.report().size
            print(
                f"  {bits:2} bits: {accuracy:.1%}, agreement {np.mean(got == classes):.1%} of {len(every):,}, "
                f"{size.bytes:,} B stored, {size.ram_bytes} B in memory, {seconds:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
