"""The simulated robot: repeatable, restorable, with validated commands."""

import dataclasses
import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nao_testbed.controllers.interface.robot_interface import Command
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.body import SimulationDiverged
from nao_testbed.sim.engine.world import WorldCfg, ticks_of
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg, misalignment_of
from nao_testbed.sim.servo import ServoCfg
from nao_testbed.sim.thermal import HeatingCfg, make_heating
from tests.sim.conftest import Simulate

ROOT = Path(__file__).resolve().parents[2]


def everything(sim: SimulatedRobot) -> dict[str, FloatArray]:
    """Return all sensor readings and the truth of a robot."""
    seen, truth = sim.read(), sim.truth()
    values: dict[str, FloatArray] = {
        f"{type(part).__name__}.{field.name}": np.asarray(
            getattr(part, field.name), dtype=np.float64
        )
        for part in (seen, truth)
        for field in dataclasses.fields(part)
        if field.name != "contacts"
    }
    values["contacts"] = np.array(
        [[*c.position, *c.force, c.normal_force] for c in truth.contacts]
    )
    return values


def assert_same(a: dict[str, FloatArray], b: dict[str, FloatArray]) -> None:
    """Bit for bit."""
    for name, value in a.items():
        assert_array_equal(value, b[name], err_msg=name)


# -- same seed, same run -------------------------------------------------------------


def eventful_run(sim: SimulatedRobot) -> SimulatedRobot:
    """Move, loosen and push the robot for half a second."""
    robot = sim.robot
    sim.step(100)
    target = 0.8 * sim.read().target
    sim.write(Command(target=np.clip(target, robot.lower, robot.upper)))
    sim.step(133)
    sim.push(robot.base_link, np.array([4.0, 3.0, 0.0]))
    sim.write(Command(stiffness=np.full(len(robot.joints), 0.6)))
    sim.step(267)
    return sim


def fingerprint(sim: SimulatedRobot) -> str:
    parts = everything(eventful_run(sim))
    return hashlib.sha256(b"".join(v.tobytes() for v in parts.values())).hexdigest()


CFG = SimulationCfg(seed=7, misalignment_deg={"left_ankle": 1.5})


@pytest.mark.parametrize("kind", ["torque", "pybullet"])
def test_the_same_seed_gives_the_same_run(
    two_leg: Robot, simulate: Simulate, kind: str
) -> None:
    """Two fresh robots in one process, stepped in turn."""
    cfg = dataclasses.replace(CFG, servo=ServoCfg(kind=kind))
    first, second = (simulate(two_leg, cfg, "Stand") for _ in range(2))
    assert_same(everything(eventful_run(first)), everything(eventful_run(second)))
    first.step(100)
    second.step(37)
    second.step(63)
    assert_same(everything(first), everything(second))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_run_in_another_process(
    nao: Robot, simulate: Simulate
) -> None:
    script = (
        "from nao_testbed.models import load_robot, default_robot_folder\n"
        "from nao_testbed.sim.robot import SimulatedRobot\n"
        "from nao_testbed.sim.robot import SimulationCfg\n"
        "from tests.sim.test_simulated_robot import fingerprint\n"
        "robot = load_robot(default_robot_folder())\n"
        "cfg = SimulationCfg(seed=5, misalignment_deg={'LAnklePitch': 1.0})\n"
        "print(fingerprint(SimulatedRobot(robot, cfg, 'PoseInit')))\n"
    )
    child = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    cfg = SimulationCfg(seed=5, misalignment_deg={"LAnklePitch": 1.0})
    here = SimulatedRobot(nao, cfg, "PoseInit")
    assert child.stdout.split()[-1] == fingerprint(here)
    here.close()


def test_another_seed_changes_readings_but_not_the_state(
    two_leg: Robot, simulate: Simulate
) -> None:
    """Noise is in the sensors only: without feedback the truth is equal."""
    one, other = (
        simulate(two_leg, SimulationCfg(seed=seed), "Stand") for seed in (1, 2)
    )
    one.step(300)
    other.step(300)
    assert_array_equal(one.truth().q, other.truth().q)
    assert (one.read().accelerometer != other.read().accelerometer).all()
    assert (one.read().current != other.read().current).all()


# -- snapshots -----------------------------------------------------------------------


@pytest.mark.parametrize(  # within a heating period, too
    ("kind", "settled"), [("torque", 200), ("torque", 207), ("pybullet", 207)]
)
def test_a_restored_run_continues_bit_for_bit(
    nao: Robot, simulate: Simulate, settled: int, kind: str
) -> None:
    """Sensor noise, heat and protection included, after any number of steps."""
    cfg = SimulationCfg(
        misalignment_deg={"LAnklePitch": 2.0},
        protection="document",
        servo=ServoCfg(kind=kind),
    )
    sim = simulate(nao, cfg, "PoseInit")
    sim.step(settled)
    kept = sim.snapshot()
    course = (0, 13, 150)  # at once, after the first readings, later

    def go_on() -> list[dict[str, FloatArray]]:
        seen, done = [], 0
        for ticks in course:
            sim.step(ticks - done)
            seen.append(everything(sim))
            done = ticks
        return seen

    expected = go_on()
    sim.heating.reset(np.full(len(nao.motors), 95.0))
    sim.step(1100)  # too hot: shut down, falls
    assert sim.read().stiffness.max() == 0.0
    for _ in range(2):
        sim.restore(kept)
        for then, now in zip(expected, go_on(), strict=True):
            assert_same(then, now)
    sim.write(Command(stiffness=np.ones(len(nao.joints))))
    assert sim.read().stiffness.min() == 1.0  # the shut-down is undone, too
    sim.forget(kept)


def test_a_snapshot_does_not_change_what_follows(
    two_leg: Robot, simulate: Simulate
) -> None:
    watched, left_alone = (simulate(two_leg, CFG, "Stand") for _ in range(2))
    for _ in range(10):
        watched.step(31)
        watched.forget(watched.snapshot())
    left_alone.step(310)
    assert_same(everything(watched), everything(left_alone))


# -- commands ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def walker(two_leg: Robot, simulate: Simulate) -> SimulatedRobot:
    return simulate(two_leg, SimulationCfg(), "Stand")


@pytest.mark.requirement("ST-3", "ST-22")
@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("stiffness", np.nan, "stiffness of left_ankle is nan; accepted: 0 to 1."),
        ("stiffness", 1.001, "stiffness of left_ankle is 1.001; accepted: 0 to 1."),
        ("stiffness", -0.2, "stiffness of left_ankle is -0.2; accepted: 0 to 1."),
        ("target", np.nan, "set-point of left_ankle is nan rad; accepted: -1 to 0.8"),
        ("target", np.inf, "set-point of left_ankle is inf rad; accepted: -1 to 0.8"),
        ("target", 0.81, "set-point of left_ankle is 0.81 rad; accepted: -1 to 0.8"),
    ],
)
def test_a_command_out_of_range_names_joint_and_range(
    walker: SimulatedRobot, field: str, value: float, said: str
) -> None:
    before = walker.read()
    values = np.array(getattr(before, field))
    values[walker.robot.joint_index("left_ankle")] = value
    with pytest.raises(BadInput) as caught:
        walker.write(
            Command(target=values) if field == "target" else Command(stiffness=values)
        )
    assert said in str(caught.value)
    assert_array_equal(getattr(walker.read(), field), getattr(before, field))


@pytest.mark.requirement("ST-22")
def test_a_bad_command_is_rejected_completely(walker: SimulatedRobot) -> None:
    before = walker.read()
    with pytest.raises(BadInput, match="stiffness of left_hip is 2"):
        walker.write(Command(target=0.5 * before.target, stiffness=np.full(6, 2.0)))
    assert_array_equal(walker.read().target, before.target)


@pytest.mark.parametrize("shape", [(5,), (7,), (6, 1), ()])
def test_a_command_of_another_shape_is_refused(
    walker: SimulatedRobot, shape: tuple[int, ...]
) -> None:
    with pytest.raises(BadInput, match=r"give \(6,\), one per joint"):
        walker.write(Command(stiffness=np.zeros(shape)))
    with pytest.raises(BadInput, match=r"give \(6,\), one per joint"):
        walker.write(Command(target=np.zeros(shape)))


@pytest.mark.requirement("ST-22")
def test_written_commands_are_read_back(walker: SimulatedRobot) -> None:
    kept = walker.read()
    stiffness = np.linspace(0.1, 1.0, 6)
    walker.write(Command(stiffness=stiffness))
    walker.write(Command(target=0.9 * kept.target))
    seen = walker.read()
    assert_array_equal(seen.stiffness, stiffness)
    assert_array_equal(seen.target, 0.9 * kept.target)
    seen.stiffness[:] = 5.0  # a copy
    assert_array_equal(walker.read().stiffness, stiffness)
    walker.write(Command(target=kept.target, stiffness=np.ones(6)))


@pytest.mark.requirement("ST-22")
def test_joints_on_one_motor_read_back_the_same_command(
    nao: Robot, simulate: Simulate
) -> None:
    """The left hip yaw-pitch leads; the command of the right one has no effect."""
    sim = simulate(nao, SimulationCfg(), "PoseInit")
    left, right = nao.joint_index("LHipYawPitch"), nao.joint_index("RHipYawPitch")
    target, stiffness = sim.read().target, np.ones(len(nao.joints))
    target[left], target[right] = -0.1, -0.2
    stiffness[left], stiffness[right] = 0.6, 0.3
    sim.write(Command(target=target, stiffness=stiffness))
    seen = sim.read()
    assert_array_equal(seen.target[[left, right]], -0.1)
    assert_array_equal(seen.stiffness[[left, right]], 0.6)
    others = np.delete(np.arange(len(nao.joints)), right)
    assert_array_equal(seen.target[others], target[others])


@pytest.mark.requirement("ST-3")
@given(stiffness=st.lists(st.floats(0.0, 1.0), min_size=6, max_size=6))
@settings(max_examples=15)
def test_stiffness_scales_the_torque_limit(
    walker: SimulatedRobot, stiffness: list[float]
) -> None:
    walker.write(Command(stiffness=np.array(stiffness)))
    for _ in range(5):
        walker.step(1)
        limit = np.array(stiffness) * walker.robot.effort_limit
        assert (np.abs(walker.motor_torque) <= limit + 1e-12).all()


# -- configuration -------------------------------------------------------------------


@pytest.mark.requirement("ST-25")
@pytest.mark.parametrize("degrees", [np.nan, 500.0, -103.3, np.inf])
def test_a_misalignment_beyond_the_range_is_refused(
    two_leg: Robot, degrees: float
) -> None:
    with pytest.raises(BadInput) as caught:
        misalignment_of(two_leg, {"left_ankle": degrees})
    for part in (f"left_ankle is {degrees}", "-57.3 to 45.8", "±103.1"):
        assert part in str(caught.value)


def test_a_misalignment_is_put_on_its_joint(two_leg: Robot) -> None:
    errors = misalignment_of(two_leg, {"left_ankle": 2.0, "right_hip": -1.0})
    assert_allclose(np.rad2deg(errors), [0.0, 0.0, 2.0, -1.0, 0.0, 0.0])
    with pytest.raises(UnknownName, match="Did you mean 'left_knee'"):
        misalignment_of(two_leg, {"left_kne": 1.0})


def test_an_unknown_posture_is_rejected(two_leg: Robot) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'Stand'"):
        SimulatedRobot(two_leg, SimulationCfg(), "Stnd")


@pytest.mark.parametrize("degc", [np.nan, -21.0, 151.0])
def test_an_invalid_start_temperature_is_rejected(two_leg: Robot, degc: float) -> None:
    cfg = SimulationCfg(start_degc={"left_knee": degc})
    with pytest.raises(BadInput, match=r"left_knee is .* °C; give one in \[-20, 150\]"):
        SimulatedRobot(two_leg, cfg, "Stand")


def test_a_step_that_divides_no_period_is_refused(two_leg: Robot) -> None:
    cfg = SimulationCfg(world=WorldCfg(physics_dt=3e-3))
    with pytest.raises(
        BadInput, match=r"heating period = 0.02 s .* choose 0.018 s or 0.021 s"
    ):
        SimulatedRobot(two_leg, cfg, "Stand")


@given(ticks=st.integers(1, 10**6), dt=st.sampled_from([1e-4, 5e-4, 1e-3, 2e-3, 1e-2]))
def test_whole_multiples_are_counted_in_ticks(ticks: int, dt: float) -> None:
    assert ticks_of("period", ticks * dt, dt) == ticks


@pytest.mark.parametrize("period", [0.0, -0.01, np.nan, np.inf, 4e-4, 1.5e-3, 0.0125])
def test_other_periods_are_refused(period: float) -> None:
    with pytest.raises(BadInput, match=f"cycle (is|=) {period:g}"):
        ticks_of("cycle", period, 1e-3)


# -- not-a-number values -------------------------------------------------------------


@pytest.mark.parametrize("kind", ["torque", "pybullet"])
def test_a_nan_stops_the_run_and_leaves_the_state_readable(
    two_leg: Robot, simulate: Simulate, tmp_path: Path, kind: str
) -> None:
    sim = simulate(two_leg, SimulationCfg(servo=ServoCfg(kind=kind)), "Stand")
    sim.step(1200)
    sim._servo.target[two_leg.joint_index("right_knee")] = np.nan
    with pytest.raises(SimulationDiverged, match=r"at 1\.20. s .*right_knee.*finite"):
        sim.step(20)
    assert sim.time_s == pytest.approx(1.2, abs=0.01)
    assert sim.truth().time_s == sim.time_s
    import pandas as pd

    rows = pd.read_parquet(sim.last_second.save(tmp_path))
    assert len(rows) == 1000
    assert rows["time_s"].is_monotonic_increasing
    assert np.isfinite(rows.iloc[:-10].to_numpy()).all()
    assert any("right_knee" in name for name in rows.columns[rows.iloc[-1].isna()])
    if kind == "torque":  # stopped before the engine saw it
        assert np.isfinite(sim.truth().q).all()


def test_divergence_is_detected(two_leg: Robot, simulate: Simulate) -> None:
    sim = simulate(two_leg, SimulationCfg(), "Stand")
    sim.step(10)
    sim.push("trunk", np.array([np.nan, 0.0, 0.0]))
    with pytest.raises(SimulationDiverged, match="is not finite"):
        sim.step(5)


# -- heat and clock ------------------------------------------------------------------


def test_heat_alone_keeps_the_clock_and_the_body(
    nao: Robot, simulate: Simulate
) -> None:
    """`advance_heat` equals the heating model's step and changes nothing else."""
    sim = simulate(nao, SimulationCfg(), "PoseInit")
    sim.step(400)
    before = sim.truth()
    square = np.linspace(0.0, 4.0, len(nao.motors))
    reference = make_heating(nao, HeatingCfg())
    reference.reset(before.temperature)
    reference.advance(square, 61.0)
    sim.advance_heat(square, 61.0)
    assert sim.time_s == pytest.approx(61.4)
    assert_allclose(sim.heating.temperature, reference.temperature, rtol=1e-12)
    assert_array_equal(sim.truth().q, before.q)
    assert_array_equal(sim.read().temperature, np.rint(reference.temperature))
    with pytest.raises(BadInput, match="not a multiple"):
        sim.advance_heat(square, 0.03)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["torque", "pybullet"])
@pytest.mark.parametrize("ticks", [400, 410])
def test_fast_forward_conserves_heat(
    nao: Robot, simulate: Simulate, ticks: int, kind: str
) -> None:
    """Physics, a jump, physics: equal to the sum of squares of all ticks."""
    cfg = SimulationCfg(servo=ServoCfg(kind=kind), misalignment_deg={"LKneePitch": 3.0})
    sim = simulate(nao, cfg, "PoseInit")
    reference = make_heating(nao, HeatingCfg())
    reference.reset(sim.truth().temperature)

    def step(count: int) -> None:
        for _ in range(count):
            sim.step(1)
            reference.advance(sim.motor_torque**2, sim.dt)

    step(ticks)
    square = np.full(len(nao.motors), 1.0)
    sim.advance_heat(square, 10.0)
    reference.advance(square, 10.0)
    step(420 - ticks + 400)
    assert sim.tick % 20 == 0
    assert_allclose(sim.heating.temperature, reference.temperature, atol=1e-5)


@pytest.mark.requirement("ST-2")
def test_a_tick_is_a_millisecond_and_time_only_grows(
    two_leg: Robot, simulate: Simulate
) -> None:
    sim = simulate(two_leg, SimulationCfg(), "Stand")
    assert sim.time_s == 0.0
    for ticks in (1, 20, 379):
        sim.step(ticks)
    assert sim.tick == 400
    assert sim.read().time_s == sim.truth().time_s == pytest.approx(0.4)


def test_closing_twice_is_allowed(two_leg: Robot) -> None:
    sim = SimulatedRobot(two_leg, SimulationCfg(), "Stand")
    sim.close()
    sim.close()
