"""Finding the compiled kernel, choosing an instruction set, and what happens without one."""

import os
import shutil
from pathlib import Path

import pytest
import torch

from eigenloop import recurrence
from eigenloop.recurrence import kernel

BUILT = pytest.mark.skipif(kernel.library() is None, reason="the compiled kernel is not there")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler here, so no kernel is expected")
@pytest.mark.skipif(os.environ.get("EIGENLOOP_KERNEL") == "reference", reason="the reference was asked for")
def test_where_there_is_a_compiler_there_is_a_kernel() -> None:
    """Everything that compares with the kernel skips without one: a build that fails must not pass for that."""
    assert kernel.library() is not None


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package folder without a kernel."""
    monkeypatch.setattr(kernel, "__file__", str(tmp_path / "recurrence" / "kernel.py"))
    return tmp_path


def test_a_missing_library_costs_one_warning(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_loaded", [])
    monkeypatch.delenv("EIGENLOOP_KERNEL", raising=False)
    with pytest.warns(UserWarning, match="C compiler"):
        assert kernel.library() is None
    recurrence.simple(torch.zeros(2, 1, 4), torch.eye(4), None, torch.zeros(1, 4))  # a second warning is an error here


def test_a_library_of_another_version_is_not_called(elsewhere: Path) -> None:
    (elsewhere / "_kernel.abi3.so").write_bytes(b"not a library")
    with pytest.warns(UserWarning, match="cannot be used"):
        assert kernel._load("") is None


@BUILT
def test_choosing() -> None:
    assert kernel._load("reference") is None
    loaded = kernel._load("portable")
    assert loaded is not None
    assert loaded.variant == "portable"
    with pytest.raises(ValueError, match="none of reference, portable"):
        kernel._load("fastest")
    best = kernel.library().best
    if best != "avx512":
        with pytest.raises(ValueError, match=f"has no avx512: choose {best}"), kernel.using("avx512"):
            pass
