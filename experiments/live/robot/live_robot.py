"""Live robot with an operator and a page.

    Play: a robot that runs by itself, slot by slot, and is recorded
    LiveRobot: executes an operator's actions on one, and reports its state

Reports have no side effects: a robot without operator actions is bit-identical to one
without a page.
"""

from collections import deque
from math import cos, radians, sin
from typing import Protocol

import numpy as np

from nao_testbed.controllers.arbitration.manager.snapshot import take_snapshot
from nao_testbed.controllers.interface.robot_interface import Picture
from nao_testbed.controllers.policies.text import short_names
from nao_testbed.experiments.closed_loop.leg_forces import StandingLoss
from nao_testbed.experiments.closed_loop.recording import RunRecording
from nao_testbed.experiments.closed_loop.trial import TrialCfg
from nao_testbed.experiments.live.robot.forecast import Forecaster
from nao_testbed.experiments.live.robot.moment import Moment, PanelView, Reservations
from nao_testbed.experiments.live.robot.operation import (
    Action,
    BreakPart,
    ChangeController,
    ChangeSetting,
    Foresee,
    GiveBack,
    HeatNow,
    Misalign,
    ModulateSchema,
    PushNow,
    SetDown,
    SleepSchema,
    Take,
    TakePicture,
    TiltGround,
    Touch,
    WakeSchema,
)
from nao_testbed.experiments.live.robot.operator import Operator
from nao_testbed.experiments.live.robot.panels import Panels
from nao_testbed.experiments.live.robot.refusals import Refusals
from nao_testbed.experiments.live.robot.resting_robot import RestingRobot
from nao_testbed.experiments.live.robot.schema_actions import change_schema, views_of
from nao_testbed.experiments.live.scenario_cfg import ScenarioCfg
from nao_testbed.experiments.scenarios.vocabulary.setup import Setup
from nao_testbed.experiments.shared_robot.behaviours import SlotsFailed
from nao_testbed.models import BadInput, TestbedError
from nao_testbed.models.values import FloatArray

KEPT = 8
"""Number of latest sentences in a moment."""
PANEL_SLOTS = 20
"""Minimum number of slots between two updates of panels."""

Change = (
    PushNow
    | HeatNow
    | BreakPart
    | TiltGround
    | SetDown
    | Misalign
    | Touch
    | ChangeController
    | ChangeSetting
)


class Activity(Protocol):
    """Robot that runs by itself: at rest, in a scenario, or for client programs."""

    setup: Setup
    recording: RunRecording
    controller: str
    """Initial stiffness controller."""
    messages: list[str]
    """Events to be reported and recorded; the reader clears the list."""

    @property
    def busy(self) -> str:
        """Reason against a forecast now; empty: none."""

    def slot(self) -> None:
        """Run one device slot.

        Raises:
            SlotsFailed: something failed; the slot was run to its end.
            SimulationDiverged: a torque is not finite.
        """

    def close(self, reason: str) -> None:
        """Close the recording with the reason, and release the engine."""


class LiveRobot:
    """One robot and its operator; `act`, `slot`, `moment`, `close`."""

    def __init__(self, play: Activity) -> None:
        self._play = play
        self.setup, self.recording = play.setup, play.recording
        self.body, self.stiffness = self.setup.body, self.setup.stiffness
        self.controller = self._play.controller
        self.operator = Operator(self.setup)
        self._forecaster = Forecaster(self.setup)
        self._panels = Panels(self.setup)
        self._panels_at = -PANEL_SLOTS
        self._shown: tuple[PanelView, ...] = ()
        self._reservations: Reservations | None = None
        self._refusals = Refusals(self.body.ledger)
        self._changes = -1, -1
        """Change counter of the ledger, and refusals, of the last report."""
        self._said: deque[str] = deque(maxlen=KEPT)
        self._picture: Picture | None = None
        robot = self.setup.robot
        self._loss = StandingLoss(self.body.sim) if robot.feet else None
        self._loss_w = np.full(len(robot.motors), np.nan)
        self._least_w = np.full(len(robot.motors), np.nan)

    def slot(self) -> None:
        """Run one device slot.

        Raises:
            SimulationDiverged: a torque is not finite.
        """
        self._forecaster.note()
        try:
            self._play.slot()
        except SlotsFailed as failed:
            self._log(str(failed), "failed")
        for kind, messages in (
            ("operator", self.operator.messages),
            ("scenario", self._play.messages),
        ):
            for text in messages:
                self._log(text, kind)
            messages.clear()

    def act(self, action: Action) -> None:
        """Execute an operator's action, or report its refusal."""
        try:
            said = self._do(action)
        except TestbedError as error:
            self._log(f"refused: {error}", "refused", action=repr(action))
        else:
            self._log(said, "operator", action=repr(action))

    def moment(self, late_s: float = 0.0, n_taken: int = 0) -> Moment:
        """Return the present state for viewers, without changing the robot.

        Args:
            late_s: delay behind the wall clock.
            n_taken: number of requests received so far.
        """
        sim = self.body.sim
        robot = sim.robot
        truth = sim.truth()
        picture, self._picture = self._picture, None
        reservations = None
        if self.body.tick >= self._panels_at + PANEL_SLOTS:
            self._panels_at = self.body.tick
            self._shown = self._panels.poll()
            if self._loss is not None:
                per_square = np.where(self._loss.loss > 0.0, self._loss.loss, np.nan)
                self._loss_w = per_square * sim.mean_square
                self._least_w = (
                    np.full_like(self._loss_w, np.nan)
                    if truth.has_fallen
                    else self._loss.least_w()
                )
            reservations = self._new_reservations()
        return Moment(
            time_s=sim.time_s,
            late_s=late_s,
            n_taken=n_taken,
            controller=short_names([self.controller])[0],
            q=truth.q,
            position=truth.base_position,
            quaternion=truth.base_quaternion,
            degc=robot.largest_of_joint(truth.temperature),
            error_deg=np.rad2deg(sim.misalignment),
            loss_w=robot.largest_of_joint(self._loss_w),
            least_w=robot.largest_of_joint(self._least_w),
            legs_w=(_sum(self._loss_w), _sum(self._least_w)),
            seen=sim.read(),
            lights=sim.leds.means(),
            says=sim.speaker.says(sim.time_s),
            picture=picture,
            has_fallen=truth.has_fallen,
            groups=self.operator.groups(),
            schemas=tuple(views_of(self.setup.schemas)),
            panels=self._shown,
            reservations=reservations,
            forecast=self._forecaster.poll(),
            tick_s=self.body.ledger.cfg.tick_s,
            said=tuple(self._said),
        )

    def close(self, reason: str) -> None:
        """Close the recording with the reason, and release the engine."""
        self._forecaster.close()
        self._play.close(reason)

    def _new_reservations(self) -> Reservations | None:
        """Return holders and waiters; None if they have not changed."""
        groups = self.body.transmitter.groups.now()
        ledger, last = self.body.ledger, self._reservations
        changes = ledger.changes, self._refusals.count
        if last and changes == self._changes and groups == last.groups:
            return None
        self._changes = changes
        now = take_snapshot(ledger)
        found = Reservations(
            resources=now.resources,
            owners=now.owners,
            groups=groups,
            refused=self._refusals.newest(),
        )
        if found == last:
            return None
        self._reservations = found
        return found

    def _do(self, action: Action) -> str:
        match action:
            case Take():
                return self.operator.take(action)
            case GiveBack():
                return self.operator.release(action)
            case WakeSchema() | SleepSchema() | ModulateSchema():
                return change_schema(self.setup.schemas, action, self.setup.tick)
            case Foresee() | TakePicture():
                return self._observe(action)
            case (
                PushNow()
                | HeatNow()
                | BreakPart()
                | TiltGround()
                | SetDown()
                | Misalign()
                | Touch()
                | ChangeController()
                | ChangeSetting()
            ):
                return self._change(action)
        return self.operator.command(action)

    def _observe(self, action: Foresee | TakePicture) -> str:
        """Execute a request that takes time but does not change the robot."""
        if isinstance(action, TakePicture):
            self._picture = self.body.sim.look(action.camera)
            return f"a picture of {action.camera}"
        if busy := self._play.busy:
            raise BadInput(f"no forecast {busy}.")
        return self._forecaster.ask(action)

    def _change(self, action: Change) -> str:
        """Execute a change from outside the ledger, which needs no token."""
        setup, body = self.setup, self.body
        match action:
            case PushNow() | TiltGround() | Misalign() | Touch():
                return self._disturb(action)
            case SetDown():
                body.sim.set_down(setup.robot.posture_name(body.cfg.posture, "upright"))
                return "the robot is picked up and set down"
            case HeatNow():
                joint, degc = action.joint, action.degc
                setup.robot.joint_index(joint)  # raises for an unknown name
                setup.set_temperature(joint, degc)
                return f"{joint} is set to {degc:g} °C"
            case BreakPart():
                part, is_broken = action.part, action.is_broken
                (body.break_parts if is_broken else body.repair_parts)([part])
                return f"{part} is {'broken' if is_broken else 'repaired'}"
            case ChangeController():
                setup.use_controller(action.controller)
                self.controller = action.controller
                return f"controller {action.controller}"
            case ChangeSetting():
                return self._panels.change(action)

    def _disturb(self, action: PushNow | TiltGround | Misalign | Touch) -> str:
        setup = self.setup
        match action:
            case Touch(sensor=sensor, duration_s=seconds):
                over = self.body.tick + max(round(seconds / setup.tick_s), 1)
                setup.disturbance.touch(sensor, over)
                return f"{sensor} is touched for {seconds:g} s"
            case TiltGround():
                setup.disturbance.set_ground(None, action.slope_deg)
                return f"the ground turns to {action.slope_deg:g}°"
            case Misalign(joint=joint, error_deg=error_deg):
                setup.disturbance.set_misalignment(joint, error_deg)
                return f"the error of {joint} changes to {error_deg:g}°"
            case PushNow(direction_deg=direction, force_n=newton, duration_s=seconds):
                angle = radians(direction)
                force = (newton * cos(angle), newton * sin(angle), 0.0)
                slots = max(round(seconds / setup.tick_s), 1)
                link = setup.robot.base_link
                setup.disturbance.push(link, force, self.body.tick + slots)
                return (
                    f"pushed with {newton:g} N towards {direction:g}° for {seconds:g} s"
                )

    def say(self, text: str) -> None:
        """Report a text to viewers; it has already been recorded."""
        self._said.append(f"{self.body.time_s:.1f} s  {text}")

    def _log(self, text: str, kind: str, **data: object) -> None:
        self.say(text)
        self.recording.event(kind, self.body.time_s, said=text, **data)


def play_of(cfg: TrialCfg | ScenarioCfg) -> Activity:
    """Create the robot of a configuration.

    Raises:
        FileErrors: all errors in the file of a scenario.
        BadInput: a value of the configuration is invalid.
    """
    if isinstance(cfg, TrialCfg):
        return RestingRobot(cfg)
    from nao_testbed.experiments.live.robot.scenario_play import ScenarioPlay  # noqa: PLC0415  # heavy

    return ScenarioPlay(cfg)


def _sum(watts: FloatArray) -> float:
    """Return the sum of the known values; NaN without one."""
    known = watts[~np.isnan(watts)]
    return float(known.sum()) if len(known) else np.nan
