"""Public names of the packages exist and are imported on first use."""

import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAZY = (
    "nao_testbed",
    "nao_testbed.controllers",
    "nao_testbed.sim",
    "nao_testbed.experiments",
    "nao_testbed.experiments.regression",
    "nao_testbed.experiments.server",
)
SCENARIO_MODULES = ("scenarios.playing.runner", "scenarios.reading.load")
HEAVY = ("pybullet", "mujoco", "pinocchio", "numba", "pandas", "pyarrow", "matplotlib")


def heavy_after(statement: str, heavy: Sequence[str] = HEAVY) -> set[str]:
    """Return the heavy modules loaded by a statement in a new Python."""
    code = f"{statement}\nimport sys\nprint(*(set({heavy}) & sys.modules.keys()))"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return set(ran.stdout.split())


@pytest.mark.parametrize("package", ["nao_testbed.models", *LAZY])
def test_every_public_name_exists(package: str) -> None:
    module = import_module(package)
    missing = [name for name in module.__all__ if not hasattr(module, name)]
    assert not missing
    assert module.__doc__


@pytest.mark.parametrize("package", LAZY)
def test_lazy_names_are_listed_and_from_the_same_floor(package: str) -> None:
    module = import_module(package)
    assert dir(module) == sorted(module.__all__)
    floor = package.split(".")[:2]
    for name in module.__all__:
        home = getattr(getattr(module, name), "__module__", package)
        assert home.split(".")[: len(floor)] == floor, f"{name} is of another floor"


@pytest.mark.parametrize("package", LAZY)
def test_an_unknown_name_is_refused_by_name(package: str) -> None:
    with pytest.raises(AttributeError, match=f"No {package} attribute Nonsens"):
        _ = import_module(package).Nonsens


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "import nao_testbed.sim, nao_testbed.experiments",
        "from nao_testbed.sim import read_run",
        "import nao_testbed.experiments.cli",
    ],
)
def test_import_does_not_load_the_engine(statement: str) -> None:
    assert heavy_after(statement) == set()


@pytest.mark.slow
def test_simulating_does_not_load_pandas_or_figures() -> None:
    loaded = heavy_after("from nao_testbed import Loop, SimulatedRobot")
    assert loaded == {"numba"}


@pytest.mark.slow
def test_help_of_a_command_does_not_load_validators() -> None:
    helped = """
import contextlib, io
from nao_testbed.experiments.cli import app
with contextlib.redirect_stdout(io.StringIO()) as said:
    app(["heat", "--help"], standalone_mode=False)
assert "Usage: " in said.getvalue()
"""
    assert heavy_after(helped, (*HEAVY, "pydantic", "rich")) == set()


@pytest.mark.slow
def test_live_without_a_scenario_does_not_load_scenarios() -> None:
    names = [f"nao_testbed.experiments.{name}" for name in SCENARIO_MODULES]
    loading = "import nao_testbed.experiments.live.run_live"
    assert heavy_after(loading, (*names, "rich")) == set()
    loading = "import nao_testbed.experiments.live.robot.scenario_play"
    assert heavy_after(loading, names) == set(names)


def test_each_public_name_is_documented() -> None:
    face = import_module("nao_testbed")
    for name in face.__all__:
        doc = getattr(face, name).__doc__ or ""
        assert doc[0].isupper(), name
        assert not doc.startswith(f"{name}("), f"{name}: a dataclass's signature"
