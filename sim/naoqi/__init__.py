"""Client for a NAO on the network, behind the robot interface.

    robot = NaoqiRobot(load_robot(), connect("naoqi://192.168.1.12:9559"))

`connection` finds the services of NAOqi and limits the time of each call; `device_keys`
lists NAOqi's device keys and converts units and signs; `robot` reads, writes and keeps
time. The client works the same for a simulated and a real robot.
"""

from nao_testbed.sim.naoqi.connection import (
    Connection,
    ConnectionLost,
    ConnectionTimeout,
    connect,
    read_url,
)
from nao_testbed.sim.naoqi.naoqi_robot import NaoqiRobot

__all__ = [
    "Connection",
    "ConnectionLost",
    "ConnectionTimeout",
    "NaoqiRobot",
    "connect",
    "read_url",
]
