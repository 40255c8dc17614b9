"""The exported C against the integer reference in NumPy: the same whole numbers at every step."""

import functools
import itertools
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import eigenloop as el
from eigenloop.deploy.c.compiled import FLAGS, CompiledNetwork, compiler
from eigenloop.deploy.c.qemu import BOARDS, measure, missing_tools
from eigenloop.deploy.c.source import source_of
from eigenloop.deploy.c.text import checked_name, string
from eigenloop.deploy.c.vectors import drawn_inputs, expected_sums
from eigenloop.quantization import Quantizer
from tests.deploy.test_network import LAYERS, made, sequences

try:
    compiler()
except RuntimeError as reason:
    pytest.skip(str(reason), allow_module_level=True)

WIDTHS = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
POOLS = [None, "last", "mean", "max"]
STATES = [8, 12, 16]
#: Every layer with every width of weights; states and read-outs turn so that every two settings meet somewhere.
CASES = {
    name: [(bits, STATES[(number + turn) % 3], POOLS[(number + turn // 3) % 4]) for turn, bits in enumerate(WIDTHS)]
    for number, name in enumerate(LAYERS)
}


def whole_of(name: str, bits: int | Quantizer, state_bits: int, pool: str | None, seed: int = 0) -> Any:
    net = made(name, bits, last=pool == "last", seed=seed)
    own = None if pool in (None, "last") else pool
    return el.deploy.integer(net, calibration=sequences(10, 5), state_bits=state_bits, pool=own)


def assert_identical(whole: Any, compiled: CompiledNetwork, steps: int = 12) -> None:
    """Sums after every step are the reference's; inputs are drawn from the whole range, so that states saturate."""
    fed = drawn_inputs(whole, steps, seed=3)
    expected, states = expected_sums(whole, fed), compiled.states()
    raw = CompiledNetwork._run
    compiled._entered = lambda x: x  # type: ignore[method-assign]  # what is fed are codes already
    for one, wanted in zip(fed, expected, strict=True):
        np.testing.assert_array_equal(
            raw(compiled, one[None, None], states, np.ones(1, np.int32), every=False)[0], wanted
        )


def test_every_two_settings_meet() -> None:
    rows = [(name, *case) for name, cases in CASES.items() for case in cases]
    values: list[list[Any]] = [list(LAYERS), WIDTHS, STATES, POOLS]
    for one, other in itertools.combinations(range(4), 2):
        assert {(row[one], row[other]) for row in rows} == set(itertools.product(values[one], values[other]))


@pytest.mark.parametrize("name", LAYERS)
def test_every_step_is_the_reference(name: str) -> None:
    X, lengths = sequences(9, 3), [9, 4, 7]
    for bits, state_bits, pool in CASES[name]:
        whole = whole_of(name, bits, state_bits, pool)
        compiled = CompiledNetwork(whole, flags=("-O0",))
        np.testing.assert_array_equal(compiled.sums(X, lengths=lengths), whole.sums(X, lengths=lengths))
        assert_identical(whole, compiled)


@settings(max_examples=15, deadline=None)
@given(
    name=st.sampled_from(list(LAYERS)),
    bits=st.integers(2, 16),
    state_bits=st.integers(6, 16),
    around=st.booleans(),
    per_row=st.booleans(),
    pool=st.sampled_from(POOLS),
    seed=st.integers(0, 999),
)
def test_random_networks(
    name: str, bits: int, state_bits: int, around: bool, per_row: bool, pool: str | None, seed: int
) -> None:
    try:
        whole = whole_of(name, Quantizer(bits, around_identity=around, per_row=per_row), state_bits, pool, seed)
    except ValueError:  # a scale that does not fit; the reference refuses it with a sentence
        return
    assert_identical(whole, CompiledNetwork(whole, flags=("-O0",)))


@settings(max_examples=12, deadline=None)
@given(
    name=st.sampled_from(list(LAYERS)),
    bits=st.sampled_from([2, 4, 8]),
    state_bits=st.integers(6, 16),
    pool=st.sampled_from(POOLS),
    seed=st.integers(0, 999),
)
def test_random_networks_with_smlad(name: str, bits: int, state_bits: int, pool: str | None, seed: int) -> None:
    """The loops for a core that has SMLAD, with that instruction written out."""
    whole = whole_of(name, bits, state_bits, pool, seed)
    header = f"-I{Path(__file__).parent / 'acle'}"
    flags = ("-O0", "-D__ARM_FEATURE_DSP", "-D__ARM_FEATURE_SIMD32", header)
    assert "smlad" in source_of(whole, "net").code
    assert_identical(whole, CompiledNetwork(whole, flags=flags))


@functools.cache
def _sanitizes(cc: str) -> bool:
    """Whether a compiler can link a program with its sanitizers: their runtime is often a package of its own."""
    command = [cc, "-fsanitize=address,undefined", "-x", "c", "-", "-o", os.devnull]
    return subprocess.run(command, input=b"int main(void) { return 0; }", capture_output=True).returncode == 0


@pytest.mark.parametrize("cc", ["gcc", "clang"])
@pytest.mark.parametrize("flags", [["-O0"], ["-O3"], ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover"]])
@pytest.mark.parametrize(("name", "bits"), [("ncgru", 4), ("lstm, two layers", 5), ("two layers", 2), ("fastgrnn", 4)])
def test_written_folder_passes_its_own_check(tmp_path: Path, cc: str, flags: list[str], name: str, bits: int) -> None:
    if shutil.which(cc) is None:
        pytest.skip(f"{cc} is not installed")
    if any("sanitize" in flag for flag in flags) and not _sanitizes(cc):
        pytest.skip(f"{cc} has no sanitizers: install their runtime (Debian: libclang-rt-dev for clang)")
    folder = el.deploy.write_c(whole_of(name, bits, 12, "mean"), tmp_path / "firmware", name="watch")
    command = [cc, *FLAGS, *flags, "-o", str(tmp_path / "test"), "watch.c", "watch_test.c"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run([tmp_path / "test"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "watch: 16 steps, 0 sums differ from the reference\n"), done.stderr
    assert sorted(path.name for path in folder.iterdir()) == [
        "CMakeLists.txt", "Makefile", "README.md", "watch.c", "watch.h", "watch_test.c", "watch_vectors.h",
    ]  # fmt: skip


def test_counts() -> None:
    generator = torch.Generator().manual_seed(0)
    net = made("gru", 4, last=True)
    counts = torch.randint(-500, 900, (10, 5, 3), generator=generator)
    whole = el.deploy.integer(net, calibration=counts, normalise=([100.0, 0.0, 7.0], [300.0, 250.0, 400.0]))
    np.testing.assert_array_equal(whole.compiled().sums(counts), whole.sums(counts))
    assert_identical(whole, whole.compiled())


@pytest.mark.parametrize("tied", [False, True])
def test_tokens(tied: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    size = 12 if tied else 5
    net = el.Model(el.RNN(size, 12, nonlinearity="tanh", bits=6, generator=generator), 9, embedding=9, tied=tied)
    tokens = torch.randint(0, 9, (8, 4), generator=generator)
    whole = el.deploy.integer(net, calibration=tokens, readout_bits=5)
    compiled = whole.compiled()
    np.testing.assert_array_equal(compiled.sums(tokens), whole.sums(tokens))
    with pytest.raises(ValueError, match="tokens are 0 to 8"):
        compiled.sums(tokens + 1)
    states = compiled.states()
    before, wrong = states.copy(), np.array([9], np.uint32)
    assert compiled._library.net_step(states.ctypes.data, wrong.ctypes.data) == 1
    np.testing.assert_array_equal(states, before)


def test_bad_use_is_refused_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = whole_of("relu", 4, 12, "last")
    monkeypatch.chdir(tmp_path)
    for here in (".", tmp_path, tmp_path.parent):
        with pytest.raises(FileExistsError, match="holds the current folder"):
            el.deploy.write_c(whole, here)
    for name in ("", "1st", "a-b", "int", 'x"; evil', "a b", "é", "x" * 32, "String", "nullptr"):
        with pytest.raises(ValueError, match="not a valid C identifier"):
            el.deploy.write_c(whole, tmp_path / "out", name=name)
    with pytest.raises(TypeError, match=r"convert the quantized network to integers first, with el\.deploy\.integer\("):
        el.deploy.write_c(made("relu"), tmp_path / "out")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one for each"):
        el.deploy.write_c(whole, tmp_path / "out", classes=["a"])
    assert not list(tmp_path.iterdir())
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="holds other files"):
        el.deploy.write_c(whole, other)
    assert [path.name for path in tmp_path.rglob("*")] == ["other", "notes.txt"]
    twice = el.deploy.write_c(whole, tmp_path / "out", name="watch")
    assert el.deploy.write_c(whole, twice, name="watch") == twice
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "out"]


def test_a_name_from_a_file_never_becomes_code(tmp_path: Path) -> None:
    classes = ['"; int evil(void); "', "*/ \\", "\n#error x", "??/ é%s"]
    folder = el.deploy.write_c(whole_of("relu", 4, 12, "last"), tmp_path / "out", name="watch", classes=classes)
    (folder / "main.c").write_text(
        '#include "watch.h"\n#include <stdio.h>\nint main(void) { const char *n[] = WATCH_CLASSES; int i;\n'
        "for (i = 0; i < WATCH_OUTPUTS; i++) { fputs(n[i], stdout); putchar(0); } return 0; }\n"
    )
    subprocess.run([compiler(), *FLAGS, "-trigraphs", "-o", "main", "main.c"], cwd=folder, check=True)
    printed = subprocess.run([folder / "main"], capture_output=True, check=True).stdout
    assert printed.decode().split("\0")[:-1] == classes
    assert checked_name("watch_2") == "watch_2"
    assert string("a") == '"a"'


@pytest.mark.skipif(bool(missing_tools()), reason=f"not installed: {', '.join(missing_tools())}")
@pytest.mark.parametrize("core", BOARDS)
def test_qemu_is_the_reference(core: str) -> None:
    for name, bits, state_bits, pool in (("relu", 4, 12, "last"), ("ncgru", 5, 16, "mean"), ("lstm", 8, 8, None)):
        measured = measure(whole_of(name, bits, state_bits, pool), core, repeats=1)
        assert (measured.steps, measured.different) == (16, 0)
