"""How far gradients reach: against jacrev, finite differences and closed forms."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from training.small import small, text_folder

import eigenloop as el
from eigenloop import analysis
from eigenloop.analysis.gradients import by_lag, input_norms, spectral_norm, state_norms, step_jacobians
from eigenloop.analysis.state import Flat, parts_of
from eigenloop.quantization import quantize
from eigenloop.training import ConfigError, train

T, M, N = 5, 3, 6

NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {
    "enrnn": ("enrnn", {"short": 2}),
    "modrelu": ("scornn", {}),
    "tanh": ("rnn", {"nonlinearity": "tanh"}),
    "nnrnn": ("nnrnn", {}),
    "4 bits": ("scornn", {"bits": 4}),
    "trained start": ("scornn", {"train_initial_state": True}),
    "two layers": ("scornn", {"num_layers": 2}),
    "two sizes": ("scornn", {"hidden_size": (6, 4)}),
    "batch first": ("scornn", {"batch_first": True}),
    "complex": ("eurnn", {}),
    "ncgru": ("ncgru", {}),
    "goru": ("goru", {}),
    "gru": ("gru", {}),
    "lstm": ("lstm", {}),
}


def network(name: str) -> Any:
    model, options = NETWORKS[name]
    size = options.get("hidden_size", N)
    rest = {key: value for key, value in options.items() if key != "hidden_size"}
    rnn = el.build(model, M, size, **rest).double().eval()
    with torch.no_grad():
        for parameter in rnn.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return rnn


def unrolled(flat: Flat, x: Tensor) -> Tensor:
    """The state after the last input, from all of them."""
    h = flat.initial()[None]
    for x_t in x:
        h = flat.step(x_t[None], h)
    return h[0]


@pytest.mark.parametrize("name", NETWORKS)
def test_input_norms_are_those_of_autograd_through_the_whole_sequence(name: str) -> None:
    rnn, x = network(name), torch.randn(T, M, dtype=torch.float64)
    flat = Flat(rnn)
    through, into = step_jacobians(rnn, x)
    assert through.shape == (T, flat.size, flat.size)
    for rows in parts_of(rnn).values():
        found = input_norms(through, into, rows)
        for tau in range(T):
            jacobian = torch.autograd.functional.jacobian(lambda given: unrolled(flat, given), x[: tau + 1])[rows]
            wanted = torch.linalg.matrix_norm(jacobian.transpose(0, 1), ord=2)
            torch.testing.assert_close(found[tau, : tau + 1], wanted)
            assert not found[tau, tau + 1 :].any()


def test_against_jacrev_of_the_equation() -> None:
    rnn, x = network("enrnn"), torch.randn(T, M, dtype=torch.float64)
    W, U, b = rnn.recurrent_matrix().detach(), rnn.weight_ih_l0.detach(), rnn.bias_l0.detach()

    def states(x: Tensor) -> Tensor:
        h, found = torch.zeros(N, dtype=torch.float64), []
        for x_t in x:
            z = W @ h + U @ x_t
            h = torch.sign(z) * torch.relu(z.abs() + b)
            found.append(h)
        return torch.stack(found)

    wanted = torch.func.jacrev(states)(x)  # tau, unit, t, input
    through, into = step_jacobians(rnn, x)
    for part in (slice(0, 4), slice(4, 6)):
        norms = torch.linalg.matrix_norm(wanted[:, part].transpose(1, 2), ord=2)
        torch.testing.assert_close(input_norms(through, into, part), norms)
    assert parts_of(rnn) == {"long": slice(0, 4), "short": slice(4, 6)}


@pytest.mark.parametrize("name", ["enrnn", "ncgru", "lstm", "complex"])
def test_state_norms_are_those_of_finite_differences(name: str) -> None:
    rnn, x = network(name), torch.randn(T, M, dtype=torch.float64)
    flat, step = Flat(rnn), 1e-6
    h = flat.initial()[None]
    with torch.no_grad():
        for x_t in x[:2]:
            h = flat.step(x_t[None], h)
        moved = torch.cat((h + step * torch.eye(flat.size).double(), h - step * torch.eye(flat.size).double()))
        for x_t in x[2:]:
            moved = flat.step(x_t.expand(len(moved), -1), moved)
    plus, minus = moved.chunk(2)
    jacobian = ((plus - minus) / (2 * step)).mT
    through, _ = step_jacobians(rnn, x)
    for rows in parts_of(rnn).values():
        wanted = torch.linalg.matrix_norm(jacobian[rows, rows], ord=2)
        torch.testing.assert_close(state_norms(through, rows)[1], wanted, rtol=1e-6, atol=1e-8)
        assert state_norms(through, rows)[-1] == 1


def test_a_linear_orthogonal_network_keeps_every_gradient() -> None:
    rnn = el.RNN(M, N, nonlinearity="identity", recurrent="cayley", dtype=torch.float64).eval()
    through, into = step_jacobians(rnn, torch.randn(T, M, dtype=torch.float64))
    size = torch.linalg.matrix_norm(rnn.weight_ih_l0.detach(), ord=2)
    whole = slice(0, N)
    norms = input_norms(through, into, whole)
    torch.testing.assert_close(norms, torch.tril(size.expand(T, T)))
    torch.testing.assert_close(state_norms(through, whole), torch.ones(T).double())
    torch.testing.assert_close(torch.tensor(by_lag(norms)).double(), size.expand(T))


def test_a_quantized_network_is_measured_with_its_quantized_matrices() -> None:
    rnn = el.RNN(M, N, nonlinearity="identity", bits=3, dtype=torch.float64).eval()
    W, U = (quantize(weight.detach(), 3) for weight in (rnn.recurrent_l0(), rnn.weight_ih_l0))
    through, into = step_jacobians(rnn, torch.randn(T, M, dtype=torch.float64))
    torch.testing.assert_close(through, W.expand(T, N, N))
    torch.testing.assert_close(into, U.expand(T, N, M))


@pytest.mark.parametrize("shape", [(4, 7, 3), (4, 3, 7), (2, 5, 5)])
def test_spectral_norm_is_the_largest_singular_value(shape: tuple[int, ...]) -> None:
    matrices = torch.randn(shape, dtype=torch.float64)
    torch.testing.assert_close(spectral_norm(matrices), torch.linalg.svdvals(matrices)[..., 0])


def test_long_sequences_are_cut_into_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    rnn, x = network("modrelu"), torch.randn(T, M, dtype=torch.float64)
    wanted = step_jacobians(rnn, x)
    monkeypatch.setattr(sys.modules[step_jacobians.__module__], "ROWS", 2 * N)
    torch.testing.assert_close(step_jacobians(rnn, x), wanted)


@pytest.mark.parametrize("model", ["enrnn", "qornn", "ncgru"])
def test_of_a_run(model: str, tmp_path: Path) -> None:
    train(small({"name": "adding", "length": 6}, {"name": model}), tmp_path / "run")
    result = analysis.gradients([tmp_path / "run"], samples=3)
    parts = ["long", "short"] if model == "enrnn" else ["state"]
    (numbers,) = result.numbers["runs"]
    assert list(numbers["input_norm"]) == parts
    assert (numbers["steps"], numbers["samples"]) == (6, 3)
    assert numbers["quantized"] == (model == "qornn")
    assert [len(row) for row in numbers["input_norm"][parts[0]]] == list(range(1, 7))
    assert result.table.rows[0][:3] == (f"{model} on adding", parts[0], 0)
    assert {path.name for path in result.write(tmp_path)} == {"gradients.json", "gradients.png", "gradients.svg"}


def test_several_runs_in_one_figure_and_none_overwritten(tmp_path: Path) -> None:
    for model in ("enrnn", "lstm"):
        train(small({"name": "adding", "length": 6}, {"name": model}), tmp_path / model)
    together = analysis.gradients([tmp_path / "enrnn", tmp_path / "lstm", tmp_path / "enrnn"], samples=2)
    labels = ["enrnn on adding", "lstm on adding", "enrnn on adding (enrnn)"]
    assert [run["run"] for run in together.numbers["runs"]] == labels
    assert {row[0] for row in together.table.rows} == set(labels)
    one, shorter = (analysis.gradients([tmp_path / "enrnn"], steps=steps, samples=2) for steps in (6, 4))
    assert shorter.numbers["runs"][0]["steps"] == 4
    written = [result.write(tmp_path / "out")[0] for result in (together, one, shorter, one)]
    assert [path.stem for path in written] == ["gradients", "gradients-2", "gradients-3", "gradients-2"]
    assert [len(json.loads(path.read_text())["runs"]) for path in written] == [3, 1, 1, 1]


def test_what_is_left_out_of_a_long_sequence_is_said(tmp_path: Path) -> None:
    train(small({"name": "adding", "length": 205}, training={"steps": 1, "batch_size": 1}), tmp_path / "run")
    result = analysis.gradients([tmp_path / "run"], samples=1)
    assert max(row[2] for row in result.table.rows) == 199
    assert "the first 200 of 205 steps; 205 steps are all of them" in result.notes[-1]


def test_each_run_has_its_own_number_of_sequences(tmp_path: Path) -> None:
    """A text has no more sequences than parallel streams."""
    folder = str(text_folder(tmp_path / "data"))
    text = {"name": "ptb-char", "bptt": 5, "eval_streams": 3, "verify": False, "data_dir": folder}
    for name, task in (("text", text), ("adding", {"name": "adding", "length": 6})):
        train(small(task), tmp_path / name)
    runs = [tmp_path / "adding", tmp_path / "text"]
    labels = [f"{small(task).network.name} on {task['name']}" for task in ({"name": "adding"}, text)]
    assert analysis.gradients(runs, steps=3, samples=2).notes[0].startswith("Means over 2 sequences;")
    found = analysis.gradients(runs, steps=3, samples=4)
    assert [run["samples"] for run in found.numbers["runs"]] == [4, 3]
    assert found.notes[0].startswith(f"Means over 4 ({labels[0]}), 3 ({labels[1]}) sequences;")


def test_tokens_become_what_the_layer_takes(tmp_path: Path) -> None:
    folder = str(text_folder(tmp_path / "data"))
    task = {"name": "ptb-char", "bptt": 5, "eval_streams": 3, "verify": False, "data_dir": folder}
    for embedding in (None, 5):
        run = tmp_path / f"run-{embedding}"
        train(small(task, {"embedding_size": embedding}), run)
        found = analysis.gradients([run], steps=3, samples=2).numbers["runs"][0]
        assert (found["steps"], found["samples"]) == (3, 2)


def test_refusals(tmp_path: Path) -> None:
    train(small({"name": "adding", "length": 6}), tmp_path / "run")
    with pytest.raises(ConfigError, match="have 6 steps, fewer than 7: ask for 6"):
        analysis.gradients([tmp_path / "run"], steps=7)
    with pytest.raises(ConfigError, match="at least one run"):
        analysis.gradients([])
    with pytest.raises(ValueError, match="bidirectional=False"):
        Flat(el.RNN(M, N, bidirectional=True))
