"""What a figure was made from, as the audit finds it: its files by stage, each stage below what is made from it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taboo.provenance.audit import Node, audit
from taboo.provenance.records import figure_outputs, lineage, name_of, recorded_outputs


@dataclass(frozen=True)
class File:
    """One file: its name in the results, its recorded sha256 and rule (empty for a file of the repository), and what the audit says against it."""

    name: str
    sha256: str
    rule: str
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Stage:
    """The files of one folder of the results."""

    name: str
    files: list[File]

    @property
    def problems(self) -> int:
        """How many files are not as recorded."""
        return sum(bool(file.problems) for file in self.files)


def figure_lineages(
    results: str | Path,
    figures: Iterable[str],
    pins: Mapping[str, str],
    locks: Mapping[str, Mapping[str, str]] | None = None,
) -> dict[str, list[Stage]]:
    """Audit the figures and all they were made from; return each figure's stages, from the figure to the weights.

    Every file is read again, see `taboo.provenance.audit`. `pins` and `locks` are the versions that packages should have had. Raises ValueError naming a figure that was not made.
    """
    made = [name_of(results, output) for output in recorded_outputs(results)]
    files = {figure: figure_outputs(made, figure) for figure in figures}
    for figure, names in files.items():
        if not names:
            raise ValueError(f"{results} holds no record of the figure {figure}")
    targets = [name for names in files.values() for name in names]
    if not targets:
        return {}
    nodes = audit(results, targets, pins, locks=locks)
    records, _ = lineage(results, targets)
    return {figure: stages(names, nodes, records) for figure, names in files.items()}


def stages(
    targets: Iterable[str],
    nodes: Mapping[str, Node],
    records: Mapping[str, Mapping[str, Any] | None],
) -> list[Stage]:
    """The targets and their ancestors by folder; a folder comes after all that is made from it."""
    steps: dict[str, int] = {}
    waiting = [(name, 0) for name in targets]
    while waiting:
        name, step = waiting.pop()
        if steps.get(name, -1) < step:
            steps[name] = step
            waiting += [(source, step + 1) for source in nodes[name].inputs]
    folders: dict[str, list[str]] = {}
    for name in sorted(steps):
        folders.setdefault(name.partition("/")[0], []).append(name)
    order = sorted(folders, key=lambda folder: max(steps[name] for name in folders[folder]))
    return [
        Stage(folder, [_file(nodes[name], records.get(name)) for name in folders[folder]])
        for folder in order
    ]


def _file(node: Node, record: Mapping[str, Any] | None) -> File:
    return File(
        node.name,
        record["sha256"] if record else "",
        record["rule"] if record else "",
        tuple(f"{state}: {line}" for state, line in node.problems),
    )
