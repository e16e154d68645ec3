"""The start of the ROS 2 driver in its default configuration, and its readings."""

import struct
from typing import Any

import pytest

from nao_testbed.experiments.server.naoqi.exported import serialised

pytestmark = pytest.mark.slow(covers=True)  # a server and programs: processes


def test_start_sequence_of_the_ros_driver_succeeds(nao: Any) -> None:
    """Calls of naoqi_driver2 2.1.2 with its boot_config.json, in order."""
    told = nao.run("""
        # the robot
        session.listen("tcp://127.0.0.1:0")
        kind = memory.getData("RobotConfig/Body/Type")
        base = memory.getData("RobotConfig/Body/BaseVersion")
        version = session.service("ALSystem").systemVersion()
        config = dict(zip(*motion.getRobotConfig()))
        stereo = "CameraStereo" in motion.getSensorNames()
        # info, logs, diagnostics
        info = memory.getListData(["RobotConfig/Head/FullHeadId",
            "Device/DeviceList/ChestBoard/BodyId", "RobotConfig/Body/Type",
            "RobotConfig/Body/BaseVersion", "RobotConfig/Body/Device/LeftArm/Version",
            "RobotConfig/Body/Device/RightArm/Version",
            "RobotConfig/Body/Device/Hand/Left/Version", "RobotConfig/Body/Version",
            "RobotConfig/Body/SoftwareRequirement",
            "RobotConfig/Body/Device/Legs/Version"])
        manager = session.service("LogManager")
        listener = manager.getListener()
        logged = []
        listener.onLogMessage.connect(logged.append)
        session.service("ALBodyTemperature")
        joints = motion.getBodyNames("JointActuators")
        keys = []
        for joint in joints:
            keys.append("Device/SubDeviceList/%s/Temperature/Sensor/Value" % joint)
            keys.append("Device/SubDeviceList/%s/Hardness/Actuator/Value" % joint)
            assert len(motion.getLimits(joint)[0]) == 4
        keys += ["BatteryChargeChanged", "BatteryPowerPluggedChanged",
                 "BatteryFullChargedFlagChanged",
                 "Device/SubDeviceList/Battery/Current/Sensor/Value"]
        # torso, cameras, joints, sonar
        imu = ["DCM/Time"] + [
            "Device/SubDeviceList/InertialSensor/%s%s/Sensor/Value" % (sense, axis)
            for sense in ("Angle", "Gyroscope", "Accelerometer") for axis in "XYZ"]
        video = session.service("ALVideoDevice")
        handles = [video.subscribeCamera(name, camera, 1, 11, 10.0)
                   for camera, name in enumerate(("front_camera", "bottom_camera"))]
        motion.getBodyNames("Body")
        sonar = session.service("ALSonar")
        # audio
        device = session.service("ALAudioDevice")
        model = session.service("ALRobotModel")
        microphones = int(model._getConfigMap()
                          ["RobotConfig/Head/Device/Micro/Version"])
        class Audio:
            def processRemote(self, channels, samples, stamp, buffer):
                pass
        audio = session.registerService("ROS-Driver-Audio", Audio())
        try:
            device.setClientPreferences("ROS-Driver-Audio", 48000, 0, 0)
            device.subscribe("ROS-Driver-Audio")
        except RuntimeError:
            pass  # the driver then disables audio
        # touch
        touched = []
        events = [memory.subscriber(name) for name in (
            "RightBumperPressed", "LeftBumperPressed", "HandRightBackTouched",
            "HandRightLeftTouched", "HandRightRightTouched", "HandLeftBackTouched",
            "HandLeftLeftTouched", "HandLeftRightTouched", "FrontTactilTouched",
            "MiddleTactilTouched", "RearTactilTouched")]
        for one in events:
            one.signal.connect(touched.append)
        session.service("ALTextToSpeech")
        # one round of what it publishes
        values = memory.getListData(keys)
        torso = memory.getListData(imu)
        pictures = [video.getImageRemote(handle) for handle in handles]
        place = motion.getPosition("Torso", 1, True)
        angles = motion.getAngles("Body", True)
        moving = [[memory.getData("Motion/%s/Sensor/%s" % (what, joint))
                   for joint in motion.getBodyNames("Body")]
                  for what in ("Velocity", "Torque")]
        sonar.subscribe("ROS")
        distances = memory.getListData(["Device/SubDeviceList/US/Left/Sensor/Value",
                                        "Device/SubDeviceList/US/Right/Sensor/Value"])
        speed = motion.getRobotVelocity()
        language = session.service("ALDialog").getLanguage()
        motion.moveTo(1.0, 0.0, 0.0)
        manager.log([["file:function:1", 3, "me", "here", "hello"]])
        end = time.time() + 20
        while "hello" not in [one["message"] for one in logged] and time.time() < end:
            time.sleep(0.01)
        missing = [key for key, value in zip(keys, values) if value is None]
        tell([[kind, base, version, config["Model Type"], stereo, microphones],
              info, missing, torso.count(None), distances, len(place), len(speed),
              [len(angles), *map(len, moving)], language,
              [[*one[:4], len(one[6]), type(one[6]).__name__, *one[7:]]
               for one in pictures],
              [video.releaseImage(one) and video.unsubscribe(one) for one in handles],
              [[one["level"], one["category"], one["message"]] for one in logged]])
    """)
    robot, info, missing, unmeasured, distances, place, speed, joints = told[:8]
    language, pictures, unsubscribed, logged = told[8:]
    assert robot == ["Nao", "V5.0", "2.8.5.10", "naoH25", False, 2]
    assert all(isinstance(value, str) for value in info)
    # One motor moves both hips; its keys have the name of the left hip.
    assert all("RHipYawPitch" in key for key in missing)
    assert unmeasured == 0
    assert None not in distances
    assert (place, speed, joints) == (6, 3, [26, 26, 26])
    assert language == "English"
    across, upright = 0.5 * 1.0637, 0.5 * 0.8308  # 60.9 and 47.6 degrees
    for camera, picture in enumerate(pictures):
        assert picture[:4] == [320, 240, 3, 11]
        assert picture[4:7] == [320 * 240 * 3, "bytearray", camera]
        edges = [across, -upright, -across, upright]
        assert picture[7:] == pytest.approx(edges, abs=1e-3)
    assert unsubscribed == [True, True]
    assert [3, "me", "hello"] in logged


def test_walking_warning_is_in_the_log(nao: Any) -> None:
    """A program that connects after the first warning finds it in the log."""
    warned = nao.run("""
        listener = session.service("LogManager").getListener()
        logged = []
        listener.onLogMessagesWithBacklog.connect(logged.extend)
        motion.moveTo(0.5, 0.0, 0.0)
        said = "moveTo: walking is not simulated"
        end = time.time() + 60
        found = []
        while not found and time.time() < end:
            time.sleep(0.01)
            found = [one for one in logged if one["message"] == said]
        tell([[one["level"], one["category"]] for one in found])
    """)
    assert warned == [[3, "robot.warning"]]


def test_serialised_answer_has_the_types_of_naoqi() -> None:
    """Signature and value of each part, as a program in C++ checks them."""
    parts = (b"i", struct.pack("<i", 7)), (b"f", struct.pack("<f", 0.5))
    raw = (b"r", struct.pack("<I", 2) + b"\x00\xff")
    expected = struct.pack("<I3sI", 3, b"[m]", 3) + b"".join(
        struct.pack("<I", 1) + kind + data for kind, data in (*parts, raw)
    )
    assert serialised([7, 0.5, b"\x00\xff"]) == expected
