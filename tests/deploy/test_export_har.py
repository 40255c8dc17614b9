"""The HAR subset in C: the whole test part on the host, some of it on a Cortex-M4, and a project of a user's own."""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from training.own_data import config_of

from eigenloop.deploy.c.compiled import compiler
from eigenloop.deploy.c.qemu import missing_tools
from eigenloop.deploy.c.simulation import run_sequences
from eigenloop.deploy.exporting import Exported, export_c
from eigenloop.training import train
from tests.deploy.exported import printed_classes

DATA = Path(os.environ.get("EIGENLOOP_DATA", "")) / "har_subset" / "har_subset.npz"
NAMES = np.array(["walking", "upstairs", "downstairs", "sitting", "standing", "laying"])
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("EIGENLOOP_DATA") or not DATA.exists(),
        reason="set EIGENLOOP_DATA to a folder with har_subset",
    ),
]
try:
    compiler()
except RuntimeError as reason:
    pytest.skip(str(reason), allow_module_level=True)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """A network that was trained for some steps: far from its best, and with states that use their range."""
    folder = tmp_path_factory.mktemp("har")
    with np.load(DATA) as file:
        X, X_test = (file[name].astype(np.float32).swapaxes(1, 2) for name in ("X_train", "X_test"))
        y, y_test = (NAMES[file[name].astype(np.int64).ravel() - 1] for name in ("y_train", "y_test"))
    np.savez(folder / "har.npz", X_train=X, y_train=y, X_test=X_test, y_test=y_test)
    model = {"hidden_size": 24, "bits": 4, "state_bits": 8}
    config = config_of(folder / "har.npz", {"by": "order"}, model, steps=8, batch_size=32, eval_batch_size=1000)
    train(config, folder / "har")
    return export_c(folder / "har", folder / "firmware")


@pytest.fixture(scope="module")
def windows(exported: Exported) -> Any:
    """The test part in counts, (T, B, 9)."""
    task: Any = exported.run.config.task
    return np.rint(task.batch_of(task.pieces["test"]).inputs.numpy() * exported.counts).astype(np.int64)


@pytest.fixture(scope="module")
def reference(exported: Exported, windows: Any) -> Any:
    return exported.network.sums(windows)


def test_the_whole_test_part_on_the_host(exported: Exported, windows: Any, reference: Any) -> None:
    assert windows.shape == (128, 950, 9)
    np.testing.assert_array_equal(exported.network.compiled().sums(windows), reference)


@pytest.mark.skipif(bool(missing_tools()), reason=f"not installed: {', '.join(missing_tools())}")
def test_two_hundred_sequences_on_a_cortex_m4(exported: Exported, windows: Any, reference: Any) -> None:
    fed = windows[:, :200].swapaxes(0, 1)
    np.testing.assert_array_equal(run_sequences(exported.network, "cortex-m4", fed), reference[:200])


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_a_new_project(exported: Exported, windows: Any, reference: Any, tmp_path: Path) -> None:
    printed = printed_classes(exported.folder, "har", windows[:, :100].swapaxes(0, 1), tmp_path / "project")
    assert printed == [exported.classes[k] for k in reference[:100].argmax(-1)]
