"""Learned Schur forms: rebuilt, and against eigenvalues that LAPACK finds another way."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import torch
from torch import Tensor
from training.small import small

from eigenloop import analysis
from eigenloop.analysis.schur import Form, alignment, computed_form, non_normality, trained_form
from eigenloop.cli import main
from eigenloop.matrices import Schur
from eigenloop.training import ConfigError, load_run, train


def trained(blocks: str = "paper", n: int = 8) -> Schur:
    matrix = Schur(n, blocks=blocks, dtype=torch.float64)
    with torch.no_grad():
        matrix.triangle += 0.1 * torch.randn_like(matrix.triangle)
        matrix.theta += 7.0  # beyond 2 pi
        matrix.gamma += 0.1 * torch.randn_like(matrix.gamma)
    return matrix


@pytest.mark.parametrize("blocks", ["paper", "exact"])
def test_theta_with_p_is_w(blocks: str) -> None:
    matrix = trained(blocks)
    form = trained_form(matrix)
    torch.testing.assert_close(form.orthogonal @ form.theta @ form.orthogonal.mT, matrix().detach())
    torch.testing.assert_close(form.orthogonal.mT @ form.orthogonal, torch.eye(8).double())
    assert not torch.triu(form.theta, 2).any()
    assert ((form.angles >= 0) & (form.angles < 2 * math.pi)).all()


def test_angles_and_moduli_are_those_of_the_eigenvalues() -> None:
    form = trained_form(trained("exact"))
    values = torch.cat((torch.polar(form.gamma, form.angles), torch.polar(form.gamma, -form.angles)))
    assert far_apart(values, torch.linalg.eigvals(form.theta)) < 1e-10


def test_with_the_papers_blocks_they_are_not_and_the_eigenvalues_are_known_all_the_same() -> None:
    matrix = trained("paper")
    form = trained_form(matrix)
    assert far_apart(form.eigenvalues, torch.linalg.eigvals(matrix().detach())) < 1e-7
    assert (form.eigenvalues.abs().sort().values[::2] - form.gamma.sort().values).abs().max() > 0.01


@pytest.mark.parametrize("n", [1, 2, 7, 8])
def test_any_matrix_has_a_form(n: int) -> None:
    W = torch.randn(n, n, dtype=torch.float64)
    form = computed_form(W)
    torch.testing.assert_close(form.orthogonal @ form.theta @ form.orthogonal.mT, W)
    assert not torch.triu(form.theta, 2).any()
    values = torch.linalg.eigvals(W)
    upper = values[values.imag >= 0]
    assert len(form.angles) == len(upper)
    assert far_apart(torch.polar(form.gamma, form.angles), upper) < 1e-10
    assert far_apart(form.eigenvalues, values) < 1e-7


def far_apart(some: Tensor, others: Tensor) -> float:
    """The largest distance of a number from the nearest of the others, both ways."""
    distance = (some[:, None] - others[None]).abs()
    return float(torch.maximum(distance.amin(0).max(), distance.amin(1).max()))


@pytest.mark.parametrize("blocks", ["paper", "exact"])
def test_non_normality_is_the_triangle_of_the_complex_schur_form(blocks: str) -> None:
    """||W||_F^2 - sum |lambda|^2 = ||strict triangle||_F^2, which LAPACK finds another way."""
    matrix = trained(blocks)
    R, _ = scipy.linalg.schur(matrix().detach().numpy(), output="complex")
    wanted = np.linalg.norm(np.triu(R, 1)) / np.linalg.norm(R)
    assert non_normality(trained_form(matrix)) == pytest.approx(float(wanted), rel=1e-6)
    assert non_normality(computed_form(matrix().detach())) == pytest.approx(float(wanted), rel=1e-6)


def test_normal_matrices_have_none() -> None:
    assert non_normality(trained_form(Schur(8, dtype=torch.float64))) < 1e-7
    assert non_normality(computed_form(torch.linalg.qr(torch.randn(8, 8)).Q)) < 1e-3  # the root of float32 rounding
    assert non_normality(computed_form(torch.tensor([[0.0, 1.0], [-0.01, 0.0]]))) > 0.9  # one block, far from normal
    assert non_normality(computed_form(torch.zeros(3, 3))) == 0


def test_means_along_subdiagonals() -> None:
    theta = torch.tensor([[1.0, -2.0, 0.0], [2.0, 1.0, 0.0], [-3.0, 4.0, 5.0]], dtype=torch.float64)
    form = Form(theta, torch.eye(3).double())
    assert form.subdiagonal_means().tolist() == pytest.approx([7 / 3, 3, 3])
    assert form.inside_blocks().tolist() == [True, False]
    assert far_apart(form.eigenvalues, torch.tensor([1 + 2j, 1 - 2j, 5])) < 1e-12


def test_alignment_tells_one_angle_from_all() -> None:
    assert alignment(torch.full((5,), 2.0)) == pytest.approx(1)
    assert alignment(torch.arange(8) * math.pi / 4) == pytest.approx(0, abs=1e-6)


def test_of_runs(tmp_path: Path) -> None:
    for name in ("nnrnn", "rnn"):
        train(small(model={"name": name}), tmp_path / name)
    result = analysis.schur([tmp_path / name for name in ("nnrnn", "rnn", "nnrnn", "nnrnn")])
    first, second, third, fourth = result.numbers["runs"]
    assert len(result.figure.axes) == 4 * 4 + 4  # four pictures a run, and a bar of colours
    assert fourth["run"] == "nnrnn on copying (nnrnn, 2)"
    assert (first["trained_in_this_form"], second["trained_in_this_form"]) == (True, False)
    assert (first["mean_gamma"] is None, second["mean_gamma"] is None) == (False, True)
    assert third["run"] == "nnrnn on copying (nnrnn)"
    net, _, _ = load_run(tmp_path / "nnrnn")
    matrix = net.rnn.get_submodule("recurrent_l0")
    assert isinstance(matrix, Schur)
    assert first["mean_gamma"] == pytest.approx(float(matrix.gamma.detach().mean()), rel=1e-5)
    paths = analysis.schur([tmp_path / "nnrnn"]).write(tmp_path)
    assert {path.name for path in paths} == {"schur.json", "schur.png", "schur.svg"}


@pytest.mark.parametrize("name", ["ncgru", "lstm", "eurnn"])
def test_other_networks_are_refused(name: str, tmp_path: Path) -> None:
    train(small(model={"name": name}), tmp_path / name)
    with pytest.raises(ConfigError, match="one real matrix of a simple RNN"):
        analysis.schur([tmp_path / name])


def test_no_run_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least one run"):
        analysis.schur([])


def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("eigenloop.analysis.result.Result.write", lambda self, folder: [])
    train(small(model={"name": "nnrnn"}), tmp_path / "run")
    for command in ("schur", "gradients"):
        with pytest.raises(SystemExit, match="2"):
            main(["analyse", command, str(tmp_path / "run"), "--checkpoint", "first"])
        assert "--checkpoint is best, last or a step, got 'first'" in capsys.readouterr().err
        with pytest.raises(SystemExit, match="0"):
            main(["analyse", command, str(tmp_path / "run"), "--checkpoint", "last", "--out", str(tmp_path), "--json"])
        assert json.loads(capsys.readouterr().out)["name"] == command
