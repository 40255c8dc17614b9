"""Own data, trained by two processes: the same network as by one, whatever lengths and weights the cases have."""

from pathlib import Path

import numpy as np
import pytest
import torch
from training.own_data import config_of
from training.small import summary_of, weights_of
from training.test_parallel import torchrun

from eigenloop.runs.yaml_text import load
from eigenloop.training import load_run, make_config, train


@pytest.mark.slow
def test_two_processes_train_as_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, 12, 50)
    X = 30 + rng.normal(size=(int(lengths.sum()), 2))
    arrays = {"y": rng.integers(0, 3, 50), "weights": rng.random(50) + 0.1}
    np.savez(tmp_path / "ragged.npz", X=X, lengths=lengths, **arrays)
    options = {"balanced": True, "pool": "mean"}
    config = config_of(tmp_path / "ragged.npz", options, steps=25, eval_every=10, batch_size=7, dtype="float64")
    (tmp_path / "config.yaml").write_text(config.as_yaml())
    assert make_config(load(config.as_yaml())) == config
    train(config, tmp_path / "one")
    torchrun(tmp_path, "-m", "eigenloop", "train", "config.yaml", "--out", "two")
    one, two = (load_run(tmp_path / run, "last")[0].state_dict() for run in ("one", "two"))
    for name, tensor in one.items():
        assert torch.allclose(two[name], tensor, rtol=1e-9, atol=1e-11), name
    for part in ("best", "test"):
        found, expected = summary_of(tmp_path / "two")[part], summary_of(tmp_path / "one")[part]
        assert found == pytest.approx(expected)
    assert weights_of(tmp_path / "two", 25).keys() == weights_of(tmp_path / "one", 25).keys()
