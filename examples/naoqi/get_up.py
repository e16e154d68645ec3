"""Fall, hear of it, and stand up again.

nao-testbed naoqi serve
python examples/naoqi/get_up.py tcp://127.0.0.1:9559
"""

import sys
import time

import qi

session = qi.Session()
session.connect(sys.argv[1] if len(sys.argv) > 1 else "tcp://127.0.0.1:9559")
memory, motion = session.service("ALMemory"), session.service("ALMotion")
posture = session.service("ALRobotPosture")

fallen = qi.Promise()
event = memory.subscriber("robotHasFallen")
event.signal.connect(lambda value: fallen.setValue(value) if value else None)

motion.wakeUp()
posture.goToPosture("StandInit", 0.8)
motion.setSmartStiffnessEnabled(False)  # else the legs keep the torque that they need
leaning = motion.angleInterpolation(
    ["LAnklePitch", "RAnklePitch"], [0.5, 0.5], [0.4, 0.4], False, _async=True
)
print("fallen:", fallen.future().value(20_000))
leaning.cancel()
time.sleep(2.0)
print("lies:", posture.getPostureFamily())
motion.setSmartStiffnessEnabled(True)
print("stands:", posture.goToPosture("StandInit", 0.5))
