"""The stiffness controller as an owner: limits the joints it holds."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from nao_testbed.controllers.arbitration.events import Event, Rejected
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.tokens import Preemption, Token
from nao_testbed.controllers.interface.controller import ConstantStiffness, Limits
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.experiments.shared_robot.behaviours import (
    SHIFT_RATE,
    STIFFNESS_OWNER,
    STIFFNESS_PRIORITY,
    URGENT_RATE,
    SlotsFailed,
    StiffnessOwner,
)
from nao_testbed.experiments.shared_robot.robot_with_ledger import (
    RobotWithLedger,
    RobotWithLedgerCfg,
)
from nao_testbed.models import Robot, load_robot
from nao_testbed.models.resources import DeviceKind

HEAD = ("Yaw", "Pitch")
PERIOD = 2
"""Slots between two decisions."""
LEAVES = {
    node.name: node
    for node in load_robot().resources.walk()
    if node.device is not None and node.device.kind is DeviceKind.STIFFNESS
}


class Counting(ConstantStiffness):
    """Stiffness 0.5, 0.51, 0.52... in successive steps."""

    def __init__(self) -> None:
        super().__init__(0.5)
        self.steps = 0

    def step(self, observation: Observation) -> Limits:
        n = len(super().step(observation).stiffness)
        self.steps += 1
        return Limits(stiffness=np.full(n, 0.49 + 0.01 * self.steps))


class Staged:
    """Robot whose stiffness a controller owns, with other owners."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.told: list[Event] = []
        ledger = LedgerCfg(preemption=Preemption.BY_PRIORITY)
        cfg = RobotWithLedgerCfg(ledger=ledger)
        self.body = RobotWithLedger(robot, cfg, listeners=[self.told.append])
        self.ledger, self.gate = self.body.ledger, self.body.gate
        self.ledger.add_owner(Owner(name="masseur", priority=STIFFNESS_PRIORITY + 1), 0)
        self.ledger.add_owner(Owner(name="waver", priority=1), 0)

    def begin(self, controller: ConstantStiffness | None = None) -> "Staged":
        body = self.body
        self.owner = StiffnessOwner(
            self.ledger, self.gate, self.robot, controller or Counting(), PERIOD
        )
        body.behaviours.add(STIFFNESS_OWNER, self.owner)
        return self

    def run(self, slots: int) -> None:
        for _ in range(slots):
            self.body.slot()

    def take(self, name: str, *leaves: str) -> Token:
        request = Request(owner=name, resources=leaves, timeout_s=0.0)
        token = self.ledger.request(request, self.body.tick).token
        assert token is not None
        return token

    def release(self, token: Token) -> None:
        self.ledger.release(token, self.body.tick)

    @property
    def stiffness(self) -> NDArray[np.float64]:
        return self.body.sim.read().stiffness

    @property
    def target(self) -> NDArray[np.float64]:
        return self.body.sim.read().target

    def joint(self, name: str) -> int:
        return self.robot.joint_index(name)

    def refused(self) -> list[Event]:
        return [event for event in self.told if isinstance(event, Rejected)]


@pytest.fixture
def staged(request: pytest.FixtureRequest) -> Iterator[Staged]:
    robot = load_robot()
    made = Staged(
        robot.with_body(request.param) if hasattr(request, "param") else robot
    )
    yield made
    made.body.close()


def test_every_joint_gets_the_newest_limit(staged: Staged) -> None:
    staged.begin().run(5)
    owner = staged.owner
    assert_array_equal(owner.limits, np.full(26, 0.52))
    assert_array_equal(staged.stiffness, owner.limits)
    assert owner.seen is not None
    assert owner.seen.time_s == 0.04
    assert not staged.refused()


@pytest.mark.parametrize("is_before", [False, True])
def test_controller_skips_taken_joints_and_regains_them(
    staged: Staged, is_before: bool
) -> None:
    """Parts may be taken before or after the controller begins."""
    leaf = list(LEAVES)[is_before]
    if is_before:
        token = staged.take("masseur", leaf)
        staged.begin().run(3)
        theirs = staged.stiffness != staged.owner.limits
    else:
        staged.begin().run(3)
        token = staged.take("masseur", leaf)
        staged.gate.submit(token, leaf, 0.9)
        staged.run(4)
        theirs = np.isclose(staged.stiffness, 0.9)
        assert_array_equal(staged.stiffness[~theirs], staged.owner.limits[~theirs])
    assert 0 < theirs.sum() < 26
    staged.release(token)
    staged.run(2 * PERIOD)
    assert_array_equal(staged.stiffness, staged.owner.limits)
    assert not staged.refused()


@pytest.mark.parametrize("staged", ["T14"], indirect=True)
def test_missing_parts_are_skipped(staged: Staged) -> None:
    staged.begin().run(5)
    head = staged.joint("HeadYaw")
    assert staged.stiffness[head] == staged.owner.limits[head] == 0.52
    assert not staged.refused()


class Shifting(ConstantStiffness):
    """Requests all set-points 0.02 rad higher."""

    def __init__(self, stiffness: float = 1.0, *, is_urgent: bool = False) -> None:
        super().__init__(stiffness)
        self.is_urgent = is_urgent

    def step(self, observation: Observation) -> Limits:
        limits = super().step(observation)
        shift = np.full(len(limits.stiffness), 0.02)
        return Limits(stiffness=limits.stiffness, shift=shift, is_urgent=self.is_urgent)


def test_shift_changes_no_faster_than_its_rate(staged: Staged) -> None:
    staged.begin(Shifting())
    last = posture = staged.target
    reached = 0.0
    for slot in range(160):
        if slot == 80:
            staged.owner.change(Counting())
        staged.run(1)
        target = staged.target
        assert np.abs(target - last).max() <= SHIFT_RATE * PERIOD * 0.01 + 1e-12
        last, reached = target, max(reached, float((target - posture).max()))
    assert np.isclose(reached, 0.02)
    assert_array_equal(last, posture)


def test_urgent_shift_is_applied_at_once(staged: Staged) -> None:
    posture = staged.target
    staged.begin(Shifting(is_urgent=True)).run(PERIOD)
    assert URGENT_RATE * PERIOD * 0.01 > 0.02
    assert np.isclose((staged.target - posture).max(), 0.02)
    staged.owner.change(Counting())  # the next controller removes the shift slowly
    staged.run(PERIOD)
    back = 0.02 - SHIFT_RATE * PERIOD * 0.01
    assert np.isclose((staged.target - posture).max(), back)


def test_joints_with_stiffness_held_by_others_are_not_shifted(staged: Staged) -> None:
    staged.begin(Shifting())
    staged.take("masseur", next(name for name in LEAVES if "Head" in name))
    before = staged.target
    staged.run(80)
    moved = staged.target - before
    assert_array_equal(moved[[staged.joint(f"Head{axis}") for axis in HEAD]], 0.0)
    assert np.isclose(moved[staged.joint("LKneePitch")], 0.02)


def test_behaviour_set_points_are_unchanged_by_a_shift(
    staged: Staged,
) -> None:
    """Holding a joint that lost its owner adds no second shift."""
    staged.begin(Shifting()).run(80)
    leaf = "LElbowRoll"
    in_force = staged.gate.present[leaf]
    token = staged.take("waver", leaf)
    staged.gate.submit(token, leaf, in_force)
    staged.run(1)
    staged.release(token)
    staged.run(1)
    target = staged.target[staged.joint(leaf)]
    assert np.isclose(target, in_force + 0.02, atol=1e-9)


def test_regained_joints_are_shifted_no_faster(staged: Staged) -> None:
    """The shift continued without them; they follow at the same rate."""
    staged.begin(Shifting())
    token = staged.take("masseur", *LEAVES)
    staged.run(80)
    last = begin = staged.target
    staged.release(token)
    for _ in range(80):
        staged.run(1)
        target = staged.target
        assert np.abs(target - last).max() <= SHIFT_RATE * PERIOD * 0.01 + 1e-12
        last = target
    assert np.isclose((last - begin).max(), 0.02)


def test_invalid_shift_is_refused(staged: Staged) -> None:
    class Short(ConstantStiffness):
        def step(self, observation: Observation) -> Limits:
            stiffness = super().step(observation).stiffness
            return Limits(stiffness=stiffness, shift=np.zeros(3))

    staged.begin(Short(1.0))
    with pytest.raises(SlotsFailed, match=r"shift of the set-point has shape \(3,\)"):
        staged.run(PERIOD)
    assert not staged.gate.shift.any()


def test_controller_with_set_points_is_refused(staged: Staged) -> None:
    """Set-points belong to the owners of the joints."""

    class Chooses(ConstantStiffness):
        def step(self, observation: Observation) -> Limits:
            return Limits(stiffness=np.ones(len(observation.q)), target=observation.q)

    staged.begin(Chooses(1.0))
    with pytest.raises(SlotsFailed, match="but the joints belong to behaviours here"):
        staged.run(PERIOD)


def test_shift_keeps_joints_within_their_range(staged: Staged) -> None:
    staged.begin(Shifting())
    leaf, joint = "HeadYaw", staged.joint("HeadYaw")
    upper = float(staged.robot.upper[joint])
    staged.gate.submit(staged.take("waver", leaf), leaf, upper)
    staged.run(80)
    assert staged.target[joint] == upper
    assert np.isclose(staged.gate.shift[joint], 0.02)


def test_limp_joints_are_followed_under_a_shift(staged: Staged) -> None:
    """The commanded set-point, including the shift, equals the encoder angle."""
    nao = staged.robot
    staged.begin(Shifting(0.0)).run(80)
    single = [staged.joint(m.name) for m in nao.motors if len(m.joints) == 1]
    q = staged.body.sim.read().q
    inside = [j for j in single if nao.lower[j] + 0.03 < q[j] < nao.upper[j] - 0.03]
    staged.run(1)
    assert len(inside) > 10
    assert np.allclose(staged.target[inside], q[inside], atol=1e-9)


@pytest.mark.requirement("I-14")
def test_owner_can_forbid_limits_and_shifts(staged: Staged) -> None:
    """The controller continues with the other joints and sends no requests."""
    staged.begin(Shifting(0.5))
    leaf, ledger = "HeadYaw", staged.ledger
    token = staged.take("waver", leaf)
    ledger.allow_limit(token, STIFFNESS_OWNER, 0, is_allowed=False)
    ledger.allow_shift(token, STIFFNESS_OWNER, 0, is_allowed=False)
    before, asked = staged.gate.present[leaf], len(staged.told)
    staged.run(8)
    head, knee = staged.joint(leaf), staged.joint("LKneePitch")
    assert (staged.stiffness[head], staged.stiffness[knee]) == (1.0, 0.5)
    assert staged.target[head] == before
    assert staged.gate.shift[knee] > 0.0
    staged.release(token)
    staged.run(4)
    assert staged.stiffness[head] == 0.5
    assert staged.gate.shift[head] > 0.0
    kinds = {type(event).__name__ for event in staged.told[asked:]}
    assert not kinds & {"Requested", "Failed", "Rejected"}
