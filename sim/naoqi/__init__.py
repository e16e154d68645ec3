"""A NAO that is reached over the network, behind the robot interface.

    robot = NaoqiRobot(load_robot(), connect("naoqi://192.168.1.12:9559"))

`connection` finds the services of NAOqi, and waits for no call longer than it may;
`device_keys` says what NAOqi calls the devices, and converts units and signs;
`robot` reads, writes and keeps time. Whether the robot is simulated or real makes no
difference here.
"""

from nao_testbed.sim.naoqi.connection import (
    Connection,
    ConnectionLate,
    ConnectionLost,
    connect,
    read_url,
)
from nao_testbed.sim.naoqi.robot import NaoqiRobot

__all__ = [
    "Connection",
    "ConnectionLate",
    "ConnectionLost",
    "NaoqiRobot",
    "connect",
    "read_url",
]
