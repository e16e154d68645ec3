"""Programs for memory, DCM, LEDs, speech and resources, and their effects."""

import re
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nao_testbed.experiments.server.naoqi.client_session import (
    DIRECTORY,
    HEADER,
    exactly,
)
from nao_testbed.experiments.server.naoqi.naoqi_server import EVENT

pytestmark = pytest.mark.slow(covers=True)  # a server and programs: processes


def test_event_reaches_a_subscribed_program(nao: Any) -> None:
    got, kept, kind, history = nao.run("""
        got = []
        one = memory.subscriber("Test/Event")
        number = one.signal.connect(got.append)
        memory.raiseEvent("Test/Event", [1, "a", 2.5])
        memory.raiseEvent("Test/Event", [1, "a", 2.5])
        memory.insertData("Test/Event", 7)
        memory.raiseMicroEvent("Test/Micro", 3)
        end = time.time() + 10
        while len(got) < 2 and time.time() < end:
            time.sleep(0.01)
        one.signal.disconnect(number)
        tell([got, memory.getData("Test/Event"), memory.getType("Test/Micro"),
              len(memory.getEventHistory("Test/Event"))])
    """)
    assert got == [[1, "a", 2.5], [1, "a", 2.5]]
    assert kept == 7  # insertData notifies no subscriber
    assert kind == "MicroEvent"
    assert history == 2


def values_on_the_wire(nao: Any, program: str) -> list[int]:
    """Run a program; return the integers received as events."""
    found, url = [], nao.url
    host, port = url.removeprefix("tcp://").split(":")

    def pass_on(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while header := exactly(source, HEADER.size):
                _, _, size, _, kind, _, service, _, _ = HEADER.unpack(header)
                body = exactly(source, size)
                sink.sendall(header + body)
                if (
                    kind == EVENT and service != DIRECTORY
                ):  # signature (length 1 and text), then the value
                    found.append(int.from_bytes(body[5:], "little"))
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        nao = replace(nao, url=f"tcp://127.0.0.1:{listener.getsockname()[1]}")
        started = nao.start(program)
        client, _ = listener.accept()
        with client, socket.create_connection((host, int(port))) as server:
            for one in (client, server):  # an event and its reply
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            there = threading.Thread(target=pass_on, args=(client, server))
            there.start()
            pass_on(server, client)
            there.join()
    nao.told(started)
    return found


def test_events_of_a_key_are_sent_in_order(nao: Any) -> None:
    """Checked on the wire, since `qi` calls callbacks from a thread pool."""
    assert values_on_the_wire(
        nao,
        """
        got = []
        one = memory.subscriber("Test/Order")
        one.signal.connect(got.append)
        for i in range(500):
            memory.raiseEvent("Test/Order", i)
        end = time.time() + 60
        while len(got) < 500 and time.time() < end:
            time.sleep(0.01)
        tell(0)
        session.close()
    """,
    ) == list(range(500))


def test_hanging_callback_does_not_delay_events_of_others(
    nao: Any,
) -> None:
    hangs = nao.start("""
        class Hung:
            def heard(self, key, value, message):
                time.sleep(60)
        session.listen("tcp://127.0.0.1:0")
        session.registerService("Hung", Hung())
        memory.subscribeToEvent("Test/Hung", "Hung", "heard")
        print("READY", flush=True)
        time.sleep(60)
    """)
    assert hangs.stdout.readline().strip() == "READY"
    try:
        assert nao.run("""
            got = []
            one = memory.subscriber("Test/Hung")
            one.signal.connect(got.append)
            for i in range(3):
                memory.raiseEvent("Test/Hung", i)
            end = time.time() + 10
            while len(got) < 3 and time.time() < end:
                time.sleep(0.01)
            tell(got)
        """) == [0, 1, 2]
    finally:
        hangs.kill()
        hangs.communicate()


def test_subscribe_to_event_calls_the_service_of_the_client(nao: Any) -> None:
    assert nao.run("""
        got = []
        class Mine:
            def heard(self, key, value, message):
                got.append([key, value, message])
        session.listen("tcp://127.0.0.1:0")
        session.registerService("Mine", Mine())
        memory.subscribeToEvent("Test/Old", "Mine", "heard")
        memory.raiseEvent("Test/Old", 1.5)
        end = time.time() + 10
        while not got and time.time() < end:
            time.sleep(0.01)
        memory.unsubscribeToEvent("Test/Old", "Mine")
        tell(got)
    """) == [["Test/Old", 1.5, ""]]


def test_list_of_keys_returns_the_value_of_each(nao: Any) -> None:
    values, weights, n, missing = nao.run("""
        p = "Device/SubDeviceList/"
        keys = [p + k for k in ("LKneePitch/Temperature/Sensor/Value",
            "LKneePitch/Hardness/Actuator/Value", "Battery/Charge/Sensor/Value",
            "InertialSensor/AccelerometerZ/Sensor/Value")]
        feet = [p + f + "FSR/TotalWeight/Sensor/Value" for f in ("LFoot/", "RFoot/")]
        posture.goToPosture("StandInit", 1.0)
        tell([memory.getListData(keys), memory.getListData(feet),
              len(memory.getDataList("Temperature/Sensor/Value")),
              memory.getListData(["nothing"])])
    """)
    degc, hardness, charge, up = values
    assert 20.0 < degc < 80.0
    assert 0.0 < hardness <= 1.0
    assert 0.0 < charge <= 1.0
    assert up == pytest.approx(9.81, rel=0.15)
    assert sum(weights) == pytest.approx(5.3, rel=0.15)
    assert n == 27  # 25 motors, the head and the battery
    assert missing == [None]


@pytest.mark.slow
def test_timed_dcm_commands_are_interpolated_linearly(nao: Any) -> None:
    """Two actuators of an alias are written in the same slot, without skew."""
    half, whole, skew, alias = nao.run("""
        dcm = session.service("DCM")
        motion.angleInterpolationWithSpeed("Head", [0.0, 0.0], 1.0)
        made = dcm.createAlias(["Head", ["HeadYaw/Position/Actuator/Value",
            "Device/SubDeviceList/HeadPitch/Position/Actuator/Value", "Nose"]])
        dcm.createAlias(["Two", ["HeadYaw/Position/Actuator/Value",
                                 "HeadPitch/Position/Actuator/Value"]])
        now = dcm.getTime(0)
        dcm.setAlias(["Two", "Merge", "time-separate", 0, [now + 4000],
                      [[0.4], [0.4]]])
        skew, half = 0.0, [0.0, 0, 1000]
        while True:
            before = dcm.getTime(0)
            angles = motion.getAngles("Head", False)
            after = dcm.getTime(0)
            skew = max(skew, abs(angles[0] - angles[1]))
            on_the_way = now + 1000 < before and after < now + 3900
            if on_the_way and after - before < half[2] - half[1]:
                half = [angles[0], before - now, after - now]
            if after > now + 4200:
                break
        tell([half, motion.getAngles("Head", False), skew, made[1]])
    """)
    angle, from_ms, to_ms = half
    assert from_ms > 1000
    slot_ms = 20.0
    assert 0.4 * (from_ms - 2 * slot_ms) / 4000.0 <= angle
    assert angle <= 0.4 * (to_ms + slot_ms) / 4000.0
    assert whole == pytest.approx([0.4, 0.4], abs=1e-5)
    assert skew < 1e-6
    assert alias[2] == ""


def test_dcm_updates_clear_pending_commands(nao: Any) -> None:
    assert nao.run("""
        dcm = session.service("DCM")
        key, angle = "HeadYaw/Position/Actuator/Value", 0.0
        now = dcm.getTime(0)
        dcm.set([key, "ClearAll", [[0.0, now]]])
        dcm.set([key, "Merge", [[0.3, now + 3000], [0.5, now + 9000]]])
        dcm.set([key, "ClearAfter", [[0.1, now + 3001]]])
        while dcm.getTime(0) < now + 4000:
            pass
        tell(motion.getAngles("HeadYaw", False)[0])
    """) == pytest.approx(0.1, abs=1e-5)


def test_leds_fade_to_their_colours(nao: Any) -> None:
    red, blue, chest, ear, groups, wrong = nao.run("""
        leds = session.service("ALLeds")
        leds.fadeRGB("FaceLeds", 1.0, 0.0, 0.0, 0.2)
        red = [memory.getData("Device/SubDeviceList/Face/Led/%s/Left/"
                              "90Deg/Actuator/Value" % c) for c in ("Red", "Blue")]
        leds.fadeRGB("LeftFaceLeds", "blue", 0.1)
        blue = leds.getIntensity("FaceLedLeft3")
        leds.fadeListRGB("ChestLeds", [0x00FF00, 0xFF0000], [0.1, 0.3])
        leds.earLedsSetAngle(36, 0.1, True)
        leds.createGroup("mine", ["Brain0", "ChestLeds"])
        tell([red, blue, leds.getIntensity("ChestLeds"),
              leds.getIntensity("LeftEarLed2"), len(leds.listGroup("mine")),
              refused(lambda: leds.on("Nose"))])
    """)
    assert red == [1.0, 0.0]
    assert blue == pytest.approx([0.0, 0.0, 1.0])
    assert chest == pytest.approx([1.0, 0.0, 0.0], abs=0.02)
    assert ear == pytest.approx(1.0)
    assert groups == 4
    assert "Nose" in wrong


def test_speech_raises_status_events_and_bookmarks(nao: Any) -> None:
    events, marks, taken = nao.run("""
        tts = session.service("ALTextToSpeech")
        events, marks = [], []
        status = memory.subscriber("ALTextToSpeech/Status")
        status.signal.connect(events.append)
        mark = memory.subscriber("ALTextToSpeech/CurrentBookMark")
        mark.signal.connect(marks.append)
        key = "Device/SubDeviceList/HeadYaw/Position/Sensor/Value"
        begin = memory.getTimestamp(key)[1]
        tts.say("\\\\rspd=80\\\\one two \\\\mrk=5\\\\ three four five six seven")
        tts.say("")
        taken = memory.getTimestamp(key)[1] - begin
        end = time.time() + 60
        while (len(events) < 5 or not marks) and time.time() < end:
            time.sleep(0.01)
        tell([events, marks, taken])
    """)
    first, second = sorted({number for number, _ in events})
    said = [status for number, status in events if number == first]
    silent = [status for number, status in events if number == second]
    # `qi` calls back from several threads, in any order.
    assert sorted(said) == ["done", "enqueued", "started"]
    assert sorted(silent) == ["done", "enqueued"]
    assert marks == [5]
    assert taken >= 1


@pytest.mark.slow
def test_held_resource_excludes_other_programs(nao: Any) -> None:
    holder = nao.start("""
        manager = session.service("ALResourceManager")
        manager.acquireResource("Head", "Dance", "", 1)
        motion.angleInterpolation("HeadYaw", 0.4, 0.3, True)   # its own: it may
        print("READY", flush=True)
        sys.stdin.readline()
        tell(motion.getAngles("HeadYaw", True))
    """)
    assert holder.stdout.readline().strip() == "READY"
    said, busy, mine, moved = nao.run("""
        manager = session.service("ALResourceManager")
        said = refused(lambda: manager.acquireResource("HeadYaw", "Other", "", 0))
        motion.setAngles("HeadYaw", -0.5, 1.0)
        time.sleep(0.3)
        tell([said, manager.isResourceFree("Head"),
              manager.areResourcesOwnedBy(["Head"], "Dance"),
              motion.getAngles("HeadYaw", True)[0]])
    """)
    assert "Dance" in said
    assert busy is False
    assert mine is True
    assert moved == pytest.approx(0.4, abs=0.05)
    assert nao.told(holder) == pytest.approx([0.4], abs=0.05)
    assert nao.run("""
        manager = session.service("ALResourceManager")
        end = time.time() + 60
        while not manager.isResourceFree("Head") and time.time() < end:
            time.sleep(0.01)
        tell(manager.isResourceFree("Head"))
    """)


def test_owner_is_called_and_may_release(nao: Any) -> None:
    holder = nao.start("""
        manager = session.service("ALResourceManager")
        class Dance:
            def asked(self, resource, owner):
                manager.releaseResource("Head", "Dance")
        session.listen("tcp://127.0.0.1:0")
        session.registerService("Dance", Dance())
        manager.acquireResource("Head", "Dance", "asked", 1)
        print("READY", flush=True)
        sys.stdin.readline()
        tell("left")
    """)
    assert holder.stdout.readline().strip() == "READY"
    try:
        assert nao.run("""
            manager = session.service("ALResourceManager")
            manager.acquireResource("Head", "Other", "", 60)
            tell(manager.areResourcesOwnedBy(["Head"], "Other"))
        """)
        assert holder.poll() is None
    finally:
        holder.kill()
        holder.communicate()


def test_behaviour_of_the_robot_runs_until_it_ends(nao: Any) -> None:
    names, running, unknown, signals = nao.run("""
        manager = session.service("ALBehaviorManager")
        signals = []
        manager.behaviorStarted.connect(lambda name: signals.append("begun " + name))
        manager.behaviorStopped.connect(lambda name: signals.append("ended " + name))
        posture.goToPosture("StandInit", 1.0)
        names = manager.getInstalledBehaviors()
        future = manager.runBehavior("blink", _async=True)
        future.value()
        while len(signals) < 2:
            time.sleep(0.01)
        tell([names, manager.getRunningBehaviors(),
              refused(lambda: manager.runBehavior("fly")), sorted(signals)])
    """)
    assert signals == ["begun blink", "ended blink"]
    assert "say hello and wave" in names
    assert running == []
    assert "fly" in unknown


def test_unsimulated_calls_are_refused(nao: Any) -> None:
    moved, told, refusals = nao.run("""
        failed = []
        one = memory.subscriber("ALMotion/MoveFailed")
        one.signal.connect(failed.append)
        moved = [motion.moveTo(0.2, 0.0, 0.0), motion.moveTo(0, 0, 0)]
        motion.move(0.1, 0.0, 0.0)
        end = time.time() + 60
        while not failed and time.time() < end:
            time.sleep(0.01)
        tracker = session.service("ALTracker")
        dialog = session.service("ALDialog")
        tell([moved, failed, [refused(lambda: tracker.track("Face")),
              refused(lambda: dialog.loadTopic("a")),
              refused(lambda: motion.setFallManagerEnabled(False))]])
    """)
    assert moved == [False, True]
    assert told[0][1:] == [0, [0.0, 0.0, 0.0]]
    assert all(text is not None for text in refusals)
    assert "not simulated" in refusals[0]


def test_every_service_has_the_calls_of_a_module(nao: Any) -> None:
    missing, run, late = nao.run("""
        missing = []
        for one in session.services():
            name = one["name"]
            if name in ("ServiceDirectory",):
                continue
            service = session.service(name)
            if not (service.ping() and service.version() and
                    "ping" in service.getMethodList()):
                missing.append(name)
        number = motion.pCall("angleInterpolation", "HeadYaw", 0.1, 500.0, True)
        run = motion.isRunning(number)
        late = motion.wait(number, 200)
        motion.killAll()
        tell([missing, run, late])
    """)
    assert missing == []
    assert run is True
    assert late is True


PRINTED = {
    "cancel": r"stopped by all: HeadYaw at 0\.\d\d of 1\.0 rad",
    "get_up": r"fallen: True\nlies: Lying\w+\nstands: True",
    "own_service": r"answer: Hello, Ada\.\nheard: Ada",
    "picture": r"down \(320, 240\) mean colour",
    "take_the_head": "Look has it: True",
    "watch_heat": "'LAnklePitch': ",
    "wave": "arm at .*\nstands: True",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    sorted((Path(__file__).parents[4] / "examples" / "naoqi").glob("*.py")),
    ids=lambda path: path.stem,
)
def test_each_example_runs_and_prints(nao: Any, path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, str(path), nao.url],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert re.search(PRINTED[path.stem], ran.stdout)
