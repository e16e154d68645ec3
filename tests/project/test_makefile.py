"""`make` selects and names the best Python from 3.11 to 3.14."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("bash", "sh", "uname", "rm")

Make = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that runs make with only these interpreters.

    An interpreter is a script that prints its version.
    """
    program = shutil.which("make")
    if program is None:
        pytest.skip("make is not installed")
    for name in ("Makefile", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in NEEDED:
        (folder / name).symlink_to(str(shutil.which(name)))

    def script(name: str, text: str) -> None:
        path = folder / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)

    def run(
        *goals: str, machine: str = "x86_64", **versions: str
    ) -> "subprocess.CompletedProcess[str]":
        script("uname", f"echo {machine}")
        for name, version in versions.items():
            minor = ".".join(version.split(".")[:2])
            script(
                name.replace("_", "."),
                f'case "$1 $2" in --version*) echo "Python {version}";;\n'
                f'    *"{minor}"*) ;; *) exit 1;; esac',
            )
        return subprocess.run(
            [program, "--silent", *goals],
            cwd=tmp_path,
            env={"PATH": str(folder), "HOME": str(tmp_path)},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    return run


@pytest.mark.parametrize(
    ("versions", "best"),
    [
        ({"python3_11": "3.11.7", "python3_13": "3.13.0"}, "3.11.7"),  # `qi`
        ({"python3_11": "3.11.7", "python3_12": "3.12.1"}, "3.12.1"),
        ({"python3_13": "3.13.0", "python3_14": "3.14.0"}, "3.13.0"),  # PyBullet
        ({"python3": "3.13.0", "python": "2.7.18"}, "3.13.0"),
        ({"python3": "3.10.13", "python3_14": "3.14.0"}, "3.14.0"),
        # A pyenv shim of an inactive version runs nothing.
        ({"python3_12": "none", "python3_11": "3.11.7"}, "3.11.7"),
    ],
)
def test_the_best_python_is_taken_and_named(
    make: Make, versions: dict[str, str], best: str
) -> None:
    said = make("which", **versions)
    assert said.stdout.startswith(f"Python {best}: "), said.stderr


def test_without_pybullet_the_newest_is_taken(make: Make) -> None:
    said = make("which", machine="aarch64", python3_13="3.13.0", python3_14="3.14.0")
    assert said.stdout.startswith("Python 3.14.0: "), said.stderr


def test_another_python_can_be_chosen(make: Make) -> None:
    versions = {"python3_11": "3.11.7", "python3_14": "3.14.0"}
    said = make("which", "PYTHON=python3.14", **versions)
    assert said.stdout.startswith("Python 3.14.0: "), said.stderr


@pytest.mark.parametrize(
    ("goals", "named"),
    [
        (("run",), "python3 is: Python 3.10.13"),
        (("run", "PYTHON=no"), "no is: "),
        (("run", "PYTHON=python3"), "python3 is: Python 3.10.13"),
        (("which", "PYTHON=no"), "no is: "),
    ],
)
def test_missing_python_error_lists_versions(
    make: Make, tmp_path: Path, goals: tuple[str, ...], named: str
) -> None:
    """This holds with a ready environment of another Python too."""
    if len(goals) > 1:
        for stamp in (".locked", ".ready"):
            (tmp_path / ".venv").mkdir(exist_ok=True)
            (tmp_path / ".venv" / stamp).touch()
    said = make(*goals, python3="3.10.13")
    assert said.returncode == 2
    assert "No Python 3.11 to 3.14 here" in said.stderr
    assert named in said.stderr
    assert "make PYTHON=/path/to/" in said.stderr


@pytest.mark.parametrize(
    ("goal", "asked", "is_kept"),
    [
        ("run", "", True),
        ("run", "python3.11", True),
        ("run", "no", True),
        ("run", "python3.9", True),  # rejected: the old environment stays
        ("run", "python3.13", False),
        ("which", "python3.13", True),  # only prints
    ],
)
def test_environment_is_rebuilt_for_another_python(
    make: Make, tmp_path: Path, goal: str, asked: str, is_kept: bool
) -> None:
    stamp, python = (
        tmp_path / ".venv" / ".locked",
        tmp_path / ".venv" / "bin" / "python",
    )
    python.parent.mkdir(parents=True)
    stamp.touch()
    python.write_text("#!/bin/sh\necho Python 3.11.7\n", encoding="utf-8")
    python.chmod(0o755)
    versions = {"python3_9": "3.9.18", "python3_11": "3.11.7", "python3_13": "3.13.0"}
    make(goal, f"PYTHON={asked}", **versions)
    assert stamp.exists() is is_kept


def test_ci_runs_the_same_targets_on_every_python() -> None:
    """On three systems; on Windows the commands of the targets without make."""
    yaml = YAML(typ="safe")
    jobs = yaml.load(ROOT / ".github" / "workflows" / "test.yml")["jobs"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (pythons,) = re.findall(r"^PYTHONS \?= (.*)$", makefile, re.MULTILINE)
    systems = []
    for job in jobs.values():
        matrix = job["strategy"]["matrix"]
        assert matrix["python"] == pythons.split()
        systems += matrix.get("system", [job["runs-on"]])
        lines = [step["run"] for step in job["steps"] if "run" in step]
        for goal in [line.split()[1] for line in lines if line.startswith("make ")]:
            assert f"\n{goal}: " in makefile, goal
    assert sorted(systems) == ["macos-latest", "ubuntu-latest", "windows-latest"]


def test_types_are_checked_locally_and_for_all_systems_in_ci(
    make: Make,
) -> None:
    def platforms(*options: str) -> list[str]:
        said = make("--dry-run", "types", "DEV=", *options).stdout
        (listed,) = re.findall(r"for platform in (.*?); do", said)
        return list(listed.split())

    assert platforms("BIN=" + str(Path(sys.executable).parent)) == [sys.platform]
    every = ["linux", "darwin", "win32"]
    assert platforms(f"PLATFORMS={' '.join(every)}") == every
    said = make("--dry-run", "types", "DEV=", "PLATFORM=linux").stdout
    assert '[ "$platform" = linux ] || beside=;' in said, "tests are checked on one"
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    (of_all,) = re.findall(r"^test-all: .*?\n\n", text, re.MULTILINE | re.DOTALL)
    assert 'PLATFORMS="$(EVERY_PLATFORM)"' in of_all
    assert f"EVERY_PLATFORM := {' '.join(every)}\n" in text
