"""Which part of `src/eigenloop` may import which, and where one does so that may not.

A part is a folder or a file directly below `src/eigenloop`. Imports inside functions and under TYPE_CHECKING count too:
what one part has to know of another is the same there.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "eigenloop"
SOURCE = Path(__file__).parents[1] / "src" / PACKAGE

#: What every part may import. These know nothing of networks, training or files of runs.
EVERYWHERE = ("registry", "text", "numerics", "bit_widths", "dtypes", "former", "errors")

#: The parts from the top down: each imports only parts below it, namely those named here and those of `EVERYWHERE`.
#: `estimators` and `sweep` are planned.
ALLOWED: Mapping[str, tuple[str, ...]] = {
    "__main__": ("cli",),
    "cli": (
        *(
            "comparison",
            "report",
            "trials",
            "sweep",
            "estimators",
            "deploy",
            "bench",
            "experiments",
            "analysis",
            "training",
        ),
        *("runs", "tasks", "models", "readout", "quantization"),
    ),
    "published": ("comparison",),
    "comparison": ("report", "charts", "pages", "experiments", "analysis", "training", "runs"),
    "report": ("charts", "pages", "training", "runs", "tasks", "quantization"),
    "charts": ("pages",),
    "pages": (),
    "trials": ("experiments", "analysis", "training", "runs", "tasks", "recipes", "quantization"),
    "sweep": ("experiments", "training", "runs", "tasks", "models"),
    "estimators": ("training", "runs", "tasks", "models", "readout"),
    "bench": ("deploy", "models", "layers", "recurrence", "matrices"),
    "deploy": ("training", "runs", "tasks", "models", "readout", "layers", "quantization", "recurrence", "matrices"),
    "experiments": ("analysis", "training", "runs", "tasks", "models", "readout", "matrices"),
    "analysis": (
        *("training", "runs", "tasks", "models", "readout", "optim", "layers", "quantization", "matrices"),
        "initializers",
    ),
    "training": (
        *("runs", "tasks", "models", "recipes", "readout", "optim", "layers", "quantization", "recurrence"),
        "matrices",
    ),
    "runs": (),
    "tasks": ("pooling",),
    "models": ("recipes", "readout", "layers"),
    "recipes": ("layers", "quantization", "matrices", "initializers"),
    "readout": ("layers", "quantization", "pooling", "scaling"),
    "optim": ("matrices",),
    "layers": ("quantization", "recurrence", "matrices", "initializers"),
    "quantization": ("scaling",),
    "recurrence": (),
    "matrices": ("initializers",),
    "initializers": (),
    "pooling": (),
    "scaling": (),
    "registry": ("errors",),
    "text": (),
    "numerics": (),
    "bit_widths": (),
    "dtypes": (),
    "former": (),
    "errors": (),
}


@dataclass(frozen=True)
class Import:
    """A line that imports another part."""

    place: str
    importer: str
    imported: str


def parts(source: Path = SOURCE) -> set[str]:
    """List the parts there are; the package's own `__init__` is their public surface and not one of them."""
    folders = {path.name for path in source.iterdir() if (path / "__init__.py").exists()}
    return folders | {path.stem for path in source.glob("*.py")} - {"__init__"}


@functools.cache
def imports(source: Path = SOURCE) -> list[Import]:
    """List all imports of one part by another, with file and line."""
    homes = _homes(source)
    every: list[Import] = []
    for path in sorted(source.rglob("*.py")):
        name = path.relative_to(source)
        importer = name.parts[0].removesuffix(".py")
        if importer == "__init__":
            continue
        for line, imported in _imported(ast.parse(path.read_text()), name.parts[:-1]):
            # A name of the public surface is counted as the part in which it stands.
            part = homes.get(imported, imported)
            if part != importer and not part.startswith("__"):
                every.append(Import(f"{name}:{line}", importer, part))
    return every


def violations(source: Path = SOURCE, allowed: Mapping[str, tuple[str, ...]] = ALLOWED) -> list[str]:
    """Say for every part without a rule, and for every import against the rules, what is wrong."""
    said = [f"{part}: there is no rule what it may import" for part in sorted(parts(source) - set(allowed))]
    for each in imports(source):
        below = (*allowed.get(each.importer, ()), *(() if each.importer in EVERYWHERE else EVERYWHERE))
        if each.importer in allowed and each.imported not in below:
            said.append(f"{each.place}: {each.importer} imports {each.imported}")
    return said


def _homes(source: Path) -> dict[str, str]:
    """Read from `__init__` in which part each name of the public surface stands."""
    homes: dict[str, str] = {}
    for _, module, names in _from_imports(ast.parse((source / "__init__.py").read_text())):
        if module.startswith(f"{PACKAGE}."):
            homes |= dict.fromkeys(names, module.split(".")[1])
    return homes


def _from_imports(tree: ast.AST) -> Iterator[tuple[int, str, list[str]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            yield node.lineno, node.module or "", [alias.name for alias in node.names]


def _imported(tree: ast.AST, folder: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield the line and the first name below the package, for every way to import."""
    surfaces = set()
    for line, module, names in _from_imports(tree):
        if module == PACKAGE:
            yield from ((line, name) for name in names)
        elif module.startswith(f"{PACKAGE}."):
            yield line, module.split(".")[1]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            above = folder[: len(folder) - node.level + 1]
            yield from ((node.lineno, (*above, *(node.module or alias.name).split("."))[0]) for alias in node.names)
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith(f"{PACKAGE}."):
                    yield node.lineno, alias.name.split(".")[1]
                if alias.name.split(".")[0] == PACKAGE:
                    surfaces.add(alias.asname or PACKAGE)
    # `import eigenloop as el`, and then `el.RNN`.
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in surfaces:
            yield node.lineno, node.attr
