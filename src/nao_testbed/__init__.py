"""Humanoid robot in physics with joint temperatures, and heat-limiting controllers.

    import nao_testbed as nt

    robot = nt.load_robot()
    sim = nt.SimulatedRobot(robot, nt.SimulationCfg(), "PoseInit")
    sim.step(1000)  # one second
    sim.read().temperature  # degC, one value per joint

Most programs need only these names; each is imported on first use, from the module in
`__init__.pyi`. The other names are in four packages, each of which imports only from
the preceding ones: `models` (robots as data), `controllers`, `sim` and `experiments`.
In the repository these are the folders at the top level; this folder has links to them.
"""

from pathlib import Path

import lazy_loader

_HERE = Path(__file__).resolve().parent
if not (_HERE / "models").is_dir():  # a checkout without symbolic links
    __path__.append(str(_HERE.parents[1]))

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
