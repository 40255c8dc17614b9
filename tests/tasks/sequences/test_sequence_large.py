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


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs sparse files, and ru_maxrss in KiB")
def test_memory_map_of_8_gib(tmp_path: Path) -> None:
    recordings, steps, channels = 64, 2**22, 4
    path = tmp_path / "long.npy"
    mapped = np.lib.format.open_memmap(path, "w+", np.float64, (recordings, steps, channels))
    mapped[:, :: 2**18, 1] = 1.0  # the rest is a hole in the file
    mapped.flush()
    del mapped
    assert path.stat().st_size > 8 * GIB
    np.save(tmp_path / "long_y.npy", np.arange(recordings) % 4)
    done = subprocess.run([sys.executable, "-c", CODE, str(path)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["peak"] < 1.5 * GIB
    assert found["shape"] == [256, 64, channels]
    assert 18 <= found["recordings"] <= 21
    assert found["windows"] == found["recordings"] * (steps // 128 - 1)
    assert found["mean"] == pytest.approx([0, 2**-18, 0, 0])
    assert "read from the disk as needed" in found["text"]
