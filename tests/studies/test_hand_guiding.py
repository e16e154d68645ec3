"""Hand-guiding force at a wrist: comparison with statics, and its report."""

import dataclasses
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from nao_testbed.controllers.stiffness.dynamics import build_model
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.models import Joint, Robot, default_robot_folder, load_robot
from studies.hand_guiding import (
    DIRECTIONS,
    GuidingCfg,
    Pull,
    PullResult,
    default_links,
    guiding_table,
    run_pull,
)

pytestmark = pytest.mark.slow


def guiding(**fields: Any) -> GuidingCfg:
    given: dict[str, Any] = {
        "controllers": ("fixed",),
        "setting": RobotSetting(),
    } | fields
    return GuidingCfg(**given)


def result(robot: int, direction: str = "up", **fields: Any) -> PullResult:
    pull = Pull(controller="fixed", link="l_wrist", direction=direction, robot=robot)
    return PullResult(pull=pull, **({"end": "moved"} | fields))


# -- against statics ----------------------------------------------------------------


def weakest_joint_n(robot: Robot, direction: str) -> float:
    """Return F = min_i (τ_i + φ_i + g_i sgn J_i) / |J_i| of the left arm in PoseInit.

    From Pinocchio alone: rigid torso, arm in its initial pose.
    """
    model = build_model(robot)
    data = model.createData()
    q = pin.neutral(model)
    for joint, angle in zip(
        robot.joints, robot.posture("PoseInit").angles, strict=True
    ):
        q[model.idx_qs[model.getJointId(joint.name)]] = angle
    weight = pin.computeGeneralizedGravity(model, data, q)
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    (com,) = (link.com for link in robot.links if link.name == "l_wrist")
    x = data.oMf[model.getFrameId("l_wrist")].act(np.array(com))
    bears = []
    for joint in robot.joints:
        if joint.name.startswith(("LShoulder", "LElbow")):
            i = model.getJointId(joint.name)
            column = model.idx_vs[i]
            twist = pin.getJointJacobian(model, data, i, pin.WORLD)[:, column]
            lever = (twist[:3] + np.cross(twist[3:], x)) @ DIRECTIONS[direction]
            if abs(lever) > 1e-3:
                helps = np.sign(lever) * weight[column]
                most = joint.effort_limit + joint.friction + helps
                bears.append(most / abs(lever))
    return float(min(bears))


@pytest.mark.requirement("ST-28")
@pytest.mark.parametrize("direction", ["ahead", "back", "inward", "up"])
def test_wrist_force_is_limited_by_the_weakest_joint(direction: str) -> None:
    """Levers shorten on the way, so the final force is a little larger.

    Pulled outward and down they do so by a fifth and by half. Ahead, the arm has swung
    by then, on MuJoCo a little further: 12.6 N, of the 12.9 N of statics.
    """
    pull = Pull(controller="fixed", link="l_wrist", direction=direction, robot=0)
    found = run_pull(guiding(), pull)
    assert found.end == "moved"
    assert found.force_n is not None
    expected = weakest_joint_n(load_robot(default_robot_folder()), direction)
    assert 0.98 * expected <= found.force_n <= 1.1 * expected


@pytest.mark.requirement("ST-28")
def test_a_limited_arm_yields_and_returns() -> None:
    pull = Pull(controller="smart", link="r_wrist", direction="inward", robot=0)
    slow, fast = (run_pull(guiding(rate=rate), pull) for rate in (1.0, 4.0))
    fixed = run_pull(guiding(), dataclasses.replace(pull, controller="fixed"))
    assert slow.force_n and fast.force_n and fixed.force_n  # noqa: PT018  for the types
    assert slow.force_n < 0.5 * fixed.force_n
    assert 0.0 < fast.force_n - slow.force_n < 1.0  # it takes 0.25 s
    assert slow.left_m is not None
    assert slow.left_m < 0.01
    assert not slow.is_caught


# -- pulled links and report ---------------------------------------------------------


def test_pulled_link_is_wrist_arm_end_or_base(nao: Robot, two_leg: Robot) -> None:
    def arm(name: str, parent: str) -> Joint:
        (hip,) = (joint for joint in two_leg.joints if joint.name == "left_hip")
        return dataclasses.replace(hip, name=name, parent=parent, link=f"{name}_link")

    arms = (
        *(arm("shoulder", "trunk"), arm("elbow", "shoulder_link")),
        arm("other_shoulder", "trunk"),
    )
    with_arms = dataclasses.replace(two_leg, joints=(*two_leg.joints, *arms))
    assert default_links(nao) == ("l_wrist", "r_wrist")
    assert default_links(two_leg) == ("trunk",)
    assert default_links(with_arms) == ("elbow_link", "other_shoulder_link")


def test_first_robot_is_as_configured_and_others_misaligned() -> None:
    setting = RobotSetting(misalignment_deg={"LElbowRoll": 3.0}, seed=7)
    cfg = guiding(setting=setting, spread_deg=0.5)
    robot = load_robot(default_robot_folder())
    assert cfg.of_robot(0, robot) is setting
    off = [cfg.of_robot(number, robot).misalignment_deg for number in (1, 2, 1)]
    assert off[0] == off[2] != off[1]
    assert set(off[0]) == set(robot.joint_names)
    assert abs(off[0]["LElbowRoll"] - 3.0) <= 0.5
    assert max(abs(v) for k, v in off[0].items() if k != "LElbowRoll") <= 0.5


def test_table_has_median_and_counts_of_held_and_fallen() -> None:
    found = [
        result(0, force_n=4.0, torso_m=0.002, left_m=0.001),
        result(1, force_n=6.0, torso_m=0.02, left_m=None, fell=True, is_caught=True),
        result(2, end="held", force_n=30.0, torso_m=0.0, left_m=0.0),
        result(3, end="fell", force_n=9.0, fell=True),
        result(4, "down", end="held", force_n=30.0),
        result(5, "back", end="fell", fell=True),
    ]
    table = guiding_table(guiding(robots=6), found)
    cells = {row.cells[0]: row.cells[1] for row in table.rows}
    assert cells["up"] == "6.0 (4.0 to > 30)"
    assert cells["down"] == "> 30"
    assert cells["back"] == "–"
    assert cells["fell"] == "3"
    assert cells["mistaken for a push"] == "1"
    assert cells["base displacement, cm"] == "0.2 (0.0 to 2.0)"
    assert cells["pulls"] == "6"
