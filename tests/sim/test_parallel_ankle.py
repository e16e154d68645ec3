"""A G1 with a misaligned hip: the two motors of an ankle carry different loads."""

import numpy as np
import pytest

from nao_testbed.controllers.interface.robot_interface import Command
from nao_testbed.models import load_robot
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulationCfg
from tests.sim.conftest import Simulate

G1 = load_robot("g1")
ANKLE = [G1.joint_index(f"left_ankle_{one}") for one in ("pitch", "roll")]
PAIR = [G1.motor_index(f"left_ankle_{one}") for one in "ab"]
ENGINES = 0.05  # of the heat: soles stick and slip while the robot settles
SETTLE, TICKS = 1500, 500


@pytest.mark.slow
def test_the_motors_of_an_ankle_heat_by_their_own_torques(simulate: Simulate) -> None:
    """Heat R (T / K)² dt of each, T from the joints' torques within gear friction."""
    heat = {}
    for engine in ("mujoco", "pybullet"):
        cfg = SimulationCfg(
            world=WorldCfg(engine=engine), misalignment_deg={"left_hip_roll": 2.0}
        )
        sim = simulate(G1, cfg, "bent")
        sim.write(Command(target=G1.posture("bent").angles))
        sim.step(SETTLE)
        before, square = sim.heating.joule_energy, np.zeros(2)
        for _ in range(TICKS):
            sim.step(1)
            square += sim.motor_torque[PAIR] ** 2
            a, b = sim.motor_torque[PAIR]
            pitch, roll = sim.joint_torque[ANKLE]
            assert abs(a - 0.5 * (pitch + roll)) <= 0.6 + 1e-9
            assert abs(b - 0.5 * (pitch - roll)) <= 0.6 + 1e-9
        assert not sim.has_fallen()
        made = (sim.heating.joule_energy - before)[PAIR]
        np.testing.assert_allclose(made, 0.25 / 1.2**2 * square * sim.dt, rtol=1e-9)
        assert max(made) > 1.5 * min(made)
        heat[engine] = made
    np.testing.assert_allclose(heat["mujoco"], heat["pybullet"], rtol=ENGINES)
