"""From a run to a folder of C: what is written, that it answers as the reference does, and what is refused."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import call
from hypothesis import given, settings
from hypothesis import strategies as st
from training.own_data import adding, config_of, copying, separable, wave

import eigenloop as el
from eigenloop.deploy.c.compiled import compiler
from eigenloop.deploy.c.qemu import missing_tools
from eigenloop.deploy.c.simulation import run_sequences
from eigenloop.deploy.counts import in_counts, usual_counts
from eigenloop.deploy.exporting import export_c
from eigenloop.training import train
from tests.deploy.exported import printed_classes
from tests.deploy.test_network import made, sequences

try:
    compiler()
except RuntimeError as reason:
    pytest.skip(str(reason), allow_module_level=True)

FILES = ["CMakeLists.txt", "Makefile", "README.md", "watch.c", "watch.h", "watch_test.c", "watch_vectors.h"]
needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
needs_qemu = pytest.mark.skipif(bool(missing_tools()), reason=f"not installed: {', '.join(missing_tools())}")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that tells the three classes of `separable` apart."""
    folder = tmp_path_factory.mktemp("trained")
    model = {"hidden_size": 12, "bits": 4, "state_bits": 8}
    train(config_of(separable(folder / "watch.npz"), model=model, steps=150), folder / "watch")
    return folder / "watch"


@needs_make
def test_what_is_written(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "firmware"
    assert call("export", str(run), "--to", "c", "--out", str(out)) == 0
    told = capsys.readouterr().out
    assert f"{out}/watch.h, watch.c: the network of {run}, step" in told
    assert f"make -C {out} check" in told
    assert sorted(path.name for path in out.iterdir()) == FILES
    done = subprocess.run(["make", "-C", str(out), "check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "watch: 16 steps, 0 sums differ from the reference" in done.stdout
    text, header = (out / "README.md").read_text(), (out / "watch.h").read_text()
    for one in (
        "| 0 | ax | value times 10 |",
        "| 1 | low |",
        "products of codes",
        "Sequences had 12 steps in training",
    ):
        assert one in text
    assert "input 1: ay, value times 10" in header
    assert '"high", \\\n    "low", \\\n    "middle"' in header
    assert call("export", str(run), "--out", str(out), "--state-bits", "12", "--json") == 0  # it is replaced
    result = json.loads(capsys.readouterr().out)
    whole = export_c(run, tmp_path / "again", state_bits=12).network.report()
    assert (result["state_bits"], result["bytes"], result["products"]) == (12, whole.size.bytes, whole.products)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "firmware"]


@needs_cmake
def test_a_new_project_prints_the_right_classes(run: Path, tmp_path: Path) -> None:
    exported = export_c(run, tmp_path / "firmware")
    task: Any = exported.run.config.task
    batch = task.batch_of(task.pieces["test"])
    counts = np.rint(batch.inputs.numpy() * exported.counts).astype(np.int64)
    reference = [task.class_names[k] for k in exported.network.predict(counts).argmax(-1)]
    printed = printed_classes(tmp_path / "firmware", "watch", counts.swapaxes(0, 1), tmp_path / "project")
    assert printed == reference
    right = [task.class_names[k] for k in batch.targets.tolist()]
    assert np.mean([one == other for one, other in zip(printed, right, strict=True)]) > 0.9


@needs_qemu
def test_measured_in_qemu(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["export", str(run), "--out", str(tmp_path / "out"), "--measure", "cortex-m0,cortex-m4", "--json"]
    assert call(*arguments) == 0
    measured = json.loads(capsys.readouterr().out)["measured"]
    assert [(one["core"], one["different"]) for one in measured] == [("cortex-m0", 0), ("cortex-m4", 0)]
    constants = export_c(run, tmp_path / "again").network.report().size.bytes
    assert all(one["flash"] > constants for one in measured)
    row = f"| cortex-m4 | {measured[1]['flash']:,} B |"
    assert row in (tmp_path / "out" / "README.md").read_text()


@needs_qemu
@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m7"])
def test_sequences_are_played(core: str) -> None:
    whole = el.deploy.integer(made("lstm", 5, last=True), calibration=sequences(10, 5), state_bits=12)
    X = sequences(9, 4)
    codes = whole.inputs.codes(np.asarray(X)).swapaxes(0, 1)
    np.testing.assert_array_equal(run_sequences(whole, core, codes), whole.sums(X))
    with pytest.raises(ValueError, match=r"\(sequences, steps, 3\)"):
        run_sequences(whole, core, codes[..., :2])
    with pytest.raises(ValueError, match="not known"):
        run_sequences(whole, "cortex-a9", codes)


WRONG: list[tuple[list[str], str]] = [
    (["--name", "int"], "name='int' is not a valid C identifier"),
    (["--name", "a-b"], "name='a-b' is not a valid C identifier"),
    (["--name", "string"], "no header of C, as in name='watch'"),
    (["--to", "rust"], "--to rust is not known: write --to c"),
    (["--measure", "cortex-a9"], "core 'cortex-a9' is not known: choose cortex-m0, cortex-m3"),
    (["--counts", "1,2,3"], "one for each of the 2 channels"),
    (["--counts", "many"], "--counts is numbers with commas, as in --counts 16384"),
    (["--counts", "-1"], "counts is one number above zero"),
    (["--checkpoint", "7777"], "has no checkpoint of step 7777"),
]


@pytest.mark.parametrize(("arguments", "sentence"), WRONG, ids=[" ".join(case[0]) for case in WRONG])
def test_refused_before_anything_is_written(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert call("export", str(run), "--out", str(tmp_path / "deep" / "out"), *arguments) != 0
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("model", "sentence"),
    [({"name": "ncgru"}, "train it again with --bits 4"), ({"name": "eurnn"}, "train a real matrix instead")],
)
def test_runs_that_have_no_whole_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], model: dict[str, Any], sentence: str
) -> None:
    train(config_of(separable(tmp_path / "watch.npz"), model={"hidden_size": 4, **model}, steps=2), tmp_path / "run")
    assert call("export", str(tmp_path / "run"), "--out", str(tmp_path / "out")) == 2
    assert sentence in capsys.readouterr().err
    assert call("export", str(tmp_path), "--out", str(tmp_path / "out")) == 1  # no run at all
    assert not (tmp_path / "out").exists()


def test_a_folder_with_other_files_is_left_alone(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert call("export", str(run), "--out", str(tmp_path)) == 2
    assert "holds other files (notes.txt): name a folder that does not exist yet" in capsys.readouterr().err
    assert call("export", str(run), "--out", str(tmp_path / "notes.txt")) == 2
    assert "is not a folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


KILLED = """
import os, sys
from eigenloop.deploy.exporting import export_c
from eigenloop.runs import atomic
seen = 0
def sync(path):
    global seen
    seen += 1
    if seen == 3:
        os._exit(9)
atomic.sync_file = sync
export_c(sys.argv[1], sys.argv[2])
"""


def test_a_half_written_export_never_looks_finished(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "firmware"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(run), str(out)], env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 9
    assert not out.exists()
    export_c(run, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def full(path: Path) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("eigenloop.runs.atomic.sync_file", full)
    with pytest.raises(OSError, match="no space"):
        export_c(run, out, state_bits=16)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


@pytest.mark.parametrize(
    ("data", "task", "told"),
    [
        (adding, {}, "| 0 | value | "),
        (copying, {}, "There is an answer after every step"),
        (wave, {"horizon": 2, "window": 20}, "| 1 | 0, 2 ahead | "),
        (separable, {"pool": "mean"}, "the mean of all states"),
    ],
)
def test_every_kind(tmp_path: Path, data: Any, task: dict[str, Any], told: str) -> None:
    config = config_of(data(tmp_path / "data.npz"), task, {"hidden_size": 6, "bits": 4}, steps=2, batch_size=8)
    train(config, tmp_path / "run")
    exported = export_c(tmp_path / "run", tmp_path / "out")
    assert told in (tmp_path / "out" / "README.md").read_text()
    batch = exported.run.config.task.train_batch(0, 5, 1)
    counts = np.rint(batch.inputs.numpy() * exported.counts).astype(np.int64)
    np.testing.assert_array_equal(exported.network.compiled().sums(counts), exported.network.sums(counts))
    # Values of outputs as README.md and the header say: offset + factor sum.
    lines = [
        line for line in (tmp_path / "out" / "run.h").read_text().splitlines() if "output " in line and "sum" in line
    ]
    if lines:
        sums, values = exported.network.sums(counts)[-1], exported.network.predict(counts)[-1]
        sums, values = sums.reshape(-1, len(lines))[0], values.reshape(-1, len(lines))[0]
        for number, line in enumerate(lines):
            offset, factor = line.rsplit(", ", 1)[1].replace(" sum", "").replace("*/", "").split(" + ")
            assert float(offset) + float(factor) * sums[number] == pytest.approx(values[number], rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(
    scale=st.lists(st.floats(1e-4, 1e4), min_size=3, max_size=3),
    mean=st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3),
    state_bits=st.sampled_from([8, 12, 16]),
    seed=st.integers(0, 99),
)
def test_counts_give_the_codes_of_values(scale: list[float], mean: list[float], state_bits: int, seed: int) -> None:
    X = (np.random.default_rng(seed).normal(size=(20, 6, 3)) * scale + mean).astype(np.float32).astype(np.float64)
    net = made("relu", 4, last=True)
    values = el.deploy.integer(net, calibration=X, normalise=(mean, scale), state_bits=state_bits)
    counts = usual_counts(values, X)
    powers = np.log10(counts)
    np.testing.assert_allclose(powers, np.rint(powers), atol=1e-9)
    whole = np.rint(X * counts).astype(np.int64)
    assert np.abs(whole).max() < 2**29
    # Rounding to counts moves a value by half a count at most, and a code by one where counts are finer than codes.
    code = values.inputs.format.step * np.array(scale)
    moved = np.abs(in_counts(values, counts).inputs.codes(whole) - values.inputs.codes(X))
    assert (moved <= 1 + np.ceil(0.5 / (counts * code) - 0.125)).all()
    fine = counts * code >= 4
    assert (moved[..., fine] <= 1).all()
    # Where counts are coarser, no two values that differ in float32 by more than its rounding become one.
    assert (1 / counts[~fine] <= np.abs(X).max((0, 1))[~fine] * 2.0**-24).all()
    np.testing.assert_array_equal(usual_counts(values, np.rint(X)), 1.0)
