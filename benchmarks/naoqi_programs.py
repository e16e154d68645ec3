"""Programs for a NAO, run against `naoqi serve`: `python -m benchmarks.naoqi_programs`.

Each program is a separate process, written from the published API [naoqi-api]. It says
what it has seen in sensors, events and answers. The result of a program is

    right     all that it expects was seen
    refused   the server said what it does not simulate, as expected
    wrong     anything else: another value, another error, an end by the time limit
"""

import argparse
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.naoqi_clients import start_server

LONGEST_S = 120.0
"""Time limit of a program in s."""
START = """
import sys, time, threading
import qi, almath
qi.logging.setLevel(qi.logging.FATAL)
app = qi.Application(["program", "--qi-url=" + sys.argv[1]])
app.start()
session = app.session
motion, memory, posture, speech, leds = map(session.service, (
    "ALMotion", "ALMemory", "ALRobotPosture", "ALTextToSpeech", "ALLeds"))
def until(true, seconds=60):
    end = time.time() + seconds
    while not true() and time.time() < end:
        time.sleep(0.02)
    return true()
def angle(joint):
    return motion.getAngles(joint, True)[0]
def near(a, b, by=0.05):
    return abs(a - b) < by
"""
PROGRAMS: Mapping[str, str] = {
    # -- 1: the robot gets up ------------------------------------------------------
    "get up after a fall": """
        motion.setStiffnesses("Body", 0.0)
        fell = until(lambda: memory.getData("robotHasFallen"))
        stands = posture.goToPosture("StandInit", 0.8)
        seen = [fell, stands, posture.getPostureFamily()]
        expected = [True, True, "Standing"]
    """,
    "rest and wake up": """
        motion.rest()
        rests = [motion.robotIsWakeUp(), posture.getPosture()]
        motion.wakeUp()
        seen = rests + [motion.robotIsWakeUp(), posture.getPostureFamily()]
        expected = [False, "Crouch", True, "Standing"]
    """,
    "lie down": """
        seen, expected = posture.goToPosture("LyingBack", 0.5), False
    """,
    # -- 2: one directory ----------------------------------------------------------
    "a service of another program": """
        class Sum:
            def add(self, a, b):
                return a + b
        number = session.registerService("Sum", Sum())
        other = qi.Session()
        other.connect(sys.argv[1])
        seen = [other.service("Sum").add(2, 3)]
        other.close()  # an open one can block the end of a process of qi 3.1.5
        session.unregisterService(number)
        expected = [5]
    """,
    "an event for a service of one's own": """
        got = []
        class Listener:
            def heard(self, key, value, message):
                got.append([key, value])
        session.registerService("Listener", Listener())
        memory.subscribeToEvent("MyEvent", "Listener", "heard")
        memory.raiseEvent("MyEvent", [1, "two"])
        until(lambda: got)
        memory.unsubscribeToEvent("MyEvent", "Listener")
        seen, expected = got, [["MyEvent", [1, "two"]]]
    """,
    # -- 3: pictures and log -------------------------------------------------------
    "a picture of the upper camera": """
        video = session.service("ALVideoDevice")
        name = video.subscribeCamera("program", 0, 1, 11, 10)
        picture = video.getImageRemote(name)
        video.releaseImage(name)
        seen = [picture[0], picture[1], len(picture[6]), len(set(picture[6])) > 3,
                video.unsubscribe(name)]
        expected = [320, 240, 320 * 240 * 3, True, True]
    """,
    "a warning in the log": """
        said = []
        listener = session.service("LogManager").getListener()
        listener.onLogMessagesWithBacklog.connect(said.extend)
        moved = motion.moveTo(0.2, 0.0, 0.0)
        text = "moveTo: walking is not simulated"
        seen = [moved, until(lambda: text in [one["message"] for one in said])]
        expected = [False, True]
    """,
    # -- 4: state from the start, touch --------------------------------------------
    "keys before their first event": """
        keys = ["FrontTactilTouched", "robotIsWakeUp", "AutonomousLife/State",
                "ALTextToSpeech/TextDone", "LeftBumperPressed"]
        seen, expected = memory.getListData(keys).count(None), 0
    """,
    "the head is touched": """
        got = []
        touch = memory.subscriber("TouchChanged")
        touch.signal.connect(lambda value: got.append(value))
        memory.raiseEvent("FrontTactilTouched", 1.0)
        memory.raiseEvent("FrontTactilTouched", 0.0)
        until(lambda: len(got) > 1)
        seen = [one[0] for one in got]
        expected = [["Head/Touch/Front", True], ["Head/Touch/Front", False]]
    """,
    "the torso is upright": """
        key = "Device/SubDeviceList/InertialSensor/Angle%s/Sensor/Value"
        seen = [near(memory.getData(key % axis), 0.0, 0.25) for axis in "XY"]
        expected = [True, True]
    """,
    # -- 5: what is not simulated --------------------------------------------------
    "words are recognised": """
        session.service("ALSpeechRecognition").subscribe("program")
    """,
    "a face is tracked": """
        tracker = session.service("ALTracker")
        tracker.registerTarget("Face", 0.1)
    """,
    "a preference is read": """
        session.service("ALPreferenceManager").getValue("domain", "setting")
    """,
    "a microphone records": """
        session.service("ALAudioDevice").subscribe("program")
    """,
    "an error of a missing key is short": """
        try:
            memory.getData("No/Such/Key")
        except RuntimeError as error:
            seen = [len(str(error)) < 300, "No/Such/Key" in str(error)]
        expected = [True, True]
    """,
    # -- 6: almath -----------------------------------------------------------------
    "a hand moves by almath": """
        before = almath.Transform(motion.getTransform("LArm", 0, False))
        goal = almath.Transform.fromPosition(0.0, 0.0, 0.05) * before
        motion.transformInterpolations(
            "LArm", 0, list(goal.toVector()), almath.AXIS_MASK_VEL, 2.0)
        after = almath.Transform(motion.getTransform("LArm", 0, True))
        seen, expected = near(after.r3_c4 - before.r3_c4, 0.05, 0.01), True
        posture.goToPosture("StandInit", 0.8)
    """,
    "degrees to radians": """
        motion.angleInterpolation("HeadYaw", 30.0 * almath.TO_RAD, 1.0, True)
        seen, expected = near(angle("HeadYaw"), 0.5236), True
    """,
    # -- motion --------------------------------------------------------------------
    "joints by speed, then relative": """
        motion.setAngles(["HeadYaw", "HeadPitch"], [0.3, 0.1], 0.2)
        came = until(lambda: near(angle("HeadYaw"), 0.3))
        motion.changeAngles("HeadYaw", -0.3, 0.2)
        seen = [came, until(lambda: near(angle("HeadYaw"), 0.0))]
        expected = [True, True]
    """,
    "an arm waves along Bezier curves": """
        points = [[-0.5, [3, -0.3, 0.0], [3, 0.3, 0.0]],
                  [0.5, [3, -0.3, 0.0], [3, 0.3, 0.0]]]
        motion.angleInterpolationBezier(["RShoulderPitch"], [[1.0, 2.0]], [points])
        seen, expected = near(angle("RShoulderPitch"), 0.5, 0.08), True
        posture.goToPosture("StandInit", 0.8)
    """,
    "a motion is cancelled": """
        future = motion.angleInterpolation("HeadYaw", 1.0, 20.0, True, _async=True)
        until(lambda: angle("HeadYaw") > 0.05)
        future.cancel()
        until(lambda: not motion.getTaskList())
        here = angle("HeadYaw")
        time.sleep(1.0)
        seen, expected = [near(angle("HeadYaw"), here, 0.02), here < 0.5], [True, True]
    """,
    "a motion is started with post": """
        number = motion.pCall("angleInterpolation", "HeadYaw", 0.4, 1.0, True)
        begun = motion.isRunning(number)
        seen = [begun, motion.wait(number, 0), near(angle("HeadYaw"), 0.4)]
        expected = [True, False, True]
    """,
    "hands open and close": """
        motion.openHand("LHand")
        opened = motion.getAngles("LHand", True)[0]
        motion.closeHand("LHand")
        seen = [opened > 0.8, motion.getAngles("LHand", True)[0] < 0.2]
        expected = [True, True]
    """,
    "the torso goes down": """
        high = motion.getPosition("Torso", 2, True)
        path = [high[0], high[1], high[2] - 0.03] + high[3:]
        motion.positionInterpolations("Torso", 2, path, 63, 2.0)
        seen = near(high[2] - motion.getPosition("Torso", 2, True)[2], 0.03, 0.01)
        expected = True
        posture.goToPosture("StandInit", 0.8)
    """,
    "the body knows itself": """
        names = motion.getBodyNames("Body")
        x, y, _ = motion.getCOM("Body", 2, True)
        seen = [len(names), len(motion.getLimits("Body")), near(x, 0.0, 0.05),
                near(y, 0.0, 0.02), 5.0 < motion.getMass("Body") < 6.0]
        expected = [26, 26, True, True, True]
    """,
    "place of a camera": """
        place = motion.getPosition("CameraTop", 0, True)
        seen, expected = [len(place), 0.1 < place[2] < 0.25], [6, True]
    """,
    "commands through the DCM": """
        dcm = session.service("DCM")
        dcm.createAlias(["Head", ["HeadYaw/Position/Actuator/Value"]])
        dcm.set(["Head", "ClearAll", [[-0.2, dcm.getTime(1000)]]])
        seen, expected = until(lambda: near(angle("HeadYaw"), -0.2)), True
    """,
    "stiffness of an arm": """
        motion.setStiffnesses("LArm", 0.0)
        limp = motion.getStiffnesses("LArm")
        motion.stiffnessInterpolation("LArm", 1.0, 1.0)
        seen = [set(limp), set(motion.getStiffnesses("LArm"))]
        expected = [{0.0}, {1.0}]
    """,
    # -- speech, lights, behaviours, reservations ----------------------------------
    "a text is spoken": """
        got = []
        status = memory.subscriber("ALTextToSpeech/Status")
        status.signal.connect(lambda value: got.append(value[1]))
        speech.say("\\\\rspd=90\\\\Hello, I am a robot.")
        until(lambda: "done" in got)
        seen, expected = got[-1:], ["done"]
    """,
    "eyes change their colour": """
        leds.fadeRGB("FaceLeds", 0x0000FF, 0.2)
        blue = leds.getIntensity("LeftFaceLed1")
        leds.reset("FaceLeds")
        seen, expected = [round(one, 1) for one in blue], [0.0, 0.0, 1.0]
    """,
    "a resource is waited for": """
        manager = session.service("ALResourceManager")
        manager.acquireResource("Head", "one", "", 5)
        waiting = manager.acquireResource("Head", "two", "", 30, _async=True)
        free = manager.isResourceFree("Head")
        manager.releaseResource("Head", "one")
        waiting.value()
        seen = [free, manager.areResourcesOwnedBy(["Head"], "two")]
        expected = [False, True]
    """,
    "settings of autonomous life": """
        life = session.service("ALAutonomousLife")
        life.setState("disabled")
        life.setAutonomousAbilityEnabled("All", False)
        awareness = session.service("ALBasicAwareness")
        awareness.setEnabled(False)
        seen = [life.getState(), life.getAutonomousAbilityEnabled("BasicAwareness"),
                awareness.isEnabled()]
        expected = ["disabled", False, False]
    """,
    "battery, temperature, sonar": """
        sonar = session.service("ALSonar")
        sonar.subscribe("program")
        key = "Device/SubDeviceList/%s/Sensor/Value"
        far = memory.getData(key % "US/Left")
        hot = memory.getData(key % "LKneePitch/Temperature")
        sonar.unsubscribe("program")
        seen = [far > 0.2, 20.0 < hot < 80.0,
                0 <= session.service("ALBattery").getBatteryCharge() <= 100]
        expected = [True, True, True]
    """,
}
"""Programs by name; each sets what it has `seen` and what is `expected`."""
REFUSED = frozenset(
    {
        "words are recognised",
        "a face is tracked",
        "a preference is read",
        "a microphone records",
    }
)
"""Programs that need a part that is not simulated."""
END = """
print("RIGHT" if seen == expected else "WRONG %r, not %r" % (seen, expected))
"""


@contextmanager
def serving(speed: float) -> Iterator[str]:
    """Start `naoqi serve` and give its address; end it afterwards.

    Args:
        speed: simulated seconds per second.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        start_server(Path(folder), "--speed", f"{speed:g}") as (server, url),
    ):
        try:
            yield url
        finally:
            server.terminate()


def run_program(name: str, url: str) -> tuple[str, str]:
    """Run a program; return right, refused or wrong, and what it said."""
    code = START + textwrap.dedent(PROGRAMS[name]) + END
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, url],
            capture_output=True,
            encoding="utf-8",
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "wrong", f"not done after {LONGEST_S:g} s"
    lines = [*done.stderr.splitlines(), *done.stdout.splitlines()] or ["nothing"]
    refusals = [line for line in lines if "not simulated: " in line]
    if name in REFUSED:
        return "refused" if refusals else "wrong", (refusals or lines)[-1]
    said = [line for line in lines if line.startswith(("RIGHT", "WRONG"))]
    return ("right", "") if said == ["RIGHT"] else ("wrong", (said or lines)[-1])


def main() -> int:
    """Run all programs, or some, and print a table; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.naoqi_programs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--speed", type=float, default=1.0)
    asked = parser.parse_args()
    unknown = set(asked.names) - set(PROGRAMS)
    if unknown:
        parser.error(
            f"no program is named {', '.join(map(repr, sorted(unknown)))}; give some "
            f"of {', '.join(map(repr, PROGRAMS))}."
        )
    results: Counter[str] = Counter()
    with serving(asked.speed) as url:
        for name in asked.names or PROGRAMS:
            result, said = run_program(name, url)
            results[result] += 1
            print(f"{result:<8} {name}{f': {said}' if said else ''}", flush=True)
    print(", ".join(f"{n} {result}" for result, n in results.items()))
    return int(results["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
