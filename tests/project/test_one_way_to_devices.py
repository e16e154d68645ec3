"""A robot has one writer: an exclusive loop or the gate (AR-10, I-14).

Read from the source: only these create commands and call a robot's `write`, through
`SoleWriter`; modules for robots with several owners create no loop.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.sources import parsed, walk

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("controllers", "sim", "experiments")
SOLE_WRITER = "controllers/interface/sole_writer.py"
GATE = "controllers/arbitration/gate/gate.py"
LOOP = "experiments/closed_loop/loop.py"
MAKERS = {"controllers/arbitration/gate/outputs.py", LOOP}
"""The gate's outputs create the written commands."""
SHARED = (
    *("controllers/", "experiments/scenarios/"),
    *("experiments/server/", "experiments/live/"),
)
"""Modules for robots with several owners."""
WHOLE = "experiments/live/real_robot/run_robot.py"
"""The live command with an exclusive robot."""
ROBOTS = {"Command", "RobotInterface", "SimulatedRobot"}


def knows_robots(tree: ast.Module) -> bool:
    """Return True if a module names a robot or a command."""
    named = set()
    for node in walk(tree):
        if isinstance(node, ast.Name):
            named.add(node.id)
        elif isinstance(node, ast.Attribute):
            named.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            named.update(alias.name for alias in node.names)
    return bool(named & ROBOTS)


def writes(tree: ast.Module) -> Iterator[int]:
    """Yield the line of every use of a `write` method, called or passed."""
    for node in walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "write":
            yield node.lineno
        if isinstance(node, ast.Constant) and node.value == "write":
            yield node.lineno


def calls(tree: ast.Module, name: str) -> Iterator[int]:
    """Yield the lines that instantiate a class of this name."""
    for node in walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if ast.unparse(node.func).rpartition(".")[2] == name:
            yield node.lineno


def trees_that_name(*names: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield the parsed modules whose text contains one of these names."""
    for floor in FLOORS:
        for path in (ROOT / floor).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if any(name in text for name in names):
                yield path.relative_to(ROOT).as_posix(), parsed(text)


@pytest.mark.requirement("AR-10", "RM-65")
def test_only_loop_and_gate_write_to_a_robot() -> None:
    writers = {
        module
        for module, tree in trees_that_name(*ROBOTS)
        if knows_robots(tree) and any(writes(tree))
    }
    assert writers == {SOLE_WRITER, GATE, LOOP}


@pytest.mark.requirement("AR-10")
def test_only_loop_and_gate_take_a_robot() -> None:
    takers = {
        module
        for module, tree in trees_that_name("SoleWriter")
        if any(calls(tree, "SoleWriter"))
    }
    assert takers == {GATE, LOOP}


@pytest.mark.requirement("AR-10")
def test_shared_robot_modules_create_no_loop() -> None:
    makers = {
        module
        for module, tree in trees_that_name("Loop")
        if module.startswith(SHARED) and any(calls(tree, "Loop"))
    }
    assert makers == {WHOLE}


@pytest.mark.requirement("AR-10")
def test_only_loop_and_gate_make_commands() -> None:
    named = trees_that_name("Command")
    makers = {module for module, tree in named if any(calls(tree, "Command"))}
    assert makers == MAKERS


@pytest.mark.parametrize(
    "source",
    [
        "def f(sim: SimulatedRobot): sim.write(command)",
        "def f(robot: 'x'):\n put = robot.write\n put(controllers.Command(target=q))",
        "from controllers import RobotInterface\ngetattr(robot, 'write')(command)",
    ],
)
def test_bypassing_the_gate_is_detected(source: str) -> None:
    tree = ast.parse(source)
    assert knows_robots(tree)
    assert list(writes(tree))


def test_a_command_made_elsewhere_is_found() -> None:
    source = "import controllers\ncontrollers.Command(target=q)"
    assert list(calls(ast.parse(source), "Command")) == [2]
