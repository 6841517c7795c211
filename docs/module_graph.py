"""The packages of the library and which imports which, as a picture in Mermaid's words.

One node for each package, but for `display`, on which whatever is shown stands. An arrow is an import; one that follows
from others is left out. Rooms of one step of the way of the data stand in one frame.
"""

from __future__ import annotations

import grimp

STEPS = {
    "what goes in": ("policy", "table", "datasets"),
    "deciding": ("kernels", "grouping", "method", "engines"),
    "a release": ("release", "assembling"),
    "reading it": ("auditing", "estimate", "metrics", "attacks", "report"),
    "bringing it about": ("profiling", "comparison", "publishing", "verbs", "cli"),
}
NOT_DRAWN = ("display",)


def imports() -> dict[str, set[str]]:
    """For each package those that it imports."""
    graph = grimp.build_graph("pluralis", exclude_type_checking_imports=True, cache_dir=None)
    packages = {package for several in STEPS.values() for package in several}
    unplaced = {
        package
        for package in graph.find_children("pluralis")
        if graph.find_children(package) and package.rpartition(".")[2] not in {*packages, *NOT_DRAWN}
    }
    if unplaced:
        raise SystemExit(f"docs/module_graph.py: say in which step {', '.join(sorted(unplaced))} stands.")
    return {
        package: {
            other
            for other in packages - {package}
            if graph.direct_import_exists(
                importer=f"pluralis.{package}", imported=f"pluralis.{other}", as_packages=True
            )
        }
        for package in packages
    }


def reached(package: str, imported: dict[str, set[str]]) -> set[str]:
    """All that a package imports, by others too."""
    every: set[str] = set()
    left = list(imported[package])
    while left:
        other = left.pop()
        if other not in every:
            every.add(other)
            left += imported[other]
    return every


def mermaid() -> str:
    """The graph: an arrow from each package to those that it stands on."""
    imported = imports()
    cycles = sorted(package for package in imported if package in reached(package, imported))
    if cycles:
        raise SystemExit(f"There is a cycle between {', '.join(cycles)}.")
    lines = ["flowchart BT"]
    for step, packages in STEPS.items():
        lines += [f'  subgraph "{step}"', *(f"    {package}" for package in packages), "  end"]
    for package in sorted(imported):
        beyond = {further for other in imported[package] for further in reached(other, imported)}
        lines += [f"  {package} --> {other}" for other in sorted(imported[package] - beyond)]
    return "\n".join(lines)
