"""Tests of single slots: tokens at the gate, DCM delay, heat, leaving clients."""

import gc
import queue
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.manager.snapshot import take_snapshot
from nao_testbed.experiments.server.naoqi import served_robot, service
from nao_testbed.experiments.server.naoqi.arguments import Names, Numbers, Signature
from nao_testbed.experiments.server.naoqi.memory.memory_keys import PREFIX
from nao_testbed.experiments.server.naoqi.naoqi_client import NaoqiClient
from nao_testbed.experiments.server.naoqi.services.dcm import Dcm
from nao_testbed.experiments.server.naoqi.services.programs import Programs
from nao_testbed.experiments.server.naoqi.services.table import SERVICES
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.sim.engine.interface import rotation_from_quaternion
from tests.experiments.server.naoqi.in_process import InProcess

TOKENS_KEPT = 20


@pytest.fixture(scope="module")
def shared() -> Iterator[InProcess]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(served_robot, "TOKENS_KEPT", TOKENS_KEPT)
        world = InProcess()
    yield world
    world.served.close("done")


@pytest.fixture
def world(shared: InProcess) -> Iterator[InProcess]:
    yield shared
    shared.parts.motion.kill(shared.parts.motion.tasks())
    shared.run(1.0)


def _knock_over(world: InProcess, newton: tuple[float, float, float]) -> None:
    setup = world.served.setup
    setup.disturbance.push("torso", newton, setup.tick + 50)
    world.run(3.0)
    assert world.served.body.sim.has_fallen()


def _result(world: InProcess, call: Any) -> bool:
    while not call.done():
        world.run(0.1)
    return bool(call.result())


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.parametrize("newton", [(60.0, 0.0, 0.0), (-60.0, 0.0, 0.0)])
def test_fallen_robot_is_set_on_its_feet(
    world: InProcess, newton: tuple[float, float, float]
) -> None:
    posture, motion = world.ask("ALRobotPosture"), world.ask("ALMotion")
    happened: list[str] = []
    world.served.on_event.append(lambda kind, _: happened.append(kind))
    _knock_over(world, newton)
    assert posture("getPostureFamily") in {"LyingBelly", "LyingBack"}
    begin_s = world.served.time_s
    assert _result(world, posture("goToPosture", "StandInit", 1.0))
    assert world.served.time_s - begin_s > 3.0
    assert happened == ["task", "posture", "set down"]
    assert posture("getPosture") == "StandInit"
    _knock_over(world, newton)
    assert _result(world, motion("wakeUp")), "wakeUp failed with stiff legs"
    assert posture("getPostureFamily") == "Standing"


@pytest.mark.slow
@pytest.mark.scenario
def test_robot_that_falls_during_a_posture_motion_stays_down(world: InProcess) -> None:
    posture = world.ask("ALRobotPosture")
    going = posture("goToPosture", "Crouch", 0.2)
    _knock_over(world, (60.0, 0.0, 0.0))
    assert not _result(world, going)
    assert world.served.body.sim.has_fallen()
    assert _result(world, posture("goToPosture", "StandInit", 1.0))


@pytest.mark.parametrize("command", [("setAngles", "HeadYaw", 0.5, 0.3), ("rest",)])
def test_command_before_the_start_posture_causes_no_failure(
    command: tuple[Any, ...],
) -> None:
    world = InProcess(0.5)
    happened: list[str] = []
    world.served.on_event.append(lambda kind, _: happened.append(kind))
    world.ask("ALMotion")(*command)
    world.run(0.1)
    assert "failed" not in happened
    world.served.reach_start_posture()
    world.served.close("done")


def test_start_posture_is_reached_before_programs_connect() -> None:
    world = InProcess(0.0)
    world.served.reach_start_posture()
    assert 2.0 < world.served.time_s < 2.1
    assert world.ask("ALRobotPosture")("getPosture") == "StandInit"
    world.served.close("done")


def test_gate_accepts_no_command_without_a_token(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the gate writes the robot, and every leaf has a valid token."""
    gate, sim = world.served.body.gate, world.served.body.sim
    ledger = world.served.body.ledger
    written: set[str] = set()
    kind = type(gate._slot)
    put, flush, write = kind.put, gate.flush, sim.write
    inside = [False]

    def watched_put(slot: Any, holding: Any) -> Any:
        found = put(slot, holding)
        for line, token in found.items():
            assert ledger.authorise(token, line.name) is None
            written.add(line.name)
        return found

    def watched_flush(tick: int) -> Any:
        inside[0] = True
        try:
            return flush(tick)
        finally:
            inside[0] = False

    def watched_write(command: Any) -> None:
        assert inside[0]
        write(command)

    monkeypatch.setattr(kind, "put", watched_put)
    monkeypatch.setattr(gate, "flush", watched_flush)
    monkeypatch.setattr(sim, "write", watched_write)
    motion, dcm, leds = (world.ask(n) for n in ("ALMotion", "DCM", "ALLeds"))
    motion("angleInterpolation", "HeadYaw", 0.3, 0.3, True)
    motion("setAngles", "LArm", 0.1, 0.2)
    dcm(
        "set",
        ["HeadPitch/Position/Actuator/Value", "Merge", [[0.1, dcm("getTime", 0)]]],
    )
    leds("fadeRGB", "FaceLeds", "red", 0.1)
    motion("setStiffnesses", "RArm", 0.5)
    world.run(0.5)
    assert {"HeadYaw", "LShoulderPitch", "HeadPitch", "Left eye"} <= written
    assert "Arms-stiffness" in written
    assert gate.submit(None, "HeadYaw", 0.0) is not None
    world.run(0.5)


def test_dcm_command_reaches_the_servo_within_two_slots(
    world: InProcess,
) -> None:
    dcm = world.ask("DCM")
    names = [f"{j}/Position/Actuator/Value" for j in ("HeadYaw", "HeadPitch")]
    dcm("createAlias", ["Two", names])
    index = [world.served.robot.joint_index(j) for j in ("HeadYaw", "HeadPitch")]
    before = world.served.seen.target[index]
    now = dcm("getTime", 0)
    new = [[[float(b) + 0.01, now]] for b in before]
    dcm("setAlias", ["Two", "ClearAll", "time-mixed", new])
    slots = 0
    while not np.allclose(world.served.seen.target[index], before + 0.01, atol=1e-6):
        changed = world.served.seen.target[index] != before
        assert changed.all() or not changed.any()  # no skew
        world.served.slot()
        slots += 1
        assert slots <= 2


@pytest.mark.slow
def test_overheated_joint_is_revoked_and_reported(world: InProcess) -> None:
    motion, heat = world.ask("ALMotion"), world.ask("ALBodyTemperature")
    memory = world.ask("ALMemory")
    body = world.served.body
    moving = motion("angleInterpolation", "RElbowYaw", 0.5, 9.0, True)
    world.run(0.1)
    with world.served.access():
        body.sim.set_temperature("RElbowYaw", 85.0)
    world.run(2.5)
    assert "RElbowYaw was taken away by hotEngine" in str(moving.exception())
    key = "Device/SubDeviceList/RElbowYaw/Temperature/Sensor/"
    assert memory("getData", key + "Status") == 2
    assert heat("getTemperatureDiagnosis") == [1, ["RArm"]]
    assert motion("getStiffnesses", "RArm") == [0.0] * 6
    assert memory("getData", "HotDeviceDetected") == ["RElbowYaw"]
    with world.served.access():
        body.sim.set_temperature("RElbowYaw", 30.0)
    world.run(2.5)
    assert heat("getTemperatureDiagnosis") == [0, []]
    assert motion("getStiffnesses", "RArm") == [
        pytest.approx(s) for s in [0.5] * 6
    ] or (motion("getStiffnesses", "RArm") == [1.0] * 6)


def test_two_clients_wait_for_a_joint_in_the_ledger(world: InProcess) -> None:
    one, two = world.ask("ALMotion"), world.ask("ALMotion", 1)
    first = one("angleInterpolation", "HeadYaw", 0.4, 1.0, True)
    second = two("angleInterpolation", "HeadYaw", -0.4, 1.0, True)
    world.run(0.5)
    rows = take_snapshot(world.served.body.ledger).resources
    (row,) = (row for row in rows if row.name == "HeadYaw")
    assert row.holders[0].owner.startswith("naoqi client 1/")
    assert [w.owner.partition("/")[0] for w in row.waiters] == ["naoqi client 2"]
    two("setAngles", "HeadYaw", 1.0, 1.0)  # no effect while a task holds the joint
    world.run(0.55)
    assert first.done()
    assert not second.done()
    world.run(1.1)
    assert second.done()
    assert two("getAngles", "HeadYaw", False) == [pytest.approx(-0.4)]


def test_clients_share_stiffness_and_smart_stiffness_respects_it(
    world: InProcess,
) -> None:
    motion, other = world.ask("ALMotion"), world.ask("ALMotion", 1)
    motion("setStiffnesses", ["LArm", "Head"], 0.4)
    assert other("getStiffnesses", "Head") == [0.4, 0.4]
    world.run(0.5)
    i = world.served.robot.joint_index("HeadYaw")
    assert world.served.seen.stiffness[i] == pytest.approx(0.4)
    motion("setStiffnesses", "Body", 1)
    done = motion("stiffnessInterpolation", "Head", 0.6, 0.5)
    world.run(0.7)
    assert done.done()
    assert motion("getStiffnesses", "Head") == [pytest.approx(0.6)] * 2
    motion("setStiffnesses", "Body", 1)


def test_leaving_client_is_forgotten(world: InProcess) -> None:
    third = NaoqiClient(world.parts, 3, "test")
    world.clients.append(third)
    motion = world.ask("ALMotion", 2)
    moving = motion("angleInterpolation", "LArm", 0.1, 50.0, True)
    motion("setAngles", "HeadYaw", 0.3, 0.01)
    world.run(0.1)
    world.clients.pop().leave()
    world.run(0.1)
    snapshot = take_snapshot(world.served.body.ledger)
    assert not [o.name for o in snapshot.owners if o.name.startswith(third.name)]
    assert moving.done()
    assert world.ask("ALMotion")("areResourcesAvailable", ["Body"])


def test_every_event_has_an_initial_value() -> None:
    world = InProcess(0.1)
    memory = world.ask("ALMemory")
    values = {name: memory("getData", name) for name in memory("getEventList")}
    assert values["AutonomousLife/State"] == world.ask("ALAutonomousLife")("getState")
    assert values["robotIsWakeUp"] == world.ask("ALMotion")("robotIsWakeUp")
    assert values["PostureChanged"] == world.ask("ALRobotPosture")("getPosture")
    assert values["BatteryChargeChanged"] == world.ask("ALBattery")("getBatteryCharge")
    assert values["footContactChanged"] is True
    assert values["ALTextToSpeech/Status"] == [0, "done"]
    assert values["FrontTactilTouched"] == values["ChestButtonPressed"] == 0.0
    world.served.close("done")


def test_raised_event_touches_the_robot(world: InProcess) -> None:
    memory, touch = world.ask("ALMemory"), world.ask("ALTouch")
    told: queue.Queue[Any] = queue.Queue()
    world.parts.memory.listen("TouchChanged", "me", lambda _, value: told.put(value))
    for pressed in (1.0, 0.0):
        memory("raiseEvent", "LeftBumperPressed", pressed)
        touched = {name for name, is_touched in touch("getStatus") if is_touched}
        bumpers = {"LFoot/Bumper/Left", "LFoot/Bumper/Right"}
        assert touched == (bumpers if pressed else set())
        key = "Device/SubDeviceList/LFoot/Bumper/Left/Sensor/Value"
        assert memory("getData", key) == pressed
        assert told.get(timeout=30) == [
            [name, bool(pressed)] for name in sorted(bumpers)
        ]


def test_external_touch_raises_events_while_it_lasts(
    world: InProcess,
) -> None:
    told: queue.Queue[float] = queue.Queue()
    event = "FrontTactilTouched"
    world.parts.memory.listen(event, "me", lambda _, value: told.put(value))
    assert set(world.ask("ALTouch")("getSensorList")) == set(
        world.served.robot.touch_sensors
    )
    served = world.served
    served.setup.disturbance.touch("Head/Touch/Front", served.tick + 20)
    world.run(0.1)
    touched = [name for name, on in world.ask("ALTouch")("getStatus") if on]
    assert touched == ["Head/Touch/Front"]
    world.run(0.2)
    assert [told.get(timeout=30) for _ in range(2)] == [1.0, 0.0]
    with pytest.raises(UnknownName, match="Touch sensor 'Nose'"):
        served.setup.disturbance.touch("Nose", served.tick + 1)


def test_added_and_removed_keys_are_reported(world: InProcess) -> None:
    memory = world.ask("ALMemory")
    memory("insertData", "mine", 1)
    assert memory("getData", "ALMemory/KeyAdded") == "mine"
    memory("removeData", "mine")
    assert memory("getData", "ALMemory/KeyRemoved") == "mine"


def test_tilt_is_correct_while_the_arms_move(world: InProcess) -> None:
    """The accelerometer alone has an error of more than 20°."""
    off, raw = [], []
    key = "Device/SubDeviceList/InertialSensor/Angle{}/Sensor/Value"
    keys = [key.format(axis) for axis in "XY"]
    arms = ["LShoulderPitch", "RShoulderPitch"]
    world.ask("ALMotion")("angleInterpolationWithSpeed", arms, [-1.0, -1.0], 1.0)
    for _ in range(75):
        world.run(0.02)
        _, quaternion = world.served.body.sim.engine.base_pose()
        true = _tilt(rotation_from_quaternion(quaternion)[2])
        off.append(world.ask("ALMemory")("getListData", keys) - true)
        raw.append(_tilt(world.served.seen.accelerometer) - true)
    assert np.abs(raw).max() > np.deg2rad(20.0)
    assert np.abs(off).max() < np.deg2rad(1.5)


def _tilt(up: Any) -> Any:
    return np.arctan2([up[1], -up[0]], [up[2], np.hypot(up[1], up[2])])


def test_message_of_a_missing_key_is_short(world: InProcess) -> None:
    memory = world.ask("ALMemory")
    for method in ("getData", "removeData", "getType", "getTimestamp"):
        with pytest.raises(BadInput, match=r"there is no .*key 'xxx") as caught:
            memory(method, "x" * 1000)
        assert len(str(caught.value)) < 150


def test_words_are_events_while_a_text_is_spoken(world: InProcess) -> None:
    said = world.ask("ALTextToSpeech")("say", "hello, big world")
    while not said.done():
        world.run(0.1)
    history = world.parts.memory.history("ALTextToSpeech/CurrentWord")
    words, times = zip(*history[1:], strict=True)
    assert words == ("hello,", "big", "world")
    assert np.all(np.diff(times) > 0.1)


def test_behaviours_emit_signals(world: InProcess) -> None:
    kind = next(one for one in SERVICES if one.NAME == "ALBehaviorManager")
    client = NaoqiClient(world.parts, 60, "test")
    manager, got = kind(client), list[tuple[object, ...]]()
    manager.emit = lambda *signal: got.append(signal)
    begun = world.ask("ALBehaviorManager")("startBehavior", "blink")
    while not begun.done():
        world.run(0.02)
    assert got == [("behaviorStarted", "blink")]
    world.ask("ALBehaviorManager")("stopBehavior", "blink")
    assert got[1:] == [("behaviorStopped", "blink")]
    client.leave()
    assert manager not in world.parts.get(Programs).services


@pytest.mark.parametrize(
    "call", [("rotateEyes", 255, 0.01, 1e4), ("rasta", 1e4), ("randomEyes", 1e5)]
)
def test_too_many_steps_of_a_pattern_are_refused(
    world: InProcess, call: tuple[Any, ...]
) -> None:
    with pytest.raises(BadInput, match="duration in s is"):
        world.ask("ALLeds")(*call)


def test_unknown_voices_and_parameters_are_refused(world: InProcess) -> None:
    speech = world.ask("ALTextToSpeech")
    for call in (("setVoice", "maki"), ("setParameter", "colour", 1.0)):
        with pytest.raises(BadInput, match="is not in ALTextToSpeech"):
            speech(*call)
    speech("setVoice", *speech("getAvailableVoices"))


def example(one: Names, two: Numbers, three: bool, four: float = 1.0) -> None:
    pass


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (("a",), "(one, two, three, [four])"),
        (("a", 1, True, 1.0, 2), "not 5 arguments"),
        ((1, 1, True), "one: it is 1"),
        (("a", [1, "x"], True), "two: it is 'x'"),
        (("a", float("inf"), True), "two: it is inf"),
        (("a", 1, "yes"), "three: it is 'yes'"),
        (("a", 1, True, None), "four: it is None"),
    ],
)
def test_invalid_arguments_are_refused_by_name(
    args: tuple[Any, ...], part: str
) -> None:
    with pytest.raises(BadInput) as caught:
        Signature(example).accept(args)
    assert part in str(caught.value)


def test_valid_arguments_are_converted() -> None:
    found = Signature(example).accept(("a", (1, 2.5), 1, 3))
    assert found == [["a"], [1.0, 2.5], True, 3.0]


def _visit(world: InProcess, number: int) -> None:
    """Use services as one program, and leave."""
    client = NaoqiClient(world.parts, number, "test")
    made = {kind.NAME: kind(client) for kind in SERVICES}
    memory = world.parts.memory
    memory.listen("BehaviorsRun", f"{client.name}/x", lambda *_: None)
    made["ALMotion"]._call("setAngles", ("HeadYaw", 0.1 * (number % 2), 0.2))
    made["ALTextToSpeech"]._call("pCall", ("say", "."))
    made["ALSonar"]._call("subscribe", ("test",))
    made["ALSonar"]._call("unsubscribe", ("test",))
    world.run(0.03)
    client.leave()
    world.run(0.02)


def test_clients_that_have_left_keep_no_objects(world: InProcess) -> None:
    """After the ledger has as many ended tokens as it keeps, its size is constant.

    The first count and visits fill caches of Python (abstract base classes).
    """
    world.ask("ALSonar")("subscribe", "stays")
    gc.collect()
    gc.freeze()  # counts only what is made from here on
    counts: list[Counter[str]] = []
    for begin, end in ((100, 130), (200, 210), (400, 410)):
        for number in range(begin, end):
            _visit(world, number)
        gc.collect()
        counts.append(Counter(type(one).__name__ for one in gc.get_objects()))
    grown = counts[-1] - counts[-2]
    assert {kind: n for kind, n in grown.items() if n >= 10} == {}
    world.ask("ALSonar")("unsubscribe", "stays")


def test_sonar_events_say_on_which_side_an_obstacle_is_near(world: InProcess) -> None:
    memory, ask = world.parts.memory, world.ask("ALMemory")
    left, right = (f"{PREFIX}US/{side}/Sensor/Value" for side in ("Left", "Right"))
    live = {key: memory._live[key] for key in (left, right)}
    try:
        memory.add_live({left: lambda: 2.0, right: lambda: 2.0})
        world.run(0.2)
        before = ask("getData", "SonarRightDetected")
        memory.add_live({left: lambda: 0.3})
        world.run(0.2)
        assert ask("getData", "SonarLeftDetected") == pytest.approx(0.3)
        assert ask("getData", "SonarRightDetected") == before
        n = len(ask("getEventHistory", "SonarLeftNothingDetected"))
        memory.add_live({left: lambda: 2.0})
        world.run(0.2)
    finally:
        memory.add_live(live)
    assert ask("getData", "SonarLeftNothingDetected") == pytest.approx(2.0)
    assert len(ask("getEventHistory", "SonarLeftNothingDetected")) == n + 1
    events = world.ask("ALSonar")("getEventList")
    assert set(events) <= set(ask("getEventList"))


def test_full_table_of_programs_accepts_only_its_own_names(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    dcm = world.ask("DCM")
    dcm("createAlias", ["mine", []])
    n = len(world.parts.get(Dcm).aliases)
    monkeypatch.setattr(service, "MAX_NAMES", n)
    dcm("createAlias", ["mine", []])
    with pytest.raises(BadInput, match=f"already {n} aliases"):
        dcm("createAlias", ["one more", []])


def test_switches_of_the_arms_are_read_in_pairs(world: InProcess) -> None:
    motion = world.ask("ALMotion")
    motion("setWalkArmsEnabled", True, False)
    assert motion("getWalkArmsEnabled") == [True, False]  # as an official sample
    assert motion("getMoveArmsEnabled", "RArm") is False
