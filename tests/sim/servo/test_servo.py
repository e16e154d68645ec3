"""The motor board alone: limits, torque-speed line, friction, coupled joints."""

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

from nao_testbed.models import BadInput, Motor, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.servo import COUPLING_STIFFNESS, Servo, ServoCfg, servo_torques

DT = 1e-3  # s
ROUNDING = 1e-12  # N·m
CREEP = 1e-3  # of the break-away angle in 9 s; the ringing has about this amplitude

seeds = st.integers(0, 2**32 - 1)


def servo_of(robot: Robot, cfg: ServoCfg | None = None) -> Servo:
    return Servo(robot, cfg or ServoCfg(), DT, np.zeros(len(robot.joints)))


def state(robot: Robot, seed: int) -> tuple[Servo, FloatArray, FloatArray]:
    """Return a servo with random set-points and limits, and a state far from them."""
    rng = np.random.default_rng(seed)
    n = len(robot.joints)
    servo = Servo(robot, ServoCfg(), DT, rng.uniform(-0.1, 0.1, n))
    servo.target[:] = rng.uniform(robot.lower, robot.upper)
    servo.limit[:] = rng.uniform(0.0, 1.0, n) * robot.effort_limit
    servo.presliding[:] = rng.uniform(-1e-3, 1e-3, n)
    q = servo.target + rng.uniform(-1.0, 1.0, n) * rng.choice([1e-4, 1.0], n)
    v = rng.uniform(-1.0, 1.0, n) * rng.choice([0.1, 40.0], n)
    return servo, q, v


@pytest.mark.requirement("ST-3")
@given(seed=seeds)
def test_no_motor_exceeds_its_software_limit(nao: Robot, seed: int) -> None:
    """For any set-point, angle and speed: |τ| <= stiffness · effort limit."""
    servo, q, v = state(nao, seed)
    assert servo.step(q, v)
    leading = [nao.joint_index(motor.joints[0]) for motor in nao.motors]
    assert (np.abs(servo.motor_torque) <= servo.limit[leading] + ROUNDING).all()


@given(seed=seeds)
def test_motor_torque_is_below_the_torque_speed_line(nao: Robot, seed: int) -> None:
    """τ sign(ω) <= τ_stall (1 - |ω|/ω₀), 0 where the line is negative."""
    servo, q, v = state(nao, seed)
    servo.step(q, v)
    for motor, tau in zip(nao.motors, servo.motor_torque, strict=True):
        omega = np.mean([v[nao.joint_index(name)] for name in motor.joints])
        stall = motor.stall_torque * motor.gear_ratio
        speed = motor.no_load_speed / motor.gear_ratio
        line = stall * (1.0 - abs(omega) / speed)
        assert tau * np.sign(omega) <= max(line, 0.0) + 1e-9


@pytest.mark.requirement("ST-3")
@given(seed=seeds)
def test_a_limp_motor_gives_nothing(nao: Robot, seed: int) -> None:
    servo, q, v = state(nao, seed)
    servo.limit[:] = 0.0
    servo.step(q, v)
    assert_array_equal(servo.motor_torque, 0.0)


@pytest.mark.requirement("ST-2")
@given(seed=seeds)
def test_within_limits_the_motor_is_a_spring_and_damper(nao: Robot, seed: int) -> None:
    """τ = kp (θ* - θ) - kd ω, with θ in encoder steps and the calibration error."""
    rng = np.random.default_rng(seed)
    error = rng.uniform(-0.1, 0.1, len(nao.joints))
    left, right = nao.joint_index("LHipYawPitch"), nao.joint_index("RHipYawPitch")
    servo = Servo(nao, ServoCfg(encoder=False), DT, error)
    servo.target[:] = rng.uniform(nao.lower, nao.upper)
    servo.target[right] = servo.target[left]  # the follower's is not used
    servo.velocity[:] = rng.uniform(-0.05, 0.05, len(error))
    q = servo.target + error + rng.uniform(-5e-3, 5e-3, len(error))
    v = rng.uniform(-0.05, 0.05, len(error))
    servo.step(q, v)
    for motor, tau in zip(nao.motors, servo.motor_torque, strict=True):
        joints = [nao.joint_index(name) for name in motor.joints]
        theta = np.mean(q[joints] - error[joints])
        lead = nao.joints[joints[0]]
        behind = servo.velocity[joints[0]] - np.mean(v[joints])
        expected = lead.kp * (servo.target[joints[0]] - theta) + lead.kd * behind
        assert tau == pytest.approx(expected, abs=1e-9)


def test_the_servo_quantises_by_the_motor_encoder(two_leg: Robot) -> None:
    """A deviation below half a step gives no error."""
    servo = servo_of(two_leg)
    joint = two_leg.joints[0]
    q, v = np.zeros(6), np.zeros(6)
    q[0] = 0.49 * joint.servo_step
    servo.step(q, v)
    assert servo.motor_torque[0] == 0.0
    q[0] = 0.51 * joint.servo_step
    servo.step(q, v)
    assert servo.motor_torque[0] == pytest.approx(-joint.kp * joint.servo_step)


@settings(max_examples=25)
@given(seed=seeds)
def test_compiled_kernel_matches_python(nao: Robot, seed: int) -> None:
    compiled, q, v = state(nao, seed)
    written, _, _ = state(nao, seed)
    kernel: Callable[..., bool] = cast(Any, servo_torques).py_func
    for _ in range(3):
        compiled.step(q, v)
        assert kernel(q, v, *written.arguments)
        for name in ("motor_torque", "joint_torque", "presliding", "square_sum"):
            assert_allclose(
                getattr(compiled, name),
                getattr(written, name),
                rtol=1e-13,
                atol=1e-15,
                err_msg=name,
            )


@pytest.mark.parametrize("where", ["q", "v", "target"])
def test_nan_input_is_reported(two_leg: Robot, where: str) -> None:
    servo = servo_of(two_leg)
    arrays = {"q": np.zeros(6), "v": np.zeros(6), "target": servo.target}
    assert servo.step(arrays["q"], arrays["v"])
    arrays[where][3] = np.nan
    assert not servo.step(arrays["q"], arrays["v"])


# -- one joint with a known inertia --------------------------------------------------


def swing(
    servo: Servo,
    inertia: float,
    load: Callable[[float], float],
    duration_s: float,
    joint: int = 0,
) -> tuple[FloatArray, FloatArray]:
    """Integrate I q̈ = τ_joint + load (semi-implicit Euler, as the engine).

    Returns:
        (n_ticks,) angles and velocities of one joint; the others stand still.
    """
    n = len(servo.target)
    q, v = np.zeros(n), np.zeros(n)
    dt = servo.dt
    ticks = round(duration_s / dt)
    angles, speeds = np.empty(ticks), np.empty(ticks)
    for k in range(ticks):
        assert servo.step(q, v)
        v[joint] += dt * (servo.joint_torque[joint] + load(k * dt)) / inertia
        q[joint] += dt * v[joint]
        angles[k], speeds[k] = q[joint], v[joint]
    return angles, speeds


@pytest.mark.parametrize("battery_volt", [None, 10.0, 21.0])
def test_a_free_joint_reaches_its_no_load_speed_and_no_more(
    two_leg: Robot, battery_volt: float | None
) -> None:
    """ω₀ U / U_n, reached as 1 - exp(-t τ_stall / (I ω₀))."""
    servo = servo_of(two_leg, ServoCfg(friction_scale=0.0, battery_volt=battery_volt))
    servo.target[:] = 1e3  # never reached
    motor: Motor = two_leg.motors[0]
    _, speeds = swing(servo, motor.armature, lambda t: 0.0, 0.5)
    expected = motor.no_load_speed / motor.gear_ratio
    expected *= (battery_volt or two_leg.battery.nominal_volt) / (
        two_leg.battery.nominal_volt
    )
    assert speeds[-1] == pytest.approx(expected, rel=1e-6)
    assert speeds.max() <= expected * (1.0 + 1e-12)


def limp(robot: Robot, friction_scale: float = 1.0) -> Servo:
    servo = servo_of(robot, ServoCfg(friction_scale=friction_scale))
    servo.limit[:] = 0.0
    return servo


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_gear_friction_sticks_without_creeping(two_leg: Robot, share: float) -> None:
    """A load below τ_c, held for 10 s, moves the joint by exactly load / k."""
    joint, inertia = two_leg.joints[0], two_leg.motors[0].armature
    load = share * joint.friction

    def ramp(t: float) -> float:
        return load * min(t / 1.0, 1.0)  # slow: it does not ring over the bound

    angles, _ = swing(limp(two_leg), inertia, ramp, 11.0)
    break_away = joint.friction / joint.presliding_stiffness
    assert angles.max() < break_away
    settled, end = angles[1000:2000].mean(), angles[-1000:].mean()
    assert settled == pytest.approx(load / joint.presliding_stiffness, rel=1e-3)
    assert end == pytest.approx(settled, abs=CREEP * break_away)


def test_a_stuck_gear_matches_the_spring_of_an_ode_solver(two_leg: Robot) -> None:
    """I q̈ = load(t) - k q while the gear sticks."""
    joint, inertia = two_leg.joints[0], two_leg.motors[0].armature
    k = joint.presliding_stiffness

    def load(t: float) -> float:
        return 0.4 * joint.friction * math.sin(20.0 * t)

    servo = Servo(two_leg, ServoCfg(), 1e-4, np.zeros(6))
    servo.limit[:] = 0.0
    angles, _ = swing(servo, inertia, load, 0.5)
    exact = solve_ivp(
        lambda t, y: [y[1], (load(t) - k * y[0]) / inertia],
        (0.0, 0.5),
        [0.0, 0.0],
        t_eval=np.linspace(1e-4, 0.5, 5000),
        rtol=1e-9,
        atol=1e-12,
    )
    # First order in the step: 0.1 ms against a period of 54 ms.
    assert_allclose(angles, exact.y[0], atol=0.012 * np.abs(exact.y[0]).max())


@given(share=st.floats(1.5, 20.0))
@settings(max_examples=20)
def test_a_sliding_gear_takes_exactly_the_coulomb_friction(
    two_leg: Robot, share: float
) -> None:
    """Once it slides, I q̈ = load - τ_c."""
    joint, inertia = two_leg.joints[0], two_leg.motors[0].armature
    load = share * joint.friction
    _, speeds = swing(limp(two_leg), inertia, lambda t: load, 0.2)
    acceleration = (speeds[-1] - speeds[-51]) / (50 * DT)
    assert acceleration == pytest.approx((load - joint.friction) / inertia, rel=1e-9)


@pytest.mark.parametrize("amplitude_rad", [0.01, 0.1])
def test_a_closed_loop_costs_four_times_friction_times_slide(
    two_leg: Robot, amplitude_rad: float
) -> None:
    """∮ τ dq = 4 τ_c (A - τ_c/k): sliding dissipates, elastic deflection does not."""
    joint = two_leg.joints[0]
    servo = limp(two_leg)
    phase = np.linspace(0.0, 4.0 * np.pi, 8001)
    path = amplitude_rad * np.sin(phase)
    q, v = np.zeros(6), np.zeros(6)
    work = np.zeros(len(path) - 1)
    before = 0.0
    for k, (a, b) in enumerate(itertools.pairwise(path)):
        q[0], v[0] = b, (b - a) / DT
        servo.step(q, v)
        work[k] = -0.5 * (before + servo.joint_torque[0]) * (b - a)
        before = servo.joint_torque[0]
    slide = amplitude_rad - joint.friction / joint.presliding_stiffness
    # The first turn starts at zero deflection; the second is a closed loop.
    assert work[4000:].sum() == pytest.approx(4.0 * joint.friction * slide, rel=1e-3)


@given(seed=seeds)
@settings(max_examples=30)
def test_friction_never_gives_energy(two_leg: Robot, seed: int) -> None:
    """On any path the gear's work is at least minus the stored energy."""
    servo = limp(two_leg)
    joint = two_leg.joints[0]
    rng = np.random.default_rng(seed)
    q, v = np.zeros(6), np.zeros(6)
    given_back = 0.0
    for step in rng.standard_normal(200) * 1e-3:
        before = servo.joint_torque[0]
        q[0] += step
        v[0] = step / DT
        servo.step(q, v)
        given_back += 0.5 * (before + servo.joint_torque[0]) * step
    # The trapezium counts a step that breaks away half-way as half a deflection.
    assert given_back <= 0.5 * joint.friction**2 / joint.presliding_stiffness


# -- two joints, one motor -----------------------------------------------------------


@given(seed=seeds)
def test_coupled_joints_share_one_motor(nao: Robot, seed: int) -> None:
    """Their torques add up to the motor's, less the gear friction."""
    servo, q, v = state(nao, seed)
    servo.step(q, v)
    left, right = nao.joint_index("LHipYawPitch"), nao.joint_index("RHipYawPitch")
    motor = nao.motor_names.index("LHipYawPitch")
    assert nao.servo_of_joint[right] == motor
    stuck = sum(servo.gear[j] * servo.presliding[j] for j in (left, right))
    total = servo.joint_torque[left] + servo.joint_torque[right] + stuck
    assert total == pytest.approx(servo.motor_torque[motor], abs=1e-9)
    assert abs(stuck) <= nao.joints[left].friction * (1.0 + 1e-12)  # one gear


def test_coupled_joints_are_held_together(nao: Robot) -> None:
    """An angle difference d gives a torque K d: 0.2° under 1 N·m."""
    servo = servo_of(nao, ServoCfg(friction_scale=0.0, encoder=False))
    left, right = nao.joint_index("LHipYawPitch"), nao.joint_index("RHipYawPitch")
    q, v = np.zeros(len(nao.joints)), np.zeros(len(nao.joints))
    q[left], q[right] = 0.5e-3, -0.5e-3
    servo.step(q, v)
    assert servo.motor_torque[nao.servo_of_joint[left]] == 0.0
    assert servo.joint_torque[left] == pytest.approx(-COUPLING_STIFFNESS * 1e-3)
    assert servo.joint_torque[right] == pytest.approx(COUPLING_STIFFNESS * 1e-3)
    assert np.rad2deg(1.0 / COUPLING_STIFFNESS) < 0.2


def test_three_joints_on_a_motor_are_refused(two_leg: Robot) -> None:
    names = ("left_hip", "left_knee", "left_ankle")
    three = dataclasses.replace(two_leg.motors[0], joints=names, ratios=(1.0,) * 3)
    joints = [
        dataclasses.replace(joint, motor="left_hip") if joint.name in names else joint
        for joint in two_leg.joints
    ]
    robot = dataclasses.replace(
        two_leg, joints=tuple(joints), motors=(three, *two_leg.motors[3:])
    )
    with pytest.raises(BadInput, match="left_hip drives 3 joints"):
        servo_of(robot)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"kind": "rope"}, "servo 'rope' is unknown; give one of torque, pybullet"),
        ({"friction_scale": -1.0}, "friction_scale = -1.0; give 0 to 1e"),
        ({"friction_scale": np.nan}, "friction_scale = nan"),
        ({"battery_volt": 0.0}, "battery_volt = 0.0 V; give a finite number above 0"),
        ({"battery_volt": np.nan}, "battery_volt = nan V"),
    ],
)
def test_an_invalid_servo_is_rejected(values: dict[str, float], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        ServoCfg(**values)  # type: ignore[arg-type]
