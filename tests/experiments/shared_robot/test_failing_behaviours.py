"""A failing behaviour is removed; the others and the robot's protection continue."""

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.events import (
    Crashed,
    Event,
    Executed,
    MadeSafe,
    Ticked,
)
from nao_testbed.controllers.arbitration.requests import Owner
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.experiments.shared_robot.behaviours import MAX_KEPT, SlotsFailed
from nao_testbed.experiments.shared_robot.robot_with_ledger import RobotWithLedger
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.testing import check_trace
from tests.experiments.shared_robot.conftest import Couple, take

pytestmark = pytest.mark.scenario

SHOULDER = "LShoulderPitch"
BUG = ValueError("a bug of somebody else's")


@pytest.fixture
def body(couple: Couple) -> RobotWithLedger:
    return couple()


class Fails:
    """Behaviour that turns the head and raises in one slot."""

    def __init__(self, body: RobotWithLedger, after: int, error: BaseException) -> None:
        self.calls = 0
        self._token = take(body, "fails", "HeadYaw")
        self._gate, self._after, self._error = body.gate, after, error
        body.behaviours.add("fails", self)

    def __call__(self, tick: int, seen: Observation) -> None:
        self.calls += 1
        self._gate.submit(self._token, "HeadYaw", 0.01 * self.calls)
        if self.calls > self._after:
            raise self._error


@pytest.mark.requirement("RM-65", "AR-11")
def test_raising_behaviour_is_removed_and_its_joint_held(
    body: RobotWithLedger, events: list[Event]
) -> None:
    """In one slot: owner dropped, its command refused, other commands written."""
    fails = Fails(body, 10, BUG)
    token = take(body, "points", SHOULDER)
    body.behaviours.add(
        "points", lambda tick, seen: body.gate.submit(token, SHOULDER, 1.0)
    )
    with pytest.raises(SlotsFailed, match="'fails' at tick 10: ValueError: a bug"):
        body.run(0.5)
    assert body.tick == 50  # the run was completed
    assert fails.calls == 11
    assert body.behaviours.owners == ("points",)
    (crashed,) = (e for e in events if isinstance(e, Crashed))
    (made_safe,) = (e for e in events if isinstance(e, MadeSafe))
    assert (crashed.owner, crashed.tick) == ("fails", 10)
    assert (made_safe.leaves, made_safe.tick) == (("HeadYaw",), 10)
    written = [e for e in events if isinstance(e, Executed)]
    heads = [e.tick for e in written if e.resource == "HeadYaw"]
    others = [e.tick for e in written if e.resource == SHOULDER]
    assert (heads, others) == ([*range(10)], [*range(50)])
    assert list(check_trace(events)) == []
    body.run(0.1)  # the error is not raised again


@pytest.mark.requirement("RM-65")
def test_failure_in_a_single_slot_is_raised_at_its_end(
    body: RobotWithLedger,
) -> None:
    Fails(body, 0, BUG)
    with pytest.raises(SlotsFailed) as caught:
        body.slot()
    assert caught.value.__cause__ is BUG
    (failure,) = caught.value.failures
    assert (failure.name, failure.tick, failure.error) == ("fails", 0, BUG)
    assert (body.tick, body.ledger.tick) == (1, 0)
    for now in range(1, 5):
        body.slot()
        assert (body.tick, body.ledger.tick) == (now + 1, now)


@pytest.mark.requirement("RM-65", "RM-43")
def test_hot_motor_of_a_failing_behaviour_is_capped(
    body: RobotWithLedger,
) -> None:
    Fails(body, 0, BUG)
    motor = body.sim.robot.motor_names.index("HeadYaw")
    joint = body.sim.robot.joint_index("HeadYaw")
    heat = np.zeros(len(body.sim.robot.motors))
    heat[motor] = body.sim.robot.effort_limit[joint] ** 2
    with pytest.raises(SlotsFailed, match="'fails' at tick 0"):
        body.pass_heat(heat, 300.0, lambda: bool(body.hot_engine.hot))
    assert body.hot_engine.hot == ("HeadYaw",)
    body.slot()
    assert body.sim.read().stiffness[joint] == body.hot_engine.cfg.effort_cap


@pytest.mark.requirement("RM-65")
def test_physics_never_runs_without_the_gates_slot(body: RobotWithLedger) -> None:
    """Ctrl-C in a behaviour aborts the slot; the next call repeats it."""
    fails = Fails(body, 2, KeyboardInterrupt())
    body.run(0.02)
    for calls in (3, 4):
        with pytest.raises(KeyboardInterrupt):
            body.slot()
        assert (body.sim.tick, body.ledger.tick, fails.calls) == (20, 1, calls)


@pytest.mark.requirement("RM-65")
def test_behaviour_that_advances_time_fails_and_gate_continues(
    body: RobotWithLedger,
) -> None:
    token = take(body, "points", SHOULDER)
    ticks: list[int] = []

    def points(tick: int, seen: Observation) -> None:
        ticks.append(tick)
        body.ledger.renew("points", tick)
        body.gate.submit(token, SHOULDER, 1.0 + 0.01 * seen.time_s)

    take(body, "fails", "HeadYaw")
    body.behaviours.add("fails", lambda tick, seen: body.ledger.advance(tick + 3))
    body.behaviours.add("points", points)
    with pytest.raises(SlotsFailed, match="tick 3, but the tick is 0; pass the tick"):
        body.run(0.06)
    assert ticks == [3, 3, 3, 3, 4, 5]
    joint = body.sim.robot.joint_index(SHOULDER)
    assert body.sim.read().target[joint] == pytest.approx(1.0005)


@pytest.mark.requirement("RM-65", "RM-43")
def test_failing_body_part_does_not_stop_others(
    body: RobotWithLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The posture monitor fails; a limited number of failures is kept."""
    token = take(body, "points", SHOULDER)
    body.behaviours.add(
        "points", lambda tick, seen: body.gate.submit(token, SHOULDER, 1.0)
    )
    monkeypatch.setattr(body.posture, "step", _raise)
    with pytest.raises(SlotsFailed, match=r"2 failure.*'posture monitor' at tick 0"):
        body.run(0.04)
    joint = body.sim.robot.joint_index(SHOULDER)
    assert body.sim.read().target[joint] == 1.0
    with pytest.raises(SlotsFailed) as caught:
        body.run(0.02 * (MAX_KEPT + 10))
    assert caught.value.count == MAX_KEPT + 10
    assert len(body.failures.kept) == MAX_KEPT
    assert len(str(caught.value)) < 600


@pytest.mark.requirement("RM-65")
def test_raising_listener_does_not_affect_others(body: RobotWithLedger) -> None:
    token = take(body, "points", SHOULDER)
    body.behaviours.add(
        "points", lambda tick, seen: body.gate.submit(token, SHOULDER, 1.0)
    )

    def listen(event: Event) -> None:
        if isinstance(event, Ticked):
            raise OSError("disk full")

    body.ledger.listeners.append(listen)
    with pytest.raises(SlotsFailed, match=r"4 failure.*'ledger' at tick 0: OSError"):
        body.run(0.04)
    assert body.tick == 4
    assert body.behaviours.owners == ("points",)
    joint = body.sim.robot.joint_index(SHOULDER)
    assert body.sim.read().target[joint] == 1.0


def _raise(*given: object) -> str:
    raise OSError("no reading")


def test_slot_is_completed_after_a_push_raises(
    body: RobotWithLedger,
) -> None:
    steps = iter((None, None, BUG))

    def push(sim: object) -> None:
        error = next(steps)
        if error is not None:
            raise error

    body.disturb = push
    with pytest.raises(ValueError, match="a bug"):
        body.slot()
    body.disturb = None
    body.slot()
    assert body.sim.tick == 10


def test_behaviour_of_unknown_owner_is_refused(body: RobotWithLedger) -> None:
    take(body, "points", SHOULDER)
    with pytest.raises(UnknownName, match="Did you mean 'points'"):
        body.behaviours.add("point", lambda tick, seen: None)
    assert body.behaviours.owners == ()


def test_behaviour_requires_an_owner(couple: Couple) -> None:
    body = couple()
    with pytest.raises(UnknownName, match=r"give Owner\(name='nod'\) to register it"):
        body.behaviours.add("nod", lambda *_: None)
    body.behaviours.add(Owner(name="nod", priority=2), lambda *_: None)
    body.behaviours.add("nod", lambda *_: None)
    assert body.behaviours.owners == ("nod", "nod")
    assert body.ledger.knows("nod")
    with pytest.raises(BadInput, match="an owner is 3"):
        body.behaviours.add(3, lambda *_: None)  # type: ignore[arg-type]
