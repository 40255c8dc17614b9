"""Memory that is kept between calls: bounded, given back on request, and never taken from under a tensor."""

import io

import pytest
import torch

from eigenloop import recurrence
from eigenloop.recurrence import buffers, kernel

pytestmark = pytest.mark.skipif(kernel.library() is None, reason="the compiled kernel is not there")


def test_the_workspace_can_be_given_back() -> None:
    library = kernel.library()
    assert library is not None
    recurrence.simple(torch.zeros(50, 400, 64), torch.eye(64), None, torch.zeros(400, 64))
    assert library.workspace_bytes() > 0
    assert buffers._free
    recurrence.release_memory()
    assert library.workspace_bytes() == 0
    assert not buffers._free


def test_memory_is_used_again_only_when_nobody_looks_at_it() -> None:
    recurrence.release_memory()
    shape = (1500, 1000)
    first = buffers.recycled(shape, torch.float32).fill_(1)
    view, address = first[3:5], first.data_ptr()
    del first
    second = buffers.recycled(shape, torch.float32).fill_(2)
    assert second.data_ptr() != address
    assert torch.equal(view, torch.ones(2, 1000))
    del view
    third = buffers.recycled((1400, 1000), torch.float32)
    assert third.data_ptr() == address
    assert third.shape == (1400, 1000)


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    recurrence.release_memory()
    monkeypatch.setattr(buffers, "MOST_BYTES", 20 << 20)
    tensors = [buffers.recycled((2 << 20,), torch.float32) for _ in range(5)]  # 8 MiB each
    tensors.clear()
    assert sum(block.nbytes for block in buffers._free) == 16 << 20
    recurrence.release_memory()


def test_outputs_on_recycled_memory_are_ordinary_tensors() -> None:
    """Saving, sharing with another process and numpy, for an output large enough to be recycled."""
    out, _ = recurrence.simple(torch.randn(50, 400, 64), torch.eye(64), None, torch.zeros(400, 64))
    expected = out.clone()
    file = io.BytesIO()
    torch.save(out, file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=True), expected)
    array = out.numpy()
    del out
    again, _ = recurrence.simple(torch.randn(50, 400, 64), torch.eye(64), None, torch.zeros(400, 64))
    expected_again = again.clone()
    assert torch.equal(again.share_memory_(), expected_again)
    assert torch.equal(torch.from_numpy(array), expected)
