"""The pytest plug-in, run in an inner pytest as by a user of the kit."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.controllers.policies.python_policy import HOLD

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[4]
TWO_LEG = ROOT / "tests" / "data" / "two_leg"
PLUGINS = (
    "nao_testbed.experiments.regression.plugin",
    "nao_testbed.experiments.scenarios.pytest_plugin",
)
HEAVY = (
    *("numpy", "pandas", "pybullet", "pinocchio", "numba"),
    *("nao_testbed.models", "nao_testbed.sim"),
)
BEGIN = f"""
import pytest
from nao_testbed.experiments.regression import StandingCfg

standing = pytest.mark.standing
ROBOT = {str(TWO_LEG)!r}
"""


def run(pytester: pytest.Pytester, text: str, *arguments: str) -> pytest.RunResult:
    """Run a test file with the plug-in."""
    pytester.makepyfile(BEGIN + text)
    return pytester.runpytest_inprocess(
        "--strict-markers", "-Werror", "-p", "no:cacheprovider", *arguments
    )


@pytest.mark.parametrize("plugin", PLUGINS)
def test_plugin_does_not_import_heavy_modules(plugin: str) -> None:
    """Every pytest run in the environment imports it."""
    code = f"import {plugin}, sys\nprint(*(set({HEAVY}) & sys.modules.keys()))"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert ran.stdout.split() == []


def test_marker_and_option_are_registered(pytester: pytest.Pytester) -> None:
    marks = pytester.runpytest_inprocess("--markers")
    marks.stdout.fnmatch_lines(["@pytest.mark.standing(controller, ?*setting): *"])
    options = pytester.runpytest_inprocess("--help")
    options.stdout.fnmatch_lines(["*--nao-testbed-regenerate*"])


@pytest.mark.slow(covers=True)
def test_closest_marker_takes_precedence(pytester: pytest.Pytester) -> None:
    ran = run(
        pytester,
        """
pytestmark = standing(robot=ROBOT, seconds=1.0, controller="constant:0.9")

@standing(controller="constant:0.8", slope_deg=1.0)
class TestIt:
    @standing(slope_deg=2.0)
    def test_marks(self, standing_trial, fixed_trial, smart_trial, run_standing):
        assert standing_trial.controller == "constant:0.8"
        assert standing_trial.setting.slope_deg == 2.0
        assert standing_trial.setting.seconds == 1.0
        assert fixed_trial.setting.key == standing_trial.setting.key
        assert (fixed_trial.controller, smart_trial.controller) == ("fixed", "smart")
        flat = run_standing("fixed", slope_deg=0.0)
        assert flat.setting.slope_deg == 0.0
        assert flat.setting.robot == standing_trial.setting.robot
""",
    )
    ran.assert_outcomes(passed=1)


@pytest.mark.slow(covers=True)
def test_policy_replaces_the_controller(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("hold.py").write_text(HOLD, encoding="utf-8")
    pytester.path.joinpath("nan.py").write_text(
        HOLD.replace("0.01 * self.n", "float('nan')"), encoding="utf-8"
    )
    ran = run(
        pytester,
        """
@standing(robot=ROBOT, policy="hold.py:Hold", seconds=0.2)
def test_it(standing_trial, fixed_trial):
    standing_trial.stays_up()
    assert standing_trial.controller == "policy:hold.py:Hold"
    assert fixed_trial.controller == "fixed"

@standing(robot=ROBOT, policy="nan.py", seconds=0.2)
def test_nan(standing_trial):
    standing_trial.stays_up()
""",
        "--tb=short",
    )
    ran.assert_outcomes(passed=1, failed=1)
    ran.stdout.fnmatch_lines(["*returned a set-point of nan for left_hip*"])


@pytest.mark.slow(covers=True)
def test_equal_trials_run_once(pytester: pytest.Pytester) -> None:
    ran = run(
        pytester,
        """
from nao_testbed.controllers import FixedStiffness

made = []

class Counted(FixedStiffness):
    def __init__(self):
        super().__init__()
        made.append(self)

@standing(robot=ROBOT, seconds=0.5)
class TestIt:
    def test_first(self, run_standing, fixed_trial):
        TestIt.seen = fixed_trial, run_standing(Counted)
        assert run_standing("fixed") is fixed_trial
        assert run_standing("fixed", seed=1) is not fixed_trial

    def test_second(self, run_standing, fixed_trial):
        assert (fixed_trial, run_standing(Counted)) == TestIt.seen
        assert len(made) == 1

    def test_an_instance_may_have_changed(self, run_standing):
        own = Counted()
        assert run_standing(own) is not run_standing(own)
""",
    )
    ran.assert_outcomes(passed=3)


def test_bad_input_is_reported_in_one_sentence(pytester: pytest.Pytester) -> None:
    ran = run(
        pytester,
        """
@standing(robot=ROBOT, controler="fixed")
def test_key(standing_trial): pass

@standing(robot=ROBOT, controller="fxed")
def test_name(standing_trial): pass

@standing("fixed", robot=ROBOT)
def test_position(standing_trial): pass

@standing(robot=ROBOT)
def test_none(standing_trial): pass

def test_no_mark(fixed_trial): pass

@standing(robot=ROBOT, misalignment_deg={"left_kne": 1.0})
def test_joint(fixed_trial): pass

def test_call(run_standing):
    run_standing("fixed", robot=ROBOT, secconds=2.0)
""",
        "--tb=short",
    )
    ran.assert_outcomes(errors=6, failed=1)
    ran.stdout.fnmatch_lines_random(
        [
            "pytest.mark.standing: Setting 'controler' is not in *",
            "pytest.mark.standing: Controller 'fxed' is not in *'fixed'*",
            "pytest.mark.standing of test_position takes names and values only*",
            "pytest.mark.standing: it has no controller; *",
            "test_no_mark takes the fixture fixed_trial but has no setting; *",
            "pytest.mark.standing: Joint 'left_kne' is not in *'left_knee'*",
            "E   *.UnknownName: Setting 'secconds' is not in run_standing*",
        ]
    )
    ran.stdout.no_fnmatch_line("*During handling*")
    ran.stdout.no_fnmatch_line("*experiments/regression/*")


@pytest.mark.slow(covers=True)
def test_golden_run_is_written_only_on_request(pytester: pytest.Pytester) -> None:
    text = """
@standing(controller="fixed", robot=ROBOT, seconds=1.0)
def test_it(standing_trial, golden_run):
    golden_run.check(standing_trial, tolerances={"limits": 0.1})
    golden_run.check(standing_trial, columns=["gyro"], name="gyro")
"""
    option = "--nao-testbed-regenerate"
    run(pytester, text).assert_outcomes(failed=1)
    folder = next(pytester.path.glob("test_*.py")).stem
    golden = pytester.path / "golden" / folder
    assert not golden.exists()
    made = run(pytester, text, option, "-rs")
    made.assert_outcomes(skipped=1)
    made.stdout.fnmatch_lines(["SKIPPED*golden run written: *test_it.csv, *; review*"])
    files = sorted(path.name for path in golden.iterdir())
    assert files == [
        f"test_it{name}.{end}" for name in ("-gyro", "") for end in ("csv", "json")
    ]
    run(pytester, text).assert_outcomes(passed=1)
    softer = run(pytester, text.replace('"fixed"', '"constant:0.85"'))
    softer.assert_outcomes(failed=1)
    softer.stdout.fnmatch_lines(
        ["E *constant:0.85 differs from its golden run: limits.*was 1 at 0.50 s and*"]
    )


def test_regenerating_does_not_hide_a_failing_test(
    pytester: pytest.Pytester,
) -> None:
    ran = run(
        pytester,
        """
@standing(controller="fixed", robot=ROBOT, seconds=0.5)
def test_it(standing_trial, golden_run):
    golden_run.check(standing_trial)
    standing_trial.never_above(10.0)
""",
        "--nao-testbed-regenerate",
    )
    ran.assert_outcomes(failed=1)


def test_measurements_are_in_the_junit_file(pytester: pytest.Pytester) -> None:
    run(
        pytester,
        """
@standing(controller="constant:0.9", robot=ROBOT, seconds=1.0)
def test_it(standing_trial, fixed_trial, run_standing):
    run_standing("constant:0.9")
""",
        "--junitxml=junit.xml",
    ).assert_outcomes(passed=1)
    found = [
        (p.attrib["name"], p.attrib["value"])
        for p in ElementTree.parse(pytester.path / "junit.xml").iter("property")
    ]
    said = dict(found)
    assert len(said) == len(found), "duplicate property"
    for controller in ("constant:0.9", "fixed"):
        assert said[f"{controller}.fell"] == "False"
        assert said[f"{controller}.simulated_s"] == "1.0"
        assert float(said[f"{controller}.legs_power_w"]) > 0.0
        assert 29.0 <= float(said[f"{controller}.hottest_degc"]) < 35.0
        assert float(said[f"{controller}.tick_median_ms"]) > 0.0
        assert (
            said[f"{controller}.settled_s"] == "none" or said[f"{controller}.hottest"]
        )


def test_failed_trial_fails_a_test_without_assertions(
    pytester: pytest.Pytester,
) -> None:
    ran = run(
        pytester,
        """
class Silent:
    name = "silent"
    def reset(self, robot): pass
    def step(self, observation): pass

@standing(controller=Silent, robot=ROBOT, seconds=0.5)
def test_it(standing_trial): pass
""",
    )
    ran.assert_outcomes(failed=1)
    ran.stdout.fnmatch_lines(["silent returned None from step at 0.00 s; it must be *"])
    ran.stdout.no_fnmatch_line("*Traceback*")
