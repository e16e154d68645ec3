"""Stop motions that have begun: by their future, by their number, and all at once.

nao-testbed naoqi serve
python examples/naoqi/cancel.py tcp://127.0.0.1:9559
"""

import sys
import time

import qi

session = qi.Session()
session.connect(sys.argv[1] if len(sys.argv) > 1 else "tcp://127.0.0.1:9559")
motion = session.service("ALMotion")
motion.wakeUp()


def yaw() -> float:
    return float(motion.getAngles("HeadYaw", True)[0])


for stop in ("future", "task", "all"):
    motion.angleInterpolation("HeadYaw", 0.0, 1.0, True)
    slow = motion.angleInterpolation("HeadYaw", 1.0, 10.0, True, _async=True)
    while yaw() < 0.1:
        time.sleep(0.05)
    if stop == "future":
        slow.cancel()
    elif stop == "task":
        print("tasks:", [name for name, *_ in motion.getTaskList()])
        motion.killTask(motion.getTaskList()[0][1])
    else:
        motion.killAll()
    slow.wait()
    print(f"stopped by {stop}: HeadYaw at {yaw():.2f} of 1.0 rad")
