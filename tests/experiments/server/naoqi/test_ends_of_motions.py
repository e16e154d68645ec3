"""Joints arrive together; motions outlive their program; cancelling stops them."""

from typing import Any

import pytest

pytestmark = pytest.mark.slow(covers=True)  # a server and programs: processes


@pytest.mark.slow
@pytest.mark.parametrize("fraction", [0.1, 0.5])
def test_official_sample_moves_the_body_to_zero_standing(
    nao: Any, fraction: float
) -> None:
    family, up = nao.run(f"""
        posture.goToPosture("StandInit", 1.0)
        motion.angleInterpolationWithSpeed("Body", [0.0] * 26, {fraction})
        time.sleep(0.5)
        key = "Device/SubDeviceList/InertialSensor/Angle{{}}/Sensor/Value"
        tell([posture.getPostureFamily(),
              max(abs(memory.getData(key.format(a))) for a in "XY")])
    """)
    assert family == "Standing"
    assert up < 0.1  # rad


def test_joints_at_one_speed_arrive_together(nao: Any) -> None:
    seen = nao.run("""
        motion.setAngles(["HeadYaw", "HeadPitch"], [0.0, 0.0], 1.0)
        while max(abs(a) for a in motion.getAngles("Head", False)) > 1e-3:
            time.sleep(0.01)
        task = motion.angleInterpolationWithSpeed(
            ["HeadYaw", "HeadPitch"], [1.0, 0.2], 0.05, _async=True)
        seen = []
        while task.isRunning():
            seen.append(motion.getAngles("Head", False))
        tell(seen)
    """)
    shares = [(yaw, 5.0 * pitch) for yaw, pitch in seen if 0.02 < yaw < 0.98]
    assert shares
    assert all(yaw == pytest.approx(pitch, abs=1e-6) for yaw, pitch in shares)


LAST_LINE = {
    "setAngles": 'motion.setAngles("HeadYaw", 0.8, 0.1)',
    "pCall": 'motion.pCall("angleInterpolation", "HeadYaw", 0.8, 2.0, True)',
}


@pytest.mark.parametrize("line", LAST_LINE.values(), ids=LAST_LINE)
def test_last_command_of_a_program_is_completed(nao: Any, line: str) -> None:
    nao.run(f"""
        motion.angleInterpolation("HeadYaw", 0.0, 0.3, True)
        {line}
        tell(True)
    """)
    nao.run("""
        while abs(motion.getAngles("HeadYaw", False)[0] - 0.8) > 1e-3:
            time.sleep(0.02)
        tell(True)
    """)


def test_next_program_takes_over_at_once(nao: Any) -> None:
    nao.run("""
        motion.angleInterpolation("HeadYaw", 0.0, 0.3, True)
        motion.setAngles("HeadYaw", 1.5, 0.02)
        tell(True)
    """)
    highest = nao.run("""
        motion.angleInterpolation("HeadYaw", -0.5, 0.5, True)
        time.sleep(0.3)
        tell(motion.getAngles("HeadYaw", False)[0])
    """)
    assert highest == pytest.approx(-0.5, abs=1e-3)


def test_killing_a_waiting_program_stops_the_robot(nao: Any) -> None:
    program = nao.start("""
        motion.angleInterpolation("HeadYaw", 0.0, 0.3, True)
        motion.angleInterpolation("HeadYaw", 1.0, 30.0, True)
    """)
    nao.run("""
        while not motion.getTaskList():
            time.sleep(0.02)
        tell(True)
    """)
    program.kill()
    program.communicate()
    tasks, before, after = nao.run("""
        while motion.getTaskList():
            time.sleep(0.02)
        time.sleep(0.2)
        before = motion.getAngles("HeadYaw", False)[0]
        time.sleep(0.3)
        tell([motion.getTaskList(), before, motion.getAngles("HeadYaw", False)[0]])
    """)
    assert tasks == []
    assert after == before < 0.99


CANCELLED = {
    "motion": 'motion.angleInterpolation("HeadYaw", 1.0, 30.0, True, _async=True)',
    "posture": 'posture.goToPosture("StandZero", 0.1, _async=True)',
    "speed": 'motion.angleInterpolationWithSpeed("HeadYaw", 1.0, 0.01, _async=True)',
}


@pytest.mark.parametrize("call", CANCELLED.values(), ids=CANCELLED)
def test_cancelled_future_stops_the_motion(nao: Any, call: str) -> None:
    is_canceled, before, after, tasks = nao.run(f"""
        motion.angleInterpolation("HeadYaw", 0.0, 0.3, True)
        posture.goToPosture("StandInit", 1.0)
        going = {call}
        while not motion.getTaskList():
            time.sleep(0.01)
        time.sleep(0.2)
        going.cancel()
        going.wait(10000)
        time.sleep(0.3)
        before = motion.getAngles("Body", False)
        time.sleep(0.3)
        after = motion.getAngles("Body", False)
        tell([going.isCanceled(), before, after, motion.getTaskList()])
    """)
    assert is_canceled
    assert before == after
    assert tasks == []


def test_stopping_a_call_by_its_number_stops_the_motion(nao: Any) -> None:
    runs, before, after = nao.run("""
        motion.angleInterpolation("HeadYaw", 0.0, 0.3, True)
        number = motion.pCall("angleInterpolation", "HeadYaw", 1.0, 30.0, True)
        time.sleep(0.2)
        motion.stop(number)
        time.sleep(0.3)
        before = motion.getAngles("HeadYaw", False)
        time.sleep(0.3)
        tell([motion.isRunning(number), before, motion.getAngles("HeadYaw", False)])
    """)
    assert not runs
    assert before == after
    assert after[0] < 0.9


def test_cancelled_speech_ends_early(nao: Any) -> None:
    long_ms, is_canceled = nao.run("""
        speech, dcm = session.service("ALTextToSpeech"), session.service("DCM")
        begin = dcm.getTime(0)
        saying = speech.say("word " * 300, _async=True)
        time.sleep(0.5)
        saying.cancel()
        saying.wait(10000)
        speech.say("yes")  # waits for the loudspeakers
        tell([dcm.getTime(0) - begin, saying.isCanceled()])
    """)
    assert is_canceled
    assert long_ms < 60_000  # of the robot; 300 words take longer


def test_cancelled_led_fade_stops(nao: Any) -> None:
    before, after = nao.run("""
        leds = session.service("ALLeds")
        leds.fade("FaceLeds", 0.0, 0.1)
        fading = leds.fade("FaceLeds", 1.0, 20.0, _async=True)
        time.sleep(0.4)
        fading.cancel()
        time.sleep(0.3)
        key = "Device/SubDeviceList/Face/Led/Red/Left/0Deg/Actuator/Value"
        before = memory.getData(key)
        time.sleep(0.3)
        tell([before, memory.getData(key)])
    """)
    assert before == after < 0.9
