"""Moving schemas: look around, breathe, greet, dance."""

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.policies import CallbackOnDemand
from nao_testbed.controllers.arbitration.requests import Owner, Request, Ticket
from nao_testbed.controllers.schemas import Activation, State
from nao_testbed.controllers.schemas.events import SchemaStarted, SchemaStopped
from nao_testbed.controllers.schemas.library.dance import parts_between_stops
from nao_testbed.controllers.schemas.library.look_around import Attention, SmoothPath
from nao_testbed.controllers.transmitter.events import GroupStarted
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.library import (
    Interpolation,
    Motion,
    Track,
    largest_speeds,
    sample_curve,
)
from tests.controllers.schemas.library.body import Body

HOT = {"limit_degc": 76.0, "warn_s": 30.0}


@pytest.mark.requirement("JD-26")
def test_look_around_covers_the_whole_scene(robot: Robot) -> None:
    body = Body.of(robot).begin("look around", parameters={"stay_s": 0.2})
    seen = np.zeros((12, 4), dtype=bool)  # cells of 10 degrees
    yaws, pitches = np.arange(-55, 60, 10), np.arange(-15, 20, 10)
    for _ in range(2000):
        body.slot()
        yaw = np.degrees(body.angle("HeadYaw"))
        pitch = np.degrees(body.angle("HeadPitch"))
        near = np.abs(yaws - yaw)[:, None] <= 20.0
        seen |= near & (np.abs(pitches - pitch)[None, :] <= 15.0)
    assert seen.all()
    assert body.moved() == {"HeadYaw", "HeadPitch"}
    assert body.fastest().max() <= np.radians(60.0) * 1.01
    assert not body.failures()


@pytest.mark.requirement("JD-26")
def test_attention_returns_to_a_salient_direction(robot: Robot) -> None:
    def visits(*salient: tuple[float, float, float]) -> int:
        body = Body.of(robot)
        given = {"stay_s": 0.2, "salient_deg": salient}
        body.begin("look around", parameters=given)
        count, was_near = 0, False
        for _ in range(2000):
            body.slot()
            yaw = np.degrees(body.angle("HeadYaw"))
            is_near = bool(abs(yaw - 45.0) < 12.0)
            count += is_near and not was_near
            was_near = is_near
        return count

    assert visits((45.0, 0.0, 8.0)) > visits() > 0


@pytest.mark.requirement("JD-3")
def test_head_moves_straight_to_the_attention_output(robot: Robot) -> None:
    body = Body.of(robot).begin("look around").slot()
    assert body.state("look around/attention") is State.WINNER
    goal = body.runtime.value("look around/attention", "yaw")
    path = np.array([body.angle("HeadYaw")])
    for _ in range(200):
        body.slot()
        path = np.append(path, body.angle("HeadYaw"))
        if np.isclose(path[-1], goal, atol=1e-6):
            break
    assert path[-1] == pytest.approx(goal, abs=1e-6)
    assert np.all(np.diff(np.abs(path - goal)) <= 1e-12)  # monotonically


def test_look_around_ends_after_its_time(robot: Robot) -> None:
    body = Body.of(robot).begin("look around", parameters={"for_s": 1.0})
    assert body.until("look around", State.SLEPT, 2.0) == pytest.approx(1.0, abs=0.05)
    assert body.state("look around/attention") is State.SLEPT


def test_attention_rejects_invalid_angles(robot: Robot) -> None:
    body = Body.of(robot)
    with pytest.raises(BadInput, match="set one above 0"):
        body.begin("attention", parameters={"up_deg": 0.0, "down_deg": 0.0})
    with pytest.raises(BadInput, match="yaw_deg is 150 degrees; give 5 to 119"):
        body.begin("attention", parameters={"yaw_deg": 150.0})
    assert Attention.info.reads == ()


def test_smooth_path_keeps_its_top_speed_and_ends_at_rest() -> None:
    path = SmoothPath(0.2, -0.7, 0.5)
    t = np.linspace(-0.1, path.length_s + 0.1, 5001)
    y = np.array([path.at(float(time)) for time in t])
    speed = np.abs(np.gradient(y, t))
    assert y[0] == 0.2
    assert y[-1] == -0.7
    assert speed.max() == pytest.approx(0.5, rel=1e-3)
    assert SmoothPath(1.0, 1.0, 0.5).at(0.0) == 1.0


@pytest.mark.parametrize("bpm", [10.0, 30.0])
def test_breathing_has_its_rate_and_no_jumps(robot: Robot, bpm: float) -> None:
    body = Body.of(robot).begin("breathe", parameters={"breaths_per_minute": bpm})
    body.seconds(4.0 * 60.0 / bpm)
    assert not body.failures()
    rows = np.array(body.written)
    j = robot.joint_index("LShoulderRoll")
    swing = rows[:, j] - rows[0, j]
    assert swing.max() == pytest.approx(np.radians(4.0), rel=1e-2)
    assert swing.min() >= -1e-6  # the first row is one step after the start
    spectrum = np.abs(np.fft.rfft(swing - swing.mean()))
    assert int(np.argmax(spectrum)) == 4  # periods in this time
    # Δ (1 - cos 2π f t) / 2 has the top speed π f Δ; the growth adds Δ f at most.
    top_speed = np.radians(4.0) * (np.pi + 1.0) * bpm / 60.0
    assert body.fastest().max() * 0.01 <= top_speed * 0.02  # its period is two slots


def test_breathing_amplitude_changes_gradually(robot: Robot) -> None:
    body = Body.of(robot)
    body.begin("breathe", parameters={"amplitude": 0.0, "limbs": "arms and legs"})
    body.seconds(2.0)
    assert not body.moved()
    body.runtime.modulate("breathe", {"amplitude": 1.0}, body.tick)
    body.seconds(10.0)
    assert {"LHipRoll", "RAnkleRoll", "LShoulderRoll"} <= body.moved()
    assert body.fastest().max() < 0.2


@pytest.mark.requirement("RM-48")
@pytest.mark.requirement("RM-49")
@pytest.mark.parametrize("legs_are_free", [True, False])
def test_greeting_takes_steps_if_the_legs_are_free(
    robot: Robot, legs_are_free: bool
) -> None:
    body = Body.of(robot)
    if not legs_are_free:
        body.hold("somebody", "Legs")
    given = {"command": "test greeting", "with_steps": "test greeting with steps"}
    body.begin("greet", parameters=given)
    body.until("greet", State.SLEPT, 3.0)
    assert not body.failures()
    assert ("LHipRoll" in body.moved()) is legs_are_free
    assert body.runtime.value("greet", "takes_steps") is legs_are_free
    assert len({tick for tick, _ in body.started()}) == 1  # all in one slot
    assert len(body.told(GroupStarted)) == 1


@pytest.mark.requirement("RM-47")
def test_greeting_does_not_start_without_its_arm(robot: Robot) -> None:
    body = Body.of(robot)
    body.hold("somebody", "RShoulderPitch")
    given = {"command": "test greeting", "with_steps": ""}
    body.begin("greet", parameters=given, timeout_s=0.5).seconds(1.0)
    assert body.state("greet") is State.SLEPT
    assert not body.started()
    said = body.runtime.view("greet").error
    assert "(timed out, blocked: RShoulderPitch by somebody)" in said


@pytest.mark.requirement("RM-36")
def test_stopped_dance_rests_at_its_next_stop(robot: Robot) -> None:
    body = Body.of(robot).begin("dance", parameters={"motion": "test dance"}).slot(30)
    body.runtime.modulate("dance", {"stop": True}, body.tick)
    body.seconds(2.0)
    assert body.runtime.value("dance", "is_resting") is True
    assert body.angle("RShoulderPitch") == pytest.approx(np.radians(40.0), abs=1e-3)
    assert [label for _, label in body.started()] == ["test dance 1/3"]
    body.runtime.modulate("dance", {"stop": False}, body.tick)
    body.until("dance", State.SLEPT, 2.0)
    labels = [label for _, label in body.started()]
    assert labels == ["test dance 1/3", "test dance 2/3", "test dance 3/3"]
    assert body.angle("RShoulderPitch") == pytest.approx(np.radians(80.0), abs=1e-3)
    assert not body.failures()


def test_dance_rests_while_a_motor_is_hot(robot: Robot) -> None:
    body = Body.of(robot).begin("dance", parameters={"motion": "test dance", **HOT})
    body.slot(30)
    body.sensors.temperature[0] = 80.0
    body.seconds(2.0)
    assert body.runtime.value("dance", "is_resting") is True
    assert body.runtime.value("dance", "part") in (1, 2)
    body.sensors.temperature[0] = 40.0
    body.until("dance", State.SLEPT, 4.0)
    assert not body.failures()


@pytest.mark.parametrize("is_moved_away", [False, True])
def test_dance_resumes_from_its_stop_only_if_not_moved_away(
    robot: Robot, is_moved_away: bool
) -> None:
    body = Body.of(robot)
    body.begin("dance", parameters={"motion": "test dance", "stop": False}).slot(30)
    body.runtime.modulate("dance", {"stop": True}, body.tick)
    body.seconds(1.0)
    body.runtime.sleep("dance", body.tick)
    body.slot()
    if is_moved_away:
        body.sensors.q[robot.joint_index("HeadYaw")] = -0.5
        body.sensors.stuck = {"HeadYaw"}
    body.runtime.wake("dance", body.tick, {"stop": False})
    body.slot(30)
    expected = "test dance 1/3" if is_moved_away else "test dance 2/3"
    assert body.started()[-1][1] == expected


def test_parts_of_a_dance_lie_on_its_curve(robot: Robot) -> None:
    track = Track(
        joint="HeadYaw", times_s=(0.5, 1.3, 2.0, 3.0), angles=(0.2, 0.5, 0.8, 0.1)
    )
    whole = Motion(
        name="m",
        tracks=(track,),
        interpolation=Interpolation.LINEAR,
        start="Stand",
        stops_s=(1.0, 2.0),
    )
    parts = parts_between_stops(whole, robot)
    assert [part.length_s for part in parts] == [1.0, 1.0, 1.0]
    assert [part.start for part in parts] == ["Stand", None, None]
    t = np.array(track.times_s)
    for begin, part in enumerate(parts):
        (piece,) = part.tracks
        for time, angle in zip(piece.times_s, piece.angles, strict=True):
            at = np.array([begin + time])
            on_curve = sample_curve(t, np.array(track.angles), whole.interpolation, at)
            assert angle == pytest.approx(float(on_curve[0]))


def test_stop_before_the_first_keyframe_of_a_joint_is_rejected(robot: Robot) -> None:
    late = Track(joint="HeadYaw", times_s=(2.0,), angles=(0.8,))
    early = Track(joint="HeadPitch", times_s=(0.5, 2.0), angles=(0.1, 0.2))
    motion = Motion(name="m", tracks=(late, early), stops_s=(1.0,))
    with pytest.raises(BadInput, match="HeadYaw has its first keyframe at 2 s"):
        parts_between_stops(motion, robot)


def test_parts_of_the_nao_dance_keep_the_speed_limits(nao: Robot) -> None:
    dance = nao.library.motion("dance")
    parts = parts_between_stops(dance, nao)
    assert len(parts) > 1
    for part in parts:
        for track in part.tracks:
            t, y = np.array(track.times_s), np.array(track.angles)
            if len(t) > 1:
                limit = nao.joints[nao.joint_index(track.joint)].max_velocity
                assert largest_speeds(t, y, part.interpolation).max() <= limit


@pytest.mark.parametrize(
    ("schema", "given"),
    [
        ("dance", {"motion": "test bow"}),
        ("move", {"motion": "test bow"}),
        ("greet", {"command": "test bow and say", "with_steps": ""}),
    ],
)
def test_motion_that_starts_standing_does_not_start_lying(
    robot: Robot, schema: str, given: dict[str, str]
) -> None:
    body = Body.of(robot)
    body.ledger.set_state("State", "Back", 0)
    body.sensors.up = np.array([1.0, 0.0, 0.0])
    children = (Activation(schema=schema, name="it", parameters=given),)
    body.begin("choose", name="parent", children=children).slot(20)
    assert body.state("parent/it") is State.CHECKING
    body.sensors.up = np.array([0.0, 1.0, 0.0])  # on its side: no state
    body.seconds(2.0)
    assert body.ledger.active_state("State") is None
    assert body.state("parent/it") is State.CHECKING
    body.sensors.up = np.array([0.0, 0.0, 1.0])
    body.seconds(2.0)  # the vertical is filtered
    assert body.state("parent/it") is State.WINNER
    body.sensors.up = np.array([1.0, 0.0, 0.0])  # falls
    for i in range(200):
        body.slot()
        if body.ledger.active_state("State") is None:  # tilted in all directions
            body.sensors.up = np.roll(body.sensors.up, i % 7 == 6)
        else:
            body.sensors.up = np.array([1.0, 0.0, 0.0])
    assert body.state("parent/it") is State.CHECKING
    stops = [e for e in body.told(SchemaStopped) if e.path == "parent/it"]
    assert len(stops) == 1  # no restart during the fall
    assert not body.failures()


@pytest.mark.requirement("I-26")
def test_unknown_posture_counts_as_no_state(robot: Robot) -> None:
    """Upright with knees like in no posture: no state has been recognised yet."""
    knees = {"LKneePitch": 1.2, "RKneePitch": 1.2}
    body = Body.of(robot, turned=knees)
    body.ledger.set_state("State", None, 0)
    body.begin("move", parameters={"motion": "test bow"}).seconds(1.0)
    assert body.ledger.active_state("State") is None
    assert body.state("move") is State.CHECKING
    body.ledger.set_state("State", "Stand", body.tick)
    body.slot(2)
    assert body.state("move") is State.WINNER


@pytest.mark.parametrize("began", [0, 1, 4, 9, 22])  # 0.24 - 0.04 < 0.2
def test_duration_is_exact_to_the_slot_for_any_start(robot: Robot, began: int) -> None:
    body = Body.of(robot).slot(began).begin("look around", parameters={"for_s": 0.2})
    body.until("look around", State.SLEPT, 1.0)
    (start,) = (e.tick for e in body.told(SchemaStarted) if e.path == "look around")
    (stop,) = (e.tick for e in body.told(SchemaStopped) if e.path == "look around")
    assert stop - start == 20


@pytest.mark.requirement("RM-36")
def test_dance_releases_its_resources_at_its_next_stop(robot: Robot) -> None:
    body = Body.of(robot)
    given = {"motion": "test dance"}
    body.begin("dance", parameters=given, policy=CallbackOnDemand()).slot(30)
    body.ledger.add_owner(Owner(name="somebody"), body.tick)
    request = Request(owner="somebody", resources=("HeadYaw",), timeout_s=5.0)
    ticket = body.ledger.request(request, body.tick)
    body.slot(10)
    waits = ticket.outcome is None
    assert waits  # not before the stop at 0.5 s
    body.slot(20)
    assert ticket.outcome is not None
    assert ticket.outcome.is_granted
    assert body.state("dance") is State.SLEPT
    assert body.angle("RShoulderPitch") == pytest.approx(np.radians(40.0), abs=1e-3)
    assert [label for _, label in body.started()] == ["test dance 1/3"]
    assert not body.failures()


def asked(body: Body, timeout_s: float = 5.0) -> Ticket:
    """Request the head for another owner."""
    body.ledger.add_owner(Owner(name="somebody"), body.tick)
    request = Request(owner="somebody", resources=("HeadYaw",), timeout_s=timeout_s)
    return body.ledger.request(request, body.tick)


RESUMES = {"motion": "test dance", "resumes": True}


@pytest.mark.requirement("RM-36", "RM-37")
@pytest.mark.parametrize("moved_deg", [0.0, 60.0])
def test_dance_yields_at_its_next_stop_and_resumes_from_it(
    robot: Robot, moved_deg: float
) -> None:
    """If another owner turned the head, it first returns to the stop."""
    body = Body.of(robot)
    body.begin("dance", parameters=RESUMES, policy=CallbackOnDemand()).slot(30)
    ticket = asked(body)
    body.slot(10)
    waits = ticket.outcome is None
    assert waits, "not before the stop at 0.5 s"
    body.slot(60)  # retry every 0.5 s
    assert ticket.outcome is not None
    assert ticket.outcome.token is not None
    assert body.angle("RShoulderPitch") == pytest.approx(np.radians(40.0), abs=1e-3)
    assert body.state("dance") is State.WINNER
    for angle in np.linspace(body.angle("HeadYaw"), np.radians(20.0 + moved_deg), 99):
        assert body.gate.submit(ticket.outcome.token, "HeadYaw", angle) is None
        body.slot()
    assert [label for _, label in body.started()] == ["test dance 1/3"]
    body.ledger.release(ticket.outcome.token, body.tick)
    body.until("dance", State.SLEPT, 5.0)
    labels = [label for _, label in body.started()]
    back = ["test dance back to stop 1"] if moved_deg else []
    assert labels == ["test dance 1/3", *back, "test dance 2/3", "test dance 3/3"]
    assert body.angle("HeadYaw") == pytest.approx(np.radians(-20.0), abs=1e-3)
    head = robot.joint_index("HeadYaw")
    assert body.fastest()[head] < np.radians(65.0), "no jump"
    assert not body.failures()


def test_dance_continues_if_the_request_is_not_repeated(robot: Robot) -> None:
    body = Body.of(robot)
    body.begin("dance", parameters=RESUMES, policy=CallbackOnDemand()).slot(30)
    ticket = asked(body, timeout_s=0.1)
    body.until("dance", State.SLEPT, 4.0)
    assert ticket.outcome is not None
    assert not ticket.outcome.is_granted
    starts = [tick for tick, _ in body.started()]
    assert 129 <= starts[1] <= 134, "1 s after the demand in slot 29"
    assert len(starts) == 3


@pytest.mark.parametrize("policy", [None, CallbackOnDemand(limit_s=1.0)])
def test_resumable_dance_needs_the_callback_policy(
    robot: Robot, policy: CallbackOnDemand | None
) -> None:
    with pytest.raises(BadInput, match="requires the policy 'callback'"):
        Body.of(robot).begin("dance", parameters=RESUMES, policy=policy)


@pytest.mark.requirement("RM-36")
def test_dance_with_a_time_limit_also_yields_at_its_next_stop(robot: Robot) -> None:
    body = Body.of(robot)
    given = {"motion": "test dance"}
    body.begin("dance", parameters=given, policy=CallbackOnDemand(limit_s=3.0)).slot(30)
    ticket = asked(body)
    body.slot(40)
    assert ticket.outcome is not None
    assert ticket.outcome.is_granted, "at 0.5 s, long before the limit"
    assert [label for _, label in body.started()] == ["test dance 1/3"]
    assert not body.failures()
