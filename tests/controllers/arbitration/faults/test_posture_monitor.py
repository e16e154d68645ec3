"""The posture monitor says in which state the robot is; a fall is a fact."""

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
"""0.3 s, the monitor's default."""


class Scene:
    """A robot that is shown to its monitor in one posture after the other."""

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
        """Let the robot be seen so for a while, every 20 ms."""
        for _ in range(round(seconds / 0.02)):
            self.stage.tick += 2
            seen = self._observe(
                self._robot, posture, time_s=0.01 * self.stage.tick, up=up, **changes
            )
            self.monitor.step(seen, self.stage.tick)
            self.stage.ledger.advance(self.stage.tick)

    def changes(self) -> list[str | None]:
        """Return the states that were active, in turn."""
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


# -- what is recognised ---------------------------------------------------------------


@pytest.mark.requirement("RM-51", "RM-65")
def test_a_state_that_the_ledger_forgot_is_none_and_others_are_still_seen(
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
def test_attitude_and_legs_tell_the_state(
    scene: Scene, posture: str, up: Sequence[float], state: str | None
) -> None:
    scene.show(1.0, posture, up)
    assert scene.monitor.state == state
    assert scene.changes() == ([state] if state else [])


@pytest.mark.requirement("RM-52")
def test_what_head_and_arms_do_is_no_matter(
    standing: Scene, nao: Robot, observe: Observe
) -> None:
    q = nao.posture("Stand").angles.copy()
    others = [nao.joint_index(n) for n in nao.joint_names if n not in nao.leg_joints]
    q[others] = nao.lower[others]
    standing.show(2.0, "Stand", q=q)
    assert standing.changes() == ["Stand"]


@pytest.mark.requirement("RM-52")
def test_a_step_leaves_a_state_only_beyond_the_wider_limit(
    standing: Scene, nao: Robot
) -> None:
    """Legs crossed by b at each hip: the root mean square over 12 is b √(2/12)."""
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
def test_a_body_without_legs_stands_never_but_may_lie(
    nao: Robot, observe: Observe
) -> None:
    scene = Scene(nao.with_body("T14"), observe)
    scene.show(1.0, "Stand")
    scene.show(1.0, "Gorilla", ON_BACK)
    assert scene.changes() == ["Back"]


def test_without_a_believable_reading_the_state_stays(standing: Scene) -> None:
    standing.show(5.0, accelerometer=np.zeros(3))
    assert standing.monitor.attitude is Attitude.UNKNOWN
    assert standing.changes() == ["Stand"]


# -- facts ----------------------------------------------------------------------------


@pytest.mark.requirement("RM-53")
def test_a_fall_revokes_at_once_who_needs_the_robot_to_stand(standing: Scene) -> None:
    """Within the first observation that shows it; the gyroscope carries the rest."""
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
def test_after_the_fall_the_state_is_that_of_lying(standing: Scene) -> None:
    standing.stage.owners("get up")
    waits = standing.stage.ask("get up", "Back", "Legs", timeout_s=10.0)
    standing.show(2.0, up=ON_BACK)
    assert standing.changes() == ["Stand", None, "Back"]
    assert outcome_of(waits).is_granted


def test_who_lies_and_rocks_has_not_fallen(scene: Scene) -> None:
    """Tilted for one observation only, by a turn of the gyroscope and back."""
    scene.show(1.0, up=ON_BACK)
    rock = np.array([0.0, 40.0, 0.0])
    scene.show(0.02, up=ON_BACK, gyro=rock)
    assert scene.monitor.attitude is Attitude.TILTED
    scene.show(0.02, up=ON_BACK, gyro=-rock)
    scene.show(1.0, up=ON_BACK)
    assert scene.changes() == ["Back"]


@pytest.mark.requirement("RM-53")
def test_sitting_down_without_asking_is_a_fact_too(standing: Scene) -> None:
    standing.stage.owners("walk", policy=Lock())
    token = standing.stage.take("walk", "Stand", "Legs")
    standing.show(1.0, "Sit")
    assert standing.changes() == ["Stand", "Sit"]
    assert standing.stage.may(token, "LKneePitch") is Refusal.REVOKED


def test_passing_through_a_posture_is_no_state(standing: Scene) -> None:
    standing.show(0.2, "Sit")
    standing.show(0.2, "Crouch")
    standing.show(1.0, "Stand")
    assert standing.changes() == ["Stand"]


def test_a_state_counts_when_it_was_seen_for_its_time(scene: Scene) -> None:
    scene.show(1.0, "Stand")
    (changed,) = (e for e in scene.stage.events if isinstance(e, StateChanged))
    first_seen = 2
    assert changed.tick == first_seen + SETTLE_TICKS


# -- wishes ---------------------------------------------------------------------------


@pytest.mark.requirement("RM-53")
def test_who_wants_to_leave_a_state_asks_those_who_need_it(standing: Scene) -> None:
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
def test_left_with_consent_a_state_does_not_come_back_by_itself(
    standing: Scene,
) -> None:
    """No state is active on the way, so nobody takes the robot to sit already."""
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


def test_who_sat_down_may_stand_up_again_soon(standing: Scene) -> None:
    """The time for leaving Stand is over once the next state is reached."""
    assert standing.monitor.ask_to_leave("rest", standing.stage.tick, within_s=60.0)
    standing.show(1.0, "Sit")
    standing.show(1.0, "Stand")
    assert standing.changes() == ["Stand", None, "Sit", "Stand"]


def test_leaving_no_state_holds_up_no_other(scene: Scene) -> None:
    assert scene.monitor.ask_to_leave("rest", scene.stage.tick, within_s=60.0)
    scene.show(1.0, "Sit")
    scene.show(1.0, "Gorilla")
    assert scene.changes() == ["Sit", None]


def test_who_asked_and_did_not_move_is_in_the_old_state_again(standing: Scene) -> None:
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


# -- bad input and other robots -------------------------------------------------------


def test_states_that_do_not_fit_the_robot_are_refused(nao: Robot) -> None:
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
def test_limits_without_meaning_are_refused(bad: object) -> None:
    assert callable(bad)
    with pytest.raises(BadInput):
        bad()


def test_a_negative_time_to_leave_changes_nothing(standing: Scene) -> None:
    with pytest.raises(BadInput, match=r"-1\.0 s"):
        standing.monitor.ask_to_leave("rest", standing.stage.tick, within_s=-1.0)
    assert standing.monitor.state == "Stand"


@pytest.mark.requirement("RM-42")
@pytest.mark.parametrize(
    ("known", "state"), [(("Stand", "Sit"), None), (("Stand", "Back"), "Back")]
)
def test_another_robot_is_in_those_states_that_it_has(
    two_leg: Robot, observe: Observe, known: Sequence[str], state: str | None
) -> None:
    """Its postures name no state; on its back it lies on its back all the same."""
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


def test_every_tilt_has_one_attitude_and_they_follow_in_order(
    nao: Robot, observe: Observe
) -> None:
    """Turned slowly onto its back, a robot is upright, tilted, lying; never back."""
    recogniser = PostureRecogniser(nao)
    seen = []
    for k, tilt in enumerate(np.linspace(0.0, np.pi / 2.0, 400)):
        up = (np.sin(tilt), 0.0, np.cos(tilt))
        recogniser.step(observe(nao, time_s=0.02 * k, up=up), None)
        seen.append(recogniser.attitude)
    turns = [now for before, now in pairwise(seen) if now is not before]
    assert seen[0] is Attitude.UPRIGHT
    assert turns == [Attitude.TILTED, Attitude.ON_BACK]
