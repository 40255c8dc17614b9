"""The whole numbers of a layer: those that it computes with, not those of a matrix quantized twice."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import eigenloop as el
from eigenloop.quantization import Quantizer, codes, network_codes, quantize_


def test_quantizing_twice_is_not_the_same() -> None:
    different = 0
    for seed in range(50):
        rnn = el.RNN(3, 8, bits=4, generator=torch.Generator().manual_seed(seed))
        found = network_codes(rnn)["recurrent_l0"]
        assert torch.equal(found.matrix(), rnn.recurrent_matrix())
        again, _ = codes(rnn.recurrent_matrix(), 4)
        different += not torch.equal(again.int(), found.numbers)
    assert different > 0


@given(
    bits=st.integers(2, 16),
    per_row=st.booleans(),
    around=st.booleans(),
    normalise=st.sampled_from(["none", "norm", "radius"]),
    layers=st.integers(1, 2),
    both=st.booleans(),
    seed=st.integers(0, 99),
)
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_codes_are_what_the_layer_computes_with(
    kind: str, bits: int, per_row: bool, around: bool, normalise: Any, layers: int, both: bool, seed: int
) -> None:
    quantizer = Quantizer(bits, around, per_row, normalise)
    generator = torch.Generator().manual_seed(seed)
    layer = getattr(el, kind)(3, 5, layers, bidirectional=both, bits=quantizer, generator=generator).eval()
    found = network_codes(layer)
    gates = getattr(layer, "GATES", (None,))
    for cell in (f"_l{i}{end}" for i in range(layers) for end in ("", "_reverse")[: 1 + both]):
        reverse = cell.endswith("_reverse")
        for gate in gates:
            ending = "" if gate is None else f".{gate}"
            which = {} if gate is None else {"gate": gate}
            W = layer.recurrent_matrix(int(cell[2]), reverse, **which)
            assert torch.equal(found[f"recurrent{cell}{ending}"].matrix(), W)
        U = torch.cat([found[f"weight_ih{cell}" + ("" if gate is None else f".{gate}")].matrix() for gate in gates])
        assert torch.equal(U, layer._quantized_inputs(getattr(layer, f"weight_ih{cell}"), len(gates)))
    for value in found.values():
        assert value.numbers.min() >= -(2 ** (bits - 1))
        assert value.numbers.max() < 2 ** (bits - 1)


def test_a_model_with_its_readout_and_a_network_without_codes() -> None:
    net = el.Model(el.build("enrnn", 2, 8), 3)
    with pytest.raises(ValueError, match="not quantized"):
        network_codes(net)
    quantize_(net, 5, readout_bits=8)
    found = network_codes(net)
    assert set(found) == {"rnn.weight_ih_l0", "rnn.recurrent_l0", "readout.weight"}
    assert found["readout.weight"].bits == 8
