"""Actions of the gate itself: safe set-points and effort caps."""

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.events import MadeSafe
from nao_testbed.controllers.arbitration.gate.outputs import hold, holding_lags
from nao_testbed.controllers.arbitration.requests import Owner
from nao_testbed.controllers.arbitration.tokens import Loss, Refusal, Token
from nao_testbed.models import Robot
from tests.controllers.arbitration.gate_setup import World, ramp

LAG_YAW = 1.547 / 72.52 + 0.00153398
"""Effort limit / kp + encoder step of HeadYaw, from the joint table, in rad."""


def end(world: World, token: Token, how: str) -> None:
    """End the hold of HeadYaw."""
    tick = world.ledger.tick
    if how == "release":
        world.ledger.release(token, tick)
    elif how == "release of one":
        world.ledger.release(token, tick, ["HeadYaw"])
    elif how == "override":
        world.take("stare", "HeadYaw", priority=5)
    elif how == "freeze":
        world.ledger.freeze(["HeadYaw"], "hotEngine", tick)
    else:
        world.ledger.drop("look", tick)


@pytest.mark.parametrize("loss", list(Loss))
@pytest.mark.parametrize(
    "how", ["release", "release of one", "override", "freeze", "owner gone"]
)
def test_moving_joint_stops_when_its_authority_is_lost(
    world: World, how: str, loss: Loss
) -> None:
    token = world.take("look", "Head", loss=loss)
    world.gate.submit(token, "HeadYaw", 1.0)
    world.flush()
    world.robot.q[world.joint("HeadYaw")] = 0.4
    end(world, token, how)
    world.flush()
    assert world.target_of("HeadYaw") == pytest.approx(0.4 + LAG_YAW, abs=1e-7)
    assert [event.leaves for event in world.told(MadeSafe)] == [("HeadYaw",)]
    world.robot.q[world.joint("HeadYaw")] = 0.2
    world.ledger.add_owner(Owner(name="new"), world.ledger.tick)
    world.flush()
    assert len(world.told(MadeSafe)) == 1, "once: then the joint is not held"
    assert world.target_of("HeadYaw") == pytest.approx(0.4 + LAG_YAW, abs=1e-7)


def test_loaded_joint_keeps_its_set_point(world: World) -> None:
    """The lag supports the load: with less lag the leg would sag."""
    token = world.take("stand", "LKneePitch")
    world.gate.submit(token, "LKneePitch", 0.5)
    world.flush()
    for lag in (-0.02, 0.02):
        world.robot.q[world.joint("LKneePitch")] = 0.5 + lag
        world.gate.submit(token, "LKneePitch", 0.5)
        world.flush()
    world.ledger.release(token, world.ledger.tick)
    world.flush()
    assert world.target_of("LKneePitch") == 0.5
    assert world.told(MadeSafe)


def test_holding_lag_gives_full_torque_at_stiffness_one(nao: Robot) -> None:
    """τ = kp a >= effort limit for any reading: clipping does not reduce torque."""
    for joint, lag in zip(nao.joints, holding_lags(nao), strict=True):
        rounding = 0.5 * joint.encoder_step
        assert joint.kp * (lag - rounding) >= joint.effort_limit
        assert lag < np.deg2rad(2.0), "it stops near its angle"


@pytest.mark.parametrize(
    ("in_force", "measured", "held"),
    [(1.0, 0.4, 0.5), (-1.0, 0.4, 0.3), (0.45, 0.4, 0.45), (1.2, 1.04, 1.0)],
)
def test_safe_set_point_is_near_the_angle_and_within_limits(
    in_force: float, measured: float, held: float
) -> None:
    assert hold(in_force, measured, 0.1, -1.0, 1.0) == pytest.approx(held)


def test_joints_of_one_motor_hold_at_their_mean(world: World) -> None:
    token = world.take("walk", "LHipYawPitch")
    world.gate.submit(token, "LHipYawPitch", -0.5)
    world.flush()
    world.robot.q[world.joint("LHipYawPitch")] = -0.2
    world.robot.q[world.joint("RHipYawPitch")] = -0.1
    world.ledger.release(token, world.ledger.tick)
    world.flush()
    lag = 3.348 / 150.0 + 0.00153398
    for name in ("LHipYawPitch", "RHipYawPitch"):
        assert world.target_of(name) == pytest.approx(-0.15 - lag, abs=1e-7)


def test_command_of_a_new_owner_precedes_the_safe_set_point(world: World) -> None:
    token = world.take("look", "HeadYaw")
    world.gate.submit(token, "HeadYaw", 1.0)
    world.flush()
    new = world.take("stare", "HeadYaw", priority=5)
    world.gate.submit(new, "HeadYaw", 0.7)
    world.flush()
    assert world.target_of("HeadYaw") == 0.7
    assert not world.told(MadeSafe)


@pytest.mark.requirement("I-22")
def test_late_command_of_the_former_holder_does_not_prevent_it(world: World) -> None:
    token = world.take("look", "HeadYaw")
    world.gate.submit(token, "HeadYaw", 1.0)
    world.flush()
    world.gate.submit(token, "HeadYaw", 1.1)
    world.ledger.freeze(["HeadYaw"], "hotEngine", world.ledger.tick)
    assert world.flush() == (Refusal.REVOKED,)
    q = float(world.robot.q[world.joint("HeadYaw")])
    assert world.target_of("HeadYaw") == pytest.approx(q + LAG_YAW, abs=1e-7)


def test_owner_without_commands_leaves_nothing_to_make_safe(world: World) -> None:
    token = world.take("look", "Head")
    world.flush()
    world.ledger.release(token, world.ledger.tick)
    world.flush()
    assert not world.robot.commands
    assert not world.told(MadeSafe)


def test_joints_of_other_owners_are_not_made_safe(world: World) -> None:
    other = world.take("walk", "LKneePitch")
    token = world.take("look", "HeadYaw")
    world.gate.submit(other, "LKneePitch", 1.0)
    world.gate.submit(token, "HeadYaw", 1.0)
    world.flush()
    world.ledger.release(token, world.ledger.tick)
    world.flush()
    assert world.target_of("LKneePitch") == 1.0


def test_stiffness_keeps_its_last_command(world: World) -> None:
    token = world.take("save heat", "Stiffness")
    world.gate.submit_stiffness(token, ramp(26))
    world.flush()
    world.ledger.drop("save heat", world.ledger.tick)
    world.flush()
    assert (world.robot.stiffness == ramp(26)).all()
    assert [event.leaves for event in world.told(MadeSafe)] == [("Stiffness",)]


# -- effort caps ---------------------------------------------------------------------


@pytest.mark.requirement("RM-43", "RM-46")
@pytest.mark.parametrize("is_total", [True, False])
def test_cap_is_in_force_until_its_cause_ends(world: World, is_total: bool) -> None:
    token = world.take("save heat", "Stiffness")
    world.gate.submit(token, "Stiffness", 0.8)
    world.flush()
    world.ledger.freeze(["HeadYaw"], "hotEngine", 1, effort_cap=0.3, is_total=is_total)
    world.flush()
    assert world.stiffness_of("HeadYaw") == 0.3
    assert world.stiffness_of("HeadPitch") == 0.8
    for commanded, in_force in ((0.9, 0.3), (0.2, 0.2), (0.7, 0.3)):
        world.gate.submit(token, "Stiffness", commanded)
        world.flush()
        assert world.stiffness_of("HeadYaw") == (0.3 if is_total else in_force)
        assert world.stiffness_of("HeadPitch") == commanded
    world.ledger.thaw("hotEngine", world.ledger.tick)
    world.flush()
    last = 0.8 if is_total else 0.7  # not commanded while frozen
    assert world.stiffness_of("HeadYaw") == last, "the last command is restored"


@pytest.mark.requirement("RM-44")
def test_broken_joint_is_limp(world: World) -> None:
    world.ledger.freeze(["LElbowYaw"], "brokenArm", 0, effort_cap=0.0)
    world.flush()
    assert world.stiffness_of("LElbowYaw") == 0.0
    assert world.stiffness_of("LElbowRoll") == 1.0


def test_smallest_cap_of_all_causes_and_leaves_applies(world: World) -> None:
    freeze, thaw = world.ledger.freeze, world.ledger.thaw
    freeze(["HeadYaw"], "hotEngine", 0, effort_cap=0.5)
    freeze(["Stiffness"], "saveEnergy", 0, effort_cap=0.4, is_total=False)
    freeze(["HeadYaw"], "worn", 0, effort_cap=0.2, is_total=False)
    for over, yaw, pitch in (
        ("", 0.2, 0.4),
        ("worn", 0.4, 0.4),
        ("saveEnergy", 0.5, 1.0),
    ):
        if over:
            thaw(over, world.ledger.tick)
        world.flush()
        assert world.stiffness_of("HeadYaw") == yaw
        assert world.stiffness_of("HeadPitch") == pitch


def test_cap_on_a_shared_motor_applies_to_both_joints(world: World) -> None:
    world.ledger.freeze(["LHipYawPitch"], "hotEngine", 0, effort_cap=0.5)
    world.flush()
    assert world.stiffness_of("LHipYawPitch") == 0.5
    assert world.stiffness_of("RHipYawPitch") == 0.5


def test_cap_is_written_again_after_a_failed_write(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(command: object) -> None:
        raise ConnectionError

    world.ledger.freeze(["HeadYaw"], "hotEngine", 0, effort_cap=0.5)
    with monkeypatch.context() as broken:
        broken.setattr(world.robot, "write", fail)
        with pytest.raises(ConnectionError):
            world.flush()
    world.flush()
    assert world.stiffness_of("HeadYaw") == 0.5


# -- limp motors -----------------------------------------------------------------------


@pytest.mark.parametrize("how", ["cap", "stiffness"])
@pytest.mark.requirement("RM-43")
def test_set_point_of_a_limp_joint_follows_its_angle(world: World, how: str) -> None:
    """Stiff again, the joint stays there, and the next motion starts from there."""
    token = world.take("limit", "Stiffness")
    place = world.joint("RShoulderPitch")
    other = world.target_of("LShoulderPitch")

    def stiffen(value: float) -> None:
        tick = world.ledger.tick
        if how == "stiffness":
            whole = world.robot.stiffness.copy()
            whole[place] = value
            world.gate.submit_stiffness(token, whole)
        elif value:
            world.ledger.thaw("broken", tick)
        else:
            world.ledger.freeze(["RShoulderPitch"], "broken", tick, effort_cap=0.0)
        world.flush()

    stiffen(0.0)
    for angle in (0.4, 0.9, 1.3):
        world.robot.q[place] = angle
        world.flush()
        assert world.target_of("RShoulderPitch") == angle
        assert world.gate.present["RShoulderPitch"] == angle
    stiffen(1.0)
    world.robot.q[place] = 1.2
    world.flush()
    assert world.target_of("RShoulderPitch") == 1.3
    assert world.target_of("LShoulderPitch") == other


def test_limp_joint_can_be_commanded(world: World) -> None:
    world.ledger.add_owner(Owner(name="limit"), 0)
    world.ledger.entrust("limit", 0)
    limit = world.take("limit", "Stiffness")
    token = world.take("look", "HeadYaw")
    whole = world.robot.stiffness * 0.0
    world.gate.submit_stiffness(limit, whole)
    world.robot.q[world.joint("HeadYaw")] = 0.2
    world.gate.submit(token, "HeadYaw", 0.7)
    world.flush()
    assert world.target_of("HeadYaw") == 0.7
    world.flush()
    assert world.target_of("HeadYaw") == 0.2


def test_nothing_is_written_without_a_limp_joint(world: World) -> None:
    world.robot.q[:] = 0.1
    for _ in range(3):
        world.flush()
    assert not world.robot.commands
