"""Robot at rest in its posture: the content of `live` without a scenario.

    RestingRobot: the robot under its controller, slot by slot, recorded
    PostureOwner: holds the posture, or follows a policy, with all motors without
        another owner

The posture has one token and one submission for the whole body, as long as it holds all
motors. It requests lost leaves again, one by one, and waits. A returned joint moves to
the posture at most at `SPEED`, since its position is arbitrary.
"""

from collections.abc import Mapping

import numpy as np

from nao_testbed.controllers.arbitration.manager.ledger_cfg import LONGEST_S, LedgerCfg
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.tokens import Loss, Preemption, Token
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.schemas.library.common import motor_leaves
from nao_testbed.experiments.closed_loop.loop import APPROACH_TIME, approach
from nao_testbed.experiments.closed_loop.recording import RunRecording
from nao_testbed.experiments.closed_loop.trial import TrialCfg
from nao_testbed.experiments.scenarios.vocabulary.setup import Setup
from nao_testbed.experiments.shared_robot.robot_with_ledger import (
    RobotWithLedgerCfg,
)
from nao_testbed.sim.effectors import save_sound

POSTURE_OWNER = "posture"
POSTURE_PRIORITY = 1
SPEED = np.deg2rad(60.0)
"""Maximum speed of a returned joint, in rad/s."""


class RestingRobot:
    """Robot at rest in its posture under a controller; recorded."""

    def __init__(self, cfg: TrialCfg) -> None:
        """Place the robot and start its recording.

        Raises:
            BadInput: a value of the configuration is invalid.
        """
        robot = cfg.load_robot()
        self.controller = cfg.controller
        self.messages: list[str] = []
        """Always empty: no events."""
        self.busy = ""
        """Always empty: a forecast is always possible."""
        self.setup = Setup(
            robot,
            RobotWithLedgerCfg(
                posture=cfg.posture,
                simulation=cfg.simulation,
                ledger=LedgerCfg(
                    preemption=Preemption.BY_PRIORITY, tells_commands=False
                ),
            ),
            controller=cfg.controller,
            seed=cfg.simulation.seed,
            control_period=cfg.control_period,
        )
        leads = {
            leaf: robot.joint_index(robot.joints[robot.joint_index(joint)].motor)
            for joint, leaf in motor_leaves(robot).items()
        }
        PostureOwner(self.setup, cfg.posture, cfg.control_period, leads)
        self._folder = cfg.folder
        self.recording = RunRecording.open(
            cfg.folder,
            robot,
            seed=cfg.simulation.seed,
            config=cfg,
            command=cfg.command,
            experiment="live",
        )

    def slot(self) -> None:
        """Run one device slot, and record it where the controller's period ends.

        Raises:
            SlotsFailed: something failed; the slot was run to its end.
            SimulationDiverged: a torque is not finite.
        """
        setup = self.setup
        setup.disturbance.begin(setup.tick)
        try:
            setup.body.slot()
        finally:
            seen = setup.stiffness.seen
            if setup.tick % setup.control_ticks == 0 and seen is not None:
                self.recording.row(setup.body.sim, seen, setup.stiffness.decided)

    def close(self, reason: str) -> None:
        """Close the recording with the reason, and release the engine."""
        body = self.setup.body
        try:
            self.recording.close(reason)
            if self._folder is not None:
                save_sound(body.sim.speaker, self._folder, body.time_s)
        finally:
            self.setup.close()


class PostureOwner:
    """Behaviour that approaches a posture and holds it.

    While the controller is a policy, it submits the policy's set-points instead.
    """

    def __init__(
        self,
        setup: Setup,
        posture: str,
        period_s: float,
        leads: Mapping[str, int],
    ) -> None:
        """Register with the ledger, and request every motor.

        Args:
            setup: robot with its ledger and controller.
            posture: name of a stored posture.
            period_s: time between two set-points in s.
            leads: leaf of a motor to its leading joint.
        """
        self._body, self._robot, self._leads = setup.body, setup.robot, leads
        body, robot = setup.body, setup.robot
        self._stiffness = setup.stiffness
        self._stiffness.has_follower = True
        self._is_policy = False
        self._period_s = period_s
        self._period = round(period_s / body.ledger.cfg.tick_s)
        self._start = body.sim.read().target
        stored = robot.posture(posture)
        self._goal, self._state = stored.angles, stored.state
        owner = Owner(name=POSTURE_OWNER, priority=POSTURE_PRIORITY)
        body.ledger.add_owner(owner, body.ledger.tick)
        first = body.ledger.request(
            Request(
                owner=POSTURE_OWNER,
                optional=tuple(leads),
                loss=Loss.PARTIAL,
                timeout_s=0.0,
            ),
            body.ledger.tick,
        )
        self._tickets = dict.fromkeys(leads, first)
        self._returning: set[str] = set()
        body.behaviours.add(POSTURE_OWNER, self)

    def __call__(self, tick: int, observation: Observation) -> None:
        """Submit the set-points of a period."""
        if tick % self._period:
            return
        mine = self._hold(tick)
        gate, robot = self._body.gate, self._robot
        time_s = min(observation.time_s + self._period_s, APPROACH_TIME)
        way = self._stiffness.decided.target
        if way is None:
            way = approach(self._start, self._goal, time_s)
            if self._is_policy:  # it has been replaced: return slowly
                self._returning.update(self._leads)
        self._is_policy = self._stiffness.decided.target is not None
        target = np.clip(way, robot.lower, robot.upper)
        whole = set(mine.values())
        if not self._returning and len(mine) == len(self._leads) and len(whole) == 1:
            gate.submit_set_points(whole.pop(), target)
            return
        parts: dict[Token, dict[str, float]] = {}
        for leaf, token in mine.items():
            angle = self._next(leaf, float(target[self._leads[leaf]]))
            parts.setdefault(token, {})[leaf] = angle
        if parts:
            gate.submit_together(list(parts.items()))

    def _hold(self, tick: int) -> dict[str, Token]:
        """Return leaf to token of held motors; request the others."""
        ledger, mine = self._body.ledger, {}
        for leaf, ticket in self._tickets.items():
            outcome = ticket.outcome
            if outcome is None:
                continue  # the request is pending
            token = outcome.token
            if token is not None and ledger.authorise(token, leaf) is None:
                mine[leaf] = token
            elif token is None or not ledger.covers(token, leaf):
                self._returning.add(leaf)
                again = Request(
                    owner=POSTURE_OWNER, resources=(leaf,), timeout_s=LONGEST_S
                )
                self._tickets[leaf] = ledger.request(again, tick)
        return mine

    def _next(self, leaf: str, angle: float) -> float:
        """Return the next set-point of a leaf, rate-limited after an absence.

        A robot that was moved to another state, such as Sit, is held there, since a
        straight path from there is unsafe.
        """
        if leaf not in self._returning:
            return angle
        here, most = self._body.gate.present[leaf], SPEED * self._period_s
        if self._body.state not in {None, self._state}:
            return here
        if abs(angle - here) <= most:
            self._returning.discard(leaf)
            return angle
        return here + float(np.copysign(most, angle - here))
