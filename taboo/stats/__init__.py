"""Statistics: the tidy tables, and the analyses that are computed from them.

An analysis is a module with `run(items, cells, options) -> DataFrame`. It gets the item table and the cell table of one study and returns a tidy table in which every row says whether its estimate exists (`estimable`) and, where it does not, why (`reason`).
"""

from importlib import import_module
from types import ModuleType

# The name of an analysis, in the configuration and in file names, and its module.
ANALYSES = {
    "tests": "paired",
    "gaps": "gaps",
    "gee": "gee",
    "dose_match": "dose_match",
    "temperature": "temperature",
    "precision": "precision",
    "midword": "midword",
    "constraints": "constraints",
    "failures": "failures",
}


def analysis_module(name: str) -> str:
    """Return the dotted module name of an analysis. Raises ValueError naming the known analyses."""
    if name not in ANALYSES:
        raise ValueError(f"unknown analysis {name!r}, known are {', '.join(ANALYSES)}")
    return f"taboo.stats.{ANALYSES[name]}"


def load_analysis(name: str) -> ModuleType:
    """Import and return the module of an analysis. Raises ValueError naming the known analyses."""
    return import_module(analysis_module(name))
