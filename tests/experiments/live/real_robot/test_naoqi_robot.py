"""The robot interface over NAOqi on our endpoint, slot by slot."""

from collections import Counter
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.interface.robot_interface import Command, LedSetting
from nao_testbed.controllers.registry import make_controller
from nao_testbed.experiments.closed_loop.loop import Loop, PacedRobot, run_for
from nao_testbed.experiments.heat.experiment import HeatCfg, plan_trials
from nao_testbed.experiments.live.real_robot.naoqi_source import NaoqiSource
from nao_testbed.experiments.live.real_robot.supervisor import (
    Supervisor,
    SupervisorStop,
)
from nao_testbed.models import BadInput, load_robot
from nao_testbed.sim.naoqi import NaoqiRobot
from nao_testbed.sim.robot import SimulatedRobot

from .conftest import Endpoint

HOME_S = 1.1
"""Time from the last write until the robot is home."""


def shifted(robot: NaoqiRobot, by: float = 0.03) -> Command:
    target = robot.home_target + by
    stiffness = np.full(len(target), 0.6)
    return Command(
        target=np.clip(target, robot.robot.lower, robot.robot.upper),
        stiffness=stiffness,
    )


def test_period_makes_one_list_read_and_one_alias_write(endpoint: Endpoint) -> None:
    robot, connection = endpoint.connect()
    loop = Loop(robot, make_controller("minheat"), None)
    loop.cycle()
    connection.calls.clear()
    run_for(loop, 1.0)
    assert Counter(connection.calls) == {"getListData": 50, "setAlias": 50}
    assert robot.n_late == 0


def test_write_reaches_all_servos_in_one_slot_within_two(endpoint: Endpoint) -> None:
    """No skew, for set-points and stiffness."""
    robot, _ = endpoint.connect()
    robot.take_control()
    command = shifted(robot)
    assert command.target is not None
    legs = [robot.robot.joint_index(name) for name in robot.robot.leg_joints]
    before = endpoint.sim.read()
    robot.write(command)
    arrived: dict[str, int] = {}
    now = before
    for slot in (1, 2):
        endpoint.served.slot()
        now = endpoint.sim.read()
        moved = now.target[legs] != before.target[legs]
        softer = now.stiffness[legs] != before.stiffness[legs]
        for name, changed in (("target", moved), ("stiffness", softer)):
            assert changed.all() or not changed.any()
            if changed.all():
                arrived.setdefault(name, slot)
    assert arrived.keys() == {"target", "stiffness"}
    np.testing.assert_allclose(now.target[legs], command.target[legs], atol=1e-6)
    np.testing.assert_allclose(now.stiffness[legs], 0.6, atol=1e-6)


def test_observations_are_those_of_the_robot(endpoint: Endpoint) -> None:
    robot, _ = endpoint.connect()
    told, seen = robot.read(), endpoint.sim.read()
    for name in ("q", "target", "stiffness", "temperature", "fsr", "accelerometer"):
        here, there = getattr(told, name), getattr(seen, name)
        if name == "q":  # two joints share the key of their motor
            index = robot.robot.joint_index("RHipYawPitch")
            here, there = np.delete(here, index), np.delete(there, index)
        np.testing.assert_allclose(here, there, rtol=1e-6, atol=1e-6, err_msg=name)
    size = np.abs(seen.current)
    assert (np.abs(told.current) <= size + 1e-6).all()  # less if the sign is unsure
    strong = size > 0.05
    np.testing.assert_allclose(
        told.current[strong], seen.current[strong], rtol=1e-6, atol=1e-6
    )


def test_observations_age_while_the_robot_clock_stops(endpoint: Endpoint) -> None:
    robot, _ = endpoint.connect()
    now = [endpoint.served.time_s]
    robot._local_clock = lambda: now[0]
    endpoint.served.slot()
    robot.read()
    assert robot.age_s == 0.0
    now[0] += 0.15
    robot.read()
    assert robot.age_s == pytest.approx(0.15)
    endpoint.served.slot()
    robot.read()
    assert robot.age_s == 0.0


def follow(endpoint: Endpoint, seconds: float) -> Any:
    """Return times, set-points and stiffness of the servos in each slot."""
    rows = []
    for _ in range(round(seconds / 0.01)):
        endpoint.served.slot()
        seen = endpoint.sim.read()
        rows.append((seen.time_s, seen.target, seen.stiffness))
    return tuple(map(np.array, zip(*rows, strict=True)))


@pytest.mark.parametrize("ends", ["hangs", "is killed", "is killed in a call"])
def test_robot_returns_home_without_its_client(endpoint: Endpoint, ends: str) -> None:
    """It holds for 0.1 s, then returns on a straight line for 1 s.

    A call during disconnection may reach the DCM after the client has left.
    """
    robot, connection = endpoint.connect()
    robot.take_control()
    command = shifted(robot)
    assert command.target is not None
    robot.write(command)
    endpoint.run(0.05)
    if ends != "hangs":
        connection.client.leave()
    if ends == "is killed in a call":
        robot.write(command)
        endpoint.run(0.05)
    joint = robot.robot.joint_index("LAnklePitch")
    time_s, target, stiffness = follow(endpoint, 1.3)
    time_s = time_s - time_s[0]
    held = time_s < 0.03
    np.testing.assert_allclose(target[held, joint], command.target[joint], atol=1e-6)
    np.testing.assert_allclose(stiffness[held, joint], 0.6, atol=1e-6)
    middle = (time_s > 0.5) & (time_s < 0.6)
    assert np.all(np.abs(target[middle, joint] - robot.home_target[joint]) > 0.01)
    steps = np.abs(np.diff(target[:, joint]))
    assert steps.max() < 0.03 / 1.0 * 0.01 * 1.5 + 1e-6  # no jump
    np.testing.assert_allclose(target[-1], robot.home_target, atol=1e-6)
    np.testing.assert_allclose(stiffness[-1], robot.home_stiffness, atol=1e-6)


def test_returning_control_restores_the_robot(endpoint: Endpoint) -> None:
    robot, connection = endpoint.connect()
    motion = connection.service("ALMotion")
    motion.setStiffnesses("Body", 0.9)
    endpoint.run(0.1)
    before = endpoint.served.stiffness.user
    robot.take_control()
    assert not motion.getSmartStiffnessEnabled()
    robot.write(shifted(robot))
    endpoint.run(0.05)
    robot.return_control()
    endpoint.run(0.1)
    assert motion.getSmartStiffnessEnabled()
    np.testing.assert_allclose(endpoint.served.stiffness.user, before, atol=1e-6)
    np.testing.assert_allclose(endpoint.sim.read().target, robot.home_target, atol=1e-6)
    connection.calls.clear()
    robot.return_control()  # the second call does nothing
    assert connection.calls == []


def test_current_limit_bounds_the_stiffness(endpoint: Endpoint) -> None:
    robot, _ = endpoint.connect()
    n = len(robot.robot.joints)
    robot.write(Command(stiffness=np.ones(n), current_limit=np.full(n, 0.3)))
    endpoint.run(0.03)
    knee = robot.robot.joint_index("LKneePitch")
    motor = robot.robot.motors[robot.robot.servo_of_joint[knee]]
    most = robot.robot.effort_limit[knee] / motor.one_node.torque_constant
    assert endpoint.sim.read().stiffness[knee] == pytest.approx(0.3 / most, abs=1e-6)


def test_unsupported_commands_are_refused(endpoint: Endpoint) -> None:
    robot, connection = endpoint.connect()
    led = robot.robot.leds[0]
    setting = LedSetting(colours=np.zeros(led.n_channels))
    connection.calls.clear()
    with pytest.raises(BadInput, match="for LEDs"):
        robot.write(Command(leds={led.name: setting}))
    with pytest.raises(BadInput, match="set-point"):
        robot.write(Command(target=np.full(len(robot.robot.joints), 9.0)))
    assert connection.calls == []


def test_robot_interface_writes_only_with_valid_tokens(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A joint held by another owner is not written; the supervisor stops the run."""
    body = endpoint.served.body
    ledger, gate = body.ledger, body.gate
    ledger.add_owner(Owner(name="urgent", priority=9), ledger.tick)
    taken = ledger.request(Request(owner="urgent", resources=("HeadYaw",)), ledger.tick)
    assert taken.outcome is not None
    assert taken.outcome.token is not None
    put, written = type(gate._slot).put, set()

    def watched(slot: Any, holding: Any) -> Any:
        found = put(slot, holding)
        for line, token in found.items():
            assert ledger.authorise(token, line.name) is None
            written.add(line.name)
        return found

    monkeypatch.setattr(type(gate._slot), "put", watched)
    robot, _ = endpoint.connect()
    robot.take_control()
    supervisor = Supervisor(robot.robot)
    command = shifted(robot)

    def periods() -> None:
        for _ in range(50):
            robot.write(command)
            robot.step(20)
            supervisor.check(robot.read(), robot.written_target, robot.age_s)

    with pytest.raises(SupervisorStop, match="set-point of HeadYaw"):
        periods()
    assert "LKneePitch" in written
    assert "HeadYaw" not in written


def test_naoqi_source_has_no_goal() -> None:
    found = NaoqiSource(url="naoqi://10.0.0.2:9559")
    assert found.goal(load_robot()) is None


def heat_of_legs(sim: Any) -> float:
    robot = sim.robot
    motors = {robot.servo_of_joint[robot.joint_index(n)] for n in robot.leg_joints}
    return float(sim.heating.joule_energy[sorted(motors)].sum())


def heat_in_a_run(robot: PacedRobot, sim: Any, controller: str, minutes: float) -> Any:
    """Return the heat of the legs over a run of the controller."""
    before = heat_of_legs(sim)
    run_for(Loop(robot, make_controller(controller), None), 60.0 * minutes)
    return heat_of_legs(sim) - before


SETTING: Any = {"misalignment_deg": {"LAnklePitch": 2.0}, "seed": 0}


@pytest.mark.slow
@pytest.mark.requirement("JD-17")
@pytest.mark.parametrize("controller", ["smart", "minheat"])
def test_same_controller_runs_in_process_and_over_naoqi(controller: str) -> None:
    """Heat of the legs within 3 % at the same seed; only the source differs."""
    (trial,) = plan_trials(HeatCfg(controllers=("fixed",), preset=None, **SETTING))
    model = trial.load_robot()
    with closing(SimulatedRobot(model, trial.simulation, trial.posture)) as sim:
        goal = model.posture(trial.posture).angles
        run_for(Loop(sim, make_controller("fixed"), goal), 3.0)
        here = heat_in_a_run(sim, sim, controller, 0.2)
    endpoint = Endpoint(3.0, **SETTING)
    robot, _ = endpoint.connect()
    there = heat_in_a_run(robot, endpoint.sim, controller, 0.2)
    endpoint.served.close("done")
    assert there == pytest.approx(here, rel=0.03)
