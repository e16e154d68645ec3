"""The battery: what idling and heat take from it, in physics and in fast-forward."""

import dataclasses

import numpy as np
import pytest

from controllers.interface.robot_interface import READINGS, Command
from models import load_robot
from sim.robot import SimulatedRobot, SimulationCfg

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


@pytest.mark.requirement("JD-23")
def test_the_sensor_tells_what_the_motors_have_heated() -> None:
    sim = SimulatedRobot(NAO, SimulationCfg(), "Crouch")
    assert sim.read().battery == pytest.approx([1.0])
    sim.step(5000)
    heat_j = float(sim.heating.joule_energy.sum())
    assert heat_j > 5.0
    wanted = NAO.battery.idle_watt * 5.0 + heat_j / NAO.battery.drive_efficiency
    assert used_j(sim) == pytest.approx(wanted, rel=1e-6)
    sim.close()


def test_fast_forward_takes_the_same() -> None:
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


def test_limp_motors_take_idle_power_alone() -> None:
    sim = SimulatedRobot(NAO, SimulationCfg(), "Crouch")
    sim.write(Command(stiffness=np.zeros(len(NAO.joints))))
    sim.step(3000)
    assert used_j(sim) == pytest.approx(3.0 * NAO.battery.idle_watt, rel=1e-3)
    sim.close()


def test_it_is_one_number_and_has_words_for_a_page() -> None:
    reading = READINGS["battery"]
    assert reading.members(NAO) == ("charge",)
    assert reading.unit == "1"
