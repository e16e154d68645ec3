"""Build and install external packages, and run their tests.

The example passes its own tests. A package of invalid controllers fails each of its
tests with a message that states the fault.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.doc_blocks import ROOT, appears, blocks_of

GOOD = ROOT / "examples" / "third_party_controller"
BAD = Path(__file__).parent / "bad_controllers"

# External packages do not measure our coverage; it would double the time.
OUTSIDE = {k: v for k, v in os.environ.items() if not k.startswith("COV")}


def call(*command: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=cwd,
        env={**OUTSIDE, "OMP_NUM_THREADS": "1", **env},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_of(package: Path, folder: Path, *arguments: str) -> tuple[int, str]:
    """Build and install a package, and run its tests outside this project.

    Returns:
        The exit status and the output of pytest.
    """
    source, site = folder / "source", folder / "site"
    shutil.copytree(
        package, source, ignore=shutil.ignore_patterns("__pycache__", "dist")
    )
    build = ("build", "--wheel", "--no-isolation", "--outdir", str(folder), str(source))
    built = call(*build, cwd=folder)
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = folder.glob("*.whl")
    install = ("pip", "install", "--quiet", "--no-deps", "--no-index", "--target")
    installed = call(*install, str(site), str(wheel), cwd=folder)
    assert installed.returncode == 0, installed.stderr
    shutil.rmtree(source / "src", ignore_errors=True)
    for module in source.glob("bad_controllers.py"):
        module.unlink()  # the tests must import the installed module
    tested = call(
        "pytest",
        "-p",
        "no:cacheprovider",
        *arguments,
        cwd=source,
        PYTHONPATH=os.pathsep.join([str(site), str(ROOT)]),
    )
    return tested.returncode, tested.stdout + tested.stderr


test_of.__test__ = False  # type: ignore[attr-defined]

SENTENCES = {
    "test_chatterbox": "chatterbox chatters: the stiffness of LKneePitch changed "
    "direction 25 times between 0.02 s and 1.02 s; at most 2 times a second is "
    "allowed.",
    "test_limitless": "limitless ignores the limit: the stiffness of HeadYaw was 1.000 "
    "at 0.00 s; the limit is 0.800.",
    "test_limitless_beside_smart": "limitless ignores the limit: the stiffness of "
    "LKneePitch was 1.000 at # s; smart allows #.",
    "test_sluggish": "sluggish is too slow: its step takes # ms (median of 75) and "
    "computes for # ms (95th percentile); both must be under 2 ms.",
    "test_nan": "nan returned a stiffness of NaN for RAnkleRoll at 0.50 s; it must be "
    "a finite number.",
    "test_toppler": "toppler does not stay upright: it fell at # s of 2 s.",
    "test_toppler_is_not_called_cool": "toppler cannot be evaluated: it fell at # s of "
    "2 s.",
    "test_overreacher": "overreacher shifts too far: the set-point of HeadYaw by 6.00 "
    "degrees at 1.18 s; at most 3 degrees is allowed.",
    "test_limitless_is_no_cooler": "limitless is not cool enough: the legs dissipated "
    "# J, as much as fixed (# J); required: at least 30 % less.",
    "test_limitless_is_too_hot": "limitless gets too hot: motor RShoulderPitch was "
    "above 29 °C at 0.0 s and reached # °C.",
    "test_contract[generous]": "generous returned a stiffness of 1.2 for LHipRoll at "
    "0.00 s; it must be between 0 and 1.",
    "test_contract[silent]": "silent returned None from step at 0.00 s; it must be "
    "Limits(stiffness=...) with one number per joint.",
    "test_contract[short]": "short returned a stiffness of shape (10,) at 0.00 s; it "
    "must be (26,), one number per joint of nao.",
    "test_contract[fumbler]": "fumbler raised KeyError: 'LKneePich' in step "
    "(bad_controllers.py:#) at 0.00 s.",
    "test_contract[unready]": "unready raised RuntimeError: no licence in reset "
    "(bad_controllers.py:#).",
    "test_no_assertion_is_needed": "fumbler raised KeyError: 'LKneePich' in step "
    "(bad_controllers.py:#) at 0.00 s.",
}
"""Expected message for each test of the bad package; # is a number."""


@pytest.mark.slow
@pytest.mark.scenario
def test_example_package_passes_its_tests(tmp_path: Path) -> None:
    status, said = test_of(GOOD, tmp_path, "-q")
    assert status == 0, said
    assert re.search(r"^9 passed", said, re.MULTILINE), said


@pytest.mark.slow
@pytest.mark.scenario
def test_each_invalid_controller_fails_with_a_clear_message(tmp_path: Path) -> None:
    status, said = test_of(BAD, tmp_path, "--tb=short", "check_bad_controllers.py")
    assert status == 1, said
    parts = re.split(r"^_{4,} (\S+) _{4,}$", said, flags=re.MULTILINE)
    failed = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert len(failed) == len(SENTENCES), said
    (shown,) = (
        b for b in blocks_of("docs/guides/regression_kit.md") if b.language == "text"
    )
    for line in shown.text.splitlines():
        assert appears(line, re.sub(r"^E +(AssertionError: )?", "", said, flags=re.M))
    for test, sentence in SENTENCES.items():
        pattern = re.escape(sentence).replace(r"\#", r"\d+(\.\d+)?")
        lines = [line.removeprefix("E   ") for line in failed[test].splitlines()]
        told = [line.removeprefix("AssertionError: ") for line in lines]
        assert any(re.fullmatch(pattern, line) for line in told), failed[test]
        assert "Traceback" not in failed[test]
        assert "experiments/regression" not in failed[test], "shows our code"
