"""Project files are consistent and independent of the machine."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]

# Packages come from the user's pip configuration: no file names an index or a path
# on a disk. (This file is excluded: it contains the patterns.)
MACHINE = re.compile(
    r"(?P<index>https?://\S+/simple\b|--(extra-)?index-url|--find-links|--trusted-host)"
    r"|(?P<path>file://|(?<![\w.$~)}\]>*:/<-])/(?!(bin|dev|tmp|usr|path|owner|behaviours|temperature|lowstate|imu)/)[A-Za-z]+/\w)"
)  # `/owner/...`, `/behaviours/...`: of the server; the others: topics
# A key of REFERENCES.md in brackets: `[nao-v5-urdf]`, `[xu2012]`, `[ES2659053T3 ¶320]`.
KEY = re.compile(
    r"(?<!ignore)\[((?:[a-z][a-z0-9]*-[a-z0-9-]+|[a-z]+(?:19|20)\d\d|ES\d{7}T3|US\d{8}B1|CN\d{7}))"
    r"(?:[ ,¶][^\]]*)?\](?![(\[])"
)


def tracked(*suffixes: str) -> Iterator[Path]:
    """Yield the project's text files that git would add, with these suffixes."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.is_file() and (not suffixes or path.suffix in suffixes):
            yield path


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        table: dict[str, Any] = tomllib.load(file)["project"]
    return table


SYSTEMS = {  # markers of a system; wheels are sought for the first three
    "Linux": ("linux", "posix", "x86_64"),
    "macOS": ("darwin", "posix", "arm64"),
    "Windows": ("win32", "nt", "AMD64"),
    "Linux on ARM": ("linux", "posix", "aarch64"),
}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


@pytest.fixture(
    scope="module",
    params=[(python, system) for python in PYTHONS for system in SYSTEMS],
    ids="-".join,
)
def place(request: pytest.FixtureRequest) -> dict[str, str]:
    """Marker environments of each Python and system."""
    python, system = request.param
    platform, os_name, machine = SYSTEMS[system]
    return {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "sys_platform": platform,
        "os_name": os_name,
        "platform_machine": machine,
    }


def here(lines: Iterable[str], place: dict[str, str]) -> dict[str, Requirement]:
    """Return the requirements that apply to an environment, by canonical name."""
    found: dict[str, Requirement] = {}
    for requirement in map(Requirement, lines):
        if requirement.marker is None or requirement.marker.evaluate(place):
            found[canonicalize_name(requirement.name)] = requirement
    return found


@pytest.fixture(scope="module")
def asked(project: dict[str, Any]) -> list[str]:
    """All requirement lines of pyproject.toml."""
    extras = project["optional-dependencies"].values()
    return [*project["dependencies"], *(line for extra in extras for line in extra)]


@pytest.fixture(scope="module")
def wanted(asked: list[str], place: dict[str, str]) -> dict[str, Requirement]:
    """Requirements of pyproject.toml there, by canonical name."""
    return here(asked, place)


@pytest.fixture(scope="module")
def pinned(place: dict[str, str]) -> dict[str, Version]:
    """Pins of the development lock there, by canonical name."""
    return pins_of("requirements-dev.lock", place)


@pytest.fixture(scope="module")
def pinned_to_run(place: dict[str, str]) -> dict[str, Version]:
    """Pins of the runtime lock there."""
    return pins_of("requirements.lock", place)


def pins_of(lock: str, place: dict[str, str]) -> dict[str, Version]:
    """Return the pins of a lock for an environment, by canonical name."""
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    pins: dict[str, Version] = {}
    named = [line for line in lines if line and not line.lstrip().startswith("#")]
    for name, requirement in here(named, place).items():
        (specifier,) = requirement.specifier
        assert specifier.operator == "==", f"{name!r} is not pinned"
        pins[name] = Version(specifier.version)
    return pins


def test_no_file_names_an_index_or_a_place_on_a_disk() -> None:
    found = []
    for path in tracked():
        if path == Path(__file__).resolve():
            continue
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue  # a picture
        found += [
            f"{path.relative_to(ROOT)}:{number}: {match[0]}"
            for number, line in enumerate(lines, start=1)
            if not line.lstrip().startswith('"image/png": ')  # of a notebook
            and (match := MACHINE.search(line))
        ]
    assert not found


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://example.org/simple",
        "nao-testbed @ file:///tmp/x",
        "see /home/someone/nao",
        'path = "/disk/wheels"',
    ],
)
def test_machine_specific_text_is_found(line: str) -> None:
    assert MACHINE.search(line)


@pytest.mark.parametrize(
    "line", ["a/b/c", "https://pypi.org/project/x", "/usr/bin/env bash", "6 K/W/s"]
)
def test_an_ordinary_line_is_accepted(line: str) -> None:
    assert not MACHINE.search(line)


@pytest.mark.parametrize(
    ("code", "is_found"), [("open('a')", True), ("open('a', encoding='utf-8')", False)]
)
def test_ruff_reports_text_without_encoding(code: str, is_found: bool) -> None:
    command = "check --quiet --output-format=json --stdin-filename=sim/new.py -"
    ruff = subprocess.run(
        [sys.executable, "-m", "ruff", *command.split()],
        input=code,
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ("PLW1514" in ruff.stdout) == is_found, ruff


def test_make_enables_encoding_warnings_in_tests(tmp_path: Path) -> None:
    """The warnings cover subprocess output, which ruff does not check."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "STRICT := PYTHONWARNDEFAULTENCODING=1\n" in makefile
    assert len(re.findall(r"/pytest --quiet", makefile)) == 2
    assert len(re.findall(r"\$\(STRICT\) \S+/pytest --quiet", makefile)) == 2
    if not sys.flags.warn_default_encoding:
        pytest.skip("not begun by make, which sets PYTHONWARNDEFAULTENCODING")
    with pytest.raises(EncodingWarning):
        subprocess.run([sys.executable, "--version"], text=True, check=True)
    with pytest.raises(EncodingWarning):
        tmp_path.joinpath("a").write_text("°")


NOT_LOCKED = {"rerun": "rerun-sdk", "notebooks": "jupyterlab"}
"""Extra to its package: large and unused by tests, so users install the extra."""


def test_lock_pins_all_dependencies(
    wanted: dict[str, Requirement], pinned: dict[str, Version]
) -> None:
    locked = set(wanted) - {*NOT_LOCKED.values()}
    assert set(wanted) - set(pinned) == {*NOT_LOCKED.values()}, "run `make lock`"
    for name in locked:
        assert wanted[name].specifier.contains(pinned[name]), "run `make lock`"


def test_each_system_has_one_engine_pybullet_if_available(
    project: dict[str, Any], pinned_to_run: dict[str, Version], place: dict[str, str]
) -> None:
    """The fork has the module of `pybullet`: never both."""
    engines = {"pybullet", "pybullet-arm64", "mujoco-core"}
    has_wheels = (
        place["python_version"] != "3.14" and place["platform_machine"] != "aarch64"
    )
    needed = engines & set(here(project["dependencies"], place))
    assert needed == {"pybullet-arm64" if has_wheels else "mujoco-core"}
    assert "pybullet" not in pinned_to_run


def test_the_runtime_lock_has_no_developer_tools(
    project: dict[str, Any],
    pinned: dict[str, Version],
    pinned_to_run: dict[str, Version],
    place: dict[str, str],
) -> None:
    """The lock has all user extras; shared packages have one version."""
    extras = dict(project["optional-dependencies"])
    for_tests = [
        line for name in ("dev", "docs", "reference") for line in extras.pop(name)
    ]
    for name in NOT_LOCKED:
        del extras[name]
    lines = [*project["dependencies"], *(x for extra in extras.values() for x in extra)]
    run = set(here(lines, place))
    assert not run - set(pinned_to_run), "run `make lock`"
    tools = set(here(for_tests, place)) - run
    assert tools & set(pinned_to_run) == {"hatchling"}  # builds the package itself
    assert pinned_to_run.items() <= pinned.items()


def test_make_run_needs_no_developer_tools() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^run: \$\(READY\)", text, re.MULTILINE)
    assert re.search(r"^\$\(READY\): \$\(LOCKED\) pyproject.toml$", text, re.MULTILINE)
    assert re.search(r"^\$\(LOCKED\): requirements.lock$", text, re.MULTILINE)


def test_build_tool_is_in_the_lock(pinned_to_run: dict[str, Version]) -> None:
    """Otherwise `pip install --no-build-isolation` would need a network."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        needed = tomllib.load(file)["build-system"]["requires"]
    for requirement in map(Requirement, needed):
        assert requirement.specifier.contains(pinned_to_run[requirement.name])


def test_every_dependency_has_its_reason(asked: list[str]) -> None:
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    named = re.findall(
        r"^\| ([a-z0-9.-]+) \| ([^|]{10,}) \|$", text, flags=re.MULTILINE
    )
    wanted = {canonicalize_name(Requirement(line).name) for line in asked}
    assert {canonicalize_name(name) for name, _ in named} == wanted


def test_python_version_is_the_same_everywhere(project: dict[str, Any]) -> None:
    """In Makefile and classifiers; the packages to copy name its floor."""
    assert project["requires-python"] == ">=3.11,<3.15"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.findall(r"^PYTHONS \?= (.*)$", makefile, re.MULTILINE) == [
        " ".join(PYTHONS)
    ]
    named = "Programming Language :: Python :: "
    said = [x.removeprefix(named) for x in project["classifiers"] if named in x]
    assert said == list(PYTHONS[:3]), "tested versions"
    copied = [path for path in tracked(".toml") if path.parent != ROOT]
    needs = [tomllib.loads(path.read_text("utf-8")).get("project") for path in copied]
    packages = [
        need for need in needs if need and "nao-testbed" in need["dependencies"]
    ]
    assert len(packages) == 2
    for package in packages:
        assert package["requires-python"] == ">=3.11", package["name"]


def test_every_cited_source_is_in_the_references() -> None:
    references = (ROOT / "REFERENCES.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"\*\*\[([^\]]+)\]\*\*", references))
    unknown = {
        f"{path.relative_to(ROOT)}: [{key}]"
        for path in tracked(".py", ".csv", ".yaml", ".urdf", ".md")
        for key in KEY.findall(path.read_text(encoding="utf-8"))
        if key not in listed and path != Path(__file__).resolve()
    }
    assert not unknown, "add these keys to REFERENCES.md"


def test_ci_runs_the_tests_of_make_test_all() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o100, "not executable"
    assert script.read_text(encoding="utf-8").rstrip().endswith("make test-all")


def test_make_test_all_runs_every_test_once() -> None:
    """Quick tests as in `make test`, then slow tests.

    Coverage is combined and checked at the end only.
    """
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", "")
    assert re.findall(r'-m "?([a-z ]+)"? .*tests$', text, re.MULTILINE) == [
        "not slow",
        "slow",
    ]
    recipe = re.search(r"^test-all: .*\n((?:\t.*\n)+)", text, re.MULTILINE)
    assert recipe is not None
    assert "--cov-fail-under=0" in recipe[1]
    assert text.count("--cov-append") == 1
    makes = re.findall(r"\$\(MAKE\) (\w+)( MEASURE=\"--cov )?", recipe[1])
    assert [make for make, _ in makes] == ["test", "long"]
    assert makes[0][1], "coverage of the quick tests is not measured"
    assert text.count("hypothesis-profile=quick") == 1, (
        "fewer cases in `make test` only"
    )
    assert "MEASURE ?= --hypothesis-profile=quick\n" in text
