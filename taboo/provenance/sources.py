"""Source digests: has the code behind an output changed?

Snakemake does not notice an edit in an imported module, so each rule carries the digest of its script and of every first-party module the script imports, transitively, with the pinned versions of the packages that this code imports.
"""

import ast
import hashlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from taboo.files import sha256_file

PINS = Path("envs") / "constraints.txt"
"""The file with the exact version of every package, below the repository's root."""

_PACKAGE_OF = {"yaml": "pyyaml", "PIL": "pillow", "sklearn": "scikit-learn"}
"""Import names that are not the names of their packages."""


def source_digest(root: str | Path, *files: str, data: tuple[str, ...] = ()) -> str:
    """sha256 over the code of `files` (paths below `root`) and all they import from below `root`.

    Imports are found statically, wherever in a file they stand. What is hashed is the syntax tree without docstrings, so comments and formatting do not count. `data` are further files (prompts, for example) hashed as bytes.
    """
    root = Path(root).resolve()
    digest = hashlib.sha256()
    for path in first_party_modules(root, *files):
        name = path.relative_to(root).as_posix()
        digest.update(f"{name}\0{_parsed(root, path)[2]}\n".encode())
    for name in sorted(data):
        content = hashlib.sha256((root / name).read_bytes()).hexdigest()
        digest.update(f"{name}\0{content}\n".encode())
    return digest.hexdigest()


def first_party_modules(root: str | Path, *files: str) -> list[Path]:
    """The files that `source_digest` hashes. Raises FileNotFoundError naming a file that is not there."""
    root = Path(root).resolve()
    found: set[Path] = set()
    waiting = [root / file for file in files]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        if not path.is_file():
            raise FileNotFoundError(f"{path} does not exist, so its source digest can't be taken")
        found.add(path)
        waiting += _parsed(root, path)[0]
    return sorted(found)


def pinned_packages(root: str | Path, *files: str) -> dict[str, str | None]:
    """The packages that `files` and their first-party modules import, with their pinned versions.

    A change of any other pin is no reason to run their rule again. None stands for a package without a pin.
    """
    root = Path(root).resolve()
    imported = {
        _PACKAGE_OF.get(name, name.lower().replace("_", "-"))
        for path in first_party_modules(root, *files)
        for name in _parsed(root, path)[1]
    }
    pins = read_pins(root / PINS)
    return {name: pins.get(name) for name in sorted(imported)}


def read_pins(path: str | Path) -> dict[str, str]:
    """Versions by package from a constraints file, names in lower case with hyphens."""
    pairs = re.findall(r"^([\w.-]+)==(\S+)", Path(path).read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pairs}


def read_locks() -> dict[str, dict[str, str]]:
    """The pins of each role's lock by the lock's sha256, as a record names it; read from the working folder."""
    return {sha256_file(path): read_pins(path) for path in sorted(PINS.parent.glob("*.lock"))}


def _parsed(root: Path, path: Path) -> tuple[tuple[Path, ...], tuple[str, ...], str]:
    """Of a file: the first-party files it imports, the third-party names, and its digest."""
    return _parse(root, path, path.stat().st_mtime_ns)


@cache
def _parse(root: Path, path: Path, _mtime: int) -> tuple[tuple[Path, ...], tuple[str, ...], str]:
    tree = _OnlyWhatRuns().visit(ast.parse(path.read_bytes()))
    package = path.relative_to(root).with_suffix("").parts[:-1]
    ours: set[Path] = set()
    others: set[str] = set()
    for name in _imported_names(tree, package):
        files = _files_of(root, name)
        ours.update(files)
        top = name.partition(".")[0]
        beside = (path.parent / f"{top}.py").is_file()
        if not files and not beside and top not in sys.stdlib_module_names:
            others.add(top)
    # Unparsed rather than dumped: the dump's fields differ between Python versions.
    digest = hashlib.sha256(ast.unparse(tree).encode()).hexdigest()
    return tuple(sorted(ours)), tuple(sorted(others)), digest


def _imported_names(tree: ast.AST, package: tuple[str, ...]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*above, *(node.module.split(".") if node.module else ())))
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _files_of(root: Path, name: str) -> list[Path]:
    """The files run by importing module `name`: its packages' __init__ files and itself."""
    parts = name.split(".")
    files = [root.joinpath(*parts[:i], "__init__.py") for i in range(1, len(parts) + 1)]
    files.append(root.joinpath(*parts).with_suffix(".py"))
    return [file for file in files if file.is_file()]


class _OnlyWhatRuns(ast.NodeTransformer):
    """Drops docstrings (statements that are nothing but a string) and imports for type checkers."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return [self.visit(statement) for statement in node.orelse]
        return self.generic_visit(node)
