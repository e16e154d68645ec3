"""I-14: every command that moves or frees a joint needs the right to that joint.

A shift moves a joint, and a stiffness of 0 frees it: both need the motor.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

from nao_testbed.controllers.arbitration.events import (
    Entrusted,
    Executed,
    LeftOut,
    MadeSafe,
    Notified,
    Rejected,
    Unshifted,
)
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import Loss, NoticeKind, Refusal, Token
from nao_testbed.models import BadInput, Robot
from tests.controllers.arbitration.gate_setup import (
    World,
    leaf,
    limits,
    motor,
    node,
    reason_of,
)

CONTROLLER = "stiffness controller"


def entrusted(world: World, *names: str) -> Token:
    """Entrust the controller with the torque limits and return its token."""
    world.ledger.add_owner(Owner(name=CONTROLLER, priority=5), world.ledger.tick)
    world.ledger.entrust(CONTROLLER, world.ledger.tick)
    return world.take(CONTROLLER, *(names or ("Stiffness",)), priority=5)


def shifted(world: World, angle: float = 1.0, *names: str) -> NDArray[np.float64]:
    """Return a shift of the named joints; HeadYaw by default."""
    shift = np.zeros(len(world.robot.q))
    for name in names or ("HeadYaw",):
        shift[world.joint(name)] = angle
    return shift


def settle(world: World, slots: int = 200) -> None:
    for _ in range(slots):
        world.flush()


class _ChangingName(str):
    """Name that hashes like another one the first time."""

    __slots__ = ("looks",)

    def __hash__(self) -> int:
        self.looks = getattr(self, "looks", 0) + 1
        return hash("HeadYaw" if self.looks == 1 else "HeadPitch")

    def __eq__(self, other: object) -> bool:
        return True


# -- shift -----------------------------------------------------------------------------


@pytest.mark.requirement("I-14", "I-22")
@pytest.mark.parametrize("is_shifted_before", [False, True])
def test_frozen_joint_cannot_be_shifted(world: World, is_shifted_before: bool) -> None:
    """hotEngine holds it: the set-point stays, whether shifted before or not."""
    limits = entrusted(world)
    joint = world.joint("HeadYaw")
    if is_shifted_before:
        assert world.gate.submit_shift(limits, shifted(world, 0.5)) is None
        world.flush()
        world.robot.q[joint] = world.target_of("HeadYaw")
    before = world.target_of("HeadYaw")
    world.ledger.freeze(["HeadYaw"], "hotEngine", world.ledger.tick)
    assert (
        reason_of(world.gate.submit_shift(limits, shifted(world, 1.5)))
        is Refusal.FROZEN
    )
    settle(world)
    assert world.target_of("HeadYaw") == pytest.approx(before)
    assert world.gate.shift[joint] == 0.0
    assert bool(world.told(Unshifted)) is is_shifted_before


@pytest.mark.requirement("I-14")
def test_holder_can_allow_another_owner_to_shift_its_motors(
    world: World,
) -> None:
    look = world.take("look", "HeadYaw")
    nudge = world.take("nudge", "Speech")
    shift = shifted(world, 0.4)
    assert world.gate.submit_shift(nudge, shift) is not None
    world.ledger.allow_shift(look, "nudge", world.ledger.tick)
    world.gate.submit(look, "HeadYaw", 0.2)
    assert world.gate.submit_shift(nudge, shift) is None
    world.flush()
    assert world.target_of("HeadYaw") == pytest.approx(0.6)
    world.ledger.allow_shift(look, "nudge", world.ledger.tick, is_allowed=False)
    assert world.gate.submit_shift(nudge, shifted(world, 0.5)) is not None
    settle(world)
    assert world.target_of("HeadYaw") == 0.2
    world.ledger.allow_shift(look, "nudge", world.ledger.tick)
    world.gate.submit_shift(nudge, shift)
    world.flush()
    world.ledger.release(look, world.ledger.tick)
    again = world.take("nod", "HeadYaw")
    assert (
        reason_of(world.gate.submit_shift(nudge, shifted(world, 0.5)))
        is Refusal.NOT_COVERED
    )
    world.gate.submit(again, "HeadYaw", 0.1)
    settle(world)
    assert world.target_of("HeadYaw") == 0.1


@pytest.mark.requirement("I-14")
@pytest.mark.parametrize("end", ["drop", "release", "forbid", "distrust"])
def test_shift_ramps_down_when_its_right_ends(world: World, end: str) -> None:
    """The set-point returns to the commanded 0.2."""
    limits = entrusted(world)
    look = world.take("look", "HeadYaw")
    world.gate.submit(look, "HeadYaw", 0.2)
    assert world.gate.submit_shift(limits, shifted(world)) is None
    world.flush()
    assert world.target_of("HeadYaw") == pytest.approx(1.2)
    tick = world.ledger.tick
    if end == "drop":
        world.ledger.drop(CONTROLLER, tick)
    elif end == "release":
        world.ledger.release(limits, tick)
    elif end == "forbid":
        world.ledger.allow_shift(look, CONTROLLER, tick, is_allowed=False)
    else:
        world.ledger.entrust(CONTROLLER, tick, is_entrusted=False)
    last = world.target_of("HeadYaw")
    for _ in range(200):
        world.flush()
        assert abs(world.target_of("HeadYaw") - last) < 0.0101
        last = world.target_of("HeadYaw")
    assert last == 0.2
    (taken_back,) = world.told(Unshifted)
    assert taken_back.leaves == ("HeadYaw",)
    assert not world.gate.shift.any()


@pytest.mark.requirement("I-14")
def test_uncommanded_joint_keeps_its_angle_when_its_shift_ends(
    world: World,
) -> None:
    limits = entrusted(world)
    place = world.joint("HeadYaw")
    world.gate.submit_shift(limits, shifted(world, 0.5))
    world.flush()
    there = world.robot.q[place] = world.target_of("HeadYaw")
    world.ledger.drop(CONTROLLER, world.ledger.tick)
    settle(world, 3)
    assert world.target_of("HeadYaw") == pytest.approx(there)
    assert world.gate.present["HeadYaw"] == pytest.approx(there)
    assert "HeadYaw" in world.told(MadeSafe)[-1].leaves


def test_shift_whose_write_failed_is_not_in_force(world: World) -> None:
    limits = entrusted(world)
    world.gate.submit_shift(limits, shifted(world))
    world.robot.fails = True
    with pytest.raises(OSError, match="no answer"):
        world.flush()
    assert not world.gate.shift.any()
    world.robot.fails = False
    world.gate.submit_shift(limits, shifted(world))
    world.flush()
    assert world.gate.shift[world.joint("HeadYaw")] == 1.0


@pytest.mark.requirement("I-14", "I-22")
@pytest.mark.parametrize("how", ["freeze", "release", "revoke"])
def test_ramp_of_a_shift_stops_when_the_motor_is_lost(world: World, how: str) -> None:
    """The motor is frozen, released or revoked during the ramp."""
    limits = entrusted(world)
    place, tick = world.joint("HeadYaw"), world.ledger.tick
    look = world.take("look", "HeadYaw")
    world.gate.submit(look, "HeadYaw", 0.2)
    world.gate.submit_shift(limits, shifted(world, 0.5))
    world.flush()
    tick = world.ledger.tick
    world.ledger.allow_shift(look, CONTROLLER, tick, is_allowed=False)
    settle(world, 3)
    there = world.robot.q[place] = world.target_of("HeadYaw")
    assert 0.6 < there < 0.7
    if how == "freeze":
        world.ledger.freeze(["HeadYaw"], "hotEngine", world.ledger.tick)
    elif how == "release":
        world.ledger.release(look, world.ledger.tick)
    else:
        world.take("nod", "HeadYaw", priority=6)
    settle(world)
    assert world.target_of("HeadYaw") == pytest.approx(there)
    assert world.gate.present["HeadYaw"] == pytest.approx(there)
    assert not world.gate.shift.any()


@pytest.mark.requirement("I-14")
def test_shift_that_replaces_an_ended_one_makes_no_jump(
    world: World,
) -> None:
    """The motor is released in that slot: one shift ends, another continues."""
    limits = entrusted(world)
    place = world.joint("HeadYaw")
    look, nudge = world.take("look", "HeadYaw"), world.take("nudge", "Speech")
    world.ledger.allow_shift(look, "nudge", world.ledger.tick)
    world.gate.submit(look, "HeadYaw", 0.2)
    world.gate.submit_shift(nudge, shifted(world, 0.5))
    world.flush()
    world.robot.q[place] = world.target_of("HeadYaw")
    assert world.gate.submit_shift(limits, shifted(world, 0.51)) is None
    world.ledger.release(look, world.ledger.tick)
    assert world.flush() == ()
    assert world.target_of("HeadYaw") == pytest.approx(0.71)
    assert world.gate.shift[place] == 0.51


@pytest.mark.requirement("I-14")
def test_shift_replaced_after_its_right_ended_is_rejected(
    world: World,
) -> None:
    look = world.take("look", "HeadYaw")
    assert world.gate.submit_shift(look, shifted(world, 0.1)) is None
    world.ledger.release(look, world.ledger.tick)
    nod = world.take("nod", "HeadYaw")
    assert world.gate.submit_shift(nod, shifted(world, 0.2)) is None
    assert world.flush() == (Refusal.RELEASED,)
    assert world.told(Rejected)[-1].token == look.id
    assert world.gate.shift[world.joint("HeadYaw")] == 0.2


@pytest.mark.requirement("I-14")
def test_leaf_name_with_a_changing_hash_moves_nothing(world: World) -> None:
    """The name hashes like HeadYaw first, and like HeadPitch at the token check."""
    world.take("look", "HeadYaw")
    nod = world.take("nod", "HeadPitch")
    refused = world.gate.submit(nod, _ChangingName("HeadPitch"), 0.3)
    assert refused is not None
    assert (refused.resource, refused.reason) == ("HeadYaw", Refusal.NOT_COVERED)
    world.flush()
    assert not world.robot.commands


# -- stiffness -------------------------------------------------------------------------


@pytest.mark.requirement("I-14")
def test_stiffness_of_motors_held_by_others_is_not_granted(
    world: World,
) -> None:
    world.ledger.set_state("State", "Stand", 0)
    world.take("walk", "All motors", "Stand")
    world.ledger.add_owner(Owner(name="stranger"), 0)
    assert world.ask(Request(owner="stranger", resources=("Stiffness",))) is None
    optional = Request(owner="stranger", resources=("Speech",), optional=("Stiffness",))
    got = world.ask(optional)
    assert got is not None
    assert not world.ledger.covers(got, "Stiffness")
    asked = [n for n in world.told(Notified) if n.kind is NoticeKind.DEMANDED]
    assert {notice.owner for notice in asked} == {"walk"}
    refused = world.gate.submit(got, "Stiffness", 0.0)
    assert refused is not None
    settle(world, 2)
    assert (world.robot.stiffness == 1.0).all()


@pytest.mark.requirement("I-14")
def test_robot_resources_define_the_motors_of_each_stiffness(nao: Robot) -> None:
    """Without a gate: the robot data name the motors of each group of joints."""
    ledger = Ledger(ResourceTree(nao.resources))
    for name in ("walk", "stranger"):
        ledger.add_owner(Owner(name=name), 0)

    def ask(owner: str, *names: str) -> bool:
        request = Request(owner=owner, resources=names, timeout_s=0.0)
        return ledger.request(request, 0).outcome.is_granted  # type: ignore[union-attr]

    assert ask("walk", "RAnkleRoll", "LHipYawPitch")
    assert not ask("stranger", "Stiffness")
    assert not ask("stranger", "Legs-stiffness")
    assert ask("stranger", "Head-stiffness")
    assert not ask("walk", "HeadYaw")
    assert ask("walk", "Legs-stiffness")


def test_stiffness_includes_its_motors_until_released(
    world: World,
) -> None:
    token = world.take("massage", "Stiffness", "HeadYaw")
    assert world.ledger.covers(token, "LKneePitch")
    world.ledger.release(token, world.ledger.tick, ["Stiffness"])
    assert world.ledger.covers(token, "HeadYaw")
    assert not world.ledger.covers(token, "LKneePitch")
    world.take("walk", "LKneePitch")


@pytest.mark.requirement("RM-43")
@pytest.mark.parametrize("first", ["Stiffness", "freeze"])
@pytest.mark.parametrize("value", [0.5, 0.0])
def test_stiffness_of_other_motors_works_while_one_is_frozen(
    world: World, first: str, value: float
) -> None:
    """Only hotEngine commands the stiffness of the hot motor (I-22)."""
    token = world.take("massage", "Stiffness") if first == "Stiffness" else None
    world.ledger.freeze(["HeadYaw"], "hotEngine", 0, effort_cap=0.3)
    token = token or world.take("massage", "Stiffness")
    assert world.gate.submit(token, "Stiffness", value) is None
    world.flush()
    assert world.stiffness_of("HeadYaw") == 0.3
    assert world.stiffness_of("HeadPitch") == value
    (left_out,), (executed,) = world.told(LeftOut), world.told(Executed)
    assert (left_out.command, left_out.leaves) == (executed.command, ("HeadYaw",))
    world.ledger.thaw("hotEngine", world.ledger.tick)
    world.flush()
    assert world.stiffness_of("HeadYaw") == 1.0


@pytest.mark.requirement("I-22")
def test_broken_motor_of_two_joints_cannot_be_made_limp(world: World) -> None:
    world.ledger.freeze(["LHipYawPitch"], "brokenHip", 0)
    token = world.take("massage", "Stiffness")
    limits = np.zeros(len(world.robot.q))
    assert world.gate.submit_stiffness(token, limits) is None
    world.flush()
    stiff = [world.stiffness_of(x) for x in ("LHipYawPitch", "RHipYawPitch")]
    assert stiff == [1.0, 1.0]
    assert world.stiffness_of("LHipRoll") == 0.0


@pytest.mark.requirement("RM-43")
def test_entrusted_owner_can_limit_a_hot_motor(world: World) -> None:
    token = entrusted(world)
    world.ledger.freeze(["HeadYaw"], "hotEngine", 0, effort_cap=0.3)
    assert world.gate.submit(token, "Stiffness", 0.2) is None
    world.flush()
    assert world.stiffness_of("HeadYaw") == 0.2
    assert not world.told(LeftOut)


@pytest.mark.requirement("I-14")
@pytest.mark.parametrize("how", ["dropped", "silent", "with its parent"])
def test_trust_ends_when_the_owner_is_removed(world: World, how: str) -> None:
    live_s = 0.01 if how == "silent" else None
    parent = "whole" if how == "with its parent" else None
    world.ledger.add_owner(Owner(name="whole"), 0)
    owner = Owner(name=CONTROLLER, parent=parent, priority=5, time_to_live_s=live_s)
    world.ledger.add_owner(owner, 0)
    world.ledger.entrust(CONTROLLER, 0)
    if how == "silent":
        world.flush()
        world.flush()
    else:
        world.ledger.drop(parent or CONTROLLER, 0)
    world.take("walk", "All motors", priority=6)
    once = Request(owner=CONTROLLER, resources=("Stiffness",), timeout_s=0.0)
    assert world.ask(once) is None
    told = [event.is_entrusted for event in world.told(Entrusted)]
    assert told == [True, False]


@pytest.mark.requirement("I-14")
def test_entrusted_owner_cannot_shift_by_the_hold_of_its_child(world: World) -> None:
    token = entrusted(world)
    look = world.take("look", "HeadYaw")
    world.gate.submit(look, "HeadYaw", 0.0)
    world.flush()
    world.ledger.add_owner(Owner(name="part", parent=CONTROLLER), world.ledger.tick)
    world.ledger.entrust("part", world.ledger.tick)
    once = Request(owner="part", resources=("Stiffness",))
    part = world.ask(once)
    assert part is not None
    assert (
        reason_of(world.gate.submit_shift(token, shifted(world))) is Refusal.NOT_COVERED
    )
    world.ledger.release(part, world.ledger.tick)
    assert world.gate.submit_shift(token, shifted(world)) is None


@pytest.mark.requirement("I-14")
def test_holder_can_allow_a_limit_and_revoke_it(world: World) -> None:
    walk = world.take("walk", "All motors")
    world.ledger.add_owner(Owner(name="coach"), 0)
    world.ledger.allow_limit(walk, "coach", 0)
    coach = world.take("coach", "Stiffness")
    assert not world.ledger.covers(coach, "HeadYaw")
    assert world.gate.submit(coach, "Stiffness", 0.6) is None
    world.flush()
    assert (world.robot.stiffness == 0.6).all()
    world.ledger.allow_limit(walk, "coach", world.ledger.tick, is_allowed=False)
    assert world.gate.submit(coach, "Stiffness", 0.1) is not None
    assert world.gate.submit_shift(coach, shifted(world)) is not None
    world.flush()
    assert (world.robot.stiffness == 0.6).all()


@pytest.mark.requirement("I-14")
def test_controller_limits_others_by_default_and_notifies_them(
    world: World,
) -> None:
    first = world.take("look", "HeadYaw")
    limits = entrusted(world)
    second = world.take("walk", "LKneePitch", "LHipPitch")
    told = {(n.owner, n.leaves, n.by) for n in limited(world)}
    assert told == {
        ("look", ("HeadYaw",), CONTROLLER),
        ("walk", ("LHipPitch", "LKneePitch"), CONTROLLER),
    }
    assert world.gate.submit(limits, "Stiffness", 0.5) is None
    world.flush()
    assert (world.robot.stiffness == 0.5).all()
    tick = world.ledger.tick
    world.ledger.allow_limit(second, CONTROLLER, tick, is_allowed=False)
    assert world.gate.submit(limits, "Stiffness", 0.1) is not None
    world.ledger.release(second, tick)
    assert world.gate.submit(limits, "Stiffness", 0.1) is None
    assert first


# -- waiting for a stiffness -----------------------------------------------------------


@pytest.mark.requirement("I-14")
@pytest.mark.parametrize("how", ["optional", "essential"])
def test_waiting_limit_is_not_granted_while_another_holds_its_motor(
    nao: Robot, how: str
) -> None:
    """The motor was frozen at the request; ann has taken it since."""
    tree = node(
        "root", motor("HeadYaw"), limits("Head limit", "HeadYaw"), leaf("Speech")
    )
    world = World.of(nao, tree)
    ledger = world.ledger
    ledger.add_owner(Owner(name="bob"), 0)
    speech, other = world.take("cat", "Speech"), ("Head limit",)
    ledger.freeze(["HeadYaw"], "hotEngine", 0)
    ticket = ledger.request(
        Request(
            owner="bob",
            resources=("Speech",) if how == "optional" else ("Speech", *other),
            optional=other if how == "optional" else (),
            timeout_s=1.0,
        ),
        0,
    )
    ledger.thaw("hotEngine", 0)
    look = world.take("ann", "HeadYaw")
    ledger.release(speech, 0)
    if how == "optional":
        assert ticket.outcome is not None
        assert ticket.outcome.missing == other
    else:
        assert ledger.waiting == (ticket.number,)
        ledger.release(look, 0)
        assert ticket.outcome is not None
        assert ticket.outcome.is_granted
    assert not world.checker.finish()


@pytest.mark.requirement("I-14")
@pytest.mark.parametrize("how", ["consent", "trust"])
def test_waiting_limit_is_granted_once_the_motor_holder_consents(
    nao: Robot, how: str
) -> None:
    """The consent is given, withdrawn, and given again."""
    world = World.of(nao)
    ledger = world.ledger
    look, speech = world.take("ann", "HeadYaw"), world.take("cat", "Speech")
    ledger.add_owner(Owner(name="coach"), 0)

    def permit(is_allowed: bool) -> None:
        if how == "consent":
            ledger.allow_limit(look, "coach", 0, is_allowed=is_allowed)
        else:
            ledger.entrust("coach", 0, is_entrusted=is_allowed)

    permit(True)
    wish = Request(owner="coach", resources=("Stiffness", "Speech"), timeout_s=1.0)
    ticket = ledger.request(wish, 0)
    permit(False)
    ledger.release(speech, 0)
    assert ledger.waiting == (ticket.number,)
    permit(True)
    assert ticket.outcome is not None
    assert ticket.outcome.is_granted
    assert not world.checker.finish()


@pytest.mark.requirement("I-14")
def test_recall_takes_no_motor_that_was_not_lent(world: World) -> None:
    """The limit returns when no other owner holds one of its motors."""
    ledger = world.ledger
    walk = world.take("walk", "Stiffness", "Speech", loss=Loss.PARTIAL)
    nod = world.take("nod", "HeadYaw", priority=5)
    ledger.lend(walk, 0, ["Stiffness"])
    ticket = ledger.recall(walk, 0, ["Stiffness"])
    assert ticket is not None
    assert ledger.covers(nod, "HeadYaw")
    assert ticket.outcome is None
    ledger.release(nod, 0)
    assert ledger.covers(walk, "Stiffness")
    assert ledger.covers(walk, "LKneePitch")
    assert not ledger.covers(walk, "HeadYaw")


def test_motor_can_be_optional_next_to_its_stiffness(world: World) -> None:
    """The motor is in two units, or already implied by the essential limit."""
    world.ledger.add_owner(Owner(name="ann"), 0)
    for names in (("Stiffness", "HeadYaw"), ("HeadPitch",)):
        wish = Request(owner="ann", resources=("Speech",), optional=names)
        token = world.ask(wish)
        assert token is not None
        assert world.ledger.covers(token, names[-1])
        world.ledger.release(token, 0)
    both = Request(owner="ann", resources=("Stiffness",), optional=("HeadYaw",))
    assert world.ask(both) is not None


def test_consent_renews_its_owner_and_a_failed_one_does_not(world: World) -> None:
    ledger = world.ledger
    for name in ("ann", "bob"):
        ledger.add_owner(Owner(name=name, time_to_live_s=0.04), 0)
    look = world.ask(Request(owner="ann", resources=("HeadYaw",)))
    speak = world.ask(Request(owner="bob", resources=("Speech",)))
    assert look is not None
    assert speak is not None
    ledger.advance(3)
    ledger.allow_shift(look, "bob", 3)
    with pytest.raises(BadInput, match="covers no motor"):
        ledger.allow_shift(speak, "ann", 3)
    ledger.advance(5)
    assert ledger.authorise(look, "HeadYaw") is None
    assert ledger.authorise(speak, "Speech") is Refusal.EXPIRED


@pytest.mark.requirement("RM-46", "I-14")
def test_holder_is_notified_of_a_cap_and_of_its_end(
    world: World,
) -> None:
    world.take("walk", "LKneePitch", "LHipPitch")
    freeze, tick = world.ledger.freeze, world.ledger.tick
    freeze(["All motors"], "energySaving", tick, effort_cap=0.4, is_total=False)
    world.ledger.thaw("energySaving", tick)
    both = ("LHipPitch", "LKneePitch")
    kinds = (NoticeKind.LIMITED, NoticeKind.UNLIMITED)
    told = [n for n in world.told(Notified) if n.kind in kinds]
    assert [(n.kind, n.owner, n.leaves, n.by) for n in told] == [
        (kind, "walk", both, "energySaving") for kind in kinds
    ]


def limited(world: World) -> list[Notified]:
    return [n for n in world.told(Notified) if n.kind is NoticeKind.LIMITED]


def test_invalid_permissions_are_rejected(world: World) -> None:
    speak = world.take("speak", "Speech")
    with pytest.raises(BadInput, match="covers no motor: there is nothing to shift"):
        world.ledger.allow_shift(speak, "speak", 0)
    look = world.take("look", "HeadYaw")
    with pytest.raises(BadInput, match="Did you mean 'look'"):
        world.ledger.allow_limit(look, "loko", 0)
