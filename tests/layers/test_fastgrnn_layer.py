"""el.FastGRNN and build("fastgrnn"): the published start, its options, and what it weighs."""

import math
from functools import partial

import pytest
import torch
from comparing import relative

import eigenloop as el
from eigenloop.quantization import quantize, size_report


def test_it_starts_as_the_published_code() -> None:
    """W and U ~ N(0, 0.1^2), biases 1, zeta = sigmoid(1), nu = sigmoid(-4)."""
    layer = el.build("fastgrnn", 40, 300, generator=torch.Generator().manual_seed(0))
    for weight in (layer.weight_ih_l0, layer.recurrent_matrix()):
        assert math.isclose(weight.std().item(), 0.1, rel_tol=0.03)
        assert abs(weight.mean().item()) < 0.003
    assert (layer.bias_gate_l0 == 1).all()
    assert (layer.bias_candidate_l0 == 1).all()
    assert layer.mixing().tolist() == pytest.approx([1 / (1 + math.exp(-1)), 1 / (1 + math.exp(4))])


def test_parameters_are_one_pair_of_matrices_two_biases_and_two_numbers() -> None:
    layer = el.build("fastgrnn", 9, 80)
    assert sum(p.numel() for p in layer.parameters()) == 80 * 80 + 80 * 9 + 2 * 80 + 2


def test_one_step_by_hand() -> None:
    """Two units, one input, numbers that were worked out outside of the library."""
    double = partial(torch.tensor, dtype=torch.float64)
    layer = el.FastGRNN(1, 2, dtype=torch.float64)
    with torch.no_grad():
        layer.recurrent_l0.assign_(double([[0.5, -1.0], [2.0, 0.25]]))
        layer.weight_ih_l0.copy_(double([[1.0], [-2.0]]))
        layer.bias_gate_l0.copy_(double([0.1, 0.2]))
        layer.bias_candidate_l0.copy_(double([-0.3, 0.4]))
        layer.zeta_l0.fill_(0.0)  # 1/2
        layer.nu_l0.fill_(-math.log(4.0))  # 1/5
    x, h = double([[[0.5]]]), double([[[0.2, -0.4]]])
    out, _ = layer(x, h)
    # a = (0.5 * 0.2 + 0.4 + 0.5, 2 * 0.2 - 0.25 * 0.4 - 1) = (1.0, -0.7)
    expected = []
    for gate, candidate, kept in ((1.1, 0.7, 0.2), (-0.5, -0.3, -0.4)):
        z, c = 1 / (1 + math.exp(-gate)), math.tanh(candidate)
        expected.append((0.5 * (1 - z) + 0.2) * c + z * kept)
    assert out[0, 0].tolist() == pytest.approx(expected, abs=1e-14)


def test_bits_are_those_of_both_matrices() -> None:
    layer = el.build("fastgrnn", 3, 8, bits=3, dtype=torch.float64)
    plain = el.FastGRNN(3, 8, dtype=torch.float64)
    with torch.no_grad():
        for name in ("bias_gate_l0", "bias_candidate_l0", "zeta_l0", "nu_l0"):
            plain.get_parameter(name).copy_(layer.get_parameter(name))
        plain.weight_ih_l0.copy_(quantize(layer.weight_ih_l0, 3))
        plain.recurrent_l0.assign_(quantize(layer.recurrent_l0(), 3))
    x = torch.randn(6, 2, 3, dtype=torch.float64)
    assert relative(layer(x)[0], plain(x)[0]) < 1e-12
    sizes = {part.name: part.bytes for part in size_report(layer).parts}
    assert sizes["recurrent_l0"] == 8 * 8 * 3 // 8 + 4
    assert sizes["weight_ih_l0"] == 8 * 3 * 3 // 8 + 4
    assert sizes["bias_gate_l0"] == sizes["bias_candidate_l0"] == 32


def test_an_integer_network_holds_the_shared_matrices_once() -> None:
    layer = el.build("fastgrnn", 3, 8, bits=4)
    X = torch.randn(20, 6, 3, generator=torch.Generator().manual_seed(0))
    report = el.deploy.integer(layer, calibration=X, state_bits=8).report()
    assert report.products == 8 * 8 + 8 * 3
    sizes = {part.name: part.bytes for part in report.size.parts}
    # A row of U has 3 codes in 2 bytes, and 2 zeros fill the last group.
    assert (sizes["recurrent_l0"], sizes["weight_ih_l0"], sizes["table of tanh"]) == (32, 8 * 2 + 2, 66)
    assert "multipliers_l0" not in sizes  # one for a whole matrix stands in the code
    piecewise = el.build("fastgrnn", 3, 8, bits=4, piecewise=True)
    parts = el.deploy.integer(piecewise, calibration=X, state_bits=8).report().size.parts
    assert not any(part.name.startswith("table") for part in parts)


def test_another_matrix_and_refusals() -> None:
    layer = el.build("fastgrnn", 3, 8, recurrent="cayley")
    assert el.matrices.orthogonality_defect(layer.recurrent_matrix()) < 1e-5
    assert relative(el.build("fastgrnn", 3, 8, init="identity").recurrent_matrix(), torch.eye(8)) == 0.0
    with pytest.raises(ValueError, match="needs a real matrix"):
        el.FastGRNN(3, 8, recurrent="unitary")
    with pytest.raises(ValueError, match="leave out init"):
        el.build("fastgrnn", 3, 8, recurrent="cayley", init="haar")
    with pytest.raises(ValueError, match=r"torch\.nn has no FastGRNN"):
        layer.torch_state_dict()


def test_without_biases() -> None:
    layer = el.FastGRNN(3, 5, bias=False)
    assert not any("bias" in name for name, _ in layer.named_parameters())
    assert not layer(torch.zeros(4, 2, 3))[0].any()
