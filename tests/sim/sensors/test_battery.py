"""Battery charge used by idling, heat and work, in physics and fast-forward."""

import dataclasses

import numpy as np
import pytest

from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.controllers.interface.robot_interface import READINGS, Command
from nao_testbed.models import load_robot
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from nao_testbed.sim.servo import ServoCfg

NAO = load_robot()


def used_j(sim: SimulatedRobot) -> float:
    return (
        (1.0 - float(sim.read().battery[0])) * 3600.0 * NAO.battery.capacity_watt_hour
    )


def test_a_full_battery_loses_idle_power_and_heat_over_efficiency() -> None:
    """By hand: 48.6 W·h, 3 h of 10 W and 10 W·h of heat at an efficiency of 0.8."""
    battery = dataclasses.replace(
        NAO.battery, capacity_watt_hour=48.6, idle_watt=10.0, drive_efficiency=0.8
    )
    assert battery.charge(0.0, 0.0) == 1.0
    assert battery.charge(3.0 * 3600.0, 10.0 * 3600.0) == pytest.approx(
        1.0 - (30.0 + 12.5) / 48.6
    )
    assert battery.charge(1e6, 0.0) == 0.0


def squat(sim: SimulatedRobot, seconds: float = 2.0) -> tuple[float, float]:
    """Squat once; return heat at constant resistance, and work, by hand in J."""
    low, high = NAO.posture("Crouch").angles, NAO.posture("PoseInit").angles
    of = NAO.servo_of_joint
    loss = np.array([m.one_node.resistance for m in NAO.motors])
    loss /= [m.one_node.torque_constant**2 for m in NAO.motors]
    heat_j = work_j = 0.0
    for tick in range(round(seconds / sim.dt)):
        down = 0.5 - 0.5 * np.cos(2.0 * np.pi * tick * sim.dt / seconds)
        sim.write(Command(target=high + down * (low - high)))
        speed = np.bincount(of, sim.v) / np.bincount(of)
        sim.step(1)
        heat = loss * sim.motor_torque**2
        drawn = np.maximum(heat + sim.motor_torque * speed, 0.0)
        heat_j += float(heat.sum()) * sim.dt
        work_j += float((drawn - heat).sum()) * sim.dt
    return heat_j, work_j


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "kind"),
    [("pybullet", "torque"), ("mujoco", "torque"), ("pybullet", "pybullet")],
)
def test_the_work_of_a_squat_is_drawn(engine: EngineName, kind: str) -> None:
    """Work is over a quarter of the use of a quick squat; nothing is recovered."""
    pytest.importorskip(engine)
    cfg = SimulationCfg(world=WorldCfg(engine=engine), servo=ServoCfg(kind=kind))
    sim = SimulatedRobot(NAO, cfg, "PoseInit")
    heat_j, work_j = squat(sim)
    assert not sim.has_fallen()
    heated_j = float(sim.heating.joule_energy.sum())
    assert heated_j == pytest.approx(heat_j, rel=0.01)
    motors_j = (used_j(sim) - 2.0 * NAO.battery.idle_watt) * (
        NAO.battery.drive_efficiency
    )
    assert motors_j - heated_j == pytest.approx(work_j, rel=1e-3)
    assert work_j > 1.0, "too little work for this test"
    sim.close()


@pytest.mark.slow
@pytest.mark.requirement("JD-23")
def test_charge_falls_by_the_heat_of_the_motors() -> None:
    sim = SimulatedRobot(NAO, SimulationCfg(), "Crouch")
    assert sim.read().battery == pytest.approx([1.0])
    sim.step(5000)
    assert float(sim.heating.joule_energy.sum()) > 5.0
    wanted = NAO.battery.idle_watt * 5.0 + sim.motors_j / NAO.battery.drive_efficiency
    assert used_j(sim) == pytest.approx(wanted, rel=1e-6)
    sim.close()


def test_fast_forward_draws_the_same() -> None:
    sim = SimulatedRobot(NAO, SimulationCfg(), "Crouch")
    sim.step(2000)
    before = used_j(sim), float(sim.heating.joule_energy.sum())
    kept = sim.snapshot()
    sim.advance_heat(sim.mean_square.copy(), 60.0)
    heat_j = float(sim.heating.joule_energy.sum()) - before[1]
    wanted = NAO.battery.idle_watt * 60.0 + heat_j / NAO.battery.drive_efficiency
    assert used_j(sim) - before[0] == pytest.approx(wanted, rel=1e-6)
    sim.restore(kept)
    assert used_j(sim) == before[0]
    sim.close()


@pytest.mark.slow
def test_limp_motors_draw_idle_power_only() -> None:
    sim = SimulatedRobot(NAO, SimulationCfg(), "Crouch")
    sim.write(Command(stiffness=np.zeros(len(NAO.joints))))
    sim.step(3000)
    assert used_j(sim) == pytest.approx(3.0 * NAO.battery.idle_watt, rel=1e-3)
    sim.close()


def test_battery_is_one_dimensionless_reading() -> None:
    reading = READINGS["battery"]
    assert reading.members(NAO) == ("charge",)
    assert reading.unit == "1"


if __name__ == "__main__":  # the figures of docs/concepts/limits.md
    names: tuple[EngineName, ...] = ("pybullet", "mujoco")
    for name in names:
        for duration_s in (2.0, 4.0, 8.0):
            world = WorldCfg(engine=name)
            robot = SimulatedRobot(NAO, SimulationCfg(world=world), "PoseInit")
            robot.step(1000)
            heat, work = squat(robot, duration_s)
            print(f"{name}, {duration_s:g} s: heat {heat:.2f} J, work {work:.2f} J")
            robot.close()
