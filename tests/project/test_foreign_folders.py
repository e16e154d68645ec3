"""A user's folders `models`, `sim` ... do not conflict with the testbed.

Tested with the installed wheel and with an editable checkout, with and without an
`__init__.py` in the user's folders.
"""

import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("models", "controllers", "sim", "experiments", "tests", "docs")
THEIRS = "\n".join(
    [f"from {floor}.own import X as {floor}" for floor in FLOORS]
    + ["def test_x() -> None:", f"    assert {' + '.join(FLOORS)} == {len(FLOORS)}"]
)
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_x.py")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    with ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(params=["wheel", "checkout"])
def path(request: pytest.FixtureRequest, installed: Path) -> Path:
    return installed if request.param == "wheel" else ROOT / "src"


@pytest.fixture(params=[True, False], ids=["packages", "folders"])
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    for floor in FLOORS:
        (tmp_path / floor).mkdir()
        (tmp_path / floor / "own.py").write_text("X = 1\n", "utf-8")
        if request.param:
            (tmp_path / floor / "__init__.py").write_text("", "utf-8")
    (tmp_path / "test_x.py").write_text(THEIRS, "utf-8")
    return tmp_path


def run_there(here: Path, path: Path, *words: str) -> str:
    """Run Python in a user's folder, with the testbed on its path."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(path)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_both_packages_are_imported(here: Path, path: Path) -> None:
    code = (
        "import nao_testbed, models.own, sim.own\n"
        "nao_testbed.load_robot()\n"
        "from nao_testbed.models import load\n"
        "print(nao_testbed.__file__, load.__file__, models.own.__file__)"
    )
    ours, data, theirs = run_there(here, path, "-c", code).split()
    assert Path(ours).is_relative_to(path)
    assert Path(data).is_relative_to(path)
    assert Path(theirs).is_relative_to(here)


@pytest.mark.slow
def test_user_tests_run_with_our_plugin(here: Path, path: Path) -> None:
    assert "1 passed" in run_there(here, path, *PYTEST)


@pytest.mark.slow
@pytest.mark.parametrize("here", [True], ids=["packages"], indirect=True)
@pytest.mark.parametrize("path", ["wheel"], indirect=True)
def test_our_command_runs_there(here: Path, path: Path) -> None:
    said = run_there(
        here,
        path,
        *("-m", "nao_testbed.experiments.cli", "heat", "--minutes", "0.05"),
        *("--controllers", "fixed", "--out", "run"),
    )
    assert "fixed" in said


@pytest.mark.slow
def test_a_checkout_without_links_works(tmp_path: Path) -> None:
    """On Windows git writes a link as a file with its target."""
    face = tmp_path / "src" / "nao_testbed"
    face.mkdir(parents=True)
    for name in ("__init__.py", "__init__.pyi"):
        text = (ROOT / "src" / "nao_testbed" / name).read_text("utf-8")
        (face / name).write_text(text, "utf-8")
    (face / "models").write_text("../../models", "utf-8")
    for floor in ("models", "controllers"):
        copytree(ROOT / floor, tmp_path / floor)
    code = "import nao_testbed; print(len(nao_testbed.load_robot().joints))"
    assert run_there(tmp_path, face.parent, "-c", code).strip() == "26"
