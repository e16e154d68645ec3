"""Ankle gains below m g h: reported before a stand, correct on both engines."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.experiments.cli import app
from nao_testbed.experiments.heat import run_heat
from nao_testbed.models import BadInput, Posture, Robot, load_robot
from nao_testbed.models.load import copy_robot
from nao_testbed.sim.body.ankle_gains import ankle_gains, why_it_falls
from nao_testbed.sim.engine.world import Payload, WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from nao_testbed.sim.servo import ServoCfg

TWO_LEG = Path(__file__).parents[1] / "data" / "two_leg"
LEVER = 1.0 * 0.30 + 2 * 0.2 * 0.18 + 2 * 0.15 * 0.06
"""Σ m z over the ankle axes of the straight walker, from its URDF, in kg·m."""


@pytest.fixture(scope="module")
def walker() -> Robot:
    return load_robot(TWO_LEG)


def with_gains(robot: Robot, kp: float, kd: float, names: tuple[str, ...]) -> Robot:
    joints = tuple(
        dataclasses.replace(joint, kp=kp, kd=kd) if joint.name in names else joint
        for joint in robot.joints
    )
    return dataclasses.replace(robot, joints=joints)


def test_needed_stiffness_is_that_of_an_inverted_pendulum(walker: Robot) -> None:
    (row,) = ankle_gains(walker, walker.posture("Straight"))
    assert (row.direction, row.joints) == ("pitch", ("left_ankle", "right_ankle"))
    assert row.held == 120.0
    assert row.needed == pytest.approx(9.81 * LEVER, rel=1e-6)
    load = Payload(link="trunk", mass_kg=0.5, position=(0.0, 0.0, 0.12))
    (row,) = ankle_gains(walker, walker.posture("Straight"), 3.7, [load])
    assert row.needed == pytest.approx(3.7 * (LEVER + 0.5 * 0.36), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pybullet", "mujoco"])
@pytest.mark.parametrize("share", [0.9, 1.04])
def test_a_stand_ends_where_the_gains_are_below_the_limit(
    walker: Robot, engine: EngineName, share: float
) -> None:
    pytest.importorskip(engine)
    (row,) = ankle_gains(walker, walker.posture("Straight"))
    robot = with_gains(walker, share * row.needed / 2.0, 0.02, row.joints)
    world = WorldCfg(engine=engine)
    told = why_it_falls(robot, "Straight", world)
    cfg = SimulationCfg(world=world, servo=ServoCfg(friction_scale=0.0))
    sim = SimulatedRobot(robot, cfg, "Straight")
    sim.step(6000)
    angle = np.abs(sim.q).max()
    sim.close()
    assert (told is not None) == (share < 1.0)
    assert angle > 0.02 if share < 1.0 else angle < 1e-3  # rad


def test_g1_with_published_gains_is_reported() -> None:
    """Two ankles of 28.5 N·m/rad under 33.3 kg; `models/g1` has ten times that."""
    g1 = load_robot("g1")
    ankles = ("left_ankle_pitch", "right_ankle_pitch")
    weak = with_gains(g1, 28.5012, 1.81445, ankles)
    for name, needed in (("zero", 213), ("home", 208), ("bent", 202)):
        assert why_it_falls(g1, name, WorldCfg()) is None
        assert why_it_falls(weak, name, WorldCfg()) == (
            f"posture {name!r}: two ankles hold 57 N·m/rad in pitch "
            f"(left_ankle_pitch, right_ankle_pitch), gravity needs {needed}: this "
            "robot stands only under a controller or with higher gains (kp in "
            "joints.csv)."
        )


def test_on_one_foot_roll_is_checked() -> None:
    """The G1 leans over its left foot; only that foot carries."""
    g1 = load_robot("g1")
    angles = g1.posture("zero").angles.copy()
    for name, angle in (("left_hip_roll", -0.2), ("left_ankle_roll", 0.2)):
        angles[g1.joint_index(name)] = angle
    angles[g1.joint_index("right_knee")] = 1.0
    one = Posture(
        name="one", angles=angles, effectors=("left_foot",), offset=None, status=""
    )
    rows = {row.direction: row for row in ankle_gains(g1, one)}
    assert rows["pitch"].joints == ("left_ankle_pitch",)
    assert rows["roll"].joints == ("left_ankle_roll",)
    assert rows["roll"].held == pytest.approx(285.012)
    # The free foot's 0.7 kg now hang from the pendulum, near the ground.
    assert rows["roll"].needed == pytest.approx(213.0, rel=0.06)


def test_a_sitting_robot_needs_no_ankles(nao: Robot) -> None:
    assert ankle_gains(nao, nao.posture("Sit")) == ()
    assert why_it_falls(nao, "PoseInit", WorldCfg()) is None


def test_heat_warns_before_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise BadInput("stopped before the first trial")

    monkeypatch.setattr(run_heat, "run_trials", stop)
    folder = copy_robot(TWO_LEG, tmp_path / "weak")
    table = folder / "joints.csv"
    lines = table.read_text("utf-8").splitlines()
    weak = [
        line.replace(",60,0.6,", ",1,0.6,") if "ankle," in line[:13] else line
        for line in lines
    ]
    table.write_text("\n".join(weak) + "\n", "utf-8")
    for robot, told in ((folder, True), (TWO_LEG, False)):
        run = ["heat", "--robot", str(robot), "--out", str(tmp_path / "run")]
        said = CliRunner().invoke(app, run)
        assert isinstance(said.exception, BadInput)
        sentence = "two ankles hold 2 N·m/rad in pitch (left_ankle, right_ankle)"
        assert (sentence in said.stderr) == told
