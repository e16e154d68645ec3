"""Served robot: simulated, in real time, locked for one slot at a time.

    ServedRobot: the robot with its ledger, stepped against the clock, and recorded
    UserStiffness: the stiffness controller within the limits that programs set
    LedgerAccess: the ledger for threads that wait in simulated time

Services run in threads of `qi`. They read and change the robot between two slots
(`access`); behaviours execute their commands in the next slot. All waiting is in
simulated time: `after` calls a function in a later slot.
"""

import copy
import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from nao_testbed.controllers.arbitration.events import Event, Executed
from nao_testbed.controllers.arbitration.manager.front import LedgerFront
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.policies import Lock, StopOnDemand
from nao_testbed.controllers.arbitration.requests import (
    Owner,
    Request,
    StaleToken,
    Ticket,
)
from nao_testbed.controllers.arbitration.tokens import Loss, Preemption, Token
from nao_testbed.controllers.interface.controller import (
    Controller,
    ControllerWrapper,
    FixedStiffness,
    Limits,
)
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.schemas.library.common import motor_leaves
from nao_testbed.controllers.stiffness import SmartStiffness
from nao_testbed.experiments.closed_loop.loop import APPROACH_TIME, approach
from nao_testbed.experiments.closed_loop.recording import RunRecording
from nao_testbed.experiments.closed_loop.trial import TrialCfg
from nao_testbed.experiments.scenarios.vocabulary.setup import Setup
from nao_testbed.experiments.shared_robot.behaviours import SlotsFailed
from nao_testbed.experiments.shared_robot.robot_with_ledger import RobotWithLedgerCfg
from nao_testbed.models import TestbedError
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.effectors import save_sound
from nao_testbed.sim.log_robot import LogRobot

LATE_S = 0.5
"""Delay behind the clock, in s, above which the robot does not catch up."""
LATE_CYCLE_S = 0.02
"""Delay in s above which a slot counts as late: a cycle of 50 Hz."""
YIELD_S = 0.0002
"""Time in s left after a slot to threads that wait for access."""
CROUCH_STIFFNESS = 0.2
"""Stiffness that replaces the braked gears of limp, crouching legs."""
TOKENS_KEPT = 1000
"""Ended tokens whose refusal is explained: 20 programs that take each other's joints
use up 200 in a second. 10 000 take 11 MB."""
CLIENT_PRIORITY = 2
"""Priority of every client: above the default, below a scenario's urgent behaviours."""
START = "start posture"
"""Owner that moves the robot into its initial posture, and then releases it."""

_LOG = logging.getLogger(__name__)


class RobotEnded(TestbedError):
    """The robot is no longer served."""


class UserStiffness(ControllerWrapper):
    """Stiffness controller that stays within the stiffness set by programs.

        s = min(s_controller, s_user)    while no joint moves, if smart stiffness is on
        s = s_user                       otherwise

    [naoqi-smart-stiffness]: while any joint moves, all joints have the user's value.
    """

    cap: FloatArray = np.ones(1)
    """(n_joints,) limit of the user's stiffness: 0 for an overheated chain."""
    least: FloatArray = np.zeros(1)
    """(n_joints,) minimum for joints whose set stiffness is 0."""
    is_on = True
    """True if smart stiffness is on."""
    moves = False
    """True while a joint is being moved."""

    def __init__(self, controller: Controller, n_joints: int) -> None:
        """Create the wrapper with a user's stiffness of 1."""
        super().__init__(controller)
        self._user = np.ones(n_joints)

    def with_controller(self, controller: Controller) -> "UserStiffness":
        """Return a wrapper of another controller with the same user settings."""
        other = copy.copy(self)
        other._wrapped = controller
        return other

    def set_user(self, stiffness: FloatArray) -> None:
        """Set the user's stiffness, (n_joints,) in [0, 1]."""
        self._user = stiffness.copy()

    @property
    def user(self) -> FloatArray:
        """(n_joints,) user's stiffness in [0, 1], set by programs."""
        return self._user.copy()

    @property
    def allowed(self) -> FloatArray:
        """(n_joints,) user's stiffness within its bounds."""
        return np.minimum(self._user, self.cap)

    def step(self, observation: Observation) -> Limits:
        """Return the limits that hold until the next call."""
        allowed = np.maximum(self.allowed, self.least)
        inner = self._wrapped
        if isinstance(inner, SmartStiffness):
            inner.user_stiffness = allowed
            if not self.is_on and inner.guard is not None:
                inner.guard.hold()
        limits = inner.step(observation)
        if not self.is_on:
            return Limits(stiffness=allowed)
        if self.moves:
            return replace(limits, stiffness=allowed)
        return replace(limits, stiffness=np.minimum(limits.stiffness, allowed))


@dataclass(kw_only=True)
class Load:
    """Timing figures of the robot."""

    n_slots: int = 0
    n_late: int = 0
    """Number of slots that ended more than 20 ms behind the clock."""
    worst_s: float = 0.0


SlotCall = Callable[[int, Observation], object]


class ServedRobot:
    """Robot in real time; call `run` in the main thread, `access` from others."""

    def __init__(self, cfg: TrialCfg, log: LogRobot | None = None) -> None:
        """Place the robot and start its recording.

        Args:
            cfg: the robot and its setting.
            log: recording that replaces the simulated robot; it gets the names of the
                commanded joints.

        Raises:
            BadInput: a value of the configuration cannot be used.
        """
        self.robot = robot = cfg.load_robot() if log is None else log.robot
        self.controller = cfg.controller
        """Initial stiffness controller."""
        self.leaf_of = motor_leaves(robot)
        """Leaf of the motor, by joint."""
        self._log = log
        self.stiffness = UserStiffness(FixedStiffness(), len(robot.joints))
        """Wrapper of the present controller."""
        self.is_recorded = log is not None
        """True if a recording replaces the simulated robot."""
        self.setup = Setup(
            robot,
            RobotWithLedgerCfg(
                posture=cfg.posture,
                simulation=cfg.simulation,
                ledger=LedgerCfg(
                    preemption=Preemption.BY_PRIORITY,
                    tells_commands=log is not None,
                    dead_tokens_kept=TOKENS_KEPT,
                ),
            ),
            controller=cfg.controller,
            seed=cfg.simulation.seed,
            control_period=cfg.control_period,
            listeners=() if log is None else (self._note_commanded,),
            sim=log,
            wrap=self._within_user_stiffness,
        )
        self.body = self.setup.body
        self.tick_s = self.setup.tick_s
        self._folder = cfg.folder
        self.recording = RunRecording.open(
            cfg.folder,
            robot,
            seed=cfg.simulation.seed,
            config=cfg,
            command=cfg.command,
            experiment="naoqi",
        )
        self.seen = self.body.sim.read()
        """Newest observation; replaced as a whole in each slot."""
        self.commanded = self.seen.target
        """(n_joints,) present set-points without shift, in rad; replaced as a whole."""
        self.load = Load()
        self.late_s = 0.0
        """Delay of the last slot behind the clock; negative: ahead of it."""
        self.step: Callable[[], None] = self.slot
        """Function that `run` calls in each slot; a page can wrap `slot`."""
        self.on_event: list[Callable[[str, Mapping[str, object]], object]] = []
        """Callbacks with the kind and the data of each event, from any thread."""
        legs = [*robot.groups.get("Legs", ())]
        self._legs = [robot.joint_index(joint) for joint in legs]
        self.each_slot: list[SlotCall] = [lambda *_: self._hold_crouch()]
        """Functions called at the start of each slot, under the lock."""
        self.on_close: list[Callable[[], None]] = []
        """Functions called once, when the robot ends."""
        self._lock = threading.RLock()
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._n_asking = 0
        self._asking = threading.Lock()
        self.is_closed = False
        self._start = _Start(self, cfg.posture) if log is None else None

    def reach_start_posture(self) -> None:
        """Run slots, as fast as possible, until the robot is in its start posture."""
        while self._start is not None and self._start.is_active:
            self.slot()

    # -- for threads of services ---------------------------------------------------

    @contextmanager
    def access(self) -> Iterator[None]:
        """Lock the robot between two slots.

        Raises:
            RobotEnded: the robot is no longer served.
        """
        with self._held():
            if self.is_closed:
                raise RobotEnded("the robot is no longer served.")
            yield

    @property
    def time_s(self) -> float:
        """Simulated time in s."""
        return self.seen.time_s

    @property
    def tick(self) -> int:
        """Number of the present slot."""
        return self.body.tick

    def after(self, seconds: float, function: Callable[[], None]) -> None:
        """Call a function, under the lock, after some simulated time.

        Args:
            seconds: simulated time in s; 0: the next slot.
            function: function to call; its errors are logged. It is not called after
                the robot's end.
        """
        with self._held():
            if not self.is_closed:
                tick = self.tick + max(round(seconds / self.tick_s), 0)
                heapq.heappush(self._due, (tick, next(self._numbers), function))

    def pause(self, seconds: float) -> Future[Any]:
        """Return a future that ends after some simulated time, with None."""
        future: Future[Any] = Future()
        self.after(seconds, lambda: finish(future))
        return future

    def add_owner(self, name: str, parent: str | None, *, yields: bool = False) -> None:
        """Register an owner of a program with the ledger, unless it is known.

        Args:
            name: name of the owner.
            parent: owner whose reservations it may use.
            yields: True to release resources at once on demand.
        """
        ledger = self.body.ledger
        if not ledger.knows(name):
            policy = StopOnDemand() if yields else Lock()
            owner = Owner(
                name=name, parent=parent, priority=CLIENT_PRIORITY, policy=policy
            )
            ledger.add_owner(owner, ledger.tick)

    def forget_owner(self, name: str) -> None:
        """Remove an owner with its reservations and requests, if it is known."""
        ledger = self.body.ledger
        if ledger.knows(name):
            ledger.forget_owner(name, ledger.tick)

    def request(
        self,
        owner: str,
        leaves: Iterable[str],
        wait_s: float = 0.0,
        loss: Loss = Loss.WHOLE,
    ) -> Ticket:
        """Request resources from the ledger."""
        ledger = self.body.ledger
        request = Request(
            owner=owner, resources=tuple(leaves), timeout_s=wait_s, loss=loss
        )
        return ledger.request(request, ledger.tick)

    def event(self, kind: str, **data: object) -> None:
        """Record an event."""
        self.recording.event(kind, self.time_s, **data)
        for call in self.on_event:
            call(kind, data)

    def _within_user_stiffness(self, controller: Controller) -> Controller:
        """Return a controller limited to the stiffness set by programs."""
        self.stiffness = self.stiffness.with_controller(controller)
        return self.stiffness

    def _note_commanded(self, event: Event) -> None:
        """Report to a recording the joints that programs command."""
        if self._log is not None and isinstance(event, Executed):
            self._log.note_commanded(
                self.robot.joint_index(joint)
                for joint, leaf in self.leaf_of.items()
                if leaf == event.resource
            )

    def _hold_crouch(self) -> None:
        """Hold limp legs in place while the robot crouches.

        A crouching NAO keeps its posture without stiffness by the static friction of
        its gears, whose motors brake [naoqi-api]; the model has less friction.
        """
        least = np.zeros(len(self.robot.joints))
        if self.body.state == "Crouch":
            least[self._legs] = CROUCH_STIFFNESS
        self.stiffness.least = least

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Hold the lock, and mark a thread as waiting for access."""
        with self._asking:
            self._n_asking += 1
        try:
            self._lock.acquire()
        finally:
            with self._asking:
                self._n_asking -= 1
        try:
            yield
        finally:
            self._lock.release()

    # -- time --------------------------------------------------------------------------

    def run(
        self, speed: float, is_over: Callable[[], bool], seconds: float | None = None
    ) -> None:
        """Step against the clock until the end.

        Args:
            speed: simulated seconds per second of wall time; 1 is real time.
            is_over: function called before each slot; True ends the loop.
            seconds: simulated time after which the loop ends; None: never.
        """
        begin = time.monotonic() - self.body.time_s / speed
        while not is_over() and (seconds is None or self.body.time_s < seconds):
            self.step()
            self.late_s = late = time.monotonic() - begin - self.body.time_s / speed
            load = self.load
            load.n_slots += 1
            load.n_late += late > LATE_CYCLE_S
            load.worst_s = max(load.worst_s, late)
            if late > LATE_S:
                begin += late
            if late < 0.0:
                time.sleep(-late)
            elif self._n_asking:
                time.sleep(YIELD_S)

    def slot(self) -> None:
        """Run one device slot; record it at the end of a control period."""
        with self._lock:
            setup = self.setup
            while self._due and self._due[0][0] <= setup.tick:
                _attempt(heapq.heappop(self._due)[2])
            for call in self.each_slot:
                _attempt(partial(call, setup.tick, self.seen))
            setup.disturbance.begin(setup.tick)
            try:
                setup.body.slot()
            except SlotsFailed as failed:
                _LOG.error("%s", failed)
                self.event("failed", said=str(failed))
            seen = setup.stiffness.seen
            if setup.tick % setup.control_ticks == 0 and seen is not None:
                self.recording.row(setup.body.sim, seen, setup.stiffness.decided)
            self.seen = self.body.sim.read()
            self.commanded = self.seen.target - self.body.gate.shift

    def close(self, reason: str) -> None:
        """End the robot: fail pending futures, and close the recording."""
        with self._lock:
            if self.is_closed:
                return
            self.is_closed = True
            for call in self.on_close:
                _attempt(call)
            due, self._due = self._due, []
        for _, _, function in due:
            _attempt(function)
        try:
            self.recording.close(reason)
            if self._folder is not None:
                save_sound(self.body.sim.speaker, self._folder, self.body.time_s)
        finally:
            self.setup.close()


def finish(future: Future[Any], value: object = None) -> None:
    """Set the result of a future that has not ended."""
    if not future.done():
        future.set_result(value)


def fail(future: Future[Any], error: Exception) -> None:
    """Set the error of a future that has not ended."""
    if not future.done():
        future.set_exception(error)


def on_cancel(future: Future[Any], stop: Callable[[], object]) -> None:
    """Call `stop` when a client cancels the future."""

    def finish(done: Future[Any]) -> None:
        if done.cancelled():
            with suppress(RobotEnded):
                stop()

    future.add_done_callback(finish)


def answered(going: Future[Any], answer: Callable[[Future[Any]], Any]) -> Future[Any]:
    """Return a future that ends with `going`; its cancellation cancels `going`.

    Args:
        going: future of a motion.
        answer: function that returns the result; it gets the ended `going`.
    """
    result: Future[Any] = Future()
    going.add_done_callback(lambda done: finish(result, answer(done)))
    on_cancel(result, going.cancel)
    return result


def failed(done: Future[Any]) -> bool:
    """Return True if a future was cancelled or failed."""
    return done.cancelled() or done.exception() is not None


def _attempt(function: Callable[[], object]) -> None:
    try:
        function()
    except Exception:  # noqa: BLE001  # the robot continues
        _LOG.exception("a scheduled function of the robot failed")


class _Start:
    """Behaviour that moves the robot into its initial posture, then releases it."""

    def __init__(self, served: ServedRobot, posture: str) -> None:
        body, robot = served.body, served.robot
        self._served = served
        self._from = body.sim.read().target
        self._to = robot.posture(posture).angles
        body.ledger.add_owner(Owner(name=START, priority=1), body.ledger.tick)
        leaves = dict.fromkeys(served.leaf_of.values())
        self._token: Token | None = served.request(START, leaves).token
        body.behaviours.add(START, self)

    @property
    def is_active(self) -> bool:
        """True until the robot is in its posture, or its joints are taken."""
        return self._token is not None

    def __call__(self, tick: int, observation: Observation) -> None:
        served, token = self._served, self._token
        body, robot = served.body, served.robot
        if token is None:
            return
        time_s = observation.time_s + served.tick_s
        way = approach(self._from, self._to, min(time_s, APPROACH_TIME))
        is_its_own = (
            body.ledger.authorise(token, next(iter(served.leaf_of.values()))) is None
        )
        if is_its_own and time_s < APPROACH_TIME + 5 * served.tick_s:
            target = np.clip(way, robot.lower, robot.upper)
            if body.gate.submit_set_points(token, target) is None:
                return
        self._token = None
        with suppress(StaleToken):  # somebody took the joints
            body.ledger.release(token, tick)


class LedgerAccess(LedgerFront):
    """Front end of the ledger for threads, in simulated time."""

    def __init__(self, served: ServedRobot, parent: str, priority: int) -> None:
        """Connect to the robot's ledger.

        Args:
            served: served robot.
            parent: default parent of added owners.
            priority: priority of all added owners.
        """
        super().__init__(
            served.body.ledger, lambda: served.pause(served.tick_s).result()
        )
        self._served, self._parent, self._priority = served, parent, priority

    @contextmanager
    def step(self) -> Iterator[tuple[Ledger, int]]:
        """Return the ledger and the present tick, with the robot locked."""
        with self._served.access():
            ledger = self._served.body.ledger
            yield ledger, max(self._served.tick, ledger.tick)

    def add_owner(self, owner: Owner) -> None:
        """Register an owner; its parent first."""
        owner = replace(
            owner, parent=owner.parent or self._parent, priority=self._priority
        )
        super().add_owner(owner)
