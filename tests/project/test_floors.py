"""Allowed imports between the packages, read from the source.

models < controllers < sim < experiments; a package imports itself and those below.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.sources import parsed, walk

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("models", "controllers", "sim", "experiments")
BESIDE = ("tests", "docs", "examples", "benchmarks", "studies", "notebooks")
NAME = "nao_testbed"
ENGINE_ROOM = Path("sim/engine")
ENGINE = ENGINE_ROOM / "bullet.py"
IMPURE_MODULES = {
    "pybullet",
    "mujoco",
    "time",
    "datetime",
    "asyncio",
    "threading",
    "socket",
}
SYSTEM = Path("models/system.py")
OF_SOME_SYSTEMS = re.compile(
    r"(os\.)?(fork\w*|kill|killpg|wait\w*pid|getppid|set[sp]g?id|nice|getloadavg|fchmod|chmod"
    r"|sched_\w+|(process_)?cpu_count|mkfifo|symlink|link|set_blocking|O_CLOEXEC|name)"
    r"|sys\.(platform|getwindowsversion)"
    r"|platform\.(system|machine|uname|release)"
    r"|signal\.(SIG(HUP|USR\d|KILL|BREAK|STOP|CONT|CHLD|ALRM|PIPE)|pthread_\w+|SIG_\w*BLOCK"
    r"|SIG_SETMASK|alarm|setitimer|sig(wait|pending|interrupt)\w*|raise_signal)"
    r"|socket\.(AF_UNIX|SO_(REUSE|EXCLUSIVE)\w+|TCP_(KEEP|USER)\w+)"
    r"|import (fcntl|msvcrt|resource|termios|tty|pty|pwd|grp|winreg|_winapi)\b.*"
)
"""Names that some systems lack, or that query the system."""
ASKING = {"hasattr", "getattr"}
IMPURE_CALLS = {"print", "open", "input"}
IMPURE_METHODS = {"open", "read_text", "write_text", "read_bytes", "write_bytes"}


def modules(package: str) -> Iterator[Path]:
    """Yield the source files of a package, relative to the root."""
    for path in sorted((ROOT / package).rglob("*.py")):
        yield path.relative_to(ROOT)


def names(path: Path, name: str) -> bool:
    """Return True if a module's text contains a name; faster than parsing."""
    return name in (ROOT / path).read_text(encoding="utf-8")


def tree_of(path: Path) -> ast.Module:
    return parsed((ROOT / path).read_text(encoding="utf-8"))


def imported(tree: ast.Module) -> set[str]:
    """Return the packages and floors that a module imports anywhere."""
    names: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "use absolute imports"
            for_users = {NAME, f"{NAME}.testing"}
            assert node.module not in for_users, "rooms import from where it stands"
            names.add(node.module or "")
    return {name.removeprefix(f"{NAME}.").partition(".")[0] for name in names}


def impurities(tree: ast.Module) -> Iterator[str]:
    """Yield uses of a clock, a file, a screen or the engine."""
    yield from sorted(imported(tree) & IMPURE_MODULES)
    for node in walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in IMPURE_CALLS:
            yield f"{node.func.id}(), line {node.lineno}"
        if isinstance(node.func, ast.Attribute) and node.func.attr in IMPURE_METHODS:
            yield f".{node.func.attr}(), line {node.lineno}"


@pytest.mark.parametrize("package", FLOORS)
@pytest.mark.requirement("JD-15")
def test_a_floor_imports_only_from_below(package: str) -> None:
    above = set(FLOORS[FLOORS.index(package) + 1 :]) | set(BESIDE)
    wrong = {str(path): imported(tree_of(path)) & above for path in modules(package)}
    assert not {path: names for path, names in wrong.items() if names}


@pytest.mark.parametrize("folder", [*FLOORS, *BESIDE])
def test_floors_are_imported_by_one_name(folder: str) -> None:
    """In a checkout `import sim` would load every module a second time."""
    bare = re.compile(rf"^\s*(from|import) ({'|'.join(FLOORS)})\b", re.MULTILINE)
    found = {
        str(path): name
        for path in modules(folder)
        if (name := bare.search((ROOT / path).read_text(encoding="utf-8")))
    }
    assert not found


@pytest.mark.parametrize("package", FLOORS)
def test_every_floor_has_modules(package: str) -> None:
    assert len(list(modules(package))) > 1, "no module found"


@pytest.mark.requirement("ST-26")
def test_only_the_engine_module_imports_pybullet() -> None:
    importers = {
        path
        for package in FLOORS
        for path in modules(package)
        if names(path, "pybullet") and "pybullet" in imported(tree_of(path))
    }
    assert importers == {ENGINE}


def test_only_the_engine_room_imports_mujoco() -> None:
    importers = {
        path
        for package in FLOORS
        for path in modules(package)
        if names(path, "mujoco") and "mujoco" in imported(tree_of(path))
    }
    assert importers == {ENGINE_ROOM / "mujoco_engine.py"}


@pytest.mark.requirement("ST-26")
def test_only_the_engine_room_gets_the_engine_from_there() -> None:
    module = ".".join((NAME, *ENGINE.with_suffix("").parts))
    users = {
        path
        for package in FLOORS
        for path in modules(package)
        if names(path, ENGINE.stem)
        for node in walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and node.module == module
        if "p" in {alias.name for alias in node.names}
    }
    assert {path.parent for path in users} == {ENGINE_ROOM}


@pytest.mark.requirement("ST-22")
def test_controllers_touch_no_engine_clock_file_or_screen() -> None:
    wrong = {
        str(path): list(impurities(tree_of(path))) for path in modules("controllers")
    }
    assert not {path: found for path, found in wrong.items() if found}


@pytest.mark.parametrize(
    "source",
    [
        "import pybullet as p",
        "def f():\n    from time import perf_counter",
        "print(1)",
        "with open('x') as file: pass",
        "path.read_text()",
    ],
)
def test_an_impure_controller_is_noticed(source: str) -> None:
    assert list(impurities(ast.parse(source)))


def test_an_import_inside_a_function_is_noticed() -> None:
    source = (
        "def f():\n    import nao_testbed.sim.engine\n"
        "    from nao_testbed.experiments.cli import main"
    )
    assert imported(ast.parse(source)) == {"sim", "experiments"}


def names_of_some_systems(tree: ast.Module) -> Iterator[str]:
    """Yield names that some systems lack, by any import."""
    for node in walk(tree):
        found: list[str] = []
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found = [f"{node.value.id}.{node.attr}"]
        elif isinstance(node, ast.Import):
            found = [f"import {alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found = [f"{node.module}.{alias.name}" for alias in node.names]
            found.append(f"import {node.module}")
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ASKING:
            of, what = node.args[:2]
            if isinstance(what, ast.Constant):
                found = [f"{ast.unparse(of)}.{what.value!s}"]
        yield from filter(OF_SOME_SYSTEMS.fullmatch, found)


def test_only_one_module_contains_system_specific_code() -> None:
    found = {
        path: sorted(set(names_of_some_systems(tree_of(path))))
        for package in (*FLOORS, "examples", "docs")
        for path in modules(package)
    }
    assert {path for path, names in found.items() if names} == {SYSTEM}, found


@pytest.mark.parametrize(
    "source",
    [
        "import fcntl",
        "from os import fork",
        "os.sched_getaffinity(0)",
        "signal.signal(signal.SIGHUP, f)",
        "if sys.platform == 'win32': pass",
        "hasattr(os, 'fork')",
        "def f():\n    s.setsockopt(6, socket.TCP_KEEPIDLE, 5)",
    ],
)
def test_system_specific_names_are_found(source: str) -> None:
    assert list(names_of_some_systems(ast.parse(source)))
