import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nao_testbed.models import BadInput, Robot
from nao_testbed.sim.thermal import HeatingCfg, make_heating
from nao_testbed.sim.thermal.motor_heat import MotorHeat


def motor_heat(robot: Robot) -> MotorHeat:
    return MotorHeat(make_heating(robot, HeatingCfg()), 0.001)


def test_mean_square_torque_heats_over_the_elapsed_ticks(nao: Robot) -> None:
    heat, alone = motor_heat(nao), make_heating(nao, HeatingCfg())
    square_sum = np.linspace(0.0, 60.0, len(nao.motors))
    alone.advance(square_sum / 20.0, 0.02)
    heat.advance(20, square_sum)
    assert_array_equal(heat.heating.temperature, alone.temperature)
    assert_array_equal(square_sum, 0.0)
    assert heat.done == 20


def test_heat_before_a_standstill_is_kept(nao: Robot) -> None:
    heat, alone = motor_heat(nao), make_heating(nao, HeatingCfg())
    still = np.full(len(nao.motors), 2.0)
    alone.advance(still, 0.007)
    alone.advance(still, 1.0)
    assert heat.advance_at_rest(7, 7.0 * still, still, 1.0) == 1007
    assert_allclose(heat.heating.joule_energy, alone.joule_energy, rtol=1e-12)


def test_standstill_is_a_multiple_of_the_period(nao: Robot) -> None:
    heat = motor_heat(nao)
    square_sum = np.ones(len(nao.motors))
    with pytest.raises(BadInput, match=r"duration = 0\.03 s is not a multiple"):
        heat.advance_at_rest(7, square_sum, square_sum, 0.03)
    assert heat.done == 0
    assert_array_equal(square_sum, 1.0)


def test_a_motor_continues_from_a_given_temperature(nao: Robot) -> None:
    heating = make_heating(nao, HeatingCfg(model="two-node"))
    before = heating.temperature
    place = nao.motor_index("LKneePitch")
    heating.set_temperature(place, 70.0)
    assert heating.temperature[place] == heating.winding[place] == pytest.approx(70.0)
    others = np.arange(len(before)) != place
    assert_array_equal(heating.temperature[others], before[others])
    with pytest.raises(BadInput, match="start temperature is nan"):
        heating.set_temperature(place, np.nan)
