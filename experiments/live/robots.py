"""A live robot: a process of its own that keeps real time, records, and obeys.

    LiveRobot: posture, stiffness controller and operator are owners of one ledger
    run_live_robot: slot by slot against the clock, a moment for who looks

Nobody who looks slows it: it sends a moment when the last one was taken, and takes at
most `MOST_A_SLOT` wishes a slot. When the machine is too slow it is late and says so;
it never leaves a step out.
"""

import signal
import time
from collections import deque
from dataclasses import dataclass
from math import cos, radians, sin
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from controllers.arbitration.manager.state import LedgerCfg
from controllers.arbitration.requests import Owner, Request
from controllers.arbitration.tokens import Loss, Preemption, Token
from controllers.interface.robot_interface import Observation
from controllers.registry import make_controller
from experiments.closed_loop.behaviours import SlotsFailed, StiffnessOwner
from experiments.closed_loop.loop import APPROACH_TIME, approach
from experiments.closed_loop.recording import RunRecording
from experiments.closed_loop.robot_with_ledger import (
    RobotWithLedger,
    RobotWithLedgerCfg,
)
from experiments.closed_loop.trial import TrialCfg
from experiments.live.operation import (
    OPERATOR_PRIORITY,
    Action,
    ChangeController,
    HeatNow,
    Moment,
    PushNow,
    Stop,
    TakeHead,
    TurnHead,
)
from models import TestbedError
from models.resources import DeviceKind
from sim.body import SimulationDiverged
from sim.engine.world import ticks_of
from sim.robot import SimulatedRobot

POSTURE_OWNER, OPERATOR = "posture", "operator"
POSTURE_PRIORITY = 1
HEAD = ("HeadYaw", "HeadPitch")
MOST_A_SLOT = 20
KEPT = 6
"""Sentences that a moment repeats."""
MOMENT_SLOTS = 4
"""Slots between two moments: 25 a second."""
LATE_S = 0.5
"""Behind the clock by more, a robot does not try to catch up."""


@dataclass(frozen=True, kw_only=True)
class _Pushing:
    force: np.ndarray
    end_s: float


class LiveRobot:
    """One robot in its posture under a controller; `act`, `slot`, `moment`, `close`."""

    def __init__(self, cfg: TrialCfg) -> None:
        """Place it and begin its recording.

        Raises:
            BadInput: a value of the configuration cannot be used.
        """
        robot = cfg.load_robot()
        self._cfg = cfg
        self.body = RobotWithLedger(
            robot,
            RobotWithLedgerCfg(
                posture=cfg.posture,
                simulation=cfg.simulation,
                ledger=LedgerCfg(preemption=Preemption.BY_PRIORITY),
            ),
        )
        sim, ledger = self.body.sim, self.body.ledger
        self.controller = cfg.controller
        self._period = ticks_of("control period", cfg.control_period, ledger.cfg.tick_s)
        self._start, self._goal = sim.read().target, robot.posture(cfg.posture).angles
        # What a motor's leaf is called, and its leading joint.
        self._leads = {
            name: robot.joint_index(motor.name)
            for motor, name in (
                (motor, node.name)
                for node in robot.resources.walk()
                if node.device is not None and node.device.kind is DeviceKind.MOTOR
                for motor in robot.motors
                if motor.name in node.device.names
            )
        }
        ledger.add_owner(
            Owner(name=POSTURE_OWNER, priority=POSTURE_PRIORITY), ledger.tick
        )
        ledger.add_owner(Owner(name=OPERATOR, priority=OPERATOR_PRIORITY), ledger.tick)
        self._posture: dict[str, Token] = {}
        self._operator: Token | None = None
        self.stiffness = StiffnessOwner(
            ledger,
            self.body.gate,
            robot,
            make_controller(cfg.controller),
            self._period,
        )
        self.body.behaviours.add(POSTURE_OWNER, self._hold_posture)
        self.body.behaviours.add(self.stiffness.name, self.stiffness)
        self._pushes: list[_Pushing] = []
        self._said: deque[str] = deque(maxlen=KEPT)
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
            SimulationDiverged: a torque is not finite.
        """
        self.body.disturb = self._push if self._pushes else None
        try:
            self.body.slot()
        except SlotsFailed as failed:
            self._tell(str(failed), "failed")
        if self.body.tick % self._period == 0 and self.stiffness.seen is not None:
            self.recording.row(
                self.body.sim, self.stiffness.seen, self.stiffness.decided
            )

    def act(self, action: Action) -> None:
        """Do what the operator wants, or say why not."""
        try:
            said = self._do(action)
        except TestbedError as error:
            self._tell(f"refused: {error}", "refused", action=repr(action))
        else:
            self._tell(said, "operator", action=repr(action))

    def moment(self, late_s: float = 0.0) -> Moment:
        """Return what there is to see; looking changes nothing."""
        sim = self.body.sim
        robot = sim.robot
        truth, seen = sim.truth(), sim.read()
        return Moment(
            time_s=sim.time_s,
            late_s=late_s,
            controller=self.controller,
            q=truth.q,
            position=truth.base_position,
            quaternion=truth.base_quaternion,
            degc=truth.temperature[list(robot.motor_of_joint)],
            fsr=seen.fsr,
            sonar=seen.sonar,
            has_fallen=truth.has_fallen,
            head=self._head_owner(),
            said=tuple(self._said),
        )

    def close(self, reason: str) -> None:
        """Close the recording with the reason, and release the engine."""
        self.recording.close(reason)
        self.body.close()

    # -- wishes ------------------------------------------------------------------------

    def _do(self, action: Action) -> str:
        match action:
            case PushNow():
                return self._begin_push(action)
            case HeatNow(joint=joint, degc=degc):
                robot = self.body.sim.robot
                motor = robot.motor_of_joint[robot.joint_index(joint)]
                self.body.sim.set_temperature(robot.motor_names[motor], degc)
                return f"{joint} is {degc:g} °C"
            case ChangeController(controller=name):
                self.stiffness.change(make_controller(name))
                self.controller = name
                return f"controller {name}"
            case TakeHead(take=take, priority=priority):
                return self._take_head(priority) if take else self._give_head()
            case TurnHead():
                return self._turn_head(action)

    def _begin_push(self, push: PushNow) -> str:
        angle, end_s = radians(push.direction_deg), self.body.time_s + push.duration_s
        force = push.force_n * np.array([cos(angle), sin(angle), 0.0])
        self._pushes.append(_Pushing(force=force, end_s=end_s))
        return (
            f"pushed with {push.force_n:g} N towards {push.direction_deg:g}° for "
            f"{push.duration_s:g} s"
        )

    def _turn_head(self, turn: TurnHead) -> str:
        angles = np.deg2rad([turn.yaw_deg, turn.pitch_deg]).tolist()
        refused = self.body.gate.submit_all(
            self._operator, dict(zip(HEAD, angles, strict=True))
        )
        if refused is not None:
            who = self._head_owner() or "nobody"
            return f"the gate refused: {refused.reason.value}; the head is of {who}"
        return f"head to {turn.yaw_deg:g}°, {turn.pitch_deg:g}°"

    def _give_head(self) -> str:
        if self._operator is None:
            return "the head is not yours"
        self.body.ledger.release(self._operator, self.body.tick)
        self._operator = None
        return "head given back"

    def _take_head(self, priority: int) -> str:
        request = Request(
            owner=OPERATOR, resources=HEAD, priority=priority, timeout_s=0.0
        )
        before = self._head_owner()
        outcome = self.body.ledger.request(request, self.body.tick).outcome
        if outcome is None or outcome.token is None:
            return f"head not had at priority {priority}: {before} has it"
        self._operator = outcome.token
        return f"head taken from {before}" if before else "head taken"

    def _head_owner(self) -> str:
        names = {
            name
            for leaf in HEAD
            for name, token in (
                (OPERATOR, self._operator),
                (POSTURE_OWNER, self._posture.get(leaf)),
            )
            if token is not None and self.body.ledger.authorise(token, leaf) is None
        }
        return ", ".join(sorted(names))

    def _push(self, sim: SimulatedRobot) -> None:
        self._pushes = [p for p in self._pushes if sim.time_s < p.end_s - 1e-9]
        for push in self._pushes:
            sim.push_com(sim.robot.base_link, push.force)

    def _tell(self, text: str, kind: str, **data: object) -> None:
        time_s = self.body.time_s
        self._said.append(f"{time_s:.1f} s  {text}")
        self.recording.event(kind, time_s, said=text, **data)

    # -- posture -----------------------------------------------------------------------

    def _hold_posture(self, tick: int, observation: Observation) -> None:
        """Approach the posture with all motors that nobody else has."""
        if tick % self._period:
            return
        ledger = self.body.ledger
        for leaf in self._leads:
            token = self._posture.get(leaf)
            if token is None or ledger.authorise(token, leaf) is not None:
                request = Request(
                    owner=POSTURE_OWNER,
                    resources=(leaf,),
                    loss=Loss.PARTIAL,
                    timeout_s=0.0,
                )
                outcome = ledger.request(request, tick).outcome
                if outcome is None or outcome.token is None:
                    self._posture.pop(leaf, None)
                    continue
                self._posture[leaf] = outcome.token
        robot = self.body.sim.robot
        time_s = min(observation.time_s + self._cfg.control_period, APPROACH_TIME)
        way = approach(self._start, self._goal, time_s)
        target = np.clip(way, robot.lower, robot.upper)
        for leaf, token in self._posture.items():
            self.body.gate.submit(token, leaf, float(target[self._leads[leaf]]))


def run_live_robot(cfg: TrialCfg, link: Connection, folder: Path | None) -> None:
    """Run a robot until it is told to stop, or whoever looks is gone.

    Args:
        cfg: of the robot; its duration is not looked at.
        link: actions come in, a moment goes out whenever the last one was answered.
        folder: of the run, for a message.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # whoever started it says when to stop
    del folder
    live = LiveRobot(cfg)
    reason = "done"
    try:
        reason = _keep_time(live, link)
    except SimulationDiverged as error:
        reason = f"failed: {error}"
        live.recording.save_last_second(live.body.sim)
    except Exception as error:
        reason = f"failed: {error}"
        raise
    finally:
        live.close(reason)


def _keep_time(live: LiveRobot, link: Connection) -> str:
    """Step against the clock; return why it ended."""
    tick_s = live.body.ledger.cfg.tick_s
    begin, may_send = time.monotonic() - live.body.time_s, True
    while True:
        for _ in range(MOST_A_SLOT):
            try:
                if not link.poll():
                    break
                wish = link.recv()
            except (EOFError, OSError):
                return "done"  # nobody looks any more
            if isinstance(wish, Stop):
                return "done"
            if wish is None:
                may_send = True
            else:
                live.act(wish)
        live.slot()
        late = time.monotonic() - begin - live.body.time_s
        if may_send and live.body.tick % MOMENT_SLOTS == 0:
            try:
                link.send(live.moment(max(late, 0.0)))
            except OSError:
                return "done"
            may_send = False
        if late > LATE_S:
            begin += late
        elif late < -tick_s:
            time.sleep(-late)
