"""The wheel contains exactly the files of an installed `nao-testbed`."""

import tomllib
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("models", "controllers", "sim", "experiments")
NEEDLESS = {".pyc", ".pyo"}


@pytest.fixture(scope="module")
def members(wheel: Path) -> set[str]:
    with ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def metadata(wheel: Path, name: str) -> str:
    with ZipFile(wheel) as archive:
        (path,) = (n for n in archive.namelist() if n.endswith(f".dist-info/{name}"))
        return archive.read(path).decode()


def test_wheel_holds_every_file_of_the_packages(members: set[str]) -> None:
    """A data file matched by `.gitignore` would be silently missing."""
    on_disk = {
        f"nao_testbed/{path.relative_to(ROOT).as_posix()}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file()
        and path.suffix not in NEEDLESS
        and "__pycache__" not in path.parts
    }
    face = {"__init__.py", "__init__.pyi", "gym.py", "py.typed", "testing.py"}
    for_programs = {"almath.py", "motion.py", "vision_definitions.py"}
    assert members == on_disk | for_programs | {f"nao_testbed/{name}" for name in face}


def test_wheel_holds_the_robots(members: set[str]) -> None:
    for robot in ("nao", "g1", "t1"):
        assert f"nao_testbed/models/urdf/{robot}.urdf" in members
        assert f"nao_testbed/models/{robot}/robot.yaml" in members


def test_wheel_states_version_python_and_licence(wheel: Path) -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    fields = Parser().parsestr(metadata(wheel, "METADATA"))
    assert fields["Name"] == "nao-testbed"
    assert fields["Version"] == project["version"]
    assert fields["Requires-Python"] == "<3.15,>=3.11"
    assert fields["License-Expression"] == "Apache-2.0"
    assert "Apache License" in metadata(wheel, "licenses/LICENSE")


def test_wheel_installs_the_command(wheel: Path) -> None:
    assert "nao-testbed = nao_testbed.experiments.cli:main" in metadata(
        wheel, "entry_points.txt"
    )
