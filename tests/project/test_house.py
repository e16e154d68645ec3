"""Small folders and acyclic imports.

Read from the source: a folder has at most twelve entries, no module imports itself by
way of others (imports for types and inside functions count), and of the entries of
a folder, files and folders alike, none lies both above and below another. No compiled
kernel calls one of another module: to tell whether a kept one is of today, numba looks
at its own file alone. The name of a class means one thing.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.project.sources import parsed, walk

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("models", "controllers", "sim", "experiments")
MOST_ENTRIES = 12
Imports = Mapping[str, Iterable[str]]


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def trees() -> dict[str, ast.Module]:
    """Return every module of the floors, and the stubs of packages as `NAME:stub`."""
    found = {}
    for floor in FLOORS:
        for path in (ROOT / floor).rglob("*.py*"):
            if path.suffix in {".py", ".pyi"}:
                stub = ":stub" if path.suffix == ".pyi" else ""
                found[module_of(path) + stub] = parsed(path.read_text("utf-8"))
    return found


def named(module: str) -> list[tuple[str, str]]:
    """Return the modules and names that a module or stub imports anywhere."""
    package = module.removesuffix(":stub")
    found = []
    for node in walk(trees()[module]):
        if isinstance(node, ast.ImportFrom):
            source = ".".join([package] * node.level + [node.module or ""]).strip(".")
            source = source.removeprefix("nao_testbed.")
            found += [(source, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [
                (alias.name.removeprefix("nao_testbed."), "") for alias in node.names
            ]
    return found


@cache
def home(module: str, name: str) -> str:
    """Return the module that defines a name, through re-exports."""
    if f"{module}.{name}" in trees():
        return f"{module}.{name}"
    for giver in (f"{module}:stub", module):
        if giver in trees() and is_package(module):
            for source, its_name in named(giver):
                if its_name == name and source != module:
                    return home(source, name)
    return module


@cache
def is_package(module: str) -> bool:
    return ROOT.joinpath(*module.split("."), "__init__.py").exists()


def passes_on(module: str) -> bool:
    """Return True if a package only re-exports imports."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    body = trees()[module].body
    return is_package(module) and not any(isinstance(node, kinds) for node in body)


@cache
def imports() -> dict[str, set[str]]:
    """Return the project modules that each module imports."""
    return {
        module: {
            found
            for source, name in named(module)
            if source.partition(".")[0] in FLOORS
            if (found := home(source, name)) != module
        }
        for module in trees()
        if not module.endswith(":stub") and not passes_on(module)
    }


def circle(graph: Imports) -> list[str]:
    """Return a cycle of a graph, or an empty one."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as problem:
        return list(problem.args[1])
    return []


def between_entries(folder: str, graph: Imports) -> dict[str, set[str]]:
    """Return the imports between the entries of a folder, files and folders alike."""
    found: dict[str, set[str]] = {}
    for module, sources in graph.items():
        if module.startswith(folder + "."):
            entry = module[len(folder) + 1 :].partition(".")[0]
            found.setdefault(entry, set()).update(
                source[len(folder) + 1 :].partition(".")[0]
                for source in sources
                if source.startswith(folder + ".")
            )
            found[entry].discard(entry)
    return found


def folders() -> list[str]:
    return sorted(
        path.parent.relative_to(ROOT).as_posix()
        for floor in FLOORS
        for path in (ROOT / floor).rglob("__init__.py")
    )


@cache
def kernels() -> dict[str, dict[str, ast.FunctionDef]]:
    """Return the cached numba functions of each module."""
    return {
        module: {
            node.name: node
            for node in tree.body
            if isinstance(node, ast.FunctionDef)
            if any("cache=True" in ast.unparse(d) for d in node.decorator_list)
        }
        for module, tree in trees().items()
    }


def with_kernels() -> list[str]:
    """Return the modules that name cached kernels, by text: faster than parsing."""
    return sorted(
        module_of(path)
        for floor in FLOORS
        for path in (ROOT / floor).rglob("*.py")
        if "cache=True" in path.read_text("utf-8")
    )


@pytest.mark.parametrize("module", with_kernels())
def test_a_kept_kernel_calls_none_of_another_module(module: str) -> None:
    foreign = {
        name
        for source, name in named(module)
        if name in kernels().get(home(source, name), {})
    }
    for name, kernel in kernels()[module].items():
        used = {node.id for node in ast.walk(kernel) if isinstance(node, ast.Name)}
        assert not used & foreign, f"{module}.{name}: move {used & foreign} beside it"


@pytest.mark.parametrize("folder", folders())
def test_a_folder_has_at_most_twelve_entries(folder: str) -> None:
    names = {path.name for path in (ROOT / folder).iterdir()} - {"__pycache__"}
    # None is a place to look for code: the types of what `__init__.py` loads late, the
    # empty marker that there are types, and the data of a robot.
    robots = {path.parent.name for path in (ROOT / folder).glob("*/robot.yaml")}
    entries = names - {"__init__.pyi", "py.typed"} - robots
    assert len(entries) <= MOST_ENTRIES, sorted(entries)


def test_no_module_has_circular_imports() -> None:
    assert circle(imports()) == []


@pytest.mark.parametrize("folder", folders())
def test_entries_of_a_folder_are_acyclic(folder: str) -> None:
    assert circle(between_entries(folder.replace("/", "."), imports())) == []


def test_a_cycle_is_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    graph = {"x.a.one": {"x.b"}, "x.b": {"x.a.two"}, "x.a.two": set[str]()}
    assert circle(graph) == []
    assert circle(between_entries("x", graph))


def test_reexported_names_are_resolved() -> None:
    assert len(trees()) > 100
    assert home("controllers", "Observation") != "controllers"


SHARED_NAMES = {
    "Event": "of the ledger, and of a run folder",
    "Line": "of owners before the gate, and of a plot",
    "Row": "of a table, on a page and on a panel",
    "Say": "a text: as a schema, and as an operator's wish",
}
"""Known duplicate class names; the list must only get shorter."""


def test_a_class_name_means_one_thing() -> None:
    names = Counter(
        node.name
        for tree in trees().values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, times in names.items() if times > 1} <= set(SHARED_NAMES)
