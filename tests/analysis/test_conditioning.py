"""QORNN's figure 1 and its bounds."""

import json
import math
from pathlib import Path

import pytest
import torch

from eigenloop.analysis import conditioning
from eigenloop.analysis.conditioning import POWERS, haar_matrices, power_error, ratios, violations
from eigenloop.cli import main
from eigenloop.quantization import codes, departure, quantize, singular_ratio

#: Medians of ||W^p - q(W)^p|| / ||W^p|| for p = 1, 10, 100, Haar 10 x 10 (section 3.4, figure 1 left).
ERRORS = {2: (0.37, 1.08, 90), 4: (0.089, 0.31, 3.9), 6: (0.022, 0.078, 0.64), 8: (0.0056, 0.020, 0.18)}


@pytest.mark.parametrize("bits", ERRORS)
def test_errors_of_powers(bits: int) -> None:
    W = haar_matrices(200, 10, seed=bits)
    for power, published in zip(POWERS, ERRORS[bits], strict=False):
        factor = float(power_error(W, bits, power).median()) / published
        spread = 1.07 if power < 100 else 4.0 if bits == 2 else 1.3  # a heavy tail where powers explode
        assert 1 / spread < factor < spread


def test_against_loops() -> None:
    W = haar_matrices(5, 6, seed=0)
    for i, matrix in enumerate(W):
        quantized = quantize(matrix, 4)
        product, exact = torch.eye(6).double(), torch.eye(6).double()
        for _ in range(7):
            product, exact = product @ quantized, exact @ matrix
        assert float(power_error(W, 4, 7)[i]) == pytest.approx(float((product - exact).norm() / exact.norm()))
        assert float(ratios(W, 4)[i]) == pytest.approx(1 / float(torch.linalg.cond(quantized)))
        assert singular_ratio(quantized) == pytest.approx(float(ratios(W, 4)[i]))


def test_bounds_are_held_and_can_be_broken() -> None:
    W = haar_matrices(1000, 7, seed=1)
    assert [violations(W, bits) for bits in (2, 4, 9)] == [0, 0, 0]
    bent = departure(1.2 * W[0], bits=8)
    assert bent.gram > bent.gram_bound
    assert bent.singular > bent.singular_bound
    assert bent.singular == pytest.approx(0.2)
    # The error that the bounds are made of: n / 2^(k-1) is beyond what rounding can do.
    number, step = codes(W[0], 5)
    assert float((number * step - W[0]).norm()) <= 7 / 16


def test_ratios_of_what_is_not_a_matrix_of_full_rank() -> None:
    assert singular_ratio(torch.zeros(3, 3)) == 0.0
    assert math.isnan(singular_ratio(torch.full((2, 2), float("nan"))))


def test_written_twice_the_same(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        conditioning(draws=20, size=5).write(tmp_path / folder)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == ["conditioning.json", "conditioning.png", "conditioning.svg"]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    numbers = json.loads((tmp_path / "a" / "conditioning.json").read_text())
    assert numbers["beyond_a_bound"]["4"] == 0


def test_a_folder_that_cannot_be_written_costs_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as ended:
        main(["analyse", "conditioning", "--draws", "2", "--size", "3", "--out", str(tmp_path / "file")])
    assert ended.value.code == 1
    assert "cannot be written" in capsys.readouterr().err
