"""Leases of a robot: waiting advances slots; waiting inside a slot is an error."""

import pytest

from nao_testbed.controllers.arbitration.requests import NotGranted, Owner
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.experiments.shared_robot.behaviours import SlotsFailed
from tests.experiments.shared_robot.conftest import Couple


def test_lease_moves_a_joint_and_releases_it(couple: Couple) -> None:
    body = couple()
    with body.lease("Head", owner="look", wait_s=1.0) as lease:
        for _ in range(60):
            assert body.gate.submit(lease.token, "HeadYaw", 0.3) is None
            body.slot()
    yaw = body.sim.robot.joint_index("HeadYaw")
    assert body.sim.read().q[yaw] == pytest.approx(0.3, abs=0.05)  # rad, servo sags
    assert not body.lease("Head", owner="look").is_held


def test_waiting_takes_simulated_time(couple: Couple) -> None:
    body = couple()
    with (
        body.lease("HeadYaw", owner="first"),
        pytest.raises(NotGranted, match="timeout"),
        body.lease("HeadYaw", owner="second", wait_s=0.2),
    ):
        pass
    assert body.time_s == pytest.approx(0.2, abs=0.011)  # one slot


def test_behaviour_begins_a_lease_and_polls_it_each_slot(
    couple: Couple,
) -> None:
    body = couple()
    look = body.lease("HeadYaw", owner="look", wait_s=5.0)
    held: list[int] = []

    def behave(tick: int, seen: Observation) -> None:
        if tick == 0:
            look.begin()
        if look.token is not None:
            assert body.gate.submit(look.token, "HeadYaw", 0.1) is None
            held.append(tick)

    body.behaviours.add(Owner(name="look"), behave)
    with body.lease("HeadYaw", owner="first"):
        body.run(0.1)
    body.run(0.1)
    assert held == list(range(10, 20))


def test_behaviour_that_waits_inside_a_slot_fails_alone(couple: Couple) -> None:
    body = couple()

    def wait(tick: int, seen: Observation) -> None:
        with body.lease("HeadYaw", owner="late", wait_s=1.0):
            raise AssertionError("granted")

    body.behaviours.add(Owner(name="late"), wait)
    with body.lease("HeadYaw", owner="first") as first:
        with pytest.raises(SlotsFailed, match="call `begin` of its lease"):
            body.slot()
        body.slot()
        assert first.is_held
    assert body.lease("HeadYaw", owner="third").__enter__().is_held
