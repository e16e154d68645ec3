"""Simulated robot behind the robot interface, and recordings of its runs.

    robot = load_robot()
    sim = SimulatedRobot(robot, SimulationCfg(), "PoseInit")
    sim.step(1000)  # one second
    sim.read().fsr  # readings of its sensors

`__init__.pyi` lists the names; each is imported at first use. Reading a run with
`read_run` does not import the physics engine, and simulating does not import pandas.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
