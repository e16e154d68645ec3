"""The world: a simulated robot behind the robot interface, and its recordings.

    robot = load_robot()
    sim = SimulatedRobot(robot, SimulationCfg(), "PoseInit")
    sim.step(1000)  # one second
    sim.read().fsr  # what its sensors say

Names are imported when they are first used, from where `__init__.pyi` says: who reads a
run with `read_run` does not wait for the physics engine, who simulates does not wait
for pandas.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
