"""What the exported C is made of: symbols, warnings, analysers, stack, sizes, names."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import eigenloop as el
from eigenloop.deploy.c.compiled import FLAGS
from eigenloop.deploy.c.qemu import BOARDS, measure, missing_tools
from eigenloop.deploy.c.source import source_of
from eigenloop.deploy.c.text import comment, string
from eigenloop.quantization import Quantizer
from tests.deploy.test_c import whole_of

#: Every kind of cell, of activation and of read-out, and codes of each kind.
NETWORKS = [
    ("relu", 4, 8, "last"),
    ("modrelu", 2, 12, "max"),
    ("two layers", 3, 16, None),
    ("leaky_relu", 8, 16, "mean"),
    ("ncgru", 8, 8, "mean"),
    ("gru, two layers", 5, 12, "max"),
    ("goru", 4, 16, None),
    ("lstm, two layers", 13, 9, "last"),
    ("lstm modrelu", 4, 8, "mean"),
]
#: What the compiler may call on a core without the instruction: products and shifts of 64 bits, and filling memory.
HELPERS = {"memcpy", "memset", "__aeabi_lmul", "__aeabi_llsl", "__aeabi_lasr", "__aeabi_llsr"}
every_network = pytest.mark.parametrize(("name", "bits", "state_bits", "pool"), NETWORKS)


def needs(*tools: str) -> None:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with net.h and net.c of the network that a test is for."""
    given = request.node.callspec.params
    written(whole_of(given["name"], given["bits"], given["state_bits"], given["pool"]), tmp_path)
    return tmp_path


def written(whole: Any, folder: Path) -> None:
    source = source_of(whole, "net")
    (folder / "net.h").write_text(source.header)
    (folder / "net.c").write_text(source.code)


@every_network
def test_nothing_but_helpers_is_called(folder: Path, name: str, bits: int, state_bits: int, pool: str | None) -> None:
    """No float, no division of 64 bits, no libm: none of their helpers, on cores that would need one."""
    needs("arm-none-eabi-gcc", "arm-none-eabi-nm")
    for core in BOARDS:
        for level in ("-O0", "-O2", "-Os"):
            run(folder, "arm-none-eabi-gcc", f"-mcpu={core}", "-mthumb", *FLAGS, level, "-c", "net.c")
            undefined = {line.split()[-1] for line in run(folder, "arm-none-eabi-nm", "-u", "net.o").splitlines()}
            assert undefined <= HELPERS, (core, level)
    code = re.sub(r"/\*.*?\*/", "", (folder / "net.c").read_text(), flags=re.DOTALL)
    assert not re.search(r"\b(float|double|malloc|alloca)\b|\d\.\d|[^*]/ |%", code)


@every_network
def test_no_warning_and_no_finding(folder: Path, name: str, bits: int, state_bits: int, pool: str | None) -> None:
    compilers = [cc for cc in ("gcc", "clang") if shutil.which(cc)]
    if not compilers:
        pytest.skip("neither gcc nor clang is installed")
    for cc in compilers:
        for level in ("-O0", "-O3"):
            more = ("-Wshadow", "-Wundef", "-Wstrict-prototypes", "-Wcast-align", "-Wcast-qual")
            run(folder, cc, *FLAGS, *more, level, "-c", "net.c", "-o", "net.o")
            allowed = {"memcpy", "memset"}
            assert {line.split()[-1] for line in run(folder, "nm", "-u", "net.o").splitlines()} <= allowed
    run(folder, compilers[0], "-fsyntax-only", "-x", "c++", "-Wall", "-Werror", "net.h")
    if "clang" in compilers:
        run(folder, "clang", "--analyze", "-Xclang", "-analyzer-werror", "-std=c99", "net.c")


@every_network
def test_cppcheck_finds_nothing(folder: Path, name: str, bits: int, state_bits: int, pool: str | None) -> None:
    needs("cppcheck")
    defined = ["-D__ARM_FEATURE_DSP", "-D__ARM_FEATURE_SIMD32"]
    for more in ([], defined):
        chosen = ("--std=c99", "--enable=warning,performance,portability", "--error-exitcode=1", "--quiet")
        run(folder, "cppcheck", *chosen, *more, "net.c")


def worst_stack(listing: str) -> int:
    """Return the bytes of the deepest chain of calls in what `-fcallgraph-info=su` writes; calls are no circle."""
    sizes = {
        title: int(size) for title, size in re.findall(r'node: { title: "([^"]+)".*?(\d+) bytes \(static\)', listing)
    }
    calls: dict[str, list[str]] = {}
    for caller, called in re.findall(r'sourcename: "([^"]+)" targetname: "([^"]+)"', listing):
        calls.setdefault(caller, []).append(called)

    def depth(function: str, above: tuple[str, ...]) -> int:
        assert function not in above, f"{function} calls itself"
        deeper = [depth(one, (*above, function)) for one in calls.get(function, [])]
        return sizes.get(function, 0) + max(deeper, default=0)

    return max(depth(function, ()) for function in sizes)


@every_network
def test_stack_is_known(folder: Path, name: str, bits: int, state_bits: int, pool: str | None) -> None:
    """The vectors of a step, as the report has them, and registers and variables of at most five functions."""
    needs("arm-none-eabi-gcc")
    ram = {part.name: part.bytes for part in whole_of(name, bits, state_bits, pool).report().size.ram}
    for core in BOARDS:
        command = ("arm-none-eabi-gcc", f"-mcpu={core}", "-mthumb", "-std=c99", "-O2", "-fcallgraph-info=su")
        run(folder, *command, "-c", "net.c")
        listing = (folder / "net.ci").read_text()
        assert "dynamic" not in listing
        stack = worst_stack(listing)
        print(f"{name}, {core}: {stack} bytes of stack")
        assert ram["vectors of a step"] <= stack <= ram["vectors of a step"] + ram["input"] + 340


def test_a_circle_of_calls_would_be_found() -> None:
    node = 'node: { title: "%s" label: "%s\\nnet.c:1:1\\n8 bytes (static)\\n0 dynamic objects" }\n'
    edge = 'edge: { sourcename: "%s" targetname: "%s" label: "net.c:2:2" }\n'
    chain = node % ("a", "a") + node % ("b", "b") + edge % ("a", "b")
    assert worst_stack(chain) == 16
    with pytest.raises(AssertionError, match="calls itself"):
        worst_stack(chain + edge % ("b", "a"))


#: Large enough that no compiler puts an array into the code instead.
LARGER: dict[str, Any] = {
    "rnn": lambda **o: el.RNN(9, 33, nonlinearity="relu", **o),
    "two layers": lambda **o: el.RNN(5, (23, 17), nonlinearity="tanh", train_initial_state=True, **o),
    "gru": lambda **o: el.GRU(10, 21, candidate="modrelu", reset="before", update="write", **o),
    "lstm": lambda **o: el.LSTM(7, 18, **o),
    "fastgrnn": lambda **o: el.FastGRNN(9, 23, **o),
    "fastgrnn piecewise": lambda **o: el.FastGRNN(9, 26, piecewise=True, **o),
}


@pytest.mark.skipif(bool(missing_tools()), reason=f"not installed: {', '.join(missing_tools())}")
@pytest.mark.parametrize(
    ("name", "quantizer", "state_bits", "pool"),
    [
        ("rnn", Quantizer(4), 8, "last"),
        ("two layers", Quantizer(3), 16, None),
        ("gru", Quantizer(8, per_row=True), 12, "max"),
        ("lstm", Quantizer(13), 8, "mean"),
        ("fastgrnn", Quantizer(3), 8, "mean"),
        ("fastgrnn piecewise", Quantizer(4, per_row=True), 12, "last"),
    ],
)
def test_the_report_is_what_the_linker_sees(name: str, quantizer: Quantizer, state_bits: int, pool: str | None) -> None:
    generator = torch.Generator().manual_seed(0)
    layer = LARGER[name](bits=quantizer, generator=generator)
    with torch.no_grad():
        for key, parameter in layer.named_parameters():
            if key.startswith(("bias", "h0")):
                parameter.uniform_(-0.1, 0.1, generator=generator)
    net = el.Model(layer, 9, last=pool == "last").eval()
    X = torch.randn(9, 4, layer.input_size, generator=generator)
    own = None if pool in (None, "last") else pool
    whole = el.deploy.integer(net, calibration=X, state_bits=state_bits, pool=own)
    size = whole.report().size
    ram = {part.name: part.bytes for part in size.ram}
    kept = sum(number for part, number in ram.items() if part not in ("vectors of a step", "input", "outputs"))
    codes = sum(part.bytes for part in size.parts if part.name.startswith(("recurrent", "weight_ih")))
    for core in ("cortex-m0", "cortex-m4"):
        for optimise in ("-O2", "-Os"):
            measured = measure(whole, core, optimise=optimise, repeats=1, steps=4)
            assert measured.different == 0
            assert sum(measured.arrays.values()) == size.bytes
            assert 0 <= measured.constants - size.bytes < 4 * len(measured.arrays)  # what aligns them
            assert (measured.state, measured.sums) == (kept, ram["outputs"])
            assert sum(n for array, n in measured.arrays.items() if re.match("codes_[WU]", array)) == codes


@given(st.text())
def test_any_name_is_a_string_and_nothing_else(name: str) -> None:
    literal = string(name)
    assert re.fullmatch(r'"([A-Za-z0-9 _.,:()+=-]|\\[0-7]{3})*"', literal)
    decoded = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), literal[1:-1])
    assert decoded.encode("latin-1").decode() == name
    assert re.fullmatch(r"[ -~]*", comment(name))
    assert not set(comment(name)) & set("*/\\")
