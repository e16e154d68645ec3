"""Schemas on the simulated robot: falls, balance, greeting, dance."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nao_testbed.controllers.arbitration.events import Event
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.requests import Owner
from nao_testbed.controllers.arbitration.tokens import Preemption
from nao_testbed.controllers.schemas import Activation, State
from nao_testbed.controllers.schemas.events import NotWinner, SchemaFailed
from nao_testbed.controllers.schemas.runtime import SchemaRuntime
from nao_testbed.controllers.schemas.runtime.gate_actuators import GateActuators
from nao_testbed.controllers.transmitter.events import StreamStarted
from nao_testbed.experiments.shared_robot.robot_with_ledger import (
    RobotWithLedger,
    RobotWithLedgerCfg,
)
from nao_testbed.models import Robot
from nao_testbed.sim.robot import SimulatedRobot

pytestmark = pytest.mark.scenario

SOLES = {"l_ankle", "r_ankle"}


@dataclass
class Scene:
    """A simulated robot with a schema runtime."""

    body: RobotWithLedger
    runtime: SchemaRuntime
    events: list[Event] = field(default_factory=list)

    def begin(self, schema: str, *, name: str = "", **given: Any) -> None:
        self.runtime.add(Activation(schema=schema, name=name, **given))
        self.runtime.wake(name or schema, self.body.tick)

    def until(self, path: str, state: State, within_s: float) -> float:
        """Run until an instance is in a state; return the duration, in s."""
        begin = self.body.time_s
        self.body.slot()  # creates the children
        self.body.run(within_s, lambda: self.runtime.view(path).state is state)
        assert self.runtime.view(path).state is state, self.runtime.view(path)
        return self.body.time_s - begin

    def failures(self) -> list[Event]:
        return [e for e in self.events if isinstance(e, SchemaFailed | NotWinner)]

    def started(self) -> list[tuple[int, str]]:
        return [(e.tick, e.label) for e in self.events if isinstance(e, StreamStarted)]


@contextmanager
def scene(robot: Robot, posture: str = "Stand") -> Iterator[Scene]:
    events: list[Event] = []
    ledger = LedgerCfg(preemption=Preemption.BY_PRIORITY, tells_commands=False)
    cfg = RobotWithLedgerCfg(posture=posture, ledger=ledger)
    body = RobotWithLedger(robot, cfg, listeners=[events.append])
    try:
        runtime = SchemaRuntime(
            robot,
            body.ledger,
            GateActuators(body.gate, body.commands, body.ledger),
            posture=body.posture,
        )
        body.ledger.add_owner(Owner(name="schemas"), 0)
        body.behaviours.add("schemas", runtime.step)
        yield Scene(body, runtime, events)
    finally:
        body.close()


class Push:
    """Horizontal force on the torso from 0.5 s, for 0.2 s."""

    def __init__(self, towards_deg: float, newton: float) -> None:
        angle = np.radians(towards_deg)
        self.force: NDArray[np.float64] = newton * np.array(
            [np.cos(angle), np.sin(angle), 0.0]
        )

    def __call__(self, sim: SimulatedRobot) -> None:
        if 500 <= sim.tick < 700:
            sim.push("torso", self.force)


LIFE = (
    Activation(schema="fall watch"),
    Activation(schema="protect from fall", order=9, priority=8),
    Activation(schema="breathe", priority=1),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("towards_deg", "newton", "shoulder"),
    [(0.0, 30.0, 0.3), (90.0, 40.0, 1.4), (180.0, 25.0, 2.0)],
)
def test_fall_protection_acts_before_the_body_hits_the_ground(
    nao: Robot, towards_deg: float, newton: float, shoulder: float
) -> None:
    with scene(nao) as on:
        rule = {"arbitration": "highest_order"}
        on.begin("choose", name="life", parameters=rule, children=LIFE)
        on.body.disturb = Push(towards_deg, newton)

        def has_touched() -> bool:
            return any(c.link not in SOLES for c in on.body.sim.truth().contacts)

        seen_s = on.until("life/protect from fall", State.WINNER, 2.0)
        assert seen_s > 0.5  # not before the push
        assert not has_touched()
        assert on.body.run(2.0, has_touched)
        touched_s = on.body.time_s
        assert touched_s - seen_s > 0.2
        q = on.body.sim.truth().q[nao.joint_index("LShoulderPitch")]
        assert q == pytest.approx(shoulder, abs=0.35)  # the arm has almost arrived
        on.until("life/breathe", State.WINNER, 6.0)  # lying still
        assert on.body.sim.read().stiffness.max() == 0.0
        assert not on.failures()


@pytest.mark.parametrize(("towards_deg", "newton"), [(0.0, 16.0), (180.0, 10.0)])
def test_push_without_a_fall_is_not_reported_as_a_fall(
    nao: Robot, towards_deg: float, newton: float
) -> None:
    with scene(nao) as on:
        on.begin("fall watch")
        on.begin("balance watch")
        on.body.disturb = Push(towards_deg, newton)
        instability = []
        for _ in range(200):
            on.body.slot()
            assert on.runtime.value("fall watch", "is_falling") is False
            instability.append(on.runtime.value("balance watch", "instability"))
        assert max(instability[:48]) < 0.1  # stable
        assert max(instability) > 0.3  # pushed
        assert not on.body.sim.has_fallen()


@pytest.mark.slow
def test_breathing_with_arms_and_legs_keeps_balance(nao: Robot) -> None:
    with scene(nao) as on:
        on.begin("breathe", parameters={"limbs": "arms and legs"})
        on.begin("balance watch")
        for _ in range(600):
            on.body.slot()
            assert on.runtime.value("balance watch", "is_unstable") is False
        assert not on.failures()


@pytest.mark.slow
def test_crouching_and_standing_up_is_not_reported_as_a_fall(nao: Robot) -> None:
    with scene(nao) as on:
        on.begin("fall watch")
        row = (Activation(schema="crouch"), Activation(schema="stand"))
        on.begin("sequence", children=row)
        on.body.slot()
        while on.runtime.view("sequence").state is State.WINNER:
            on.body.slot()
            assert on.runtime.value("fall watch", "is_falling") is False
            assert on.body.time_s < 8.0
        assert not on.failures()
        labels = [label for _, label in on.started()]
        assert labels == ["Stand to Crouch", "Crouch to Stand"]
        assert on.body.state == "Stand"


@pytest.mark.slow
@pytest.mark.requirement("RM-49")
def test_greeting_on_both_legs_starts_together_and_stays_upright(nao: Robot) -> None:
    with scene(nao) as on:
        on.begin("greet")
        on.begin("balance watch")
        on.body.run(0.5)
        on.until("greet", State.SLEPT, 6.0)
        assert not on.failures()
        assert on.runtime.value("greet", "takes_steps") is True
        starts = on.started()
        assert len(starts) == 3
        assert len({tick for tick, _ in starts}) == 1
        assert on.body.sim.speaker.utterances[0].is_whole
        assert not on.body.sim.has_fallen()
        assert on.runtime.value("balance watch", "is_unstable") is False


@pytest.mark.slow
@pytest.mark.requirement("RM-36")
def test_robot_is_stable_at_a_stop_of_the_dance(nao: Robot) -> None:
    with scene(nao) as on:
        on.begin("dance", parameters={"stop": False})
        on.begin("balance watch")
        on.body.run(2.0)
        on.runtime.modulate("dance", {"stop": True}, on.body.tick)
        on.body.run(4.0)
        assert on.runtime.value("dance", "is_resting") is True
        assert len(on.started()) == 1
        for _ in range(100):
            on.body.slot()
            assert on.runtime.value("balance watch", "instability") < 0.3
        on.runtime.modulate("dance", {"stop": False}, on.body.tick)
        on.body.run(1.0)
        assert len(on.started()) == 2
        assert not on.failures()
