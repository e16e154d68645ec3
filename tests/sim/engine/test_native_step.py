"""MuJoCo's compiled ticks equal single ticks in Python."""

import signal
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nao_testbed.models import Robot
from nao_testbed.sim.body import TOUCH_DOWN_S, Body
from nao_testbed.sim.engine.interface import Engine
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg, Truth
from nao_testbed.sim.servo import ServoCfg

pytest.importorskip("mujoco")

UP = np.array([0.0, 0.0, 0.0, 1.0])
FORCE = np.array([15.0, -8.0, 4.0])
TICKS = 60
PUSHED = 20


def _bent(nao: Robot) -> Body:
    """Return a robot on a slope with moving joints."""
    world = WorldCfg(engine="mujoco", slope_deg=2.0)
    body = Body(nao, world, ServoCfg(), np.zeros(len(nao.joints)), "PoseInit")
    body.servo.target += 0.1
    np.clip(body.servo.target, nao.lower, nao.upper, out=body.servo.target)
    return body


def _push(engine: Engine) -> None:
    engine.push("torso", FORCE, engine.link_com("torso"))


def test_compiled_ticks_equal_python_ticks(nao: Robot) -> None:
    """Angles, velocities, torques, sums of squares, ring and loads, bit for bit."""
    compiled, written = _bent(nao), _bent(nao)
    assert compiled.run(PUSHED)
    _push(compiled.engine)
    assert compiled.run(TICKS - PUSHED)
    assert compiled.clock[0] == TICKS
    servo, engine, q, v = written.servo, written.engine, written.q, written.v
    for tick in range(TICKS):
        if tick == PUSHED:
            _push(engine)
        assert servo.step(q, v)
        written.last_second.push_row(
            tick * servo.dt, np.concatenate([q, v, servo.joint_torque])
        )
        engine.apply_torques(servo.joint_torque.tolist())
        engine.step()
        engine.read_joints(q, v)
    for one, other in zip(compiled.arrays(), written.arrays(), strict=True):
        assert_array_equal(one, other)
    ring, kept = compiled.last_second, written.last_second
    assert_array_equal(ring.newest(TICKS), kept.newest(TICKS))
    assert_array_equal(ring.times[: ring.n_pushed[0]], kept.times[: kept.n_pushed[0]])
    for link in (nao.force_sensors[0].link, "torso"):
        for of_one, of_other in zip(
            (*compiled.engine.link_pose(link), *compiled.engine.normal_load(link)),
            (*engine.link_pose(link), *engine.normal_load(link)),
            strict=True,
        ):
            assert_array_equal(of_one, of_other)


def _stood(nao: Robot, pieces: list[int]) -> Truth:
    """Return the truth after stepping by these numbers of ticks."""
    cfg = SimulationCfg(world=WorldCfg(engine="mujoco"), seed=3)
    sim = SimulatedRobot(nao, cfg, "PoseInit")
    for ticks in pieces:
        sim.step(ticks)
    truth = sim.truth()
    sim.close()
    return truth


def test_result_does_not_depend_on_ticks_per_call(nao: Robot) -> None:
    at_once = _stood(nao, [200])
    for pieces in ([1] * 200, [7] * 28 + [4], [3, 197]):
        truth = _stood(nao, pieces)
        assert truth.time_s == at_once.time_s
        for name in ("q", "v", "motor_torque", "temperature", "base_position"):
            assert_array_equal(getattr(truth, name), getattr(at_once, name))


def test_a_non_finite_state_stops_at_its_tick(nao: Robot) -> None:
    """The ring holds it; the engine is not stepped again."""
    body = _bent(nao)
    pushed = int(body.last_second.n_pushed[0])
    assert body.run(5)
    body.engine.push("torso", np.full(3, np.nan), np.zeros(3))
    assert not body.run(10)
    assert body.clock[0] == 6
    assert body.last_second.n_pushed[0] == pushed + 7
    assert np.isfinite(body.last_second.newest(2)[0]).all()
    assert not np.isfinite(body.last_second.newest(1)).all()
    assert "at 0.006 s" in str(body.divergence())
    assert not body.run(1)
    assert body.clock[0] == 6


def _step_forever(sim: SimulatedRobot) -> None:
    while True:
        sim.step(20)


def test_an_interrupt_keeps_clock_and_engine_in_step(nao: Robot) -> None:
    """The signal arrives while the compiled ticks run."""
    sim = SimulatedRobot(nao, SimulationCfg(world=WorldCfg(engine="mujoco")), "Stand")
    sim.step(20)
    # Python's default: a library that another test imports sets its own handler.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    signals = threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,))
    signals.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            _step_forever(sim)
    finally:
        signal.signal(signal.SIGINT, before)
    state = vars(sim.engine)["_d"]  # its clock includes the touch-down
    assert sim.time_s + TOUCH_DOWN_S == pytest.approx(state.time, abs=1e-9)
    times = sim.last_second.times
    place = int(sim.last_second.n_pushed[0]) % len(times)
    in_order = np.concatenate([times[place:], times[:place]])
    in_order = in_order[-min(len(times), int(sim.last_second.n_pushed[0])) :]
    assert_allclose(np.diff(in_order), sim.dt, atol=1e-9)
    sim.close()
