"""Schemas of another package, found by its entry points as installed by pip."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
MODULE = """
from nao_testbed.controllers.schemas import ActuationSchema, NoParameters, SchemaInfo

class Point(ActuationSchema[NoParameters]):
    info = SchemaInfo(name="point", about="Points.", needs=("RShoulderPitch",))
    def iterate(self):
        self.submit("RShoulderPitch", 0.5)

class Careless(ActuationSchema[NoParameters]):
    info = SchemaInfo(name="careless", about="Raises.", needs=("LShoulderPitch",))
    def iterate(self):
        raise RuntimeError("no idea what to do")
"""
ENTRY_POINTS = """
[nao_testbed.schemas]
point = others_schemas:Point
careless = others_schemas:Careless
lost = others_schemas_that_are_not_there:Lost
"""
SCENARIO = """
name: others
about: Two behaviours of another package.
duration_s: 2
behaviours:
  - {name: points, schema: point}
  - {name: careless, schema: careless}
expect:
  - {at_s: 1.5, holds: {RShoulderPitch: points, LShoulderPitch: null}}
  - {happens: {failed: careless}, times: 1}
"""


def nao_testbed(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(folder), str(ROOT)])
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from nao_testbed.experiments.cli import main; main()",
            "scenario",
            *arguments,
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("JD-20", "JD-26")
def test_package_adds_schemas_and_a_broken_package_fails_alone(
    tmp_path: Path,
) -> None:
    info = tmp_path / "others_schemas-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: others-schemas\nVersion: 1.0\n", "utf-8"
    )
    (info / "entry_points.txt").write_text(ENTRY_POINTS, "utf-8")
    (tmp_path / "others_schemas.py").write_text(MODULE, "utf-8")
    (tmp_path / "own.yaml").write_text(SCENARIO, "utf-8")
    (tmp_path / "lost.yaml").write_text(
        SCENARIO.replace("schema: careless", "schema: lost"), "utf-8"
    )
    done = nao_testbed(tmp_path, "run", "own.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "careless failed: RuntimeError: no idea what to do" in done.stdout
    leaves = MODULE.replace('RuntimeError("no idea what to do")', "SystemExit(0)")
    (tmp_path / "others_schemas.py").write_text(leaves, "utf-8")
    done = nao_testbed(tmp_path, "run", "own.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "careless failed: SystemExit: 0" in done.stdout
    stops = MODULE.replace('RuntimeError("no idea what to do")', "KeyboardInterrupt")
    (tmp_path / "others_schemas.py").write_text(stops, "utf-8")
    done = nao_testbed(tmp_path, "run", "own.yaml")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "was raised at others_schemas.py:12; no signal came" in done.stdout
    lost = nao_testbed(tmp_path, "check", "lost.yaml")
    assert lost.returncode == 2
    assert lost.stderr.startswith("error: lost.yaml:7: ")
    assert "others_schemas_that_are_not_there" in lost.stderr
    assert "Traceback" not in lost.stderr
