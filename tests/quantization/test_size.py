"""Bytes of a network against the paper's formula and a count by hand."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import eigenloop as el
from eigenloop.quantization import Quantizer, quantize_, size_report


@settings(max_examples=30)
@given(m=st.integers(1, 9), n=st.integers(2, 12), o=st.integers(1, 9), bits=st.integers(2, 16))
def test_the_papers_formula(m: int, n: int, o: int, bits: int) -> None:
    """k (n^2 + n m) bits, 32 (n o + o) for the read-out, and a step for U and one for W."""
    report = size_report(el.Model(el.build("qornn", m, n, bits=bits), o))
    assert report.bytes == math.ceil(bits * n * n / 8) + math.ceil(bits * n * m / 8) + 4 * (n * o + o) + 8
    assert report.float_bytes == 4 * (n * n + n * m + n * o + o)


def test_published_sizes() -> None:
    """The parameters that the paper's networks have: adding, copying, pMNIST."""
    for m, n, o, numbers in ((2, 170, 1, 29_411), (10, 256, 9, 70_409), (1, 170, 10, 30_780)):
        report = size_report(el.Model(el.build("qornn", m, n), o))
        assert report.float_bytes == 4 * numbers


def test_a_gru_has_a_step_for_every_gate() -> None:
    net = el.Model(el.build("ncgru", 3, 8, bits=4), 2)
    parts = {part.name: part for part in size_report(net).parts}
    assert parts["rnn.weight_ih_l0"].steps == 3
    assert [parts[f"rnn.recurrent_l0.{gate}"].bytes for gate in ("reset", "update", "candidate")] == [32 + 4] * 3
    assert sum(part.numbers for part in parts.values() if part.bits == 32) == sum(
        p.numel() for name, p in net.named_parameters() if "weight_ih" not in name and "recurrent" not in name
    )


def test_widths_that_a_network_does_not_have_yet() -> None:
    net = el.Model(el.RNN(3, (8, 6), bidirectional=True), 5)
    plain = size_report(net)
    assert plain.bytes == plain.float_bytes
    wanted = size_report(net, bits=4, readout_bits=3)
    assert wanted.bytes < plain.bytes
    assert wanted == size_report(quantize_(net, 4, readout_bits=3))
    by_rows = size_report(net, Quantizer(4, per_row=True))
    steps = {part.name: part.steps for part in by_rows.parts}
    assert steps["rnn.recurrent_l0_reverse"] == steps["rnn.weight_ih_l0"] == 8
    assert steps["rnn.weight_ih_l1"] == 6


def test_a_network_inside_another_counts_the_same() -> None:
    net = el.Model(el.RNN(3, 8, bits=4), 5, readout_bits=4)
    tied = el.Model(el.RNN(6, 6), 9, embedding=9, tied=True, readout_bits=2)
    both = torch.nn.ModuleDict({"net": net, "tied": torch.nn.Sequential(tied)})
    for options in ({}, {"bits": 3, "readout_bits": 6}):
        inside, alone = size_report(both, **options), [size_report(one, **options) for one in (net, tied)]
        assert inside.bytes == sum(report.bytes for report in alone)
        assert [(part.numbers, part.bits) for part in inside.parts] == [
            (part.numbers, part.bits) for report in alone for part in report.parts
        ]


def test_tied_weights_count_once_and_complex_numbers_twice() -> None:
    tied = el.Model(el.RNN(6, 6), 9, embedding=9, tied=True)
    assert size_report(tied).float_bytes == 4 * (54 + 9 + 36 + 36 + 6)
    unitary = el.build("eurnn", 3, 4)
    assert {part.name: part.numbers for part in size_report(unitary).parts}["recurrent_l0"] == 32


def test_torchs_own_layers() -> None:
    lstm = el.Model(el.build("lstm", 1, 170), 10)
    assert size_report(lstm).float_bytes == 4 * sum(p.numel() for p in lstm.parameters())
    assert "times smaller" in str(size_report(lstm, bits=4))
    assert size_report(torch.nn.Identity()).bytes == 0
    assert "empty" in str(size_report(torch.nn.Identity()))
    with pytest.raises(ValueError, match="got 1"):
        size_report(lstm, readout_bits=1)


def test_what_is_no_smaller_is_not_said_to_be() -> None:
    assert "smaller" not in str(size_report(el.Model(el.build("scornn", 3, 8), 2)))
    assert str(size_report(el.Model(el.build("qornn", 1, 170, bits=4), 10))).endswith("5.8 times smaller")


class WithAQuantizerOfItsOwn(torch.nn.Module):
    """Somebody else's module with an attribute of the same name."""

    def __init__(self) -> None:
        super().__init__()
        self.quantizer = "of somebody else"
        self.linear = torch.nn.Linear(3, 2)
        self.rnn = el.RNN(3, 8, nonlinearity="tanh")


def test_modules_of_others_are_left_alone() -> None:
    module = quantize_(WithAQuantizerOfItsOwn(), 4)
    assert module.quantizer == "of somebody else"
    assert module.rnn.quantizer == Quantizer(4)
    widths = {part.name: part.bits for part in size_report(module).parts}
    assert widths["linear.weight"] == 32
    assert widths["rnn.weight_ih_l0"] == widths["rnn.recurrent_l0"] == 4
