import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from models import Robot, default_robot_folder, load_robot
from sim.servo import StiffnessInForce
from sim.thermal.protection import make_protection

NAO = load_robot(default_robot_folder())
N = len(NAO.joints)
COOL = np.full(len(NAO.motors), 30.0)


@given(st.lists(st.floats(0.0, 1.0), min_size=N, max_size=N))
@pytest.mark.requirement("ST-3")
def test_a_limit_is_that_fraction_of_what_a_motor_may_give(
    values: list[float],
) -> None:
    limit = np.full(len(NAO.joints), np.nan)
    stiffness = StiffnessInForce(NAO, make_protection("none", NAO), limit)
    stiffness.commanded[:] = values
    stiffness.put(COOL)
    assert_array_equal(limit, np.array(values) * NAO.effort_limit)


@pytest.mark.requirement("ST-4")
def test_a_hot_motor_reads_back_what_its_protection_left(nao: Robot) -> None:
    limit = np.zeros(len(nao.joints))
    stiffness = StiffnessInForce(nao, make_protection("nao", nao), limit)
    hot = COOL.copy()
    hot[nao.motor_names.index("LKneePitch")] = 99.0
    stiffness.put(hot)
    knee = nao.joint_index("LKneePitch")
    assert stiffness.in_force[knee] < stiffness.commanded[knee] == 1.0
    assert limit[knee] == stiffness.in_force[knee] * nao.effort_limit[knee]
    others = np.arange(len(limit)) != knee
    assert_array_equal(limit[others], nao.effort_limit[others])


def test_a_broken_motor_reads_back_as_commanded_and_gives_nothing(nao: Robot) -> None:
    limit = np.zeros(len(nao.joints))
    stiffness = StiffnessInForce(nao, make_protection("none", nao), limit)
    stiffness.fail(["HeadYaw"])
    stiffness.put(COOL)
    head = nao.joint_index("HeadYaw")
    assert stiffness.failed_motors == ("HeadYaw",)
    assert (stiffness.in_force[head], limit[head]) == (1.0, 0.0)
    stiffness.repair(["HeadYaw"])
    stiffness.put(COOL)
    assert_array_equal(limit, nao.effort_limit)
