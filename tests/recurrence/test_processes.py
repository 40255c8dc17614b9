"""The kernel's threads beside other processes: workers after fork and spawn, Ctrl-C, an install without a compiler."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import eigenloop as el
from eigenloop import recurrence
from eigenloop.recurrence import kernel

ROOT = Path(__file__).parents[2]


class Running(Dataset):
    """Items that are computed by a layer, and by the recurrence alone with two threads of the kernel's own."""

    def __init__(self) -> None:
        torch.manual_seed(3)
        self.layer = el.RNN(3, 40)
        self.W = self.layer.recurrent_matrix().detach().requires_grad_()
        self.x = torch.randn(6, 80, 8, 3)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        out, h_n = self.layer(self.x[index])
        (grad,) = torch.autograd.grad(out.sum() + h_n.sum(), self.layer.weight_ih_l0)
        U = self.layer.weight_ih_l0.detach()
        before = torch.get_num_threads()
        torch.set_num_threads(2)  # torch's own threads do not survive a fork: nothing but the kernel runs here
        try:
            _, last = recurrence.simple(self.x[index], self.W, None, torch.zeros(8, 40), input_weight=U)
            (of_W,) = torch.autograd.grad(last, self.W, torch.ones_like(last))
        finally:
            torch.set_num_threads(before)
        return torch.cat([out.detach().flatten(), grad.flatten()]), torch.cat([last.detach(), of_W])


@pytest.mark.slow
@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers(context: str) -> None:
    data = Running()
    expected = [data[i] for i in range(len(data))]  # the pool has run in this process
    found = DataLoader(data, batch_size=None, num_workers=2, multiprocessing_context=context, timeout=100)
    for ours, theirs in zip(found, expected, strict=True):
        assert torch.equal(ours[0], theirs[0])
        assert torch.equal(ours[1], theirs[1])
    assert torch.equal(data[0][1], expected[0][1])


LONG = """
import signal, torch
from eigenloop import recurrence
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever started the tests may ignore it
torch.set_num_threads(2)
x, W, h = torch.zeros(4000, 64, 256), torch.eye(256), torch.zeros(64, 256)
small = recurrence.simple(x[:5] + 1, W, None, h)[1]
print("running", flush=True)
try:
    while True:
        recurrence.simple(x, W, None, h)
except KeyboardInterrupt:
    again = recurrence.simple(x[:5] + 1, W, None, h)[1]
    print("usable" if torch.equal(small, again) else "different", flush=True)
"""


@pytest.mark.slow
def test_ctrl_c_during_a_long_kernel() -> None:
    with subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        try:
            output, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert output == "usable\n"
    assert process.returncode == 0


@pytest.mark.slow
def test_installing_without_a_compiler(tmp_path: Path) -> None:
    """The build ends well, with nothing but the warning, and leaves no library."""
    command = [
        sys.executable,
        "setup.py",
        "build_ext",
        "--build-lib",
        str(tmp_path),
        "--build-temp",
        str(tmp_path / "t"),
    ]
    environment = {**os.environ, "CC": "false"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert 'building extension "eigenloop._kernel" failed' in built.stdout + built.stderr
    assert not list(tmp_path.rglob("*.so"))


@pytest.mark.skipif(kernel.library() is None, reason="the compiled kernel is not there")
@pytest.mark.slow
def test_the_environment_forces_the_reference() -> None:
    program = "from eigenloop.recurrence import kernel; print(kernel.library())"
    environment = {**os.environ, "EIGENLOOP_KERNEL": "reference"}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout == "None\n"
