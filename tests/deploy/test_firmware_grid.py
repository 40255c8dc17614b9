"""The grid of ``make firmware-grid``: every network of it can be built, so that no long run stops halfway."""

import runpy
from pathlib import Path

from eigenloop.deploy.network import IntegerNetwork

GRID = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "firmware_grid.py"))


def test_every_layer_and_activation_can_be_built() -> None:
    programs = GRID["programs"]()
    assert len(set(programs)) == len(programs) == 19 * 4 * 3  # 4 layers with 5 activations but one; read-outs; states
    for kind, activation in sorted({program[:2] for program in programs}):
        assert isinstance(GRID["network"](kind, activation, "last", 8, 4), IntegerNetwork)


def test_a_network_is_drawn_from_its_bits_alone() -> None:
    first, second = (GRID["network"]("RNN", "tanh", "mean", 12, 5) for _ in range(2))
    assert first.report().size == second.report().size
    inputs = GRID["vectors_header"](first, GRID["source_of"](first, "net"), "net", 3)
    assert inputs == GRID["vectors_header"](second, GRID["source_of"](second, "net"), "net", 3)
