"""Live ratio of a standing robot's heat to the minimum of its posture.

Each leg joint of this robot is off by up to a degree. Ten times a second `minheat`
computes how much of the legs' heat is unnecessary. For six seconds it only observes;
then it is switched on, and shifts set-points by fractions of a degree. Stuck gears then
bear a part of the load, so that the minimum decreases, too.
"""

import numpy as np

from nao_testbed import Loop, SimulatedRobot, SimulationCfg, load_robot, run_for
from nao_testbed.controllers import MinHeat

robot = load_robot()
rng = np.random.default_rng(4)
misalignment = {name: float(rng.uniform(-1.0, 1.0)) for name in robot.leg_joints}
sim = SimulatedRobot(robot, SimulationCfg(misalignment_deg=misalignment), "PoseInit")

controller = MinHeat()
loop = Loop(sim, controller, robot.posture("PoseInit").angles)
controller.enabled = False
print("   time   legs now     min.     excess   largest shift")
for _ in range(9):
    run_for(loop, 2.0)
    controller.enabled = sim.time_s >= 6.0
    state = controller.state
    if state is None:  # the robot was still moving to the posture
        continue
    shift = np.rad2deg(np.abs(state.shift).max())
    print(
        f"{sim.time_s:5.0f} s  {state.loss_w:7.2f} W {state.least_w:6.2f} W"
        f"  {state.above_least_w:10.2f} W  {shift:12.1f}°"
    )
sim.close()
