"""Gate: accepted and rejected commands, and what is written to the robot."""

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nao_testbed.controllers.arbitration.events import (
    Commanded,
    Event,
    Executed,
    MadeSafe,
    Rejected,
)
from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.gate.device_map import map_devices
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.requests import Owner, Request, StaleToken
from nao_testbed.controllers.arbitration.tokens import Refusal, Token
from nao_testbed.models import BadInput, Robot, UnknownName
from tests.controllers.arbitration.gate_setup import (
    KeepingRobot,
    World,
    ramp,
    reason_of,
    whole_tree,
)


def ending(world: World, how: str) -> Token | None:
    """Return a token on HeadYaw that the gate refuses for the reason `how`."""
    if how == "NO_TOKEN":
        return None
    if how == "NOT_COVERED":
        return world.take("look", "HeadPitch")
    if how == "EXPIRED":
        world.ledger.add_owner(Owner(name="look", time_to_live_s=0.05), 0)
        token = world.ask(Request(owner="look", resources=("HeadYaw",)))
        world.ledger.advance(10)
        return token
    token = world.take("look", "HeadYaw", "HeadPitch")
    if how == "UNKNOWN":
        return token._replace(secret=token.secret ^ 1)
    if how == "WRONG_EPOCH":
        return token._replace(epoch=token.epoch - 1)
    if how == "RELEASED":
        world.ledger.release(token, 0)
    if how == "REVOKED":
        world.take("nod", "HeadPitch", priority=1)
    if how == "FROZEN":
        world.ledger.release(token, 0, ["HeadYaw"])
        world.ledger.freeze(["HeadYaw"], "hotEngine", 0)
    return token


@pytest.mark.requirement("AR-9", "AR-10")
def test_command_with_a_valid_token_reaches_the_robot(world: World) -> None:
    token = world.take("look", "HeadYaw")
    before = world.robot.target
    assert world.gate.submit(token, "HeadYaw", 0.3) is None
    assert not world.robot.commands, "written in its slot, not before"
    assert world.flush() == ()
    (command,) = world.robot.commands
    assert command.stiffness is None
    changed = np.flatnonzero(command.target != before)
    assert changed.tolist() == [world.joint("HeadYaw")]
    assert world.target_of("HeadYaw") == 0.3


def shifted(world: World, angle: float) -> NDArray[np.float64]:
    """Return a shift of HeadYaw only."""
    shift = np.zeros(len(world.robot.q))
    shift[world.joint("HeadYaw")] = angle
    return shift


ENTRY_POINTS: dict[str, Callable[[World, Token | None], Rejected | None]] = {
    "submit": lambda w, t: w.gate.submit(t, "HeadYaw", 0.3),
    "submit_all": lambda w, t: w.gate.submit_all(t, {"HeadYaw": 0.3}),
    "submit_shift": lambda w, t: w.gate.submit_shift(t, shifted(w, 1.0)),
}


@pytest.mark.requirement("AR-10", "AR-11", "AR-12", "I-14")
@pytest.mark.parametrize("reason", list(Refusal))
@pytest.mark.parametrize("entry_point", list(ENTRY_POINTS))
def test_refusal_states_its_reason(
    world: World, entry_point: str, reason: Refusal
) -> None:
    token = ending(world, reason)
    refused = ENTRY_POINTS[entry_point](world, token)
    assert refused is not None
    assert refused.reason is reason
    assert refused.resource == "HeadYaw"
    world.flush()
    assert not world.robot.commands
    (command,) = world.told(Commanded)
    assert world.told(Rejected) == [refused]
    assert refused.command == command.command
    forged = {Refusal.NO_TOKEN, Refusal.UNKNOWN, Refusal.WRONG_EPOCH}
    assert command.is_genuine is (reason not in forged)
    if reason not in {Refusal.NOT_COVERED, Refusal.FROZEN}:  # stale: cannot shift
        assert reason_of(world.gate.submit_shift(token, shifted(world, 0.0))) is reason


@pytest.mark.requirement("AR-17")
@pytest.mark.parametrize("reason", [Refusal.REVOKED, Refusal.RELEASED, Refusal.EXPIRED])
def test_command_of_a_token_that_expires_in_the_slot_is_dropped(
    world: World, reason: Refusal
) -> None:
    """The token ends after the command was accepted and before the write."""
    world.ledger.add_owner(Owner(name="look", time_to_live_s=0.01), 0)
    token = world.ask(Request(owner="look", resources=("Head",)))
    assert token is not None
    assert world.gate.submit(token, "HeadYaw", 0.3) is None
    if reason is Refusal.REVOKED:
        world.take("nod", "HeadPitch", priority=1)
    elif reason is Refusal.RELEASED:
        world.ledger.release(token, 0)
    assert world.flush() == (reason,)
    assert not world.robot.commands
    assert not world.told(Executed)


def test_motor_of_two_joints_sets_both(world: World) -> None:
    token = world.take("walk", "LHipYawPitch")
    world.gate.submit(token, "LHipYawPitch", -0.4)
    world.flush()
    assert world.target_of("LHipYawPitch") == -0.4
    assert world.target_of("RHipYawPitch") == -0.4


def test_every_value_reaches_its_joint(world: World) -> None:
    n = len(world.robot.robot.joints)
    motors = world.take("stand", "All motors")
    limits = world.take("stand", "Stiffness")
    target = 0.9 * world.robot.robot.posture("PoseInit").angles
    assert world.gate.submit_set_points(motors, target) is None
    assert world.gate.submit_stiffness(limits, ramp(n)) is None
    assert world.flush() == ()
    (command,) = world.robot.commands
    assert command.target is not None
    assert command.stiffness is not None
    assert (command.target == target).all()
    assert (command.stiffness == ramp(n)).all()
    names = {event.resource for event in world.told(Executed)}
    assert names == {*world.robot.robot.motor_names, "Stiffness"}


@pytest.mark.parametrize("value", [0.5, np.float64(0.5), ramp(26)])
def test_stiffness_is_one_number_or_one_per_joint(
    world: World, value: float | np.ndarray
) -> None:
    token = world.take("save heat", "Stiffness")
    assert world.gate.submit(token, "Stiffness", value) is None
    world.flush()
    assert (world.robot.stiffness == value).all()


def test_submitted_values_are_copied(world: World) -> None:
    token = world.take("save heat", "Stiffness")
    for submit in (
        world.gate.submit_stiffness,
        lambda token, value: world.gate.submit(token, "Stiffness", value),
    ):
        stiffness = ramp(26)
        submit(token, stiffness)
        stiffness[:] = np.nan
        world.flush()
        assert (world.robot.stiffness == ramp(26)).all()


def test_written_commands_are_not_modified_later(world: World) -> None:
    token = world.take("look", "Head", "Stiffness")
    for angle in (0.1, 0.2):
        world.gate.submit(token, "HeadYaw", angle)
        world.gate.submit(token, "Stiffness", angle)
        world.flush()
    first, second = world.robot.commands
    joint = world.joint("HeadYaw")
    assert first.target is not None
    assert second.target is not None
    assert (first.target[joint], second.target[joint]) == (0.1, 0.2)
    assert first.stiffness is not None
    assert (first.stiffness == 0.1).all()


def test_slot_without_commands_writes_nothing(world: World) -> None:
    token = world.take("look", "HeadYaw")
    world.gate.submit(token, "HeadYaw", 0.3)
    world.flush()
    world.flush()
    assert len(world.robot.commands) == 1


def test_last_command_of_a_slot_wins(world: World) -> None:
    token = world.take("look", "HeadYaw")
    for angle in (0.1, 0.2):
        assert world.gate.submit(token, "HeadYaw", angle) is None
    assert world.flush() == ()
    assert world.target_of("HeadYaw") == 0.2
    assert [event.command for event in world.told(Commanded)] == [1, 2]
    assert [event.command for event in world.told(Executed)] == [2]
    assert not world.told(Rejected)


def test_command_of_a_new_holder_displaces_the_old_one(world: World) -> None:
    old = world.take("look", "HeadYaw")
    world.gate.submit(old, "HeadYaw", 0.1)
    new = world.take("stare", "HeadYaw", priority=5)
    assert world.gate.submit(new, "HeadYaw", 0.2) is None
    assert world.flush() == (Refusal.REVOKED,)
    (rejected,) = world.told(Rejected)
    assert rejected.token == old.id
    assert [event.token for event in world.told(Executed)] == [new.id]
    assert world.target_of("HeadYaw") == 0.2


def test_use_without_a_device_is_only_authorised(world: World) -> None:
    token = world.take("talk", "Speech")
    assert world.gate.submit(token, "Speech") is None
    assert world.gate.submit(None, "Speech") is not None
    assert world.flush() == ()
    assert not world.robot.commands
    assert [event.resource for event in world.told(Executed)] == ["Speech"]


def test_owners_sharing_a_leaf_can_use_it_in_one_slot(world: World) -> None:
    world.ledger.set_state("State", "Stand", 0)
    tokens = [world.take(name, "Stand") for name in ("walk", "wave")]
    for token in tokens:
        assert world.gate.submit(token, "Stand") is None
    world.flush()
    assert [e.token for e in world.told(Executed)] == [token.id for token in tokens]


@pytest.mark.parametrize(
    ("leaf", "value", "said"),
    [
        (
            "HeadYaw",
            3.0,
            "set-point of HeadYaw is 3 rad; accepted: -2.08567 to 2.08567 rad.",
        ),
        (
            "HeadYaw",
            np.nan,
            "set-point of HeadYaw is nan rad; accepted: -2.08567 to 2.08567 rad.",
        ),
        (
            "HeadYaw",
            None,
            "set-point of HeadYaw is None; give one angle in rad, for all joints of "
            "the motor.",
        ),
        ("Stiffness", 1.5, "stiffness of HeadYaw is 1.5; accepted: 0 to 1."),
        ("Stiffness", -0.1, "stiffness of HeadYaw is -0.1; accepted: 0 to 1."),
        ("Stiffness", np.inf, "stiffness of HeadYaw is inf; accepted: 0 to 1."),
        (
            "Stiffness",
            np.where(np.arange(26) == 1, np.nan, 0.5),
            "stiffness of HeadPitch is nan; accepted: 0 to 1.",
        ),
        (
            "Stiffness",
            np.ones(3),
            "stiffness has shape (3,); give (26,), one for each joint of the "
            "resource, or one number for all.",
        ),
        (
            "Speech",
            1.0,
            "resource 'Speech' has no device; submit its use without a value.",
        ),
        (
            "Eyes",
            1.0,
            "value of 'Eyes' is 1.0; give a LedSetting: colours, and a time to fade.",
        ),
    ],
)
def test_invalid_value_is_rejected_on_submission(
    world: World, leaf: str, value: float | None, said: str
) -> None:
    token = world.take("look", "root")
    events = len(world.events)
    with pytest.raises(BadInput) as error:
        world.gate.submit(token, leaf, value)
    assert str(error.value) == said
    with pytest.raises(BadInput):
        world.gate.submit_all(token, {"HeadPitch": 0.1, leaf: value})
    assert len(world.events) == events
    world.flush()
    assert not world.robot.commands


@pytest.mark.parametrize("bad", [np.nan, 9.0])
def test_invalid_array_is_rejected_on_submission(world: World, bad: float) -> None:
    token = world.take("stand", "All motors", "Stiffness")
    values = np.full(26, 0.05)
    values[world.joint("LKneePitch")] = bad
    angles = world.robot.q.copy()
    angles[world.joint("LKneePitch")] = bad
    for submit, array in (
        (world.gate.submit_set_points, angles),
        (world.gate.submit_stiffness, values),
    ):
        with pytest.raises(BadInput, match="of LKneePitch is"):
            submit(token, array)
        with pytest.raises(BadInput, match=r"has shape \(3,\); give \(26,\)"):
            submit(token, np.zeros(3))
    world.flush()
    assert not world.robot.commands


def test_unknown_leaf_is_named_with_the_nearest_name(world: World) -> None:
    with pytest.raises(UnknownName, match=r"'HeadYow'.*Did you mean 'HeadYaw'"):
        world.gate.submit(None, "HeadYow", 0.1)


def test_flush_needs_the_tick_of_the_ledger(world: World) -> None:
    """Otherwise a token that has expired could still actuate."""
    world.ledger.advance(3)
    for tick in (2, 4):
        with pytest.raises(BadInput, match=f"flush at tick {tick}, but the ledger"):
            world.gate.flush(tick)
    world.gate.flush(3)


def test_gate_works_without_listeners(nao: Robot) -> None:
    world = World.of(nao)
    world.ledger.listeners.clear()
    token = world.take("look", "HeadYaw")
    world.gate.submit(token, "HeadYaw", 0.2)
    refused = world.gate.submit(None, "HeadYaw", 0.2)
    world.flush()
    assert refused is not None
    assert refused.command == 2
    assert world.target_of("HeadYaw") == 0.2
    assert not world.events


@pytest.mark.parametrize(
    ("names", "reason"),
    [(["ball"], Refusal.NOT_COVERED), (None, Refusal.RELEASED)],
)
def test_removed_resource_cannot_be_used(
    world: World, names: list[str] | None, reason: Refusal
) -> None:
    for name in ("ball", "bat"):
        world.ledger.add_resource(name, "root", 0)
    token = world.take("play", "ball", "bat")
    world.gate.submit(token, "ball")
    world.ledger.release(token, 0, names)
    world.ledger.remove_resource("ball", 0)
    assert world.flush() == (reason,)
    with pytest.raises(UnknownName):
        world.gate.submit(token, "ball")


@pytest.mark.requirement("RM-15", "RM-65")
def test_resource_with_a_device_cannot_be_removed(world: World) -> None:
    with pytest.raises(BadInput, match="'HeadYaw' commands HeadYaw of the robot"):
        world.ledger.remove_resource("HeadYaw", 0)
    assert "HeadYaw" in world.ledger.tree


@pytest.mark.requirement("AR-10")
@pytest.mark.parametrize("is_other", [False, True])
def test_robot_has_one_gate_for_any_ledger(world: World, is_other: bool) -> None:
    robot = world.robot.robot
    ledger = Ledger(world.ledger.tree) if is_other else world.ledger
    devices = map_devices(whole_tree(robot), robot)
    for _ in range(2):
        with pytest.raises(BadInput, match=r"already has a writer.*Gate\.close"):
            Gate(ledger, world.robot, devices)
    token = world.take("play", "HeadYaw")
    world.gate.submit(token, "HeadYaw", 0.1)
    world.gate.close()
    world.gate.close()
    with pytest.raises(BadInput, match="gate is closed"):
        world.flush()
    assert not world.robot.commands
    Gate(ledger, world.robot, devices)


def test_unreferenced_gate_is_closed(world: World) -> None:
    robot = KeepingRobot(world.robot.robot)
    devices = map_devices(whole_tree(robot.robot), robot.robot)
    Gate(Ledger(world.ledger.tree), robot, devices)
    Gate(world.ledger, robot, devices)


@pytest.mark.requirement("AR-10")
def test_each_write_has_one_command_and_vice_versa(world: World) -> None:
    """I-14 over a run with replaced, rejected, and late rejected commands."""
    rng = np.random.default_rng(3)
    names = ("HeadYaw", "HeadPitch", "LElbowYaw")
    latest: dict[str, Token] = {}
    angles: dict[int, float] = {}
    for step in range(300):
        for _ in range(4):
            name, angle = str(rng.choice(names)), rng.uniform(-0.3, 0.3)
            token = latest.get(str(rng.choice([name, name, name, *names])))
            if world.gate.submit(token, name, angle) is None:
                angles[world.told(Commanded)[-1].command] = angle
            if rng.random() < 0.2:
                owner = Owner(name=f"owner {step}", priority=int(rng.integers(10)))
                world.ledger.add_owner(owner, step)
                new = world.ask(Request(owner=owner.name, resources=(name,)))
                latest |= {name: new} if new else {}
            elif token and rng.random() < 0.1:
                with contextlib.suppress(StaleToken):
                    world.ledger.release(token, step)
        before, told = world.robot.target, len(world.events)
        world.flush()
        news = world.events[told:]
        done = [event for event in news if isinstance(event, Executed)]
        safe = [leaf for e in news if isinstance(e, MadeSafe) for leaf in e.leaves]
        commanded = [event.resource for event in done]
        assert len({*commanded, *safe}) == len(commanded) + len(safe)
        changed = np.flatnonzero(world.robot.target != before).tolist()
        assert set(changed) <= {world.joint(name) for name in (*commanded, *safe)}
        for event in done:
            assert world.target_of(event.resource) == angles.pop(event.command)
    rejected = [event.reason for event in world.told(Rejected)]
    assert {Refusal.NO_TOKEN, Refusal.REVOKED, Refusal.NOT_COVERED} <= {*rejected}
    executed = {event.command for event in world.told(Executed)}
    assert not executed & {event.command for event in world.told(Rejected)}
    assert len(executed) > 100


def test_error_message_describes_what_cannot_be_commanded(world: World) -> None:
    token = world.take("look", "Head")
    with pytest.raises(BadInput, match=r"'Head' is a composite; name one of its leav"):
        world.gate.submit(token, "Head")
    with pytest.raises(BadInput, match=r"'Head' is a composite"):
        world.gate.submit_all(token, {"HeadYaw": 0.1, "Head": None})
    with pytest.raises(UnknownName, match="Did you mean 'HeadYaw'"):
        world.gate.submit(token, "HeadYav", 0.1)
    text: Any = token.as_text()
    with pytest.raises(BadInput, match="a token is of type str") as error:
        world.gate.submit(text, "HeadYaw", 0.1)
    assert f"{token.secret:016x}" not in str(error.value)
    assert world.flush() == ()
    assert not world.robot.commands


def test_listener_that_raises_does_not_stop_a_command(world: World) -> None:
    def full_disk(event: Event) -> None:
        raise OSError("disk full")

    token = world.take("look", "HeadYaw")
    world.ledger.listeners.insert(0, full_disk)
    assert world.gate.submit(token, "HeadYaw", 0.2) is None
    assert world.gate.flush(world.ledger.tick) == ()
    assert len(world.robot.commands) == 1
    with pytest.raises(OSError, match="disk full"):
        world.ledger.advance(world.ledger.tick)


def test_command_events_can_be_disabled_but_not_rejections(nao: Robot) -> None:
    """Keeps the trace of a long run small; rejections are still events."""
    world = World.of(nao, tells_commands=False)
    token = world.take("look", "HeadYaw")
    world.gate.submit(token, "HeadYaw", 0.2)
    refused = world.gate.submit(None, "HeadYaw", 0.3)
    world.flush()
    assert world.target_of("HeadYaw") == 0.2
    told = [e for e in world.events if isinstance(e, Commanded | Executed | Rejected)]
    assert [type(event) for event in told] == [Commanded, Rejected]
    assert refused == told[1]


@pytest.mark.requirement("RM-26", "AR-10", "AR-11")
def test_parent_cannot_move_a_joint_held_by_its_child(world: World) -> None:
    """Nor by a command submitted before; after the release it can again."""
    whole = world.take("dance", "Head")
    world.ledger.add_owner(Owner(name="nod", parent="dance"), world.ledger.tick)
    assert world.gate.submit(whole, "HeadYaw", 0.1) is None
    part = world.ask(Request(owner="nod", resources=("HeadYaw",)))
    assert world.flush() == (Refusal.NOT_COVERED,)
    assert reason_of(world.gate.submit(whole, "HeadYaw", 0.2)) is Refusal.NOT_COVERED
    assert world.gate.submit(part, "HeadYaw", 0.3) is None
    assert world.gate.submit(whole, "HeadPitch", 0.1) is None
    assert world.flush() == ()
    assert world.target_of("HeadYaw") == 0.3
    assert world.target_of("HeadPitch") == 0.1
    assert part is not None
    world.ledger.release(part, world.ledger.tick)
    assert world.gate.submit(whole, "HeadYaw", 0.2) is None
    assert world.flush() == ()
    assert world.target_of("HeadYaw") == 0.2


# -- listeners that call the ledger or the gate ----------------------------------------


@pytest.mark.requirement("AR-10", "AR-11")
def test_release_by_a_listener_during_flush_passes_no_stale_command(
    world: World,
) -> None:
    """Checked commands are written before listeners are notified of a rejection."""
    gone = world.take("gone", "HeadPitch")
    moves = world.take("moves", "HeadYaw")

    def release(event: Event) -> None:
        if isinstance(event, Rejected):
            world.ledger.release(moves, world.ledger.tick)

    world.ledger.listeners.append(release)
    world.gate.submit(moves, "HeadYaw", 0.3)
    world.gate.submit(gone, "HeadPitch", 0.1)
    world.ledger.release(gone, world.ledger.tick)
    assert world.flush() == ("RELEASED",)
    assert world.target_of("HeadYaw") == 0.3
    assert [event.resource for event in world.told(Executed)] == ["HeadYaw"]


@pytest.mark.requirement("AR-10")
def test_flush_by_a_listener_writes_a_command_once(world: World) -> None:
    """The event follows when the whole command is in the slot."""
    moves = world.take("moves", "Head")

    def flush(event: Event) -> None:
        if isinstance(event, Commanded):
            world.gate.flush(world.ledger.tick)

    world.ledger.listeners.append(flush)
    world.gate.submit(moves, "HeadYaw", 0.3)
    world.gate.submit_all(moves, {"HeadYaw": 0.2, "HeadPitch": 0.1})
    world.ledger.listeners.remove(flush)
    world.flush()
    asked = [event.command for event in world.told(Commanded)]
    assert sorted(e.command for e in world.told(Executed)) == asked
    assert (world.target_of("HeadYaw"), world.target_of("HeadPitch")) == (0.2, 0.1)


def test_command_of_a_listener_comes_after_the_first_one(world: World) -> None:
    moves = world.take("moves", "Head")
    n_asked = 0

    def ask_again(event: Event) -> None:
        nonlocal n_asked
        if isinstance(event, Commanded) and n_asked < 3:
            n_asked += 1
            world.gate.submit(moves, "HeadYaw", 0.1 * n_asked)

    world.ledger.listeners.append(ask_again)
    world.gate.submit(moves, "HeadYaw", 0.0)
    world.flush()
    assert world.target_of("HeadYaw") == pytest.approx(0.3)
    (executed,) = world.told(Executed)
    assert executed.command == 4
