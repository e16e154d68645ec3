"""Posture monitor: it sets the robot's state; a fall needs no consent."""

import dataclasses
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from nao_testbed.controllers import Observation
from nao_testbed.controllers.arbitration.events import (
    Revoked,
    StateChanged,
    StateRefused,
)
from nao_testbed.controllers.arbitration.faults.posture_monitor import (
    Attitude,
    PostureMonitor,
    PostureMonitorCfg,
    PostureRecogniser,
    RecogniserCfg,
)
from nao_testbed.controllers.arbitration.policies import Lock, StopOnDemand
from nao_testbed.controllers.arbitration.tokens import LossCause, OutcomeKind, Refusal
from nao_testbed.models import BadInput, Robot, UnknownName
from tests.controllers.arbitration.ledger_setup import (
    LedgerSetup,
    end_of,
    outcome_of,
    states,
    token_of,
)
from tests.controllers.helpers import Observe

UPRIGHT, ON_BACK, ON_BELLY = (0.0, 0.0, 1.0), (1.0, 0.0, 0.05), (-1.0, 0.0, 0.05)
ON_SIDE, HEAD_DOWN = (0.0, 1.0, 0.0), (0.0, 0.0, -1.0)
SETTLE_TICKS = 30
"""0.3 s, the default of the monitor."""


class Scene:
    """Robot observed by its monitor in one posture after another."""

    def __init__(self, robot: Robot, observe: Observe) -> None:
        self.stage = LedgerSetup(robot.resources)
        self.monitor = PostureMonitor(self.stage.ledger, robot)
        self._robot, self._observe = robot, observe

    def show(
        self,
        seconds: float,
        posture: str = "Stand",
        up: Sequence[float] = UPRIGHT,
        **changes: np.ndarray,
    ) -> None:
        """Observe this posture for a duration, every 20 ms."""
        for _ in range(round(seconds / 0.02)):
            self.stage.tick += 2
            seen = self._observe(
                self._robot, posture, time_s=0.01 * self.stage.tick, up=up, **changes
            )
            self.monitor.step(seen, self.stage.tick)
            self.stage.ledger.advance(self.stage.tick)

    def changes(self) -> list[str | None]:
        """Return the sequence of active states."""
        events = self.stage.events
        return [e.active for e in events if isinstance(e, StateChanged)]


@pytest.fixture
def scene(nao: Robot, observe: Observe) -> Scene:
    return Scene(nao, observe)


@pytest.fixture
def standing(scene: Scene) -> Scene:
    scene.show(1.0, "Stand")
    assert scene.monitor.state == "Stand"
    return scene


# -- recognition ---------------------------------------------------------------------


@pytest.mark.requirement("RM-51", "RM-65")
def test_removed_state_is_none_and_others_are_still_recognised(
    standing: Scene,
) -> None:
    standing.stage.ledger.remove_resource("Sit", standing.stage.tick)
    standing.show(1.0, "Sit", (0.3, 0.0, 0.95))
    standing.show(1.0, "Crouch")
    assert standing.changes() == ["Stand", None, "Crouch"]


@pytest.mark.requirement("RM-51", "RM-55")
@pytest.mark.parametrize(
    ("posture", "up", "state"),
    [
        ("Stand", UPRIGHT, "Stand"),
        ("PoseInit", UPRIGHT, "Stand"),
        ("Crouch", UPRIGHT, "Crouch"),
        ("Sit", (0.3, 0.0, 0.95), "Sit"),
        ("SitRelax", (0.2, 0.0, 0.98), "Sit"),
        ("LyingBack", ON_BACK, "Back"),
        ("LyingBelly", ON_BELLY, "Belly"),
        ("Stand", ON_BACK, "Back"),
        ("Stand", ON_BELLY, "Belly"),
        ("Stand", ON_SIDE, None),
        ("Stand", (0.5, 0.8, 0.0), None),
        ("Stand", (-0.5, 0.8, 0.0), None),
        ("Stand", HEAD_DOWN, None),
        ("Gorilla", ON_BELLY, None),
        ("LyingBack", UPRIGHT, None),
    ],
)
def test_state_follows_from_attitude_and_legs(
    scene: Scene, posture: str, up: Sequence[float], state: str | None
) -> None:
    scene.show(1.0, posture, up)
    assert scene.monitor.state == state
    assert scene.changes() == ([state] if state else [])


@pytest.mark.requirement("RM-52")
def test_head_and_arms_do_not_affect_the_state(
    standing: Scene, nao: Robot, observe: Observe
) -> None:
    q = nao.posture("Stand").angles.copy()
    others = [nao.joint_index(n) for n in nao.joint_names if n not in nao.leg_joints]
    q[others] = nao.lower[others]
    standing.show(2.0, "Stand", q=q)
    assert standing.changes() == ["Stand"]


@pytest.mark.requirement("RM-52")
def test_state_is_left_only_beyond_the_wider_limit(standing: Scene, nao: Robot) -> None:
    """Hip rolls offset by ±b: the root mean square over 12 joints is b √(2/12)."""
    cfg = RecogniserCfg()
    hips = [nao.joint_index("LHipRoll"), nao.joint_index("RHipRoll")]
    states_seen = []
    for rms in (0.9 * cfg.stay_rad, 1.1 * cfg.stay_rad, 1.1 * cfg.enter_rad):
        q = nao.posture("StandZero").angles.copy()
        b = rms * np.sqrt(len(nao.leg_joints) / 2.0)
        q[hips] += (-b, b)
        standing.show(1.0, "StandZero", q=q)
        states_seen.append(standing.monitor.state)
    assert states_seen == ["Stand", None, None]


@pytest.mark.requirement("RM-41")
def test_body_without_legs_is_never_standing_but_can_lie(
    nao: Robot, observe: Observe
) -> None:
    scene = Scene(nao.with_body("T14"), observe)
    scene.show(1.0, "Stand")
    scene.show(1.0, "Gorilla", ON_BACK)
    assert scene.changes() == ["Back"]


def test_state_is_kept_without_a_valid_reading(standing: Scene) -> None:
    standing.show(5.0, accelerometer=np.zeros(3))
    assert standing.monitor.attitude is Attitude.UNKNOWN
    assert standing.changes() == ["Stand"]


# -- facts ----------------------------------------------------------------------------


@pytest.mark.requirement("RM-53")
def test_fall_revokes_holders_of_the_standing_state_at_once(standing: Scene) -> None:
    """At the first observation that shows the fall, from the gyroscope."""
    stage = standing.stage
    stage.owners("walk", policy=Lock())
    token = stage.take("walk", "Stand", "Legs")
    before = stage.tick
    standing.show(0.02, up=(0.9, 0.0, 0.4), gyro=np.array([0.0, -60.0, 0.0]))
    assert stage.may(token, "LKneePitch") is Refusal.REVOKED
    (lost,) = (event for event in stage.events if isinstance(event, Revoked))
    assert (lost.why, lost.lost) == (LossCause.STATE_LEFT, ("Stand",))
    assert lost.tick - before == 2
    assert standing.monitor.state is None


@pytest.mark.requirement("RM-53", "RM-51")
def test_state_after_a_fall_is_lying(standing: Scene) -> None:
    standing.stage.owners("get up")
    waits = standing.stage.ask("get up", "Back", "Legs", timeout_s=10.0)
    standing.show(2.0, up=ON_BACK)
    assert standing.changes() == ["Stand", None, "Back"]
    assert outcome_of(waits).is_granted


def test_rocking_while_lying_is_not_a_fall(scene: Scene) -> None:
    """Tilted for one observation, by a rotation and back."""
    scene.show(1.0, up=ON_BACK)
    rock = np.array([0.0, 40.0, 0.0])
    scene.show(0.02, up=ON_BACK, gyro=rock)
    assert scene.monitor.attitude is Attitude.TILTED
    scene.show(0.02, up=ON_BACK, gyro=-rock)
    scene.show(1.0, up=ON_BACK)
    assert scene.changes() == ["Back"]


@pytest.mark.requirement("RM-53")
def test_sitting_down_without_asking_changes_the_state(standing: Scene) -> None:
    standing.stage.owners("walk", policy=Lock())
    token = standing.stage.take("walk", "Stand", "Legs")
    standing.show(1.0, "Sit")
    assert standing.changes() == ["Stand", "Sit"]
    assert standing.stage.may(token, "LKneePitch") is Refusal.REVOKED


def test_posture_held_briefly_is_not_a_state(standing: Scene) -> None:
    standing.show(0.2, "Sit")
    standing.show(0.2, "Crouch")
    standing.show(1.0, "Stand")
    assert standing.changes() == ["Stand"]


def test_state_is_set_after_the_settle_time(scene: Scene) -> None:
    scene.show(1.0, "Stand")
    (changed,) = (e for e in scene.stage.events if isinstance(e, StateChanged))
    first_seen = 2
    assert changed.tick == first_seen + SETTLE_TICKS


# -- requests to leave a state -------------------------------------------------------


@pytest.mark.requirement("RM-53")
def test_leaving_a_state_asks_its_holders(standing: Scene) -> None:
    stage, monitor = standing.stage, standing.monitor
    stage.owners("walk", policy=Lock())
    token = stage.take("walk", "Stand", "Legs")
    assert not monitor.ask_to_leave("rest", stage.tick)
    assert stage.may(token, "LKneePitch") is None
    (refused,) = (event for event in stage.events if isinstance(event, StateRefused))
    assert refused.holders == ("walk",)
    (asked,) = stage.demands_on("walk")
    assert asked[0] == "rest"


@pytest.mark.requirement("RM-53")
def test_state_left_with_consent_does_not_return_by_itself(
    standing: Scene,
) -> None:
    """No state is active in between, so the robot does not count as sitting yet."""
    stage, monitor = standing.stage, standing.monitor
    stage.owners("walk", policy=StopOnDemand())
    stage.owners("rest")
    walk = stage.take("walk", "Stand")
    sits = stage.ask("rest", "Sit", "Legs", timeout_s=10.0)
    assert monitor.ask_to_leave("rest", stage.tick, within_s=4.0)
    assert stage.may(walk, "Stand") is Refusal.REVOKED
    standing.show(2.0, "Stand")
    assert standing.changes() == ["Stand", None]
    assert sits.outcome is None
    standing.show(1.0, "Sit")
    assert standing.changes() == ["Stand", None, "Sit"]
    assert outcome_of(sits).is_granted


def test_old_state_can_return_once_a_new_one_was_reached(standing: Scene) -> None:
    """The time for leaving Stand ends when the next state is reached."""
    assert standing.monitor.ask_to_leave("rest", standing.stage.tick, within_s=60.0)
    standing.show(1.0, "Sit")
    standing.show(1.0, "Stand")
    assert standing.changes() == ["Stand", None, "Sit", "Stand"]


def test_leaving_no_state_does_not_delay_others(scene: Scene) -> None:
    assert scene.monitor.ask_to_leave("rest", scene.stage.tick, within_s=60.0)
    scene.show(1.0, "Sit")
    scene.show(1.0, "Gorilla")
    assert scene.changes() == ["Sit", None]


def test_old_state_returns_if_the_robot_does_not_move(standing: Scene) -> None:
    assert standing.monitor.ask_to_leave("rest", standing.stage.tick, within_s=1.0)
    standing.show(0.9, "Stand")
    assert standing.monitor.state is None
    standing.show(0.2, "Stand")
    assert standing.monitor.state == "Stand"


@pytest.mark.requirement("RM-54")
def test_motors_are_cut_only_while_the_robot_sits(standing: Scene) -> None:
    stage = standing.stage
    stage.owners("cut all motors")
    ask = ("cut all motors", "Sit", "All motors")
    early = stage.ask(*ask, timeout_s=1.0)
    began = 0.01 * stage.tick
    standing.show(2.0, "Stand")
    kind, ended = end_of(early)
    assert kind is OutcomeKind.TIMED_OUT
    assert ended == pytest.approx(began + 1.0)
    late = stage.ask(*ask, timeout_s=5.0)
    standing.show(1.0, "Sit", up=(0.3, 0.0, 0.95))
    token = token_of(late)
    assert stage.may(token, "LKneePitch") is None
    standing.show(0.04, "Sit", up=HEAD_DOWN, gyro=np.array([0.0, 80.0, 0.0]))
    assert stage.may(token, "LKneePitch") is Refusal.REVOKED


# -- invalid input and other robots --------------------------------------------------


def test_states_unknown_to_the_robot_are_rejected(nao: Robot) -> None:
    stage = LedgerSetup(states("State", "Stand", "Sit"))
    with pytest.raises(UnknownName, match="needs"):
        PostureMonitor(stage.ledger, nao)
    with pytest.raises(UnknownName, match="'Stat'"):
        PostureMonitor(stage.ledger, nao, PostureMonitorCfg(group="Stat"))


@pytest.mark.parametrize(
    "bad",
    [
        lambda: PostureMonitorCfg(settle_s=-0.1),
        lambda: RecogniserCfg(upright_within_deg=70.0),
        lambda: RecogniserCfg(enter_rad=0.5),
    ],
)
def test_invalid_limits_are_rejected(bad: object) -> None:
    assert callable(bad)
    with pytest.raises(BadInput):
        bad()


def test_negative_time_to_leave_changes_nothing(standing: Scene) -> None:
    with pytest.raises(BadInput, match=r"-1\.0 s"):
        standing.monitor.ask_to_leave("rest", standing.stage.tick, within_s=-1.0)
    assert standing.monitor.state == "Stand"


@pytest.mark.requirement("RM-42")
@pytest.mark.parametrize(
    ("known", "state"), [(("Stand", "Sit"), None), (("Stand", "Back"), "Back")]
)
def test_monitor_uses_only_the_states_of_the_robot(
    two_leg: Robot, observe: Observe, known: Sequence[str], state: str | None
) -> None:
    """Its postures name no state; lying is recognised from the attitude alone."""
    robot = dataclasses.replace(two_leg, resources=states("State", *known), bodies={})
    stage = LedgerSetup(robot.resources)
    monitor = PostureMonitor(stage.ledger, robot)
    seen: list[Observation] = [
        observe(robot, "Stand", time_s=0.02 * k, up=ON_BACK) for k in range(60)
    ]
    for tick, observation in enumerate(seen):
        monitor.step(observation, 2 * tick)
    assert monitor.attitude is Attitude.ON_BACK
    assert monitor.state == state


def test_attitudes_change_in_order_with_the_tilt(nao: Robot, observe: Observe) -> None:
    """Turned slowly onto its back: upright, tilted, lying."""
    recogniser = PostureRecogniser(nao)
    seen = []
    for k, tilt in enumerate(np.linspace(0.0, np.pi / 2.0, 400)):
        up = (np.sin(tilt), 0.0, np.cos(tilt))
        recogniser.step(observe(nao, time_s=0.02 * k, up=up), None)
        seen.append(recogniser.attitude)
    turns = [now for before, now in pairwise(seen) if now is not before]
    assert seen[0] is Attitude.UPRIGHT
    assert turns == [Attitude.TILTED, Attitude.ON_BACK]
