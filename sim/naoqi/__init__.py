"""Client for a NAO on the network, behind the robot interface.

    robot = NaoqiRobot(load_robot(), connect("naoqi://192.168.1.12:9559"))

`connection` finds the services of NAOqi and limits the time of each call; `device_keys`
lists NAOqi's device keys and converts units and signs; `robot` reads, writes and keeps
time. The client works the same for a simulated and a real robot.

Load this package before Pinocchio, whose Boost 1.90 otherwise replaces unique symbols
of the Boost 1.83 in `qi` 3.1.5: each network error in `qi` then ends the process.
"""

from contextlib import suppress

with suppress(ImportError):  # an extra
    import qi  # noqa: F401

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
