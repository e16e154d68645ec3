"""Three parts; heat experiments need only the first.

heat        robots, simulator, controllers of stiffness and heat; trials, sweeps,
            regression tests, reports
behaviours  reservations, transmitter, schemas; scenarios and the server of reservations
live        the page in real time, and NAOqi

A part imports itself and earlier parts; the command line, with all commands, belongs
to none. Read from the source: imports for types and inside functions count. Lazy
re-exports of a package (`__init__.pyi`) do not: they are loaded on first use.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from shutil import copytree

import pytest

from tests.project.sources import parsed, walk

ROOT = Path(__file__).resolve().parents[2]
NAME = "nao_testbed."
PARTS = {
    "heat": (
        *("models", "sim", "controllers/registry.py"),
        *("controllers/interface", "controllers/stiffness"),
        *("controllers/heat_minimization", "controllers/policies"),
        *("experiments/common", "experiments/closed_loop", "experiments/heat"),
        *("experiments/sweep", "experiments/regression", "experiments/report"),
    ),
    "behaviours": (
        *("controllers/arbitration", "controllers/transmitter"),
        *("controllers/schemas", "controllers/action_selection"),
        "controllers/trace_rules",
        *("experiments/shared_robot", "experiments/scenarios", "experiments/server"),
    ),
    "live": (
        *("experiments/live", "experiments/server/naoqi"),
        *("sim/naoqi", "sim/log_robot.py"),
    ),
}
"""Part to its folders and files; the longest match wins."""
OF_NONE = {"controllers", "experiments", "experiments.cli"}


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def part_of(module: str) -> str | None:
    """Return the part of a module by the longest matching path."""
    found = [
        (len(place), part)
        for part, places in PARTS.items()
        for place in (p.removesuffix(".py").replace("/", ".") for p in places)
        if f"{module}.".startswith(f"{place}.")
    ]
    return max(found)[1] if found else None


@cache
def modules() -> dict[str, Path]:
    rooms = ("models", "controllers", "sim", "experiments")
    files = chain.from_iterable((ROOT / room).rglob("*.py") for room in rooms)
    return {module_of(path): path for path in files}


def imported(text: str) -> Iterator[str]:
    """Yield our modules that a source imports, without `nao_testbed.`."""
    for node in walk(parsed(text)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (n.removeprefix(NAME) for n in names if n.startswith(NAME))


def wrong_imports(part: str, text: str) -> set[str]:
    """Return the imports of later parts in a source."""
    order = list(PARTS)
    later = set(order[order.index(part) + 1 :])
    return {name for name in imported(text) if part_of(name) in later}


def test_every_module_is_of_a_part() -> None:
    assert {name for name in modules() if part_of(name) is None} == OF_NONE


@pytest.mark.parametrize("part", PARTS)
def test_a_part_imports_no_later_part(part: str) -> None:
    own = {name: path for name, path in modules().items() if part_of(name) == part}
    assert len(own) > 40
    found = {
        name: wrong
        for name, path in own.items()
        if (wrong := wrong_imports(part, path.read_text("utf-8")))
    }
    assert not found


@pytest.mark.parametrize(
    "text",
    [
        "import nao_testbed.experiments.live.page",
        "from nao_testbed.controllers import arbitration",
        "def f():\n    from nao_testbed.sim.naoqi.naoqi_robot import NaoqiRobot",
        "if TYPE_CHECKING:\n    from nao_testbed.experiments.scenarios import tables",
    ],
)
def test_an_import_of_a_later_part_is_noticed(text: str) -> None:
    assert wrong_imports("heat", text)


HEAT_ALONE = """
from pathlib import Path

import nao_testbed as nt
from nao_testbed.experiments import ReportCfg
from nao_testbed.experiments.heat import commands
from nao_testbed.experiments.regression import run_standing_trial, StandingCfg
from nao_testbed.experiments.sweep import commands

cfg = nt.HeatCfg(controllers=("fixed",), minutes=0.05)
print(*nt.run_heat(cfg, Path("run")).trials)
print(nt.write_report(ReportCfg(runs=(Path("run"),))))
StandingCfg()
"""


@pytest.mark.slow(covers=True)
def test_every_module_can_be_imported() -> None:
    """Coverage then includes modules that no test uses."""
    for name in modules():
        assert import_module(f"{NAME}{name}").__doc__, f"{name} has no docstring"


@pytest.mark.slow
def test_heat_runs_without_the_other_parts(tmp_path: Path) -> None:
    """The first part imports, and makes a heat run and its page."""
    for room in ("models", "controllers", "sim", "experiments"):
        for path in (ROOT / room).rglob("*"):
            place = path.relative_to(ROOT)
            part = part_of(".".join(place.with_suffix("").parts))
            if path.is_file() and part in {"heat", None} and path.name != "cli.py":
                (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / place).write_bytes(path.read_bytes())
    face = tmp_path / "src" / "nao_testbed"
    copytree(ROOT / face.relative_to(tmp_path), face, symlinks=True)
    code = HEAT_ALONE
    for name in sorted(name for name in modules() if part_of(name) == "heat"):
        code += f"\nimport nao_testbed.{name}"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(face.parent)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["fixed", str(Path("run", "report.html"))]
