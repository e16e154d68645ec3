"""Watches for balance, falls, heat and battery, and protection from falls."""

from dataclasses import replace
from math import inf, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from nao_testbed.controllers import Observation
from nao_testbed.controllers.arbitration.events import Executed, Granted
from nao_testbed.controllers.schemas import Activation, State
from nao_testbed.controllers.schemas.library.balance import (
    Balance,
    _margin,
    instability_rules,
)
from nao_testbed.controllers.schemas.library.common import resources_of_all
from nao_testbed.models import DeviceKind, Robot, default_robot_folder, load_robot
from nao_testbed.models.roles import Thresholds
from nao_testbed.models.values import FloatArray
from tests.controllers.helpers import Observe
from tests.controllers.oracle import PyBulletDynamics
from tests.controllers.schemas.library.body import Body

ATOL_M = 1e-6  # same URDF


def mass_and_soles(
    robot: Robot, engine: PyBulletDynamics, posture: str
) -> tuple[FloatArray, FloatArray]:
    """Return the centre of mass (3,) and the sole sensors (n, 3) from the engine."""
    import pybullet as pb

    body, client = engine.body, engine.client
    q = robot.posture(posture).angles[engine.order]
    for i, angle in enumerate(q):
        pb.resetJointState(body, i, float(angle), physicsClientId=client)
    base, _ = pb.getBasePositionAndOrientation(body, physicsClientId=client)
    mass = pb.getDynamicsInfo(body, -1, physicsClientId=client)[0]
    total, moment = mass, mass * np.array(base)
    frames = {}
    for i in range(len(q)):
        link = pb.getLinkState(
            body, i, computeForwardKinematics=True, physicsClientId=client
        )
        name = pb.getJointInfo(body, i, physicsClientId=client)[12].decode()
        turn = np.array(pb.getMatrixFromQuaternion(link[5])).reshape(3, 3)
        frames[name] = (np.array(link[4]), turn)
        mass = pb.getDynamicsInfo(body, i, physicsClientId=client)[0]
        total, moment = total + mass, moment + mass * np.array(link[0])
    soles = [
        frames[s.link][0] + frames[s.link][1] @ np.array(s.position)
        for s in robot.force_sensors
    ]
    return moment / total, np.array(soles)


def settled(robot: Robot, observation: Observation) -> Any:
    """Return the balance of a robot at rest."""
    return Balance(robot).step(observation)


# -- balance --------------------------------------------------------------------------

POINTS = st.lists(
    st.tuples(st.integers(-20, 20), st.integers(-20, 20)),
    min_size=3,
    max_size=8,
    unique=True,
)


@given(POINTS, st.tuples(st.floats(-30, 30), st.floats(-30, 30)))
def test_margin_is_the_distance_to_the_nearest_hull_edge(
    points: list[tuple[int, int]], place: tuple[float, float]
) -> None:
    array = np.array(points, dtype=np.float64)
    if np.linalg.matrix_rank(array[1:] - array[0]) < 2:
        assert _margin(array, *place) <= 1e-9  # no interior
        return
    hull = ConvexHull(array)  # its normals point outwards
    signed = hull.equations[:, :2] @ np.array(place) + hull.equations[:, 2]
    assert _margin(array, *place) == pytest.approx(-signed.max(), abs=1e-7)


def test_com_margin_agrees_with_the_engine(
    nao: Robot, observe: Observe, engine: PyBulletDynamics
) -> None:
    for posture in ("Stand", "StandZero", "Crouch"):
        seen = settled(nao, observe(nao, posture))
        com, points = mass_and_soles(nao, engine, posture)
        hull = ConvexHull(points[:, :2])
        signed = hull.equations[:, :2] @ com[:2] + hull.equations[:, 2]
        assert seen.com_margin == pytest.approx(-signed.max(), abs=ATOL_M)
        # At rest the capture point is the centre of mass.
        assert seen.capture_margin == pytest.approx(seen.com_margin, abs=1e-9)


def test_capture_point_leads_the_com_by_its_velocity(
    nao: Robot, observe: Observe, engine: PyBulletDynamics
) -> None:
    com, soles = mass_and_soles(nao, engine, "StandZero")
    h = com[2] - soles[:, 2].min()
    front = soles[:, 0].max() - com[0]
    for rate in (1.0, 2.0):  # rad/s about the y axis: forward
        gyro = np.array([0.0, rate, 0.0])
        seen = settled(nao, observe(nao, "StandZero", gyro=gyro))
        assert abs(seen.heading) < 0.2  # forward
        # A point above the soles moves ahead by ω h; the toes are the nearest edge.
        expected = front - rate * h * sqrt(h / 9.81)
        assert seen.capture_margin == pytest.approx(expected, abs=1e-4)


def test_lifted_foot_gives_no_support(nao: Robot, observe: Observe) -> None:
    both = settled(nao, observe(nao, "StandZero"))
    q = nao.posture("StandZero").angles.copy()
    q[nao.joint_index("LHipPitch")], q[nao.joint_index("LKneePitch")] = -0.8, 1.6
    q[nao.joint_index("LAnklePitch")] = -0.8  # about 60 mm higher, level
    one = settled(nao, observe(nao, "StandZero", q=q))
    assert both.com_margin > 0.0
    assert one.com_margin < -0.02  # outside the inner edge of the right foot
    assert one.heading > 0.5  # it would fall to the left


def test_pressure_on_one_edge_has_no_margin(nao: Robot, observe: Observe) -> None:
    everywhere = settled(nao, observe(nao, "Stand"))
    heels = [s.name for s in nao.force_sensors if s.name.endswith(("RL", "RR"))]
    behind = settled(nao, observe(nao, "Stand", pressed=heels))
    assert everywhere.cop_margin > 0.03
    assert behind.cop_margin < 0.005  # the four rear sensors are not quite in line
    assert settled(nao, observe(nao, "Stand", pressed=[])).cop_margin == 0.0


def test_instability_increases_from_stable_to_falling() -> None:
    rules = instability_rules()
    cases = [(0.02, 0.035, 0.0), (0.005, 0.012, 40.0), (0.0, -0.02, 80.0)]
    firm, pushed, falling = (
        rules.decide({"pressure margin": p, "capture margin": c, "speed": s})
        for p, c, s in cases
    )
    assert firm == pytest.approx(0.0, abs=1e-4)
    assert 0.3 < pushed < 0.7
    assert falling == pytest.approx(1.0, abs=1e-4)


@given(st.floats(-0.1, 0.1), st.floats(0.0, 0.05), st.floats(0.0, 190.0))
def test_instability_increases_with_speed(
    capture: float, pressure: float, speed: float
) -> None:
    rules = instability_rules()
    values = {"capture margin": capture, "pressure margin": pressure}
    slow = rules.decide({**values, "speed": speed})
    quick = rules.decide({**values, "speed": speed + 10.0})
    assert quick >= slow - 0.02  # centroids of areas vary slightly


def test_balance_watch_is_silent_in_the_air(robot: Robot) -> None:
    body = Body.of(robot).begin("balance watch").seconds(0.2)
    assert body.runtime.value("balance watch", "is_on_soles") is True
    assert body.runtime.value("balance watch", "capture_margin_m") > 0.02
    assert body.runtime.value("balance watch", "is_unstable") is False
    body.sensors.gyro = np.array([0.0, 3.0, 0.0])
    body.seconds(0.2)
    assert body.runtime.value("balance watch", "is_unstable") is True
    body.sensors.fsr[:] = 0.0
    body.seconds(0.2)
    assert body.runtime.value("balance watch", "is_on_soles") is False
    assert body.runtime.value("balance watch", "is_unstable") is False


# -- falls ----------------------------------------------------------------------------

LIFE = (
    Activation(schema="fall watch"),
    Activation(schema="protect from fall", order=9, priority=8),
    Activation(schema="breathe", priority=1),
)


def living(robot: Robot, posture: str = "Stand") -> Body:
    body = Body.of(robot, posture)
    rule = {"arbitration": "highest_order"}
    body.begin("choose", name="life", parameters=rule, children=LIFE).slot(30)
    return body


@pytest.mark.parametrize(
    ("turning", "shoulder"),
    [((0.0, 4.0, 0.0), 0.3), ((0.0, -4.0, 0.0), 2.0), ((4.0, 0.0, 0.0), 1.4)],
)
@pytest.mark.requirement("JD-12", "JD-26")
def test_fall_protection_acts_in_one_slot_towards_the_fall(
    robot: Robot, turning: tuple[float, float, float], shoulder: float
) -> None:
    body = living(robot)
    assert body.state("life/breathe") is State.WINNER
    body.sensors.gyro = np.array(turning)
    body.slot(2)  # two observations are needed
    assert body.runtime.value("life/fall watch", "is_falling") is True
    assert body.state("life/protect from fall") is State.WINNER
    assert body.angle("LShoulderPitch") == shoulder  # in the same slot
    assert body.state("life/breathe") is State.READY
    assert not body.failures()


def test_single_odd_observation_is_not_a_fall(robot: Robot) -> None:
    body = living(robot)
    body.sensors.gyro = np.array([0.0, 4.0, 0.0])
    body.slot()
    body.sensors.gyro = np.zeros(3)
    body.slot(10)
    assert body.runtime.value("life/fall watch", "is_falling") is False


def test_other_schemas_may_act_when_the_robot_is_at_rest(robot: Robot) -> None:
    body = living(robot)
    body.sensors.gyro = np.array([0.0, 4.0, 0.0])
    body.slot(50)
    body.sensors.gyro = np.zeros(3)
    body.sensors.up = np.array([-1.0, 0.0, 0.0])  # lying on its belly
    body.seconds(1.1)
    assert body.runtime.value("life/fall watch", "is_falling") is False
    assert body.state("life/protect from fall") is State.CHECKING
    assert body.state("life/breathe") is State.WINNER
    assert body.sensors.stiffness.max() == 0.0  # limp before


def test_sitting_robot_does_not_fall(robot: Robot) -> None:
    body = living(robot, "Sit")
    body.sensors.gyro = np.array([0.0, 4.0, 0.0])
    body.slot(20)
    assert body.runtime.value("life/fall watch", "is_falling") is False


def test_fall_protection_preempts_the_motors(robot: Robot) -> None:
    body = living(robot)
    body.slot()
    arm = body.hold("somebody", "Arms-stiffness", "Legs", priority=5)
    body.sensors.gyro = np.array([0.0, 4.0, 0.0])
    body.slot(2)
    assert body.state("life/protect from fall") is State.WINNER
    granted = [event for event in body.told(Granted) if "protect" in event.owner]
    written = {event.tick for event in body.told(Executed)}
    assert granted
    assert granted[0].tick in written
    assert body.ledger.authorise(arm, "LKneePitch") is not None


def test_resources_of_all_motors_and_stiffness_by_kind(nao: Robot) -> None:
    assert resources_of_all(nao, DeviceKind.MOTOR) == ("All motors",)
    assert resources_of_all(nao, DeviceKind.STIFFNESS) == ("Stiffness",)
    plain = load_robot(default_robot_folder().parents[1] / "models" / "nao")
    assert resources_of_all(plain, DeviceKind.SPEAKER) == ("TTS",)


# -- heat and battery -----------------------------------------------------------------


def test_trend_and_time_left_of_a_steady_rise(robot: Robot) -> None:
    body = Body.of(robot).begin("hot joint watch", parameters={"warn_s": 100.0})
    place = robot.motor_names.index("LKneePitch")
    for second in range(40):
        # 0.5 K/s, read in steps of 1 K.
        body.sensors.temperature[place] = round(40.0 + 0.5 * second)
        body.seconds(1.0)
    value = body.runtime.value
    assert value("hot joint watch", "joint") == "LKneePitch"
    assert value("hot joint watch", "trend_k_per_min") == pytest.approx(30.0, rel=0.05)
    left = (76.0 - body.sensors.temperature[place]) / 0.5
    assert value("hot joint watch", "time_left_s") == pytest.approx(left, rel=0.1)
    assert value("hot joint watch", "is_warning") is True


def test_cooling_motor_never_reaches_the_limit(robot: Robot) -> None:
    body = Body.of(robot).begin("hot joint watch")
    for second in range(20):
        body.sensors.temperature[:] = 60.0 - second
        body.sensors.temperature[1] = np.nan  # a failed sensor is ignored
        body.seconds(1.0)
    value = body.runtime.value
    assert value("hot joint watch", "time_left_s") == inf
    assert value("hot joint watch", "next_joint") == ""
    assert value("hot joint watch", "is_warning") is False
    body.sensors.temperature[4] = 77.0
    body.seconds(1.0)
    assert value("hot joint watch", "time_left_s") == 0.0
    assert value("hot joint watch", "is_warning") is True
    assert not body.failures()


def test_battery_charge_falls_by_the_power_of_the_motors(robot: Robot) -> None:
    body = Body.of(robot)
    given = {"idle_watts": 30.0, "efficiency": 0.5, "charge": 0.9}
    body.begin("battery watch", parameters=given)
    place = robot.motor_names.index("LHipPitch")
    heating = robot.motors[place].one_node
    body.sensors.current[place] = 0.5
    body.seconds(60.0)
    power = 30.0 + heating.resistance * 0.25 / 0.5
    taken = power * 60.0 / (3600.0 * robot.battery.capacity_watt_hour)
    value = body.runtime.value
    assert value("battery watch", "charge") == pytest.approx(0.9 - taken, rel=1e-3)
    assert value("battery watch", "power_watts") == pytest.approx(power, rel=1e-6)
    left = (0.9 - taken) * 3600.0 * robot.battery.capacity_watt_hour / power
    assert value("battery watch", "time_left_s") == pytest.approx(left, rel=1e-3)
    assert value("battery watch", "is_low") is False


def test_default_limits_are_those_of_the_robot(robot: Robot) -> None:
    """Temperatures from its protection, power from its battery; parameters override."""
    protection = Thresholds(
        onset_degc=(90.0, 100.0, 110.0),
        release_degc=(84.0, 94.0, 104.0),
        factor=(0.9, 0.5, 0.0),
    )
    battery = replace(robot.battery, idle_watt=60.0, drive_efficiency=0.9)
    other = replace(robot, protection=protection, battery=battery)
    for one, limit, begin, watts in (
        (robot, 76.0, 70.0, 25.0),
        (other, 90.0, 84.0, 60.0),
        (replace(robot, protection=None), 76.0, 70.0, 25.0),
    ):
        body = Body.of(one)
        for name in ("hot joint watch", "cool down", "battery watch"):
            body.begin(name)
        body.begin("dance", parameters={"motion": "test dance"})
        find = body.runtime.instances.find
        assert find("hot joint watch").parameters.limit_degc == limit
        assert find("dance").parameters.limit_degc == limit
        assert find("cool down").parameters.from_degc == begin
        assert find("cool down").parameters.until_degc == begin - 15.0
        assert find("battery watch").parameters.idle_watts == watts
    body = Body.of(other).begin("hot joint watch", parameters={"limit_degc": 50.0})
    watch = body.runtime.instances.find("hot joint watch")
    assert watch.parameters.limit_degc == 50.0


def test_externally_driven_motor_does_not_charge_the_battery(robot: Robot) -> None:
    body = Body.of(robot).begin("battery watch", parameters={"idle_watts": 0.0})
    watch = body.runtime
    body.slot()
    seen = body.sensors.sense(0.0)
    driven = replace(seen, v=np.full_like(seen.v, -50.0), current=seen.current + 0.1)
    for tick in range(body.tick + 1, body.tick + 200):
        watch.step(tick, replace(driven, time_s=tick * 0.01))
    assert watch.value("battery watch", "charge") == 1.0
