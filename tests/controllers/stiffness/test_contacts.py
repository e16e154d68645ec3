"""Contact candidates, the posture filter, and the worked postures of ES2659053."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from nao_testbed.controllers import SmartStiffness, StiffnessReport, flag_names
from nao_testbed.controllers.stiffness import (
    ContactCfg,
    Dynamics,
    PostureCfg,
    SmartStiffnessCfg,
)
from nao_testbed.controllers.stiffness.contacts import (
    ContactCriterion,
    ContactDetector,
    PostureMatcher,
    heights_above_lowest,
)
from nao_testbed.models import Robot, default_robot_folder, load_robot
from tests.controllers.helpers import FloatArray, Observe, Points, report_of, smart

UP = np.array((0.0, 0.0, 1.0))
FEET = tuple(
    f"{side}Foot{place}" for side in "LR" for place in ("FL", "FR", "RL", "RR")
)


def resting_ups(robot: Robot, posture: str) -> list[np.ndarray]:
    """Return the verticals in which the robot can rest on its contact candidates.

    A rigid body rests on a facet of its convex hull that has the centre of mass above
    it; geometry alone, by SciPy's hull.
    """
    dynamics = Dynamics(robot, robot.contact_points)
    dynamics.update(robot.posture(posture).angles)
    points, com = dynamics.point_positions, dynamics.com
    ups = []
    hull = ConvexHull(points)
    for equation, corners in zip(hull.equations, hull.simplices, strict=True):
        up = -equation[:3]
        across = np.linalg.svd(up[None])[2][1:]
        A = np.vstack((np.ones(3), across @ (points[corners] - com).T))
        if np.linalg.det(A) and np.linalg.solve(A, (1.0, 0.0, 0.0)).min() >= 0.0:
            ups.append(up)
    return ups


def resting_up(robot: Robot, posture: str, roughly: Sequence[float]) -> np.ndarray:
    return max(resting_ups(robot, posture), key=lambda up: up @ np.array(roughly))


def detect(
    robot: Robot,
    cfg: ContactCfg,
    fsr: FloatArray,
    posture: str = "PoseInit",
    up: FloatArray = UP,
) -> set[str]:
    dynamics = Dynamics(robot, robot.contact_points)
    dynamics.update(robot.posture(posture).angles)
    touching = ContactDetector(robot, cfg).detect(dynamics.point_positions, up, fsr)
    return {p.name for p, t in zip(robot.contact_points, touching, strict=True) if t}


def fsr_of(robot: Robot, **newton: float) -> np.ndarray:
    return np.array([newton.get(sensor.name, 0.0) for sensor in robot.force_sensors])


ALL_PRESSED = np.full(8, 6.0)
NONE_PRESSED = np.zeros(8)


@pytest.mark.requirement("ST-11")
@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(*[st.floats(-1.0, 1.0)] * 3), min_size=1, max_size=20),
    st.floats(-5.0, 5.0),
)
def test_heights_start_at_zero_and_ignore_the_origin(
    points: Points, lift: float
) -> None:
    positions = np.array(points)
    height = heights_above_lowest(positions, UP)
    assert height.min() == 0.0
    np.testing.assert_allclose(
        heights_above_lowest(positions + lift * UP, UP), height, atol=1e-12
    )


@pytest.mark.requirement("ST-11")
def test_robot_has_the_contact_candidates_of_es2659053(nao: Robot) -> None:
    parts = {point.effector for point in nao.contact_points}
    named = "LFoot RFoot LButtock RButtock Back Head LHand RHand LForeArm RForeArm"
    assert set(f"{named} LElbow RElbow".split()) <= parts


@pytest.mark.requirement("ST-11")
@pytest.mark.parametrize(
    ("criterion", "standing", "lifted"),
    [
        ("distance", set(FEET), set(FEET)),
        ("sensor", set(FEET), set()),
        ("both", set(FEET), set()),
        ("either", set(FEET), set(FEET)),
        ("sensor-first", set(FEET), set()),
    ],
)
def test_criteria_distinguish_standing_from_lifted(
    nao: Robot, criterion: ContactCriterion, standing: set[str], lifted: set[str]
) -> None:
    """A lifted robot has a lowest point too; only sensors detect that it is lifted."""
    cfg = ContactCfg(criterion=criterion)
    assert detect(nao, cfg, ALL_PRESSED) == standing
    assert detect(nao, cfg, NONE_PRESSED) == lifted


@pytest.mark.requirement("ST-11")
@pytest.mark.parametrize(
    ("criterion", "sitting"),
    [
        ("distance", {"buttocks", "feet"}),
        ("sensor", set()),
        ("both", {"buttocks"}),
        ("either", {"buttocks", "feet"}),
        ("sensor-first", {"buttocks"}),
    ],
)
def test_criteria_for_points_without_a_sensor(
    nao: Robot, criterion: ContactCriterion, sitting: set[str]
) -> None:
    """Sitting with unloaded feet: buttocks have no sensor, foot sensors read zero."""
    up = resting_up(nao, "Sit", (0.28, 0.0, 0.96))
    names = detect(nao, ContactCfg(criterion=criterion), NONE_PRESSED, "Sit", up)
    found = {"buttocks" for name in names if "Buttock" in name}
    found |= {"feet" for name in names if "Foot" in name}
    assert found == sitting


@pytest.mark.requirement("ST-11")
def test_threshold_bounds_the_height_above_the_lowest_point(nao: Robot) -> None:
    """On a slope of 3° the rear sensors, 100 mm behind, are 5.2 mm below the front."""
    up = np.array((np.sin(np.radians(3.0)), 0.0, np.cos(np.radians(3.0))))
    near = detect(
        nao, ContactCfg(criterion="distance", threshold_m=0.004), NONE_PRESSED
    )
    assert near == set(FEET), "level: all in one plane"
    cfg = ContactCfg(criterion="distance", threshold_m=0.004)
    assert detect(nao, cfg, NONE_PRESSED, up=up) == {n for n in FEET if n[-2] == "R"}
    cfg = ContactCfg(criterion="distance", threshold_m=0.006)
    assert detect(nao, cfg, NONE_PRESSED, up=up) == set(FEET)


@pytest.mark.requirement("ST-11")
def test_pressed_foot_counts_all_its_points_or_only_pressed_ones(
    nao: Robot,
) -> None:
    fsr = fsr_of(nao, LFsrFL=9.0, LFsrRR=9.0)
    whole = detect(nao, ContactCfg(criterion="sensor"), fsr)
    assert whole == {name for name in FEET if name[0] == "L"}
    points = detect(nao, ContactCfg(criterion="sensor", sensor_scope="point"), fsr)
    assert points == {"LFootFL", "LFootRR"}


@pytest.mark.requirement("ST-11")
def test_lifted_toes_are_not_contacts_when_the_heel_is_pressed(nao: Robot) -> None:
    up = np.array((np.sin(0.7), 0.0, np.cos(0.7)))  # leaning back on the heels
    fsr = fsr_of(nao, LFsrRL=9.0, LFsrRR=9.0, RFsrRL=9.0, RFsrRR=9.0)
    touching = detect(nao, ContactCfg(), fsr, up=up)
    assert {name for name in touching if "Foot" in name} == {
        name for name in FEET if name[-2] == "R"
    }


@pytest.mark.requirement("ST-11")
def test_sensor_states_have_hysteresis(nao: Robot) -> None:
    dynamics = Dynamics(nao, nao.contact_points)
    dynamics.update(nao.posture("PoseInit").angles)
    cfg = ContactCfg(criterion="sensor", on_newton=1.5, off_newton=0.8)
    detector = ContactDetector(nao, cfg)
    seen = [
        detector.detect(dynamics.point_positions, UP, fsr_of(nao, LFsrFL=f)).any()
        for f in (1.4, 1.6, 1.0, 0.7, 1.0)
    ]
    assert seen == [False, True, True, False, False]
    detector.detect(dynamics.point_positions, UP, fsr_of(nao, LFsrFL=2.0))
    detector.reset()
    weak = detector.detect(dynamics.point_positions, UP, fsr_of(nao, LFsrFL=1.0))
    assert not weak.any()


@pytest.mark.requirement("ST-12")
@pytest.mark.parametrize("name", ["PoseInit", "Crouch", "Sit", "LyingBack", "Gorilla"])
def test_typical_posture_matches_itself(nao: Robot, name: str) -> None:
    matcher = PostureMatcher(nao, PostureCfg())
    rng = np.random.default_rng(1)
    q = nao.posture(name).angles + rng.normal(scale=0.02, size=len(nao.joints))
    assert matcher.closest(q) is nao.posture(name)


@pytest.mark.requirement("ST-12")
def test_no_posture_matches_beyond_the_threshold(nao: Robot) -> None:
    q = 0.5 * (nao.lower + nao.upper)
    assert PostureMatcher(nao, PostureCfg()).closest(q) is None
    assert PostureMatcher(nao, PostureCfg(threshold_rad=10.0)).closest(q) is not None
    here = nao.posture("PoseInit").angles
    assert (
        PostureMatcher(nao, PostureCfg(threshold_rad=0.0)).closest(here + 0.1) is None
    )


@functools.cache
def whole_nao() -> Robot:
    """Return the NAO, for tests with drawn examples."""
    return load_robot(default_robot_folder())


@pytest.mark.requirement("ST-12")
@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_closest_posture_has_the_least_mean_square_difference(seed: int) -> None:
    nao = whole_nao()
    rng = np.random.default_rng(seed)
    names = [p.name for p in nao.postures.values() if p.effectors]
    base = nao.posture(names[rng.integers(len(names))]).angles
    q = base + rng.normal(scale=0.2, size=len(base))
    counts = [not n.endswith(("Hand", "WristYaw")) for n in nao.joint_names]
    distance = {
        n: np.sqrt(np.mean((nao.posture(n).angles - q)[counts] ** 2)) for n in names
    }
    best = min(distance, key=distance.__getitem__)
    found = PostureMatcher(nao, PostureCfg()).closest(q)
    assert found == (nao.posture(best) if distance[best] <= 0.3 else None)


def balance(
    nao: Robot,
    observe: Observe,
    posture: str,
    roughly: Sequence[float],
    pressed: Sequence[str] | None,
    **cfg: Any,
) -> StiffnessReport:
    controller = smart(nao, **cfg)
    up = resting_up(nao, posture, roughly)
    controller.step(observe(nao, posture, up=up, pressed=pressed))
    return report_of(controller)


@pytest.mark.requirement("ST-13", "ST-12", "ST-11")
@pytest.mark.parametrize(
    ("posture", "roughly", "effectors"),
    [
        ("Sit", (0.28, 0.0, 0.96), {"LFoot", "RFoot", "LButtock", "RButtock"}),
        ("PoseInit", (0.0, 0.0, 1.0), {"LFoot", "RFoot"}),
        ("StandInit", (0.0, 0.0, 1.0), {"LFoot", "RFoot"}),
        ("Gorilla", (-0.95, 0.0, -0.3), {"LFoot", "RFoot", "LElbow", "RElbow"}),
    ],
)
def test_worked_postures_have_the_effectors_of_es2659053(
    nao: Robot,
    observe: Observe,
    posture: str,
    roughly: Sequence[float],
    effectors: set[str],
) -> None:
    report = balance(nao, observe, posture, roughly, ("LFsr", "RFsr"))
    part = {point.name: point.effector for point in nao.contact_points}
    assert report.posture == posture
    assert {part[name] for name in report.contact_names} == effectors
    assert set(FEET) <= set(report.contact_names), "the four sensors of each foot"
    assert report.flags == 0
    weight = nao.total_mass * 9.81
    assert report.contact_forces.sum() == pytest.approx(weight, rel=1e-3)


@pytest.mark.requirement("ST-13")
def test_sitting_robot_rests_mostly_on_the_buttocks(
    nao: Robot, observe: Observe
) -> None:
    report = balance(nao, observe, "Sit", (0.28, 0.0, 0.96), ("LFsr", "RFsr"))
    force = dict(zip(report.contact_names, report.contact_forces, strict=True))
    on_buttocks = sum(f for name, f in force.items() if "Buttock" in name)
    assert on_buttocks > 0.7 * report.contact_forces.sum()


@pytest.mark.requirement("ST-12")
def test_contacts_are_limited_to_the_posture_effectors(
    nao: Robot, observe: Observe
) -> None:
    """In the gorilla posture the wrists are near the ground too, but are not listed."""
    wide = ContactCfg(threshold_m=0.03)
    pose = ("Gorilla", (-0.95, 0.0, -0.3), ("LFsr", "RFsr"))
    with_list = balance(nao, observe, *pose, contacts=wide)
    without = balance(
        nao, observe, *pose, contacts=wide, postures=PostureCfg(threshold_rad=0)
    )
    part = {point.name: point.effector for point in nao.contact_points}
    removed = set(without.contact_names) - set(with_list.contact_names)
    assert without.posture is None
    assert removed, "the wider threshold finds contacts that are not listed"
    assert not {part[name] for name in removed} & set(nao.posture("Gorilla").effectors)


@pytest.mark.requirement("ST-12", "ST-15")
def test_fallen_robot_in_listed_posture_keeps_contacts(
    nao: Robot, observe: Observe
) -> None:
    """Lying on its back with the joints of PoseInit, which lists only the feet."""
    report = balance(nao, observe, "PoseInit", (1.0, 0.0, 0.0), ())
    assert report.posture == "PoseInit"
    assert flag_names(report.flags) == ("POSTURE_CONTRADICTED",)
    assert "HeadBack" in report.contact_names
    assert report.contact_forces.sum() == pytest.approx(nao.total_mass * 9.81, rel=1e-3)


@pytest.mark.requirement("ST-15", "ST-11")
def test_tilted_vertical_keeps_elbow_contacts(nao: Robot, observe: Observe) -> None:
    """A 2° error lifts the elbows off the virtual plane: the contacts are widened."""
    up = resting_up(nao, "Gorilla", (-0.95, 0.0, -0.3))
    up = Rotation.from_euler("y", 2.5, degrees=True).apply(up)
    reports = []
    for cfg in (ContactCfg(), ContactCfg(widest_m=0.0)):
        controller = SmartStiffness(SmartStiffnessCfg(contacts=cfg))
        controller.reset(nao)
        controller.step(observe(nao, "Gorilla", up=up))
        reports.append(report_of(controller))
    widened, narrow = reports
    assert flag_names(narrow.flags)[0] == "COM_OUTSIDE_SUPPORT"
    assert set(narrow.contact_names) == set(FEET)
    assert flag_names(widened.flags) == ("CONTACTS_WIDENED",)
    assert set(widened.contact_names) - set(FEET) == {"LElbowOut", "RElbowOut"}


@pytest.mark.requirement("ST-15", "ST-11")
def test_widening_does_not_add_a_foot_with_unloaded_sensors(
    nao: Robot, observe: Observe
) -> None:
    """On one foot, centre of mass beside it: heels are not contacts."""
    controller = SmartStiffness()
    controller.reset(nao)
    controller.step(observe(nao, pressed=("LFsr",)))
    report = report_of(controller)
    assert flag_names(report.flags) == ("COM_OUTSIDE_SUPPORT",)
    assert {name[:5] for name in report.contact_names} == {"LFoot"}


@pytest.mark.requirement("ST-26", "ST-11")
def test_two_leg_robot_stands_on_its_own_soles(
    two_leg: Robot, observe: Observe
) -> None:
    controller = SmartStiffness()
    controller.reset(two_leg)
    controller.step(observe(two_leg, "Stand"))
    part = {point.name: point.effector for point in two_leg.contact_points}
    report = report_of(controller)
    assert {part[name] for name in report.contact_names} == set(two_leg.feet)
    assert report.flags == 0
