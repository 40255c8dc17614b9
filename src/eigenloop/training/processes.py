"""The processes that train one network together: a single one, or those that torchrun started."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor, nn

from eigenloop.errors import DataError, RunError
from eigenloop.tasks import Batch
from eigenloop.tasks.tally import Tally


class Processes:
    """Communication with the other processes of a training; with a single process every method is trivial."""

    def __init__(self, rank: int = 0, count: int = 1) -> None:
        self.rank, self.count = rank, count

    @property
    def first(self) -> bool:
        """Whether this is the first process, the only one that writes files."""
        return self.rank == 0

    def total(self, value: float) -> float:
        """Return the sum of a number over all processes."""
        if self.count == 1:
            return value
        tensor = torch.tensor(value, dtype=torch.float64)
        dist.all_reduce(tensor)
        return float(tensor)

    def any(self, flag: bool) -> bool:
        """Return whether the flag is set in any process; all processes get the same answer."""
        return flag if self.count == 1 else self.total(float(flag)) > 0

    def added(self, tally: Tally) -> Tally:
        """Return the sum of a tally over all processes; the names must be the same in all."""
        if self.count == 1:
            return tally
        names = list(tally.items())
        tensor = torch.tensor([tally.items()[name] for name in names], dtype=torch.float64)
        dist.all_reduce(tensor)
        return Tally(**{name: (float(s), float(c)) for name, (s, c) in zip(names, tensor.tolist(), strict=True)})

    def gathered(self, tensor: Tensor) -> list[Tensor]:
        """Return the tensors of all processes, which must have the same number of dimensions."""
        if self.count == 1:
            return [tensor]
        real = torch.view_as_real(tensor) if tensor.is_complex() else tensor
        shapes = [torch.zeros(real.dim(), dtype=torch.int64) for _ in range(self.count)]
        dist.all_gather(shapes, torch.tensor(real.shape, dtype=torch.int64))
        largest = torch.stack(shapes).amax(0).tolist()
        padded = real.new_zeros(largest)
        padded[tuple(slice(0, size) for size in real.shape)] = real
        received = [torch.empty_like(padded) for _ in range(self.count)]
        dist.all_gather(received, padded)
        cut = [f[tuple(slice(0, size) for size in s.tolist())] for f, s in zip(received, shapes, strict=True)]
        return [torch.view_as_complex(f.contiguous()) if tensor.is_complex() else f.contiguous() for f in cut]

    def told(self, text: str) -> str:
        """Return the text that the first process passes."""
        if self.count == 1:
            return text
        length = torch.tensor(len(text.encode()))
        dist.broadcast(length, 0)
        content = torch.zeros(int(length), dtype=torch.uint8)
        if self.first:
            content = torch.tensor(list(text.encode()), dtype=torch.uint8)
        dist.broadcast(content, 0)
        return bytes(content.tolist()).decode()

    def refuse_broken(self, batch: Batch, task: str, what: str) -> None:
        """Raise a DataError if any process's share of a batch holds NaN or inf."""
        if self.any(not batch.is_finite()):
            raise DataError(task, f"{what} holds NaN or inf, so the data are at fault", "correct the data, then resume")

    def wait(self) -> None:
        """Wait until all processes have reached this point."""
        if self.count > 1:
            dist.barrier()

    def check_equal(self, net: nn.Module, step: int) -> None:
        """Raise a RunError if the weights of the processes differ in a single bit."""
        if self.count == 1:
            return
        checksum = 0
        for tensor in net.state_dict().values():
            real = torch.view_as_real(tensor) if tensor.is_complex() else tensor
            checksum = zlib.crc32(real.detach().cpu().numpy().tobytes(), checksum)
        checksums = {int(value) for value in self.gathered(torch.tensor([checksum]))}
        if len(checksums) > 1:
            raise RunError(
                f"at step {step} the processes hold different weights, so they no longer train one network: give all "
                "the same kind of processor and the same number of threads, and resume from the checkpoint before"
            )


@contextmanager
def joined(device: str) -> Iterator[Processes]:
    """Yield the processes of this training; connect to those of torchrun unless the caller has done so.

    Raises:
        RunError: WORLD_SIZE is set but the processes cannot be connected.
    """
    if dist.is_initialized():
        yield Processes(dist.get_rank(), dist.get_world_size())
        return
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Processes()
        return
    on_cuda = device.startswith("cuda")
    if on_cuda:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    try:
        # Numbers and states are exchanged on the CPU, gradients on the network's device.
        dist.init_process_group("cpu:gloo,cuda:nccl" if on_cuda else "gloo")
    except ValueError as error:
        raise RunError(
            f"WORLD_SIZE is {count}, but the processes cannot be joined ({error}): start with torchrun"
        ) from error
    try:
        yield Processes(dist.get_rank(), count)
    finally:
        dist.destroy_process_group()
