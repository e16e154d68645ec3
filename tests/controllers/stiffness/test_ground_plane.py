"""Vertical: gravity filter, sole plane, and selection between the two."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from nao_testbed.controllers import flag_names
from nao_testbed.controllers.stiffness import (
    GravityFilterCfg,
    GroundPlaneCfg,
    StiffnessFlag,
)
from nao_testbed.controllers.stiffness.ground_plane import (
    GravityFilter,
    VerticalSelector,
    VerticalSource,
    fit_sole_plane,
)
from nao_testbed.models import Robot
from tests.controllers.helpers import FloatArray, Observe, report_of, smart

G = 9.81
DT = 0.02  # s, the controller's cycle
UP = np.array((0.0, 0.0, 1.0))
STILL = np.zeros(3)
CFG = GroundPlaneCfg()
direction = st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(
    lambda v: np.linalg.norm(v) > 0.1
)


def angle(a: FloatArray, b: FloatArray) -> float:
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))


def tilted(roll_deg: float, pitch_deg: float = 0.0) -> np.ndarray:
    turn = Rotation.from_euler("xy", (roll_deg, pitch_deg), degrees=True)
    return np.asarray(turn.apply(UP))


@pytest.mark.requirement("ST-9")
@settings(deadline=None, max_examples=50)
@given(direction)
def test_vertical_at_rest_is_the_accelerometer_direction_at_once(
    vector: Sequence[float],
) -> None:
    up = np.array(vector) / np.linalg.norm(vector)
    estimate = GravityFilter(GravityFilterCfg())
    for k in range(5):
        np.testing.assert_allclose(estimate.step(k * DT, STILL, G * up), up, atol=1e-9)
    assert estimate.is_trusted


@pytest.mark.requirement("ST-9")
@settings(deadline=None, max_examples=30)
@given(direction, st.floats(0.2, 3.0))
def test_gyroscope_integrates_the_vertical_in_free_fall(
    axis: Sequence[float], rate: float
) -> None:
    """A robot rotating in free fall: the accelerometer reads zero."""
    omega = rate * np.array(axis) / np.linalg.norm(axis)
    cfg = GravityFilterCfg()
    estimate, dt = GravityFilter(cfg), 0.001
    up = estimate.step(0.0, omega, G * UP)
    for k in range(1, 501):
        up = estimate.step(k * dt, omega, np.zeros(3))
    base_to_world = Rotation.from_rotvec(omega * 0.5)  # ω is constant in both frames
    expected = base_to_world.inv().apply(UP)
    # First-order integration at 1 kHz: error below rate² dt t / 2.
    assert angle(up, expected) < 0.5 * rate**2 * dt * 0.5 + 1e-6


@pytest.mark.requirement("ST-9")
@settings(deadline=None, max_examples=30)
@given(direction, direction)
def test_accelerometer_corrects_with_its_time_constant(
    start: Sequence[float], goal: Sequence[float]
) -> None:
    """The error falls as exp(-t / T) once it is small."""
    u0, u1 = (np.array(v) / np.linalg.norm(v) for v in (start, goal))
    assume(0.05 < angle(u0, u1) < 2.5)
    cfg = GravityFilterCfg()
    estimate = GravityFilter(cfg)
    estimate.step(0.0, STILL, G * u0)
    errors = []
    for k in range(1, 400):
        errors.append(angle(estimate.step(k * DT, STILL, G * u1), u1))
    assert all(b < a + 1e-9 for a, b in pairwise(errors))
    late = [e for e in errors if 1e-6 < e < 0.05]
    ratio = np.exp(-DT / cfg.time_constant_s)
    np.testing.assert_allclose(
        np.array(late[1:]) / np.array(late[:-1]), ratio, rtol=0.01
    )


@pytest.mark.requirement("ST-9")
def test_push_does_not_change_the_vertical() -> None:
    estimate = GravityFilter(GravityFilterCfg())
    estimate.step(0.0, STILL, G * UP)
    up = UP
    for k in range(1, 10):
        up = estimate.step(k * DT, STILL, G * UP + (12.0, 0.0, 0.0))
    np.testing.assert_allclose(up, UP, atol=1e-12)
    assert estimate.is_trusted, "the push was short"


@pytest.mark.requirement("ST-9")
def test_gyro_bias_error_is_bounded_by_bias_times_time_constant() -> None:
    cfg = GravityFilterCfg()
    estimate, bias = GravityFilter(cfg), np.array((0.02, 0.0, 0.0))
    up = UP
    for k in range(500):
        up = estimate.step(k * DT, bias, G * UP)
    assert 0.0 < angle(up, UP) < 1.05 * 0.02 * cfg.time_constant_s


def test_dead_accelerometer_becomes_untrusted_after_the_timeout() -> None:
    cfg = GravityFilterCfg()
    estimate = GravityFilter(cfg)
    estimate.step(0.0, STILL, G * UP)
    seen = []
    for k in range(1, 100):
        estimate.step(k * DT, STILL, np.zeros(3))
        seen.append(estimate.is_trusted)
    assert seen[0]
    assert seen.index(False) * DT == pytest.approx(cfg.stale_after_s, abs=2 * DT)
    estimate.step(2.0, STILL, G * UP)
    assert estimate.is_trusted, "trusted again after recovery"


def test_accelerometer_dead_at_start_gives_imu_axis_and_no_trust() -> None:
    estimate = GravityFilter(GravityFilterCfg())
    np.testing.assert_array_equal(estimate.step(0.0, STILL, np.zeros(3)), UP)
    assert not estimate.is_trusted


@pytest.mark.parametrize("time_s", [-1.0, 10.0])
def test_gap_in_time_resets_the_filter(time_s: float) -> None:
    estimate = GravityFilter(GravityFilterCfg())
    estimate.step(0.0, STILL, G * UP)
    goal = tilted(30.0)
    np.testing.assert_allclose(estimate.step(time_s, STILL, G * goal), goal)


def test_filter_resets_for_opposite_directions() -> None:
    """Exactly opposite u and a cancel; the filter restarts instead."""
    estimate = GravityFilter(GravityFilterCfg(time_constant_s=DT / np.log(2.0)))
    estimate.step(0.0, STILL, G * UP)
    np.testing.assert_allclose(estimate.step(DT, STILL, -G * UP), -UP, atol=1e-12)


@pytest.mark.requirement("ST-7")
@settings(deadline=None, max_examples=50)
@given(direction)
def test_sole_plane_is_fitted_to_the_soles(normal: Sequence[float]) -> None:
    up = np.array(normal) / np.linalg.norm(normal)
    axes = np.linalg.svd(up[None])[2][1:]
    corners = np.array(((0.07, 0.05), (0.07, -0.05), (-0.03, 0.05), (-0.03, -0.05)))
    points = corners @ axes - 0.2 * up
    fitted = fit_sole_plane(points, STILL, CFG)
    assert fitted is not None
    np.testing.assert_allclose(fitted, up, atol=1e-9)
    above = -0.4 * up  # the body is on the other side: the normal points to it
    turned = fit_sole_plane(points, above, CFG)
    assert turned is not None
    np.testing.assert_allclose(turned, -up, atol=1e-9)


@pytest.mark.requirement("ST-7")
def test_points_on_one_edge_give_no_plane() -> None:
    """A robot that tips over its toes presses points on one line only."""
    front = np.array([(0.07, y, -0.3) for y in (0.08, 0.03, -0.03, -0.08)])
    assert fit_sole_plane(front, STILL, CFG) is None
    assert fit_sole_plane(front[:2], STILL, CFG) is None


@pytest.mark.requirement("ST-7")
def test_nonparallel_soles_give_no_plane() -> None:
    """Lying on the back: one foot flat, the other on its heel."""
    flat = np.array([(x, y, 0.0) for x in (0.0, 0.1) for y in (0.0, 0.05)])
    heel = flat @ Rotation.from_euler("y", 40, degrees=True).as_matrix()
    assert fit_sole_plane(np.vstack((flat, heel)), UP, CFG) is None
    assert fit_sole_plane(flat, UP, CFG) is not None


@pytest.mark.requirement("ST-7", "ST-9")
@pytest.mark.parametrize(
    ("accelerometer", "flag"),
    [
        (-G * UP, "IMU_DISAGREES"),
        (G * tilted(0.0, 90.0), "IMU_DISAGREES"),
        (G * tilted(20.0), "IMU_DISAGREES"),
        (STILL, "IMU_UNTRUSTED"),
        (50.0 * UP, "IMU_UNTRUSTED"),
    ],
    ids=["upside down", "swapped axes", "biased by 20°", "dead", "saturated"],
)
def test_faulty_imu_is_flagged_and_replaced_by_the_soles(
    nao: Robot, observe: Observe, accelerometer: FloatArray, flag: str
) -> None:
    healthy, doubtful = smart(nao), smart(nao)
    expected = healthy.step(observe(nao)).stiffness
    stiffness = doubtful.step(observe(nao, accelerometer=accelerometer)).stiffness
    report = report_of(doubtful)
    assert flag_names(report.flags) == (flag,)
    assert report.gravity_source is VerticalSource.KINEMATICS
    np.testing.assert_allclose(report.plane.up, UP, atol=1e-6)
    np.testing.assert_allclose(stiffness, expected, atol=1e-6)
    assert doubtful.flag_counts == {flag: 1}


@pytest.mark.requirement("ST-7")
@pytest.mark.parametrize("slope_deg", [2.0, 5.0, 10.0])
def test_imu_is_used_on_a_slope_and_the_difference_reported(
    nao: Robot, observe: Observe, slope_deg: float
) -> None:
    """Soles flat on a slope: their normal is not vertical, and this is no fault."""
    controller = smart(nao)
    up = tilted(0.0, slope_deg)
    controller.step(observe(nao, up=up))
    report = report_of(controller)
    assert report.gravity_source is VerticalSource.IMU
    assert not report.flags & StiffnessFlag.IMU_DISAGREES
    assert report.plane.difference_rad == pytest.approx(np.radians(slope_deg), abs=1e-4)
    np.testing.assert_allclose(report.plane.up, up, atol=1e-9)


@pytest.mark.requirement("ST-7")
def test_tipping_robot_keeps_the_imu_vertical(nao: Robot, observe: Observe) -> None:
    controller = smart(nao)
    up = tilted(0.0, -25.0)
    toes = ("LFsrF", "RFsrF")
    controller.step(observe(nao, up=up, pressed=toes))
    assert report_of(controller).gravity_source is VerticalSource.IMU
    assert report_of(controller).plane.difference_rad is None
    np.testing.assert_allclose(report_of(controller).plane.up, up, atol=1e-9)


@pytest.mark.requirement("ST-7")
def test_one_loaded_foot_is_enough_to_check_the_imu(
    nao: Robot, observe: Observe
) -> None:
    controller = smart(nao)
    controller.step(observe(nao, up=tilted(40.0), pressed=("LFsr",)))
    assert report_of(controller).gravity_source is VerticalSource.KINEMATICS


@pytest.mark.requirement("ST-7")
def test_lifted_robot_has_no_sole_plane(nao: Robot, observe: Observe) -> None:
    controller = smart(nao)
    up = tilted(70.0)
    controller.step(observe(nao, up=up, pressed=()))
    assert report_of(controller).plane.difference_rad is None
    np.testing.assert_allclose(report_of(controller).plane.up, up, atol=1e-9)


@pytest.mark.requirement("ST-7")
def test_imu_can_be_preferred_and_the_flag_remains(
    nao: Robot, observe: Observe
) -> None:
    controller = smart(nao, ground=GroundPlaneCfg(on_doubt="imu"))
    controller.step(observe(nao, up=tilted(40.0)))
    assert report_of(controller).gravity_source is VerticalSource.IMU
    assert "IMU_DISAGREES" in flag_names(report_of(controller).flags)


@pytest.mark.requirement("ST-7")
def test_imu_doubt_has_hysteresis() -> None:
    cfg = GroundPlaneCfg(doubt_rad=np.radians(10.0), doubt_ends=0.8)
    selector = VerticalSelector(cfg)
    seen = [
        selector.select(tilted(deg), True, UP).source is VerticalSource.KINEMATICS
        for deg in (9.0, 11.0, 9.0, 7.0, 9.0)
    ]
    assert seen == [False, True, True, False, False]
    selector.select(tilted(11.0), True, UP)
    selector.reset()
    assert selector.select(tilted(9.0), True, UP).source is VerticalSource.IMU
