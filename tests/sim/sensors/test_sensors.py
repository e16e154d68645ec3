"""Sensors: rates, resolution, noise, frames, signs, and forces of a sole."""

import dataclasses
from typing import cast

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.transform import Rotation

from nao_testbed.controllers.interface.robot_interface import Command, Observation
from nao_testbed.models import BadInput, Robot, load_robot
from nao_testbed.models.folders import find_robot_folder
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.interface import Engine, rotation_from_quaternion
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from nao_testbed.sim.sensors import SensorCfg, Sensors
from nao_testbed.sim.servo import ServoCfg
from nao_testbed.sim.thermal import HeatingCfg, HeatingModel, make_heating
from tests.sim.conftest import Simulate

G = 9.81
EXACT = SensorCfg(noise=False, resolution=False)
AT_REST = 0.02  # m/s², a standing robot still trembles a little
SIGMAS = 4.5  # of a mean: false alarm below 1 in 100 000, and the seed is fixed


class StillWorld:
    """A robot at rest at the origin, with a chosen load under every sole."""

    def __init__(self, physics_dt: float = 1e-3) -> None:
        self.cfg = WorldCfg(physics_dt=physics_dt)
        self.ground_normal = np.array([0.0, 0.0, 1.0])
        self.position = np.zeros(3)
        self.rotation = np.eye(3)
        self.force = 0.0
        self.cop = np.zeros(3)

    def link_pose(self, link: str) -> tuple[FloatArray, FloatArray]:
        return self.position, self.rotation

    def link_twist(self, link: str) -> tuple[FloatArray, FloatArray]:
        return np.zeros(3), np.zeros(3)

    def normal_load(self, link: str) -> tuple[float, FloatArray]:
        return self.force, self.force * (self.position + self.rotation @ self.cop)

    def cast(
        self, origin: FloatArray, directions: FloatArray, reach: float
    ) -> tuple[FloatArray, FloatArray]:
        return np.full(len(directions), reach), np.zeros_like(directions)


def sensors_in(
    world: StillWorld,
    robot: Robot,
    cfg: SensorCfg,
    seed: int = 0,
    misalignment: FloatArray | None = None,
) -> Sensors:
    n = len(robot.joints)
    sensors = Sensors(
        robot,
        cast(Engine, world),
        cfg,
        np.zeros(n) if misalignment is None else misalignment,
        make_heating(robot, HeatingCfg()).torque_constant,
        np.random.default_rng(seed),
    )
    sensors.start(np.zeros(n), np.full(len(robot.motors), 30.0))
    return sensors


def sole_reading(robot: Robot, force: float, cop: FloatArray) -> FloatArray:
    """Return the exact readings of the first sole's force sensors."""
    world = StillWorld()
    world.force, world.cop = force, cop
    first = robot.force_sensors[0].link
    under = [s.link == first for s in robot.force_sensors]
    fsr: FloatArray = sensors_in(world, robot, EXACT).fsr[under]
    return fsr


def turned(axis: FloatArray, degrees: float) -> FloatArray:
    return Rotation.from_rotvec(np.deg2rad(degrees) * axis).as_matrix()


# -- the sole ------------------------------------------------------------------------


@pytest.mark.requirement("ST-1")
def test_each_robot_has_four_force_sensors_a_sole(nao: Robot, two_leg: Robot) -> None:
    for robot in (nao, two_leg):
        links = [sensor.link for sensor in robot.force_sensors]
        assert {links.count(link) for link in links} == {4}
        assert len(set(links)) == len(robot.feet) == 2


@given(x=st.floats(-1.0, 1.0), y=st.floats(-1.0, 1.0), force=st.floats(1.0, 14.0))
def test_rectangular_sole_load_matches_hand_calculation(
    two_leg: Robot, x: float, y: float, force: float
) -> None:
    """f = F/4 (1 ± x/a ± y/b) for a centre of pressure in the middle diamond.

    The sole of the walker has its sensors at x = 15 ± 45 mm and y = ± 30 mm.
    """
    assume(abs(x) + abs(y) <= 1.0)
    cop = np.array([0.015 + 0.045 * x, 0.030 * y, -0.035])
    fl, fr, rl, rr = sole_reading(two_leg, force, cop)
    expected = 0.25 * force * (1.0 + np.array([x + y, x - y, -x + y, -x - y]))
    assert_allclose([fl, fr, rl, rr], expected, atol=1e-12)


@pytest.mark.parametrize("degrees", [30.0, 90.0, -135.0])
def test_foot_forces_do_not_depend_on_its_pose(two_leg: Robot, degrees: float) -> None:
    """The centre of pressure is in the foot frame."""
    cop = np.array([0.030, -0.010, -0.035])
    world = StillWorld()
    world.force, world.cop = 10.0, cop
    world.rotation = turned(np.array([0.0, 0.0, 1.0]), degrees)
    world.position = np.array([1.0, -2.0, 0.5])
    n = len(two_leg.force_sensors) // 2
    fsr = sensors_in(world, two_leg, EXACT).fsr[:n]
    assert_allclose(fsr, sole_reading(two_leg, 10.0, cop), atol=1e-12)
    assert np.ptp(fsr) > 2.0


def test_a_tilted_foot_measures_force_along_its_normal(two_leg: Robot) -> None:
    """On a sole tilted by 20°: F cos 20°, at the same place of the sole."""
    cop = np.array([0.030, -0.010, 0.0])
    world = StillWorld()
    world.force, world.cop = 10.0, cop
    world.rotation = turned(np.array([0.6, 0.8, 0.0]), 20.0)
    world.position = np.array([0.1, 0.2, 0.3])
    n = len(two_leg.force_sensors) // 2
    fsr = sensors_in(world, two_leg, EXACT).fsr[:n]
    level = sole_reading(two_leg, 10.0, cop)
    assert_allclose(fsr, np.cos(np.deg2rad(20.0)) * level, atol=1e-12)


@given(
    weights=st.tuples(*[st.floats(0.0, 1.0)] * 4),
    force=st.floats(0.5, 20.0),
)
def test_a_sole_reads_its_load_and_no_negative_force(
    nao: Robot, weights: tuple[float, ...], force: float
) -> None:
    """Sum is kept, no force is negative, unclipped centres of pressure are exact."""
    assume(sum(weights) > 0.01)
    first = nao.force_sensors[0].link
    corners = np.array([s.position for s in nao.force_sensors if s.link == first])
    cop = np.array(weights) @ corners / sum(weights)
    f = sole_reading(nao, force, cop)
    assert (f >= 0.0).all()
    assert f.sum() == pytest.approx(force, rel=1e-12)
    if (f > 0.0).all():
        assert_allclose(f @ corners[:, :2] / force, cop[:2], atol=1e-12)


def test_a_sole_measures_only_the_normal_force(two_leg: Robot) -> None:
    """Half the load at a tilt of 60 degrees, none when the foot lies on its side."""
    for tilt_deg, share in ((0.0, 1.0), (60.0, 0.5), (90.0, 0.0), (180.0, 0.0)):
        world = StillWorld()
        c, s = np.cos(np.deg2rad(tilt_deg)), np.sin(np.deg2rad(tilt_deg))
        world.rotation = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
        world.force, world.cop = 10.0, np.array([0.015, 0.0, -0.035])
        fsr = sensors_in(world, two_leg, EXACT).fsr
        assert fsr[:4].sum() == pytest.approx(10.0 * share, abs=1e-12)


def test_force_sensors_saturate_and_are_quantised(two_leg: Robot) -> None:
    world = StillWorld()
    world.force, world.cop = 1000.0, np.array([0.015, 0.0, -0.035])
    assert_array_equal(sensors_in(world, two_leg, EXACT).fsr, 15.0)
    world.force = 4.06
    sensors = sensors_in(world, two_leg, SensorCfg(noise=False))
    assert_allclose(sensors.fsr, 1.0)  # 1.015 N in steps of 0.1 N


# -- rates, steps, noise -------------------------------------------------------------


@pytest.mark.requirement("ST-22")
def test_each_sensor_holds_its_value_for_its_period(
    two_leg: Robot, simulate: Simulate
) -> None:
    """Encoders and IMU 5 ms, currents and force sensors 10 ms on the walker."""
    sim = simulate(two_leg, SimulationCfg(), "Stand")
    periods = {"q": 5, "gyro": 5, "accelerometer": 5, "current": 10, "fsr": 10}
    changes: dict[str, list[int]] = {name: [] for name in periods}
    sim.step(100)
    before = sim.read()
    for tick in range(101, 141):
        sim.step(1)
        now = sim.read()
        for name, seen in changes.items():
            if not np.array_equal(getattr(before, name), getattr(now, name)):
                seen.append(tick)
        before = now
    for name in ("gyro", "accelerometer", "current", "fsr"):  # noise: always new
        period = periods[name]
        assert changes[name] == list(range(100 + period, 141, period)), name
    assert set(changes["q"]) <= set(range(105, 141, 5))


@pytest.mark.parametrize("name", ["nao", "g1"])
def test_readings_do_not_depend_on_when_the_robot_is_read(
    name: str, simulate: Simulate
) -> None:
    """Readings between two observations are left out, and their noise is drawn."""
    robot = load_robot(find_robot_folder(name))
    posture = next(iter(robot.postures))
    seldom, often = (simulate(robot, SimulationCfg(), posture) for _ in range(2))
    for ticks in (20, 7, 1, 2, 33, 10, 101):
        seldom.step(ticks)
        for _ in range(ticks):
            often.step(1)
        late, early = seldom.read(), often.read()
        for field in dataclasses.fields(late):
            assert_array_equal(getattr(late, field.name), getattr(early, field.name))


def test_temperatures_are_reported_every_second_in_whole_kelvins(
    nao: Robot, simulate: Simulate
) -> None:
    cfg = SimulationCfg(start_degc={"LKneePitch": 40.4})
    sim = simulate(nao, cfg, "PoseInit")
    knee = nao.motor_names.index("LKneePitch")
    assert sim.read().temperature[knee] == 40.0
    sim.heating.reset(np.full(len(nao.motors), 51.7))
    sim.step(999)
    assert sim.read().temperature[knee] == 40.0
    sim.step(1)
    assert sim.read().temperature[knee] == 52.0
    assert sim.truth().temperature[knee] == pytest.approx(51.7, abs=0.05)


def test_each_encoder_has_its_own_resolution(nao: Robot) -> None:
    n = len(nao.joints)
    sensors = sensors_in(StillWorld(), nao, SensorCfg(noise=False))
    q = np.random.default_rng(0).uniform(nao.lower, nao.upper)
    sensors.sample(10, q, np.zeros(len(nao.motors)))
    step = np.array([joint.encoder_step for joint in nao.joints])
    assert_allclose(sensors.q / step, np.rint(sensors.q / step), atol=1e-9)
    assert (np.abs(sensors.q - q) <= 0.5 * step + 1e-12).all()
    assert np.rad2deg(step) == pytest.approx(np.full(n, 360.0 / 4096), rel=1e-5)


@pytest.mark.requirement("ST-25")
def test_encoders_read_the_true_angle_less_the_misalignment(nao: Robot) -> None:
    error = np.random.default_rng(1).uniform(-0.05, 0.05, len(nao.joints))
    sensors = sensors_in(StillWorld(), nao, EXACT, misalignment=error)
    q = np.random.default_rng(2).uniform(nao.lower, nao.upper)
    sensors.sample(10, q, np.zeros(len(nao.motors)))
    assert_allclose(sensors.q, q - error, atol=1e-15)


def test_velocities_are_the_slope_of_the_fine_encoder(nao: Robot) -> None:
    sensors = sensors_in(StillWorld(), nao, SensorCfg(noise=False))
    speed = np.random.default_rng(3).uniform(-3.0, 3.0, len(nao.joints))
    for tick in range(10, 60, 10):
        sensors.sample(tick, speed * tick * 1e-3, np.zeros(len(nao.motors)))
    step = np.array([joint.servo_step for joint in nao.joints])
    assert (np.abs(sensors.v - speed) <= step / nao.sensor_rates.encoder_period).all()


@pytest.mark.requirement("ST-3")
@given(seed=st.integers(0, 1000))
@settings(max_examples=20)
def test_current_is_torque_over_the_torque_constant(nao: Robot, seed: int) -> None:
    """i = τ / K, signed as the torque; one current a motor, so one for both hips."""
    sensors = sensors_in(StillWorld(), nao, EXACT)
    torque = np.random.default_rng(seed).uniform(-3.0, 3.0, len(nao.motors))
    sensors.sample(10, np.zeros(len(nao.joints)), torque)
    K = np.array([motor.one_node.torque_constant for motor in nao.motors])
    assert_allclose(sensors.current * K, torque, atol=1e-12)
    assert_array_equal(np.sign(sensors.current), np.sign(torque))
    assert len(sensors.current) == 25
    assert len(sensors.q) == 26


@pytest.mark.parametrize("model", ["one-node", "two-node", "bare-motor"])
def test_the_measured_current_equals_the_heating_current(
    nao: Robot, simulate: Simulate, model: HeatingModel
) -> None:
    """R i² with the winding's resistance is the heat of the chosen model."""
    cfg = SimulationCfg(sensors=EXACT, heating=HeatingCfg(model=model))
    sim = simulate(nao, cfg, "PoseInit")
    sim.step(10)
    current, torque = sim.read().current, sim.motor_torque
    assert np.abs(torque).max() > 0.1, "no load, nothing to measure"
    assert_allclose(current, sim.heating.currents(torque), rtol=1e-12)
    resistance = {
        "one-node": [motor.one_node.resistance for motor in nao.motors],
        "two-node": [motor.one_node.resistance for motor in nao.motors],
        "bare-motor": [
            motor.two_node.joule_constant * motor.torque_constant**2
            for motor in nao.motors
        ],
    }[model]
    assert_allclose(
        resistance * current**2, sim.heating.joule_power(torque**2), rtol=1e-12
    )


def test_noise_has_the_stated_size_and_zero_mean(nao: Robot) -> None:
    """Over 2000 samples; the gain of an IMU axis is off by its precision at most."""
    world = StillWorld()
    world.force, world.cop = 40.0, np.array([0.02, 0.003, -0.045])
    torque = np.full(len(nao.motors), 1.0)
    q = np.zeros(len(nao.joints))
    exact = sensors_in(world, nao, EXACT)
    exact.sample(10, q, torque)
    noisy = sensors_in(world, nao, SensorCfg(resolution=False), seed=4)
    n = 2000
    seen: dict[str, FloatArray] = {
        name: np.empty((n, len(getattr(exact, name))))
        for name in ("current", "fsr", "gyro", "accelerometer")
    }
    for k in range(n):
        noisy.sample(10 * (k + 1), q, torque)
        for name, rows in seen.items():
            rows[k] = getattr(noisy, name)
    sigma = {
        "current": nao.sensor_rates.current_noise,
        "fsr": nao.force_sensors[0].noise_newton,
        "gyro": nao.imu.gyro_noise,
        "accelerometer": nao.imu.accelerometer_noise,
    }
    gain = {"accelerometer": nao.imu.accelerometer_gain_error}
    for name, rows in seen.items():
        mean, truth = rows.mean(axis=0), getattr(exact, name)
        bound = SIGMAS * sigma[name] / np.sqrt(n) + gain.get(name, 0.0) * np.abs(truth)
        assert (np.abs(mean - truth) <= bound).all(), name
        assert_allclose(rows.std(axis=0), sigma[name], rtol=0.08, err_msg=name)


def test_each_robot_has_its_own_gain_errors(nao: Robot) -> None:
    """Drawn once from the seed, within the precision of the data sheet."""
    readings = []
    for seed in range(8):
        sensors = sensors_in(StillWorld(), nao, SensorCfg(), seed=seed)
        readings.append(sensors.accelerometer[2] / G)
    error = nao.imu.accelerometer_gain_error
    assert np.ptp(readings) > 0.2 * error
    assert (np.abs(np.array(readings) - 1.0) < error + 0.03).all()


@pytest.mark.parametrize("physics_dt", [4e-3, 3e-3])
def test_a_period_that_is_no_multiple_of_the_step_is_refused(
    nao: Robot, physics_dt: float
) -> None:
    with pytest.raises(BadInput, match="is not a multiple of the physics step"):
        sensors_in(StillWorld(physics_dt), nao, SensorCfg())


# -- in the world --------------------------------------------------------------------


@pytest.fixture(scope="module")
def standing(nao: Robot, simulate: Simulate) -> SimulatedRobot:
    """A NAO in PoseInit, settled, with all noise."""
    sim = simulate(nao, SimulationCfg(seed=3), "PoseInit")
    sim.step(2000)
    return sim


def observations(sim: SimulatedRobot, count: int) -> list[Observation]:
    seen = []
    for _ in range(count):
        sim.step(10)
        seen.append(sim.read())
    return seen


@pytest.mark.scenario
@pytest.mark.requirement("ST-1")
def test_force_sensors_add_up_to_the_weight(standing: SimulatedRobot) -> None:
    robot = standing.robot
    total = np.mean([o.fsr.sum() for o in observations(standing, 100)])
    sigma = np.sqrt(
        sum(s.noise_newton**2 + s.step_newton**2 / 12 for s in robot.force_sensors)
        / 100
    )
    assert total == pytest.approx(robot.total_mass * G, abs=SIGMAS * sigma + 0.05)


@pytest.mark.scenario
def test_force_sensors_find_the_centre_of_pressure(
    two_leg: Robot, simulate: Simulate
) -> None:
    """Compare each sole with the engine's contact points."""
    sim = simulate(two_leg, SimulationCfg(sensors=EXACT), "Stand")
    sim.step(1000)
    fsr, contacts = sim.read().fsr, sim.truth().contacts
    for link in ("left_foot", "right_foot"):
        under = [s.link == link for s in two_leg.force_sensors]
        corners = np.array(
            [s.position for s in two_leg.force_sensors if s.link == link]
        )
        position, R = sim.engine.link_pose(link)
        f = np.array([c.normal_force for c in contacts if c.link == link])
        points = np.array([c.position for c in contacts if c.link == link])
        cop = R.T @ (f @ points / f.sum() - position)
        assert fsr[under].sum() == pytest.approx(f.sum(), rel=1e-3)
        assert_allclose(fsr[under] @ corners[:, :2] / f.sum(), cop[:2], atol=1e-4)


@pytest.mark.requirement("ST-1")
@pytest.mark.parametrize("slope_deg", [-10.0, 0.0, 5.0])
def test_the_accelerometer_shows_g_upward_tilted_by_the_slope(
    nao: Robot, simulate: Simulate, slope_deg: float
) -> None:
    """At rest: Rᵀ (0, 0, g), nose up by the slope and the ankle deflection.

    They are springs of 150 N·m/rad under a weight of 52 N some 0.25 m up: the lean
    grows by 5 to 15 percent.
    """
    cfg = SimulationCfg(world=WorldCfg(slope_deg=slope_deg), sensors=EXACT)
    sim = simulate(nao, cfg, "PoseInit")
    sim.step(2500)
    a = sim.read().accelerometer
    R = rotation_from_quaternion(sim.truth().base_quaternion)
    assert_allclose(a, R.T @ [0.0, 0.0, G], atol=AT_REST)
    lean, slope = np.arctan2(a[0], a[2]), np.deg2rad(slope_deg)
    least, most = sorted((slope, 1.15 * slope))
    assert least - 2e-3 <= lean <= most + 2e-3


@pytest.mark.requirement("ST-1")
def test_the_imu_of_a_tumbling_robot(nao: Robot, simulate: Simulate) -> None:
    """Compare with differences of the torso's pose: ω from rotation, a from position.

    Thrown limp, spinning about all axes: the accelerometer measures no gravity, only
    its rotation about the centre of mass.
    """
    import pybullet as p

    from nao_testbed.sim.engine.bullet_engine import BulletEngine

    cfg = SimulationCfg(sensors=EXACT, servo=ServoCfg(friction_scale=0.0))
    sim = simulate(nao, cfg, "StandZero")
    sim.write(Command(stiffness=np.zeros(len(nao.joints))))
    engine = sim.engine
    assert isinstance(engine, BulletEngine)
    quaternion = np.array([0.3, -0.2, 0.5, 0.8])
    quaternion /= np.linalg.norm(quaternion)
    engine.place(nao.posture("StandZero").angles, np.array([0.0, 0.0, 3.0]), quaternion)
    p.resetBaseVelocity(
        engine._body, [0.2, 0.1, 1.0], [2.0, 1.5, -1.0], physicsClientId=engine._client
    )
    poses = []
    for _ in range(40):
        sim.step(1)
        position, now = engine.base_pose()
        R = rotation_from_quaternion(now)
        poses.append((position + R @ np.array(nao.imu.position), R))
    velocity = np.diff([place for place, _ in poses], axis=0) / sim.dt
    acceleration = (velocity[38] - velocity[28]) / nao.sensor_rates.imu_period
    R = poses[39][1]
    turn = (R @ poses[38][1].T - poses[38][1] @ R.T) / (2.0 * sim.dt)
    omega = np.array([turn[2, 1], turn[0, 2], turn[1, 0]])
    reading = sim.read()
    assert np.linalg.norm(omega) > 1.0
    # One tick of difference in time, at some 10 rad/s².
    assert_allclose(reading.gyro, R.T @ omega, atol=0.02)
    acceleration[2] += G
    specific_force = R.T @ acceleration
    assert np.linalg.norm(specific_force) < 0.5 * G
    assert_allclose(reading.accelerometer, specific_force, atol=0.1)


def test_a_moved_and_turned_robot_measures_its_sole_contacts(
    nao: Robot, simulate: Simulate
) -> None:
    """Placed again, turned by 60° and 2 m away; compared with PyBullet's contacts."""
    sim = simulate(nao, SimulationCfg(sensors=EXACT), "Stand")
    truth, left = sim.truth(), Rotation.from_euler("z", 60.0, degrees=True)
    turn = left * Rotation.from_quat(truth.base_quaternion)
    position = left.apply(truth.base_position) + np.array([2.0, 0.0, 0.0])
    sim.engine.place(truth.q, position, turn.as_quat())
    sim.step(500)
    fsr = sim.read().fsr
    for link in dict.fromkeys(sensor.link for sensor in nao.force_sensors):
        origin, R = sim.engine.link_pose(link)
        touching = [c for c in sim.engine.contacts() if c.link == link]
        loads = np.array([c.normal_force for c in touching])
        places = np.array([c.position for c in touching])
        expected = (loads @ places / loads.sum() - origin) @ R
        under = [k for k, s in enumerate(nao.force_sensors) if s.link == link]
        corners = np.array([nao.force_sensors[k].position for k in under])
        felt = fsr[under] @ corners / fsr[under].sum()
        assert_allclose(felt[:2], expected[:2], atol=1e-3)
        assert_allclose(fsr[under].sum(), loads.sum(), rtol=0.02)
