"""Source digests: has the code behind an output changed?

Snakemake does not notice an edit in an imported module, so each rule carries the digest of its script and of every first-party module the script imports, transitively.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path


def source_digest(root: str | Path, *files: str, data: tuple[str, ...] = ()) -> str:
    """sha256 over the code of `files` (paths below `root`) and all they import from below `root`.

    Imports are found statically, wherever in a file they stand. What is hashed is the syntax tree without docstrings, so comments and formatting do not count. `data` are further files (prompts, for example) hashed as bytes.
    """
    root = Path(root).resolve()
    digest = hashlib.sha256()
    for path in sorted(_closure(root, tuple(root / file for file in files))):
        digest.update(
            f"{path.relative_to(root)}\0{_tree_digest(path, path.stat().st_mtime_ns)}\n".encode()
        )
    for name in sorted(data):
        digest.update(
            f"{name}\0{hashlib.sha256((root / name).read_bytes()).hexdigest()}\n".encode()
        )
    return digest.hexdigest()


def first_party_modules(root: str | Path, *files: str) -> list[Path]:
    """The files that `source_digest` hashes."""
    root = Path(root).resolve()
    return sorted(_closure(root, tuple(root / file for file in files)))


def _closure(root: Path, files: tuple[Path, ...]) -> set[Path]:
    found: set[Path] = set()
    waiting = list(files)
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        if not path.is_file():
            raise FileNotFoundError(f"{path} does not exist, so its source digest can't be taken")
        found.add(path)
        waiting += _imports(root, path, path.stat().st_mtime_ns)
    return found


@cache
def _imports(root: Path, path: Path, _mtime: int) -> tuple[Path, ...]:
    names: set[str] = set()
    package = path.relative_to(root).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*above, *(node.module.split(".") if node.module else ())))
            names.add(module)
            names.update(f"{module}.{alias.name}" for alias in node.names)
    return tuple(sorted({file for name in names for file in _files_of(root, name)}))


def _files_of(root: Path, name: str) -> list[Path]:
    """The files run by importing module `name`: its packages' __init__ files and itself."""
    parts = name.split(".")
    files = [root.joinpath(*parts[:i], "__init__.py") for i in range(1, len(parts) + 1)]
    files.append(root.joinpath(*parts).with_suffix(".py"))
    return [file for file in files if file.is_file()]


@cache
def _tree_digest(path: Path, _mtime: int) -> str:
    tree = _WithoutStrings().visit(ast.parse(path.read_bytes()))
    # Unparsed rather than dumped: the dump's fields differ between Python versions.
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()


class _WithoutStrings(ast.NodeTransformer):
    """Drops docstrings: statements that are nothing but a string."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node
