"""Read the temperatures of the legs from the memory, and what the diagnosis says.

nao-testbed naoqi serve --misalign LAnklePitch=2
python examples/naoqi/watch_heat.py tcp://127.0.0.1:9559
"""

import sys
import time

import qi

session = qi.Session()
session.connect(sys.argv[1] if len(sys.argv) > 1 else "tcp://127.0.0.1:9559")
memory = session.service("ALMemory")
temperature = session.service("ALBodyTemperature")

joints = ["LAnklePitch", "RAnklePitch", "LKneePitch", "RKneePitch"]
keys = [f"Device/SubDeviceList/{j}/Temperature/Sensor/Value" for j in joints]
hot = memory.subscriber("HotDeviceDetected")
hot.signal.connect(lambda devices: print("hot:", devices))
for _ in range(5):
    degc = memory.getListData(keys)
    print(dict(zip(joints, degc, strict=True)), temperature.getTemperatureDiagnosis())
    time.sleep(0.5)
