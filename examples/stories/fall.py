"""Story of a fall: owners of the state Stand lose it immediately (RM-53).

    standing -> pushed over -> not standing: revoked -> lies on its back -> may get up

One behaviour holds the state Stand and the legs with Lock: it refuses every demand, but
loses both when the robot falls. Another behaviour waits for the state Back and the legs
to get up; its request is granted when the robot lies.
"""

from dataclasses import dataclass, field

import numpy as np

from nao_testbed import Observation, Owner, Request, Robot, SimulatedRobot
from nao_testbed.controllers.arbitration.events import Event, Rejected
from nao_testbed.controllers.arbitration.policies import Lock
from nao_testbed.experiments.shared_robot.robot_with_ledger import (
    RobotWithLedger,
    RobotWithLedgerCfg,
)


@dataclass(frozen=True, kw_only=True)
class FallStoryCfg:
    """Push of the robot, and time of observation."""

    force_newton: tuple[float, float, float] = (-60.0, 0.0, 0.0)
    """Force on the torso in the world (x forward, y left, z up): a push from the
    front."""
    push_s: float = 0.2
    """Duration of the push, in s."""
    standing_s: float = 0.5
    """Time before the push, in s; a state is seen after 0.3 s."""
    observed_s: float = 4.0
    """Time after the push, in s."""
    lying: str = "Back"
    """State that the second behaviour waits for."""
    coupled: RobotWithLedgerCfg = field(default_factory=RobotWithLedgerCfg)


class StateHolder:
    """A behaviour that waits for a state and the legs, then holds the knees still."""

    def __init__(self, body: RobotWithLedger, name: str, state: str) -> None:
        """Request the state and the legs, with a time limit of a minute.

        Args:
            body: robot with its ledger.
            name: name of the owner.
            state: required state of the robot.
        """
        self.name = name
        self._body = body
        body.ledger.add_owner(Owner(name=name, policy=Lock()), body.tick)
        request = Request(owner=name, resources=(state, "Legs"), timeout_s=60.0)
        self.ticket = body.ledger.request(request, body.tick)
        self.refused: Rejected | None = None
        """The command that the gate refused; after it, the behaviour stops."""

    def __call__(self, tick: int, observation: Observation) -> None:
        """Command the knees, until the gate refuses."""
        del tick
        outcome = self.ticket.outcome
        if outcome is None or self.refused is not None:
            return
        for knee in ("LKneePitch", "RKneePitch"):
            joint = self._body.sim.robot.joint_index(knee)
            angle = float(observation.target[joint])
            rejected = self._body.gate.submit(outcome.token, knee, angle)
            self.refused = self.refused or rejected


@dataclass(frozen=True, kw_only=True)
class FallStory:
    """Result of the story."""

    events: tuple[Event, ...]
    """The whole trace."""
    tick_s: float
    """Length of a tick in s."""
    pushed_s: float
    """Simulated time of the push, in s."""
    standing: StateHolder
    """The behaviour that needs the robot to stand."""
    rising: StateHolder
    """The behaviour that waits until the robot lies."""
    has_fallen: bool
    """True if the simulator reports a fall."""
    state: str | None
    """The active state at the end."""


def run_fall_story(robot: Robot, cfg: FallStoryCfg | None = None) -> FallStory:
    """Run the story on the simulated robot."""
    cfg = cfg or FallStoryCfg()
    events: list[Event] = []
    body = RobotWithLedger(robot, cfg.coupled, listeners=(events.append,))
    try:
        return _simulate(body, cfg, events)
    finally:
        body.close()


def _simulate(
    body: RobotWithLedger, cfg: FallStoryCfg, events: list[Event]
) -> FallStory:
    standing = StateHolder(body, "keep standing", "Stand")
    body.behaviours.add(standing.name, standing)
    body.run(cfg.standing_s)
    rising = StateHolder(body, "get up", cfg.lying)
    body.behaviours.add(rising.name, rising)

    pushed_s = body.time_s
    force = np.array(cfg.force_newton)

    def push(sim: SimulatedRobot) -> None:
        sim.push(sim.robot.base_link, force)

    body.disturb = push
    body.run(cfg.push_s)
    body.disturb = None
    body.run(cfg.observed_s)
    return FallStory(
        events=tuple(events),
        tick_s=body.cfg.ledger.tick_s,
        pushed_s=pushed_s,
        standing=standing,
        rising=rising,
        has_fallen=body.sim.has_fallen(),
        state=body.state,
    )
