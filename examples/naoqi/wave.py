"""Stand, wave and speak, as a program for a real NAO would: only the address is ours.

nao-testbed naoqi serve
python examples/naoqi/wave.py tcp://127.0.0.1:9559
"""

import sys

import qi

session = qi.Session()
session.connect(sys.argv[1] if len(sys.argv) > 1 else "tcp://127.0.0.1:9559")
motion = session.service("ALMotion")
posture = session.service("ALRobotPosture")
speech = session.service("ALTextToSpeech")

motion.wakeUp()
print("stands:", posture.goToPosture("StandInit", 0.8))
said = speech.say("Hello, I am simulated.", _async=True)
motion.angleInterpolation(
    ["RShoulderPitch", "RShoulderRoll", "RElbowRoll"],
    [[-0.8, -0.8], [-0.3, -0.6, -0.2, -0.6, -0.3], [1.2, 0.6]],
    [[1.0, 3.0], [1.0, 1.5, 2.0, 2.5, 3.0], [1.0, 3.0]],
    True,
)
said.value()
print("arm at", [round(angle, 2) for angle in motion.getAngles("RArm", True)])
print("stands:", posture.goToPosture("StandInit", 0.8))
