"""Flash and RAM of our networks in C compared with published ones: a table, and docs/images/firmware-sizes.png.

    python benchmarks/firmware_sizes.py

Ours are of the network alone, built for a Cortex-M4 with -O2 and run in QEMU: flash is code, constants and the
compiler's helpers; RAM is state, stack and outputs. Startup code and an application are not included.

The others are quoted from EdgeMark (https://aminhasanpour.github.io/EdgeMark/results/RNN_LSTM_GRU), which measured
TensorFlow Lite Micro on a NUCLEO-L4R5ZI, a Cortex-M4; we did not run it. Its flash is the text section, of which the
base program without a model takes 28,000 bytes. An inference there has about 100 time steps (827,200
multiply-accumulates for 8,288 parameters).
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch
from markupsafe import Markup

import eigenloop as el
from eigenloop import charts, pages
from eigenloop.charts import scales
from eigenloop.deploy.c.qemu import measure
from eigenloop.quantization import network_codes

#: Inputs and outputs of our networks: images, row by row, and ten classes.
INPUTS, OUTPUTS = 28, 10
WIDTH = 400
STYLE = """
body { padding: 14px; }
ol { list-style: none; margin: 0; padding: 0; }
li { padding: 7px 0 8px; border-top: 1px solid var(--rule); }
.what { font-size: 14px; font-weight: 600; }
.what span { font-weight: 400; color: var(--soft); display: block; line-height: 1.3; }
.row { display: grid; grid-template-columns: 46px 66px 1fr; align-items: center; font-size: 14px; }
.row b { font-weight: 400; font-variant-numeric: tabular-nums; }
.row .strip { height: 18px; }
.row span { color: var(--soft); }
.theirs { --hue: var(--hue-1); }
.ours { --hue: var(--hue-0); }
p { margin: 8px 0 0; font-size: 12.5px; line-height: 1.4; color: var(--soft); }
"""


@dataclass(frozen=True)
class Row:
    """A network: the system that runs it, its kind and width, its number of weights, and its bytes."""

    system: str
    network: str
    weights: int
    flash: int
    ram: int
    ours: bool


_TFLM = "TensorFlow Lite Micro"
#: From EdgeMark's table, in float and in int8; the RNN takes less flash in float.
PUBLISHED = (
    Row(_TFLM, "RNN, float", 8_288, 218_700, 112_600, ours=False),
    Row(_TFLM, "RNN, 8 bits", 8_288, 590_800, 103_300, ours=False),
    Row(_TFLM, "GRU, float", 20_896, 497_000, 298_700, ours=False),
    Row(_TFLM, "GRU, 8 bits", 20_896, 809_800, 295_400, ours=False),
)


def ours(kind: str, n: int, bits: int) -> Row:
    """Measure one of our networks with random weights; trained ones would differ only in the widths of biases."""
    generator = torch.Generator().manual_seed(0)
    layer = (
        el.RNN(INPUTS, n, nonlinearity="relu", bits=bits, generator=generator)
        if kind == "RNN"
        else el.GRU(INPUTS, n, constrained=(), bits=bits, generator=generator)
    )
    net = el.Model(layer, OUTPUTS, last=True)
    X = torch.randn(28, 20, INPUTS, generator=generator)
    integer_net = el.deploy.integer(net, calibration=X, state_bits=8, readout_bits=bits)
    measured = measure(integer_net, "cortex-m4")
    if measured.different:
        raise RuntimeError(f"{kind} in {bits} bits differs from the reference")
    weights = sum(one.numbers.numel() for one in network_codes(layer).values()) + n * OUTPUTS
    return Row("eigenloop", f"{kind}, {bits} bits", weights, measured.flash, measured.ram, ours=True)


def page(rows: list[Row]) -> str:
    """Return the picture as an HTML page."""
    strip = charts.Strip(scales.logarithmic(100, 1_000_000), None)
    lines = [
        Markup(
            '<li class="{}"><div class="what">{}, {} <span>{:,} weights</span></div>'
            '<div class="row"><span>flash</span><b>{}</b>{}</div>'
            '<div class="row"><span>RAM</span><b>{}</b>{}</div></li>'
        ).format(
            "ours" if row.ours else "theirs",
            row.system,
            row.network,
            row.weights,
            written(row.flash),
            strip.dot(row.flash),
            written(row.ram),
            strip.dot(row.ram, hollow=True),
        )
        for row in rows
    ]
    style = pages.frame("eigenloop.charts").style + STYLE
    note = (
        "Lines are logarithmic, from 100 B to 1 MB. TensorFlow Lite Micro: quoted from EdgeMark, Cortex-M4, about "
        "100 steps at once. eigenloop: the network alone on a Cortex-M4, without startup code and application, "
        "step by step."
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>sizes</title><style>{style}</style>'
        f"<body><ol>{Markup().join(lines)}</ol><p>{note}</p></body></html>"
    )


def written(size: int) -> str:
    """Return a number of bytes as text.

    >>> written(320), written(9336), written(591_000)
    ('320 B', '9.3 kB', '591 kB')
    """
    return f"{size} B" if size < 1000 else f"{size / 1000:.1f} kB" if size < 100_000 else f"{size / 1000:.0f} kB"


def draw(rows: list[Row], folder: Path) -> None:
    """Write the picture in light and in dark mode, at the width of a phone."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        raise SystemExit("firmware_sizes: pictures need chromium, chromium-browser or google-chrome on the path")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as driver:
        file = Path(scratch) / "sizes.html"
        file.write_text(page(rows), encoding="utf-8")
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])
        for name, scheme in (("firmware-sizes.png", "light"), ("firmware-sizes-dark.png", "dark")):
            context = browser.new_context(
                viewport={"width": WIDTH, "height": 100},
                color_scheme=scheme,  # type: ignore[arg-type]
                device_scale_factor=2,
            )
            shown = context.new_page()
            shown.goto(file.as_uri())
            shown.screenshot(path=folder / name, full_page=True)
            context.close()
        browser.close()


def main() -> None:
    """Measure, print the table and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=Path, default=Path("docs/images"), help="folder of the pictures")
    options = parser.parse_args()
    rows = [*PUBLISHED, *(ours(kind, n, bits) for kind, n in (("RNN", 74), ("GRU", 70)) for bits in (8, 4))]
    for row in rows:
        print(f"{row.system:22} {row.network:22} {row.weights:>7,} weights {row.flash:>8,} B flash {row.ram:>8,} B RAM")
    draw(rows, options.images)


if __name__ == "__main__":
    main()
