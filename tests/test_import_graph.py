"""Imports point one way: `import_graph.ALLOWED` is the rule, CONTRIBUTING.md the map that a reader sees."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from import_graph import ALLOWED, EVERYWHERE, SOURCE, imports, parts, violations

#: One import against the rules for each way to import, and where it is reported.
MISTAKES = {
    "from eigenloop.recurrence import simple": "matrices/wrong.py:2: matrices imports recurrence",
    "from eigenloop import recurrence": "matrices/wrong.py:2: matrices imports recurrence",
    "import eigenloop.training.settings.config": "matrices/wrong.py:2: matrices imports training",
    "import eigenloop as el; layer = el.RNN": "matrices/wrong.py:2: matrices imports layers",
    "from eigenloop import build": "matrices/wrong.py:2: matrices imports models",
    "from ..layers.rnn import RNN": "matrices/wrong.py:2: matrices imports layers",
    "from .. import optim": "matrices/wrong.py:2: matrices imports optim",
    "def late():\n    from eigenloop.tasks import Task": "matrices/wrong.py:3: matrices imports tasks",
}
RIGHT = """\
from eigenloop import __version__, dtypes, initializers, registry
from eigenloop.matrices.base import Matrix
from .base import Matrix
"""


def made_up(folder: Path, files: dict[str, str]) -> Path:
    surface = "if TYPE_CHECKING:\n    from eigenloop.layers import RNN\n    from eigenloop.models import build\n"
    for name, text in {"__init__.py": surface, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_no_part_imports_what_is_above_it() -> None:
    assert violations() == []


def test_the_rules_have_no_way_up() -> None:
    order = list(ALLOWED)
    ups = [(a, b) for a, below in ALLOWED.items() for b in below if order.index(b) <= order.index(a)]
    assert ups == []
    assert order[-len(EVERYWHERE) :] == list(EVERYWHERE)
    assert "recurrence" not in ALLOWED["matrices"]
    assert "matrices" not in ALLOWED["recurrence"]


def test_the_checker_sees_the_imports_there_are() -> None:
    seen = {(each.importer, each.imported) for each in imports(SOURCE)}
    assert {("cli", "training"), ("layers", "recurrence"), ("optim", "matrices"), ("bench", "layers")} <= seen


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_named_with_its_line(line: str, tmp_path: Path) -> None:
    source = made_up(tmp_path, {"matrices/__init__.py": "", "matrices/wrong.py": f"import math\n{line}\n"})
    assert violations(source) == [MISTAKES[line]]


def test_what_is_allowed_is_no_mistake(tmp_path: Path) -> None:
    assert violations(made_up(tmp_path, {"matrices/__init__.py": RIGHT})) == []


def test_a_part_without_a_rule_is_named(tmp_path: Path) -> None:
    source = made_up(tmp_path, {"cellars/__init__.py": "from eigenloop import cli\n", "loft.py": ""})
    assert violations(source) == [
        "cellars: there is no rule what it may import",
        "loft: there is no rule what it may import",
    ]


def test_the_map_for_contributors_agrees() -> None:
    text = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
    table = text.partition("## The map")[2].partition("\n## ")[0]
    rows = [
        re.findall(r"`(\w+)(?:\.py)?`", line.split("|")[1]) for line in table.splitlines() if line.startswith("| `")
    ]
    height = {part: number for number, row in enumerate(rows) for part in row}
    private = {"__main__", "published"}  # how Python starts the command; a former name
    assert set(height) == parts() - private
    ups = [(a, b) for a, below in ALLOWED.items() for b in below if a in height and height.get(b, 99) < height[a]]
    assert ups == [], "an import points upwards in the map"
