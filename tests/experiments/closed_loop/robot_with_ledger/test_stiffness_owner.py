"""The stiffness controller as an owner: it limits what it holds, and takes back."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from controllers.arbitration.events import Event, Rejected
from controllers.arbitration.manager.state import LedgerCfg
from controllers.arbitration.requests import Owner, Request
from controllers.arbitration.tokens import Preemption
from controllers.interface.controller import ConstantStiffness, Limits
from controllers.interface.robot_interface import Observation
from experiments.closed_loop.behaviours import (
    SHIFT_RATE,
    STIFFNESS_OWNER,
    STIFFNESS_PRIORITY,
    URGENT_RATE,
    SlotsFailed,
    StiffnessOwner,
)
from experiments.closed_loop.robot_with_ledger import (
    RobotWithLedger,
    RobotWithLedgerCfg,
)
from models import Robot, load_robot
from models.resources import DeviceKind

PERIOD = 2
"""Slots between two decisions."""
LEAVES = {
    node.name: node
    for node in load_robot().resources.walk()
    if node.device is not None and node.device.kind is DeviceKind.STIFFNESS
}


class Counting(ConstantStiffness):
    """Stiffness 0.5, 0.51, 0.52... of step after step."""

    def __init__(self) -> None:
        super().__init__(0.5)
        self.steps = 0

    def step(self, observation: Observation) -> Limits:
        n = len(super().step(observation).stiffness)
        self.steps += 1
        return Limits(stiffness=np.full(n, 0.49 + 0.01 * self.steps))


Staged = tuple[RobotWithLedger, StiffnessOwner, list[Event]]


@pytest.fixture
def staged() -> Iterator[Callable[[Robot], Staged]]:
    made: list[RobotWithLedger] = []

    def make(robot: Robot) -> Staged:
        told: list[Event] = []
        ledger = LedgerCfg(preemption=Preemption.BY_PRIORITY)
        body = RobotWithLedger(
            robot, RobotWithLedgerCfg(ledger=ledger), listeners=[told.append]
        )
        made.append(body)
        body.ledger.add_owner(Owner(name="masseur", priority=STIFFNESS_PRIORITY + 1), 0)
        owner = StiffnessOwner(body.ledger, body.gate, robot, Counting(), PERIOD)
        body.behaviours.add(STIFFNESS_OWNER, owner)
        return body, owner, told

    yield make
    for body in made:
        body.close()


def in_force(body: RobotWithLedger) -> NDArray[np.float64]:
    return body.sim.read().stiffness


def run(body: RobotWithLedger, slots: int) -> None:
    for _ in range(slots):
        body.slot()


def test_every_joint_gets_the_newest_limit(
    staged: Callable[[Robot], Staged],
) -> None:
    body, owner, told = staged(load_robot())
    run(body, 5)
    assert_array_equal(owner.limits, np.full(26, 0.52))
    assert_array_equal(in_force(body), owner.limits)
    assert owner.seen is not None
    assert owner.seen.time_s == 0.04
    assert not [event for event in told if isinstance(event, Rejected)]


def test_what_somebody_else_takes_it_leaves_alone_and_takes_again(
    staged: Callable[[Robot], Staged],
) -> None:
    body, owner, told = staged(load_robot())
    run(body, 3)
    leaf = next(iter(LEAVES))
    taken = body.ledger.request(
        Request(owner="masseur", resources=(leaf,), timeout_s=0.0), body.tick
    )
    token = taken.token
    body.gate.submit(token, leaf, 0.9)
    run(body, 4)
    motors = LEAVES[leaf].device
    assert motors is not None
    theirs = np.isclose(in_force(body), 0.9)
    assert 0 < theirs.sum() < 26
    assert_array_equal(in_force(body)[~theirs], owner.limits[~theirs])
    body.ledger.release(token, body.tick)
    run(body, 2 * PERIOD)
    assert_array_equal(in_force(body), owner.limits)
    assert not [event for event in told if isinstance(event, Rejected)]


def test_what_was_taken_before_it_came_it_takes_when_it_is_free() -> None:
    robot = load_robot()
    body = RobotWithLedger(robot)
    leaf = list(LEAVES)[1]
    body.ledger.add_owner(Owner(name="masseur", priority=STIFFNESS_PRIORITY + 1), 0)
    taken = body.ledger.request(
        Request(owner="masseur", resources=(leaf,), timeout_s=0.0), 0
    )
    owner = StiffnessOwner(body.ledger, body.gate, robot, Counting(), PERIOD)
    body.behaviours.add(STIFFNESS_OWNER, owner)
    run(body, 3)
    mine = in_force(body) == owner.limits
    assert 0 < mine.sum() < 26
    body.ledger.release(taken.token, body.tick)
    run(body, 2 * PERIOD)
    assert_array_equal(in_force(body), owner.limits)
    body.close()


def test_a_body_that_lacks_parts_is_limited_in_the_others(
    staged: Callable[[Robot], Staged],
) -> None:
    body, owner, told = staged(load_robot().with_body("T14"))
    run(body, 5)
    head = body.sim.robot.joint_index("HeadYaw")
    assert in_force(body)[head] == owner.limits[head] == 0.52
    assert not [event for event in told if isinstance(event, Rejected)]


class Shifting(ConstantStiffness):
    """Wants all set-points 0.02 rad higher."""

    is_urgent = False

    def __init__(self, stiffness: float = 1.0) -> None:
        super().__init__(stiffness)

    def step(self, observation: Observation) -> Limits:
        limits = super().step(observation)
        shift = np.full(len(limits.stiffness), 0.02)
        return Limits(stiffness=limits.stiffness, shift=shift, is_urgent=self.is_urgent)


def test_a_shift_comes_and_goes_no_faster_than_its_rate(
    staged: Callable[[Robot], Staged],
) -> None:
    nao = load_robot()
    body, owner, _ = staged(nao)
    posture = body.sim.read().target
    owner.change(Shifting())
    last = posture
    reached = 0.0
    for slot in range(160):
        if slot == 80:
            owner.change(Counting())
        body.slot()
        target = body.sim.read().target
        assert np.abs(target - last).max() <= SHIFT_RATE * PERIOD * 0.01 + 1e-12
        last, reached = target, max(reached, float((target - posture).max()))
    assert np.isclose(reached, 0.02)
    assert_array_equal(last, posture)


def test_a_shift_that_catches_a_push_goes_at_once(
    staged: Callable[[Robot], Staged],
) -> None:
    body, owner, _ = staged(load_robot())
    posture = body.sim.read().target
    catching = Shifting()
    catching.is_urgent = True
    owner.change(catching)
    run(body, PERIOD)
    assert URGENT_RATE * PERIOD * 0.01 > 0.02
    assert np.isclose((body.sim.read().target - posture).max(), 0.02)
    owner.change(Counting())  # whoever comes next takes it back slowly
    run(body, PERIOD)
    back = 0.02 - SHIFT_RATE * PERIOD * 0.01
    assert np.isclose((body.sim.read().target - posture).max(), back)


def test_joints_whose_stiffness_another_holds_keep_their_shift(
    staged: Callable[[Robot], Staged],
) -> None:
    nao = load_robot()
    body, owner, _ = staged(nao)
    head = next(name for name in LEAVES if "Head" in name)
    joints = [nao.joint_index(n) for n in nao.joint_names if n.startswith("Head")]
    body.ledger.request(Request(owner="masseur", resources=(head,)), body.tick)
    owner.change(Shifting())
    before = body.sim.read().target
    for _ in range(80):
        body.slot()
    moved = body.sim.read().target - before
    assert_array_equal(moved[joints], 0.0)
    knee = nao.joint_index("LKneePitch")
    assert np.isclose(moved[knee], 0.02)


def test_set_points_of_behaviours_stay_what_they_are_under_a_shift(
    staged: Callable[[Robot], Staged],
) -> None:
    """What holds a joint that lost its owner adds no shift a second time."""
    nao = load_robot()
    body, owner, _ = staged(nao)
    owner.change(Shifting())
    for _ in range(80):
        body.slot()
    leaf = "LElbowRoll"
    in_force = body.gate.present[leaf]
    body.ledger.add_owner(Owner(name="waver", priority=1), body.tick)
    ticket = body.ledger.request(Request(owner="waver", resources=(leaf,)), body.tick)
    assert ticket.outcome is not None
    token = ticket.outcome.token
    body.gate.submit(token, leaf, in_force)
    body.slot()
    assert token is not None
    body.ledger.release(token, body.tick)
    body.slot()
    target = body.sim.read().target[nao.joint_index(leaf)]
    assert np.isclose(target, in_force + 0.02, atol=1e-9)


def test_joints_that_come_back_follow_no_faster(
    staged: Callable[[Robot], Staged],
) -> None:
    """The shift went on without them; they come after it at the same rate."""
    nao = load_robot()
    body, owner, _ = staged(nao)
    owner.change(Shifting())
    ticket = body.ledger.request(
        Request(owner="masseur", resources=tuple(LEAVES)), body.tick
    )
    assert ticket.outcome is not None
    token = ticket.outcome.token
    assert token is not None
    for _ in range(80):
        body.slot()
    last = body.sim.read().target
    body.ledger.release(token, body.tick)
    begin = last
    for _ in range(80):
        body.slot()
        target = body.sim.read().target
        assert np.abs(target - last).max() <= SHIFT_RATE * PERIOD * 0.01 + 1e-12
        last = target
    assert np.isclose((last - begin).max(), 0.02)


def test_a_shift_that_no_robot_takes_is_refused(
    staged: Callable[[Robot], Staged],
) -> None:
    class Short(ConstantStiffness):
        def step(self, observation: Observation) -> Limits:
            stiffness = super().step(observation).stiffness
            return Limits(stiffness=stiffness, shift=np.zeros(3))

    body, owner, _ = staged(load_robot())
    owner.change(Short(1.0))
    with pytest.raises(SlotsFailed, match=r"shift of the set-point has shape \(3,\)"):
        run(body, PERIOD)
    assert not body.gate.shift.any()


def test_a_shift_takes_no_joint_beyond_its_range(
    staged: Callable[[Robot], Staged],
) -> None:
    nao = load_robot()
    body, owner, _ = staged(nao)
    owner.change(Shifting())
    body.ledger.add_owner(Owner(name="waver", priority=1), body.tick)
    leaf, joint = "HeadYaw", nao.joint_index("HeadYaw")
    ticket = body.ledger.request(Request(owner="waver", resources=(leaf,)), body.tick)
    assert ticket.outcome is not None
    upper = float(nao.upper[joint])
    body.gate.submit(ticket.outcome.token, leaf, upper)
    run(body, 80)
    assert body.sim.read().target[joint] == upper
    assert np.isclose(body.gate.shift[joint], 0.02)


def test_limp_joints_are_followed_under_a_shift_too(
    staged: Callable[[Robot], Staged],
) -> None:
    """What goes out, shift included, is where the encoder is."""
    nao = load_robot()
    body, owner, _ = staged(nao)
    owner.change(Shifting(0.0))
    run(body, 80)
    leads = [nao.joint_index(motor.joints[0]) for motor in nao.motors]
    single = [j for j, m in zip(leads, nao.motors, strict=True) if len(m.joints) == 1]
    q = body.sim.read().q
    inside = [j for j in single if nao.lower[j] + 0.03 < q[j] < nao.upper[j] - 0.03]
    body.slot()
    assert len(inside) > 10
    assert np.allclose(body.sim.read().target[inside], q[inside], atol=1e-9)


@pytest.mark.requirement("I-14")
def test_whoever_forbids_it_is_neither_limited_nor_shifted(
    staged: Callable[[Robot], Staged],
) -> None:
    """The controller goes on with the others, and asks for nothing in vain."""
    nao = load_robot()
    body, owner, told = staged(nao)
    owner.change(Shifting(0.5))
    body.ledger.add_owner(Owner(name="waver"), 0)
    leaf = "HeadYaw"
    token = body.ledger.request(Request(owner="waver", resources=(leaf,)), 0).token
    body.ledger.allow_limit(token, STIFFNESS_OWNER, 0, is_allowed=False)
    body.ledger.allow_shift(token, STIFFNESS_OWNER, 0, is_allowed=False)
    before, asked = body.gate.present[leaf], len(told)
    run(body, 8)
    head, knee = nao.joint_index(leaf), nao.joint_index("LKneePitch")
    assert (in_force(body)[head], in_force(body)[knee]) == (1.0, 0.5)
    assert body.sim.read().target[head] == before
    assert body.gate.shift[knee] > 0.0
    body.ledger.release(token, body.tick)
    run(body, 4)
    assert in_force(body)[head] == 0.5
    assert body.gate.shift[head] > 0.0
    kinds = {type(event).__name__ for event in told[asked:]}
    assert not kinds & {"Requested", "Failed", "Rejected"}
