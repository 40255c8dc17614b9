"""8 GiB on the disk take little memory: opened, split, normalised, cut into windows and made into batches."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

GIB = 2**30
CODE = """
import json, resource, sys
import numpy as np
from eigenloop.tasks.sequences import batch, describe, kind_of, prepare, read, split, windows

data = read(sys.argv[1])
text = describe(data)
parts = split(data, valid=0.35, test=0.35)  # training gets 2.4 GiB, more than may be in memory
preparation = prepare(data, parts["train"])
train = windows(parts["train"], 256, 128)
order = np.random.default_rng(0)
for _ in range(100):
    found = batch(data, train[order.integers(0, len(train), 64)], preparation, kind_of(data))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
found = {"windows": len(train), "recordings": len(parts["train"]), "shape": list(found.inputs.shape), "text": text}
print(json.dumps({**found, "peak": peak, "mean": preparation.mean.tolist()}))
"""


TRAINING = """
import json, resource, sys
from eigenloop.training import make_config, train

task = {"name": "sequences", "data": sys.argv[1], "valid": 0.35, "test": 0.35, "window": 256, "stride": 2**17}
training = {"steps": 100, "eval_every": 100, "threads": 1}
model = {"name": "ncgru", "hidden_size": 8}
summary = train(make_config({"task": task, "model": model, "training": training}), sys.argv[2])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"peak": peak, "steps": summary["steps"], "accuracy": summary["test"]["accuracy"]}))
"""
RECORDINGS, STEPS, CHANNELS = 64, 2**22, 4
slow = pytest.mark.slow
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs sparse files, and ru_maxrss in KiB")


def sparse(path: Path) -> Path:
    """8 GiB that are almost all a hole in the file."""
    mapped = np.lib.format.open_memmap(path, "w+", np.float64, (RECORDINGS, STEPS, CHANNELS))
    mapped[:, :: 2**18, 1] = 1.0
    mapped.flush()
    del mapped
    assert path.stat().st_size > 8 * GIB
    np.save(path.with_name(f"{path.stem}_y.npy"), np.arange(RECORDINGS) % 4)
    return path


@slow
@linux
def test_training_on_8_gib(tmp_path: Path) -> None:
    """Hashed, scaled, trained for 100 steps and tested."""
    command = [sys.executable, "-c", TRAINING, str(sparse(tmp_path / "long.npy")), str(tmp_path / "run")]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert found["peak"] < 1.5 * GIB
    assert found["steps"] == 100
    assert 0 <= found["accuracy"] <= 1


@slow
@linux
def test_memory_map_of_8_gib(tmp_path: Path) -> None:
    path = sparse(tmp_path / "long.npy")
    done = subprocess.run([sys.executable, "-c", CODE, str(path)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["peak"] < 1.5 * GIB
    assert found["shape"] == [256, 64, CHANNELS]
    assert 18 <= found["recordings"] <= 21
    assert found["windows"] == found["recordings"] * (STEPS // 128 - 1)
    assert found["mean"] == pytest.approx([0, 2**-18, 0, 0])
    assert "read from the disk as needed" in found["text"]
