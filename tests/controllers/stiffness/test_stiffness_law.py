"""Step 320: stiffness from torque, and the offset laws."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nao_testbed.controllers.stiffness import (
    ApproachOffset,
    BlockedJointOffset,
    ConstantOffset,
    FootOffset,
    OffsetContext,
    PostureOffset,
    WarmJointOffset,
)
from nao_testbed.controllers.stiffness.stiffness_law import StiffnessLaw
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from tests.messages import Messages, each

TORQUE = st.lists(st.floats(-6.0, 6.0), min_size=26, max_size=26)
DT = 0.02


def context(nao: Robot, **changes: Any) -> OffsetContext:
    plain = OffsetContext(
        dt_s=DT,
        posture=nao.posture("PoseInit"),
        is_foot_on_ground=True,
        joint_temperature=np.full(26, 30.0),
        target=np.zeros(26),
        q=np.zeros(26),
        stiffness=np.full(26, 0.3),
    )
    return dataclasses.replace(plain, **changes)


@pytest.mark.requirement("ST-18")
@settings(deadline=None)
@given(TORQUE, st.floats(0.0, 1.0))
def test_stiffness_is_torque_over_limit_plus_offset_clipped(
    nao: Robot, torque: list[float], offset: float
) -> None:
    tau = np.array(torque)
    law = StiffnessLaw(nao)
    stiffness, is_clipped = law.stiffness(law.share_of_limit(tau), offset)
    assert ((stiffness >= 0.0) & (stiffness <= 1.0)).all()
    for i, name in enumerate(nao.joint_names):
        if "HipYawPitch" not in name:
            expected = min(1.0, abs(tau[i]) / nao.joints[i].effort_limit + offset)
            assert stiffness[i] == pytest.approx(expected, rel=1e-12)
    alone = np.abs(tau) / nao.effort_limit
    assert not (is_clipped and alone.max() * 2 < 1.0)
    assert is_clipped or alone.max() <= 1.0


@pytest.mark.requirement("ST-18", "ST-3")
@settings(deadline=None)
@given(TORQUE)
def test_limit_never_cuts_the_equilibrium_torque(
    nao: Robot, torque: list[float]
) -> None:
    tau = np.array(torque)
    law = StiffnessLaw(nao)
    stiffness, _ = law.stiffness(law.share_of_limit(tau), 0.0)
    limit = stiffness * nao.effort_limit
    assert (limit >= np.minimum(np.abs(tau), nao.effort_limit) - 1e-12).all()


@pytest.mark.requirement("ST-18")
@pytest.mark.parametrize(
    ("left", "right", "needed"), [(0.5, 0.5, 1.0), (0.5, -0.5, 0.5), (0.2, -0.9, 0.9)]
)
def test_joints_of_one_motor_share_its_limit(
    nao: Robot, left: float, right: float, needed: float
) -> None:
    """The hip yaw-pitch motor gives the sum; the larger of sum and joint counts."""
    pair = [nao.joint_index("LHipYawPitch"), nao.joint_index("RHipYawPitch")]
    tau = np.zeros(26)
    tau[pair] = left, right
    share = StiffnessLaw(nao).share_of_limit(tau)
    np.testing.assert_allclose(share[pair], needed / nao.effort_limit[pair])
    assert np.count_nonzero(share) == 2


@pytest.mark.requirement("ST-3", "ST-18")
def test_leg_limits_of_es2659053_are_set_as_data(nao: Robot) -> None:
    weak = nao.with_effort_limits({"LKneePitch": 3.2})
    tau = np.zeros(26)
    tau[nao.joint_index("LKneePitch")] = -1.6
    share = StiffnessLaw(weak).share_of_limit(tau)
    assert share[nao.joint_index("LKneePitch")] == pytest.approx(0.5)


@pytest.mark.requirement("ST-19")
def test_default_offset_is_0_25_upright_and_0_1_off_the_ground(
    nao: Robot,
) -> None:
    law = PostureOffset()
    law.reset(nao)
    assert law.step(context(nao)) == 0.25
    unlisted = context(nao, posture=None)
    assert law.step(unlisted) == 0.25
    lifted = context(nao, posture=None, is_foot_on_ground=False)
    assert law.step(lifted) == 0.1


@pytest.mark.requirement("ST-19")
def test_offset_is_0_1_when_lifted_in_an_upright_posture(nao: Robot) -> None:
    """The posture does not show that the robot stands; its feet do."""
    law = PostureOffset()
    law.reset(nao)
    assert law.step(context(nao, is_foot_on_ground=False)) == 0.1


@pytest.mark.requirement("ST-19")
def test_user_offset_table_precedes_the_robot_table(nao: Robot) -> None:
    law = PostureOffset(table={"Crouch": 0.4, "PoseInit": 0.3})
    law.reset(nao)
    assert law.step(context(nao)) == 0.3
    assert law.step(context(nao, posture=nao.posture("Crouch"))) == 0.4
    assert law.step(context(nao, posture=nao.posture("StandInit"))) == 0.25
    sitting = context(nao, posture=nao.posture("Sit"), is_foot_on_ground=False)
    assert law.step(sitting) == 0.1


@pytest.mark.requirement("ST-19")
def test_constant_offset_for_all_or_by_joint(nao: Robot) -> None:
    law = ConstantOffset(value=0.2, by_joint={"HeadYaw": 0.6})
    law.reset(nao)
    offset = np.asarray(law.step(context(nao)))
    assert offset[nao.joint_index("HeadYaw")] == 0.6
    assert np.delete(offset, nao.joint_index("HeadYaw")).tolist() == [0.2] * 25
    assert ConstantOffset(value=0.3).step(context(nao)) == 0.3


@pytest.mark.requirement("ST-19")
def test_offset_approaches_a_new_value_with_its_time_constant(nao: Robot) -> None:
    law = ApproachOffset(inner=FootOffset(), time_constant_s=0.5)
    law.reset(nao)
    assert law.step(context(nao)) == 0.25, "no approach to the first value"
    lifted = context(nao, is_foot_on_ground=False)
    values = np.array([law.step(lifted) for _ in range(100)])
    time = DT * np.arange(1, 101)
    expected = 0.1 + 0.15 * np.exp(-time / 0.5)
    np.testing.assert_allclose(values, expected, rtol=1e-9)
    law.reset(nao)
    assert law.step(context(nao, is_foot_on_ground=False)) == 0.1


@pytest.mark.requirement("ST-19")
def test_warm_joint_loses_its_offset(nao: Robot) -> None:
    law = WarmJointOffset(inner=ConstantOffset(value=0.2))
    law.reset(nao)
    temperature = np.full(26, 30.0)
    temperature[:4] = 50.0, 60.0, 70.0, 90.0
    offset = np.asarray(law.step(context(nao, joint_temperature=temperature)))
    np.testing.assert_allclose(offset[:4], (0.2, 0.1, 0.0, 0.0), atol=1e-12)
    np.testing.assert_allclose(offset[4:], 0.2)


@pytest.mark.requirement("ST-27", "ST-30")
def test_blocked_joint_loses_its_offset_until_it_is_free(nao: Robot) -> None:
    """Full for 2 s at the limit, zero 1 s later, full when the set-point is near.

    Legs keep their offset, as do joints whose error is explained by the limit.
    """
    law = BlockedJointOffset(inner=ConstantOffset(value=0.2))
    law.reset(nao)
    arm, knee = nao.joint_index("LShoulderPitch"), nao.joint_index("LKneePitch")
    joint = nao.joints[arm]
    bound = 0.3 * joint.effort_limit / joint.kp + law.margin_rad
    target = np.zeros(26)
    target[[arm, knee]] = -0.7, 0.5
    short, near = target.copy(), target.copy()
    short[[arm, knee]] += 1.001 * bound, 2.0
    near[arm] -= 0.999 * bound

    def after(seconds: float, q: FloatArray) -> FloatArray:
        cycles = max(1, round(seconds / DT))
        steps = [law.step(context(nao, q=q, target=target)) for _ in range(cycles)]
        return np.asarray(steps[-1])

    after(DT, near)
    np.testing.assert_allclose(after(2.0, short), 0.2)
    assert after(0.5, short)[arm] == pytest.approx(0.1)
    gone = after(0.5, short)
    assert gone[arm] == pytest.approx(0.0, abs=1e-12)
    assert after(60.0, short)[arm] == 0.0
    np.testing.assert_array_equal(np.delete(gone, arm), 0.2)
    np.testing.assert_array_equal(after(DT, near), 0.2)
    assert after(1.9, short)[arm] == 0.2, "the time before is not counted"
    assert after(2.0, short)[arm] == 0.0
    target[arm] -= 1e-4
    assert after(DT, short)[arm] == 0.2, "a new set-point restores the offset"
    assert after(4.0, short)[arm] == 0.0
    law.reset(nao)
    np.testing.assert_array_equal(after(DT, short), 0.2)


def test_messages(messages: Messages, nao: Robot) -> None:
    messages(
        unknown_posture_or_joint=each(
            lambda law: law.reset(nao),
            PostureOffset(table={"Stood": 0.2}),
            ConstantOffset(value=0.1, by_joint={"Knee": 0.2}),
        )
    )
