"""Story of a hot head: a behaviour loses a joint to a virtual owner, and regains it.

    looks around -> a hand blocks the head -> hot -> revoked, refused, capped
                 -> waits while it cools -> a new token -> looks around

The behaviour holds HeadYaw with Lock, so no other behaviour can take the joint; a hot
motor is not a behaviour (RM-43). The motor heats up as on a robot: it gives full torque
against a hand. Heating and cooling are simulated without physics.
"""

from dataclasses import dataclass, field
from math import pi, sin

import numpy as np

from nao_testbed import Observation, Owner, Request, Robot
from nao_testbed.controllers.arbitration.events import Event, Rejected
from nao_testbed.controllers.arbitration.policies import Lock
from nao_testbed.controllers.arbitration.requests import Ticket
from nao_testbed.controllers.arbitration.tokens import Token, TokenId
from nao_testbed.experiments.shared_robot.robot_with_ledger import (
    RobotWithLedger,
    RobotWithLedgerCfg,
)
from nao_testbed.models.values import FloatArray


@dataclass(frozen=True, kw_only=True)
class HeadStoryCfg:
    """Temperatures and times of the story."""

    joint: str = "HeadYaw"
    """A leaf that is a joint and its motor at once."""
    amplitude_rad: float = 0.4
    period_s: float = 4.0
    """Period of looking left and right, in s."""
    look_s: float = 1.0
    """Time of looking around before the head is blocked, and after it has cooled, in
    s."""
    patience_s: float = 1800.0
    """Longest wait of the behaviour, in s; the head needs five minutes."""
    longest_heat_s: float = 600.0
    """Longest time in s for which the head is blocked."""
    coupled: RobotWithLedgerCfg = field(default_factory=RobotWithLedgerCfg)


class LookAround:
    """A behaviour that turns one joint from side to side whenever it has a token."""

    def __init__(self, body: RobotWithLedger, cfg: HeadStoryCfg) -> None:
        """Request the joint.

        Args:
            body: robot with its ledger.
            cfg: joint, amplitude and period.
        """
        self.name = "look around"
        self._body = body
        self._cfg = cfg
        self.refused: list[Rejected] = []
        """Commands refused by the gate."""
        body.ledger.add_owner(Owner(name=self.name, policy=Lock()), body.tick)
        self.tickets: list[Ticket] = [self._request(body.tick)]
        """All requests, newest last."""

    @property
    def token(self) -> Token | None:
        """Token of the newest request; None until it is granted."""
        outcome = self.tickets[-1].outcome
        return outcome.token if outcome else None

    @property
    def is_waiting(self) -> bool:
        """Return True if the newest request has no outcome yet."""
        return self.tickets[-1].outcome is None

    def __call__(self, tick: int, observation: Observation) -> None:
        """Command the next angle; request the joint again if the gate refuses it."""
        if self.token is None:
            return
        phase = 2.0 * pi * observation.time_s / self._cfg.period_s
        angle = self._cfg.amplitude_rad * sin(phase)
        rejected = self._body.gate.submit(self.token, self._cfg.joint, angle)
        if rejected is not None:
            self.refused.append(rejected)
            self.tickets.append(self._request(tick))

    def _request(self, tick: int) -> Ticket:
        request = Request(
            owner=self.name,
            resources=(self._cfg.joint,),
            timeout_s=self._cfg.patience_s,
        )
        return self._body.ledger.request(request, tick)


@dataclass(frozen=True, kw_only=True)
class JointRecord:
    """State of the joint in consecutive slots."""

    angle_rad: FloatArray
    """(n_slots,) angle measured by the encoder."""
    set_point_rad: FloatArray
    """(n_slots,) present values."""
    stiffness: FloatArray
    """(n_slots,) in force."""

    @property
    def turned_rad(self) -> float:
        """Range of the joint angle, in rad."""
        return float(np.ptp(self.angle_rad))


@dataclass(frozen=True, kw_only=True)
class HeadStory:
    """Result of the story."""

    events: tuple[Event, ...]
    """The whole trace."""
    tick_s: float
    """Length of a tick in s."""
    first_token: TokenId
    new_token: TokenId | None
    """New token; None: the motor did not cool while the behaviour waited."""
    refused: tuple[Rejected, ...]
    """Refused commands of the behaviour."""
    hot_s: float
    """Simulated time in s at which `hotEngine` took the joint."""
    hot_degc: float
    """Reported temperature at that time, in °C."""
    cool_s: float
    """Simulated time in s at which the joint was returned."""
    cool_degc: float
    before: JointRecord
    while_hot: JointRecord
    """First second after `hotEngine` took the joint."""
    after: JointRecord


def run_head_story(robot: Robot, cfg: HeadStoryCfg | None = None) -> HeadStory:
    """Run the story on the simulated robot.

    Raises:
        UnknownName: the robot has no such joint.
    """
    cfg = cfg or HeadStoryCfg()
    joint = robot.joint_index(cfg.joint)
    motor = int(robot.servo_of_joint[joint])
    events: list[Event] = []
    body = RobotWithLedger(robot, cfg.coupled, listeners=(events.append,))
    try:
        return _simulate(body, LookAround(body, cfg), cfg, joint, motor, events)
    finally:
        body.close()


def _simulate(
    body: RobotWithLedger,
    head: LookAround,
    cfg: HeadStoryCfg,
    joint: int,
    motor: int,
    events: list[Event],
) -> HeadStory:
    sim = body.sim
    first = head.token
    if first is None:
        raise AssertionError("the joint was not free at the start")
    body.behaviours.add(head.name, head)
    before = _record(body, joint, cfg.look_s)

    full = np.zeros(len(sim.robot.motors))
    full[motor] = sim.robot.effort_limit[joint] ** 2
    body.pass_heat(full, cfg.longest_heat_s, lambda: bool(head.refused))
    hot_s, hot_degc = body.time_s, float(sim.read().temperature[motor])
    while_hot = _record(body, joint, cfg.look_s)

    body.pass_heat(sim.mean_square.copy(), cfg.patience_s, lambda: not head.is_waiting)
    cool_s, cool_degc = body.time_s, float(sim.read().temperature[motor])
    after = _record(body, joint, cfg.look_s)
    return HeadStory(
        events=tuple(events),
        tick_s=body.cfg.ledger.tick_s,
        first_token=first.id,
        new_token=head.token.id if head.token else None,
        refused=tuple(head.refused),
        hot_s=hot_s,
        hot_degc=hot_degc,
        cool_s=cool_s,
        cool_degc=cool_degc,
        before=before,
        while_hot=while_hot,
        after=after,
    )


def _record(body: RobotWithLedger, joint: int, duration_s: float) -> JointRecord:
    """Run with physics and return the record of the joint."""
    rows: list[tuple[float, float, float]] = []
    end = body.tick + body.cfg.ledger.ticks(duration_s)
    while body.tick < end:
        body.slot()
        seen = body.sim.read()
        rows.append((seen.q[joint], seen.target[joint], seen.stiffness[joint]))
    angle, set_point, stiffness = np.array(rows).T
    return JointRecord(angle_rad=angle, set_point_rad=set_point, stiffness=stiffness)
