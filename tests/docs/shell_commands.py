"""Every shell command of the documentation, and what a test runs in its place.

A page is read from top to bottom in a folder of its own. A command of eigenloop runs as it is printed, made shorter by
the tables below; any other command stands in `PROGRAMS`, or in `NOT_RUN` with the reason.
"""

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Pages whose commands another test runs.
ELSEWHERE = {ROOT / "docs" / "deploy.md": "tests/docs/test_deploy_page.py"}
PAGES = (ROOT / "README.md", *sorted(set((ROOT / "docs").rglob("*.md")) - set(ELSEWHERE)))

_DRAWN = "--set training.steps=2 --set task.valid_size=8 --set task.test_size=8"
#: What is added to a command of eigenloop, so that it takes a second.
ADDED = {
    "train": _DRAWN,
    "fit": "--set training.steps=2",
    "compare": "--set training.steps=2",
    "reproduce": "--results results --work work",
}
#: What is replaced in it: one combination is enough, and the delays of the published problems are long.
REPLACED = {
    r"--models (\w+)[\w,]*": r"--models \1",
    r"--bits float,[\d,]*(\d)": r"--bits \1",
    r"--folds \d+": "--folds 2",
    r"--seeds \d+": "--seeds 1",
    r"--budget \w+": "--budget smoke",
    r"--delay \d+": "--delay 30",
    r"--steps \d+": "--steps 2",
    r"--parameters \d+": "--parameters 500",
}
#: Commands that need a run which their page does not make, with what makes it.
BEFORE = {
    "eigenloop report runs/copying-scornn runs/copying-lstm --out report.html": (
        f"eigenloop train copying --model lstm --delay 30 {_DRAWN}"
    ),
    "eigenloop analyse gradients runs/reproduce/enrnn-fig4/enrnn-full-0 --checkpoint last": (
        f"eigenloop train adding --model enrnn --length 20 {_DRAWN} --out runs/reproduce/enrnn-fig4/enrnn-full-0"
    ),
    "eigenloop analyse schur runs/reproduce/nnrnn-table2/nnrnn-hour-0 runs/reproduce/nnrnn-readme/nnrnn-hour-0": (
        f"eigenloop train copying --model nnrnn --delay 20 {_DRAWN} --out runs/reproduce/nnrnn-table2/nnrnn-hour-0 && "
        f"eigenloop train copying --model nnrnn --delay 20 {_DRAWN} --out runs/reproduce/nnrnn-readme/nnrnn-hour-0"
    ),
    "make -C firmware check": "python write_firmware.py",
}
#: Commands of eigenloop that take no additions: what they go on with was made short before.
AS_PRINTED = re.compile(r"--resume")
#: Other programs that are run, by their first words.
PROGRAMS = ("make -C firmware check", "python write_firmware.py")
#: Commands that are not run, and why.
NOT_RUN = {
    "eigenloop reproduce nnrnn-readme --budget hour --only nnrnn": (
        "needs the text of Penn Treebank; make reproduce-smoke runs it where the data are"
    ),
    "pip install .": "the tests run in an environment that was made by it",
    "make demo": "two trainings of a minute; tests/comparison checks what it says about them",
    "pip wheel --no-deps --constraint constraints.txt --wheel-dir dist .": "builds the kernel again, as installing did",
    "gcc -std=gnu11 -O1 -g -Wno-psabi -fsanitize=address,undefined -Icsrc tests/kernel/driver.c csrc/*.c -o driver -lm "
    "-pthread": "tests/kernel/test_driver.py compiles and runs the same program",
    "./driver 200 1 fork": "tests/kernel/test_driver.py compiles and runs the same program",
    "torchrun --nproc-per-node 2 -m eigenloop train copying --model scornn --delay 1000": (
        "tests/training/test_parallel.py trains in two processes"
    ),
}


def commands(text: str) -> list[str]:
    """Return the commands of the ``sh`` blocks of a page, without comments."""
    shell = re.findall(r"^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    lines = "\n".join(shell).replace("\\\n", " ").splitlines()
    steps = [step for line in lines for step in re.sub(r"\s+#.*|^#.*", "", line).split(" && ")]
    return [" ".join(step.split()) for step in steps if step.strip()]


def modules(text: str) -> dict[str, str]:
    """Return the files that a page shows: Python blocks whose first line is a comment with a file's name."""
    blocks = re.findall(r"^```python\n(# (\w+\.py)\n.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return {name: block for block, name in blocks}


def unknown(command: str) -> bool:
    """Whether neither a rule nor a reason exists for a command."""
    return command not in NOT_RUN and not command.startswith(("eigenloop ", *PROGRAMS))


def shortened(command: str) -> str:
    """Return what is run in place of a command."""
    words = shlex.split(command)
    if words[0] != "eigenloop" or AS_PRINTED.search(command):
        return command
    for pattern, replacement in REPLACED.items():
        command = re.sub(pattern, replacement, command)
    return f"{command} {ADDED.get(words[1], '')}".strip()


def planned(text: str) -> list[str]:
    """Return everything that is run for a page, in order."""
    steps = [
        step
        for command in commands(text)
        if command not in NOT_RUN
        for step in (BEFORE.get(command, ""), shortened(command))
    ]
    return [part for step in steps if step for part in step.split(" && ")]
