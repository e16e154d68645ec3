"""Programs for less common services, and their effects."""

from typing import Any

import pytest

pytestmark = pytest.mark.slow(covers=True)  # a server and programs: processes


def test_change_angles_adds_to_the_command(nao: Any) -> None:
    before, after = nao.run("""
        motion.angleInterpolationWithSpeed("HeadYaw", 0.1, 1.0)
        before = motion.getAngles("HeadYaw", False)[0]
        motion.changeAngles("HeadYaw", 0.2, 1.0)
        end = time.time() + 20
        while (abs(motion.getAngles("HeadYaw", True)[0] - before - 0.2) > 0.01
               and time.time() < end):
            time.sleep(0.01)
        tell([before, motion.getAngles("HeadYaw", True)[0]])
    """)
    assert before == pytest.approx(0.1, abs=1e-6)
    assert after == pytest.approx(before + 0.2, abs=0.02)


def test_joint_arrives_after_lagging_behind_a_fast_motion(
    nao: Any,
) -> None:
    """The set-point stays at the end of the motion when the motion ends."""
    arrived, commanded = nao.run("""
        motion.angleInterpolationWithSpeed("HeadYaw", -0.3, 1.0)
        motion.angleInterpolationWithSpeed("HeadYaw", 0.1, 1.0)
        dcm = session.service("DCM")
        end = dcm.getTime(0) + 1000
        while dcm.getTime(0) < end:
            time.sleep(0.02)
        tell([motion.getAngles("HeadYaw", True)[0],
              motion.getAngles("HeadYaw", False)[0]])
    """)
    assert commanded == pytest.approx(0.1, abs=1e-6)
    assert arrived == pytest.approx(0.1, abs=0.01)


def test_hand_opens_and_closes(nao: Any) -> None:
    opened, closed = nao.run("""
        motion.openHand("LHand")
        opened = motion.getAngles("LHand", True)[0]
        motion.closeHand("LHand")
        tell([opened, motion.getAngles("LHand", True)[0]])
    """)
    assert opened > 0.8
    assert closed < 0.2


def test_unstimulated_sensors_return_their_rest_values(nao: Any) -> None:
    distances, touched, lists, unknown = nao.run("""
        sonar = session.service("ALSonar")
        lists = [[one[0] for one in sonar.getSubscribersInfo()]]
        sonar.subscribe("me")
        lists.append([one[0] for one in sonar.getSubscribersInfo()])
        key = "Device/SubDeviceList/US/%s/Sensor/Value"
        distances = [memory.getData(key % side) for side in ("Left", "Right")]
        sonar.unsubscribe("me")
        touched = [name for name, is_touched, *_ in
                   session.service("ALTouch").getStatus() if is_touched]
        lists.append([one[0] for one in sonar.getSubscribersInfo()])
        tell([distances, touched, lists,
              refused(lambda: sonar.unsubscribe("me"))])
    """)
    assert all(distance > 0.2 for distance in distances)
    assert touched == []
    before, subscribed, after = lists  # others may have subscribed before
    assert subscribed == [*before, "me"]
    assert after == before
    assert "me" in unknown


def test_volume_is_stored_and_recording_is_refused(nao: Any) -> None:
    volume, muted, refused, wrong = nao.run("""
        device = session.service("ALAudioDevice")
        device.setOutputVolume(40)
        device.muteAudioOut(True)
        muted = device.isAudioOutMuted()
        device.muteAudioOut(False)
        tell([device.getOutputVolume(), muted,
              refused(lambda: device.startMicrophonesRecording("/tmp/a.wav")),
              refused(lambda: device.setOutputVolume(400))])
    """)
    assert volume == 40
    assert muted is True
    assert refused is not None
    assert wrong is not None


def test_animated_text_is_spoken_without_its_tags(nao: Any) -> None:
    assert (
        nao.run("""
        said = []
        one = memory.subscriber("ALTextToSpeech/CurrentSentence")
        one.signal.connect(said.append)
        speech = session.service("ALAnimatedSpeech")
        speech.say("^start(animations/Stand/Gestures/Hey_1) hello",
                   {"bodyLanguageMode": "disabled"})
        end = time.time() + 10
        while not said and time.time() < end:
            time.sleep(0.01)
        tell(said[0].strip())
    """)
        == "hello"
    )


def test_free_feet_are_refused_and_a_hand_target_is_reached(nao: Any) -> None:
    free, goal, found = nao.run("""
        posture.goToPosture("StandInit", 1.0)
        motion.wbEnable(True)
        free = refused(lambda: motion.wbFootState("Free", "LLeg"))
        motion.wbEnable(False)
        goal = motion.getTransform("LArm", 0, False)
        goal[11] += 0.03
        motion.setTransforms("LArm", 0, goal, 0.5, 7)
        end = time.time() + 20
        while (abs(motion.getTransform("LArm", 0, True)[11] - goal[11]) > 0.005
               and time.time() < end):
            time.sleep(0.02)
        tell([free, goal[11], motion.getTransform("LArm", 0, True)[11]])
    """)
    assert "not simulated" in free
    assert found == pytest.approx(goal, abs=0.005)
