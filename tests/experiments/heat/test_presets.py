"""Presets are data: they load, are validated, and explicit options override them."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.experiments.closed_loop.trial import run_trial
from nao_testbed.experiments.common.builtin_files import BuiltinFiles
from nao_testbed.experiments.heat import published
from nao_testbed.experiments.heat.experiment import (
    HeatCfg,
    default_preset,
    plan_trials,
    with_preset,
)
from nao_testbed.experiments.heat.published import load_preset, preset_names
from nao_testbed.models import (
    Robot,
    RobotDataError,
    UnknownName,
    default_robot_folder,
    load_robot,
)
from studies.preset_search import JOINTS, START_RANGE, opposed

LARGEST_MISALIGNMENT_DEG = 4.0
ATOL_LEGS = 0.05  # K, 0.001 N·m of LAnklePitch: 0.6 counts of its encoder
ATOL_ARMS = 0.1  # K, PyBullet's rotors lag: docs/measured/engines.md

GOOD = """\
about: a test
fitted_to: nothing
found_by: hand
posture: PoseInit
minutes: 15.0
effort_limits: {LAnklePitch: 3.2}
misalignment_deg: {LAnklePitch: 2.0}
start_degc: {LAnklePitch: 30.0}
other_start_degc: 30.0
"""


@pytest.fixture
def with_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new presets folder with the returned file."""
    monkeypatch.setattr(
        published, "PRESETS", BuiltinFiles(kind="preset", folder=tmp_path)
    )
    return tmp_path / "mine.yaml"


def test_the_document_preset_exists() -> None:
    assert "document" in preset_names()
    assert load_preset("document").posture == "PoseInit"


def test_the_default_preset_is_for_a_robot_that_has_its_joints(two_leg: Robot) -> None:
    nao = load_robot(default_robot_folder())
    without_posture = dataclasses.replace(
        nao, postures={"Stand": nao.postures["Stand"]}
    )
    assert default_preset(nao) == "document"
    assert default_preset(two_leg) is None
    assert default_preset(without_posture) is None


@pytest.mark.requirement("ST-24", "ST-25")
@pytest.mark.parametrize("name", preset_names())
def test_a_preset_stays_within_its_stated_assumptions(name: str) -> None:
    """Starts from 25 to 45 °C, misalignments of at most 4 degrees, known joints."""
    preset = load_preset(name)
    robot = load_robot(default_robot_folder())
    for joint, angle in preset.misalignment_deg.items():
        robot.joint_index(joint)
        assert abs(angle) <= LARGEST_MISALIGNMENT_DEG
    starts = [*preset.start_degc.values(), preset.other_start_degc]
    low, high = START_RANGE
    assert all(low <= start <= high for start in starts)
    assert (low, high) == (25.0, 45.0)
    assert set(preset.start_degc) == set(JOINTS)
    assert "nao-testbed study preset-search" in preset.found_by
    assert "smart" not in preset.fitted_to


@pytest.mark.requirement("ST-3")
def test_the_documents_legs_are_limited_to_3_2_newton_metres() -> None:
    limits = load_preset("document").effort_limits
    assert len(limits) == 12
    assert set(limits.values()) == {3.2}
    robot = plan_trials(HeatCfg(preset="document"))[0].load_robot()
    for name in limits:
        assert robot.effort_limit[robot.joint_index(name)] == 3.2
    arms = [n for n in robot.joint_names if n not in limits]
    plain = load_robot(default_robot_folder())
    for name in arms:
        j = robot.joint_index(name)
        assert robot.effort_limit[j] == plain.effort_limit[j]


@pytest.mark.requirement("ST-23")
def test_both_trials_are_the_same_robot_in_the_same_state() -> None:
    """Only the controller differs: the comparison is fair."""
    fixed, smart = plan_trials(HeatCfg(preset="document"))
    assert (fixed.controller, smart.controller) == ("fixed", "smart")
    assert fixed.simulation == smart.simulation
    assert fixed.effort_limits == smart.effort_limits
    assert (fixed.posture, fixed.duration_s) == (smart.posture, smart.duration_s)
    assert fixed.fast_forward == smart.fast_forward
    assert fixed.duration_s == 900.0


def test_explicit_settings_override_the_preset() -> None:
    cfg = HeatCfg(
        preset="document",
        misalignment_deg={"LAnklePitch": 3.0, "HeadYaw": 1.0},
        start_degc={"LAnklePitch": 40.0},
    )
    preset, setting = load_preset("document"), with_preset(cfg)
    assert setting.misalignment_deg["LAnklePitch"] == 3.0
    assert setting.misalignment_deg["HeadYaw"] == 1.0
    assert setting.start_degc["LAnklePitch"] == 40.0
    same = preset.misalignment_deg["RHipPitch"]
    assert setting.misalignment_deg["RHipPitch"] == same
    assert setting.other_start_degc == preset.other_start_degc


def test_a_preset_sets_duration_and_posture() -> None:
    preset = load_preset("document")
    asked = with_preset(HeatCfg(preset="document", posture="Stand", minutes=2.0))
    assert (asked.posture, asked.minutes) == ("Stand", 2.0)
    given = with_preset(HeatCfg(preset="document"))
    assert (given.posture, given.minutes) == (preset.posture, preset.minutes)


def test_a_robot_without_the_documents_posture_takes_its_first_one() -> None:
    two_leg = Path(__file__).parents[2] / "data" / "two_leg"
    (trial,) = plan_trials(HeatCfg(robot=two_leg, controllers=("fixed",)))
    assert trial.posture == "Stand"


@pytest.mark.slow
def test_both_engines_heat_the_documents_robot_alike() -> None:
    """Compared after 15 minutes under `fixed`."""
    engines: tuple[EngineName, ...] = ("pybullet", "mujoco")
    for engine in engines:
        pytest.importorskip(engine)
    ends = []
    for engine in engines:
        cfg = HeatCfg(preset="document", controllers=("fixed",), engine=engine)
        (trial,) = plan_trials(cfg)
        joints = run_trial(trial).joints
        ends.append({name: joint.end_degc for name, joint in joints.items()})
    legs = set(load_robot(default_robot_folder()).leg_joints)
    for joint, end_degc in ends[0].items():
        atol = ATOL_LEGS if joint in legs else ATOL_ARMS
        assert ends[1][joint] == pytest.approx(end_degc, abs=atol), joint


def test_the_searched_pattern_is_opposite_in_the_two_legs() -> None:
    x = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    angles = opposed(x)
    assert tuple(angles) == JOINTS
    for name, angle in angles.items():
        assert angles[("R" if name[0] == "L" else "L") + name[1:]] == -angle


def test_a_good_file_loads(with_file: Path) -> None:
    with_file.write_text(GOOD, encoding="utf-8")
    assert load_preset("mine").misalignment_deg == {"LAnklePitch": 2.0}


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("LAnklePitch: 2.0", "LAnklePitch: 4.5", 7, "LAnklePitch is 4.5"),
        ("LAnklePitch: 2.0", "LAnklePitch: .nan", 7, "LAnklePitch is nan"),
        ("LAnklePitch: 30.0", "LAnklePitch: 50", 8, "LAnklePitch is 50"),
        ("LAnklePitch: 3.2", "LAnklePitch: 0", 6, "LAnklePitch is 0"),
        ("LAnklePitch: 3.2", "LAnklePitch: strong", 6, "LAnklePitch is 'strong'"),
        ("minutes: 15.0", "minuts: 15.0", 5, "Did you mean 'minutes'?"),
        ("minutes: 15.0", "minutes: .nan", 5, "minutes is nan"),
        ("minutes: 15.0", "minutes: -1", 5, "minutes is -1"),
        ("found_by: hand\n", "", 1, "'found_by' is missing"),
        ("minutes: 15.0", "minutes: 15.0\nminutes: 16.0", 6, "duplicate key"),
        ("{LAnklePitch: 3.2}", "{LAnklePitch: 3.2", 7, "expected ',' or '}'"),
    ],
)
def test_a_bad_file_is_rejected_with_its_line(
    with_file: Path, old: str, new: str, line: int, message: str
) -> None:
    assert GOOD.count(old) == 1
    with_file.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(RobotDataError) as caught:
        load_preset("mine")
    assert str(caught.value).startswith(f"{with_file}:{line}:")
    assert message in str(caught.value)


def test_an_unknown_preset_is_refused_by_name(with_file: Path) -> None:
    with_file.write_text(GOOD, encoding="utf-8")
    with pytest.raises(UnknownName) as caught:
        load_preset("mime")
    assert str(caught.value) == (
        "Preset 'mime' is not in the testbed. Did you mean 'mine'? Known: mine."
    )
