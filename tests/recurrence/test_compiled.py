"""Recurrences that a compiler traces: before anything has run, and for sequences of any length."""

import subprocess
import sys

import pytest
import torch
from comparing import relative

import eigenloop as el

FIRST_USE = """
import torch, eigenloop as el
net = el.build("{name}", 3, 8).train()
torch.compile(net, fullgraph=True, backend="aot_eager")(torch.randn(4, 2, 3))[0].abs().sum().backward()
"""


@pytest.mark.parametrize("name", ["ncgru", "lstm", "fastgrnn"])
def test_the_first_use_may_be_a_compiled_one(name: str) -> None:
    """The kernel is loaded at its first use, which here is inside the compiler."""
    subprocess.run([sys.executable, "-c", FIRST_USE.format(name=name)], check=True, timeout=300)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM", "FastGRNN"])
def test_an_exported_graph_takes_any_length(kind: str) -> None:
    net = getattr(el, kind)(3, 8).eval()
    T = torch.export.Dim("T", min=2, max=100)
    exported = torch.export.export(net, (torch.randn(5, 2, 3),), dynamic_shapes={"input": {0: T}}).module()
    for length in (2, 8, 9, 33):
        x = torch.randn(length, 2, 3)
        assert relative(exported(x)[0], net(x)[0]) < 1e-6
