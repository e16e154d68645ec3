"""Behaviours of a robot with a ledger, called in every slot, with isolated failures.

The robot is protected against its behaviours: no exception of a behaviour aborts a
slot. A behaviour that raises is not called again, and its owner is dropped in the same
tick: the gate refuses its commands of that slot, and its joints get their safe
set-points. Each failure is stored with its tick, and raised after the requested slots.

`StiffnessOwner` registers a stiffness controller as an owner that holds only the torque
limits. It takes all free stiffness leaves of the robot and submits limits at its own
period; the controller can be replaced at any slot. A controller may shift set-points
slightly. The shift is added to them at no more than `SHIFT_RATE` (`URGENT_RATE` while
it reacts to a push), also after a change of controller. Any holder of a motor permits
both unless it forbids them.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np

from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.gate.device_map import map_devices
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LONGEST_S
from nao_testbed.controllers.arbitration.manager.snapshot import take_snapshot
from nao_testbed.controllers.arbitration.requests import Owner, Request, Ticket
from nao_testbed.controllers.arbitration.tokens import Loss, Token
from nao_testbed.controllers.interface.controller import (
    Controller,
    Limits,
    check_answer,
)
from nao_testbed.controllers.interface.robot_interface import (
    MotorLimit,
    Observation,
    ServoGains,
    check_current_limit,
    check_shift,
    own_gains,
)
from nao_testbed.experiments.closed_loop.controller_failure import attribute_errors_to
from nao_testbed.models import BadInput, Robot, TestbedError, UnknownName
from nao_testbed.models.errors import FOREIGN_ERRORS
from nao_testbed.models.resources import DeviceKind
from nao_testbed.models.values import FloatArray

MAX_KEPT = 100
"""Number of stored failures; a failure per slot gives 100 per second, so further ones
are only counted."""
MAX_SAID = 3
"""Number of failures in a message."""


@dataclass(frozen=True, kw_only=True)
class SlotFailure:
    """One failure in a slot."""

    tick: int
    """Tick of the ledger."""
    name: str
    """Owner of a behaviour, or the part of the robot's loop that failed."""
    error: BaseException

    def __str__(self) -> str:
        """Return one line of text."""
        kind = type(self.error).__name__
        return f"{self.name!r} at tick {self.tick}: {kind}: {self.error}"


class SlotsFailed(TestbedError):
    """Failures in the slots of a run; all slots were run to their end.

    A behaviour that failed is not called again, and its owner was dropped. The robot
    can continue with the other behaviours: run further slots.
    """

    def __init__(self, failures: tuple[SlotFailure, ...], count: int) -> None:
        """Create the error.

        Args:
            failures: first failures.
            count: total number.
        """
        self.failures = failures
        self.count = count
        said = "; ".join(str(one).rstrip(".") for one in failures[:MAX_SAID])
        super().__init__(
            f"{count} failure(s) occurred while the robot continued: {said}. A failed "
            "behaviour was stopped and its owner dropped; fix it, and add it again."
        )


class SlotFailures:
    """Isolation of failures: `attempt` in the slot, `raise_new` after it."""

    def __init__(self) -> None:
        """Start without failures."""
        self.kept: list[SlotFailure] = []
        """First failures, in order."""
        self.count = 0
        """Total number of failures."""
        self._raised = 0
        self._raised_count = 0

    def attempt(self, name: str, tick: int, part: Callable[[], object]) -> bool:
        """Run a part of the slot; return False if it failed."""
        try:
            part()
        except FOREIGN_ERRORS as error:  # the slot continues after any error
            self.count += 1
            if len(self.kept) < MAX_KEPT:
                self.kept.append(SlotFailure(tick=tick, name=name, error=error))
            return False
        return True

    def raise_new(self) -> None:
        """Raise the failures since the last call.

        Raises:
            SlotsFailed: there are failures.
        """
        new, count = tuple(self.kept[self._raised :]), self.count - self._raised_count
        self._raised, self._raised_count = len(self.kept), self.count
        if count:
            raise SlotsFailed(new, count) from (new[0].error if new else None)


Behaviour = Callable[[int, Observation], object]
"""Function of the tick and the newest observation that requests, releases and submits;
its result is ignored."""


class BehaviourList:
    """List of behaviours, called in the order of addition."""

    def __init__(self, ledger: Ledger, failures: SlotFailures) -> None:
        """Create an empty list.

        Args:
            ledger: ledger with their owners.
            failures: collector of their errors.
        """
        self._ledger = ledger
        self._failures = failures
        self._behaviours: list[tuple[str, Behaviour]] = []

    @property
    def owners(self) -> tuple[str, ...]:
        """Owners of the behaviours, in the order of calls."""
        return tuple(owner for owner, _ in self._behaviours)

    def add(self, owner: str | Owner, behaviour: Behaviour) -> None:
        """Call a behaviour in every slot from the next one on.

        Args:
            owner: owner of the behaviour: the name of a registered owner, or an
                `Owner`, which is registered. If the behaviour raises, all behaviours of
                that owner end and its resources are released.
            behaviour: function called with the tick and the newest observation.

        Raises:
            UnknownName: no owner of this name is registered.
            BadInput: the owner cannot be registered (`Ledger.add_owner`).
        """
        if isinstance(owner, Owner):
            self._ledger.add_owner(owner, self._ledger.tick)
            owner = owner.name
        elif not self._ledger.knows(owner):
            known = [row.name for row in take_snapshot(self._ledger).owners]
            place = f"the ledger; give Owner(name={owner!r}) to register it"
            raise UnknownName("Owner", owner, known, place)
        self._behaviours.append((owner, behaviour))

    def act(self, tick: int, observation: Observation) -> None:
        """Call each behaviour once.

        Args:
            tick: present tick. Behaviours get the ledger's tick if that is later.
            observation: newest observation.
        """
        for owner, behaviour in tuple(self._behaviours):
            now = max(tick, self._ledger.tick)
            call = partial(self._call, behaviour, now, observation)
            if not self._failures.attempt(owner, now, call):
                self._end(owner, max(now, self._ledger.tick))

    def _call(self, behaviour: Behaviour, tick: int, observation: Observation) -> None:
        behaviour(tick, observation)
        if self._ledger.tick > tick:
            raise BadInput(
                f"it called the ledger with tick {self._ledger.tick}, but the tick is "
                f"{tick}; pass the tick of its argument."
            )

    def _end(self, owner: str, tick: int) -> None:
        self._behaviours = [(o, b) for o, b in self._behaviours if o != owner]
        self._failures.attempt(owner, tick, partial(self._drop, owner, tick))

    def _drop(self, owner: str, tick: int) -> None:
        with suppress(UnknownName):  # the owner may have been removed
            self._ledger.drop(owner, tick)


STIFFNESS_OWNER = "stiffness controller"
STIFFNESS_PRIORITY = 5
"""Priority above the usual one of behaviours, below an emergency that makes the robot
limp."""
SHIFT_RATE = np.deg2rad(2.0)
"""Maximum speed of a shift, in rad/s: three times that of `minheat`."""
URGENT_RATE = np.deg2rad(150.0)
"""Maximum speed of an urgent shift (`Limits.is_urgent`): 3 degrees in 20 ms."""


class StiffnessOwner:
    """Behaviour that submits the limits of a stiffness controller.

    Stiffness held by another owner is not requested until it is free again.
    """

    def __init__(
        self,
        ledger: Ledger,
        gate: Gate,
        robot: Robot,
        controller: Controller,
        period_ticks: int,
    ) -> None:
        """Register with the ledger.

        Args:
            ledger: ledger of the reservations.
            gate: gate of the robot.
            robot: robot with the joints.
            controller: controller that decides the limits; it is reset.
            period_ticks: number of slots between two decisions.
        """
        self.name = STIFFNESS_OWNER
        self._ledger = ledger
        self._gate = gate
        self._robot = robot
        self._period = period_ticks
        ledger.add_owner(
            Owner(name=STIFFNESS_OWNER, priority=STIFFNESS_PRIORITY), ledger.tick
        )
        ledger.entrust(STIFFNESS_OWNER, ledger.tick)
        devices = map_devices(robot.resources, robot).of_kind(DeviceKind.STIFFNESS)
        self._parts = tuple((leaf.name, leaf.joints) for leaf in devices)
        self._leaves = tuple(name for name, _ in self._parts)
        first = self._request_all()
        self._whole = first.outcome.token if first.outcome else None
        """Token of all leaves, until one is lost."""
        self._tickets = dict.fromkeys(self._leaves, first)
        self.controller = controller
        with attribute_errors_to(controller, "reset"):
            controller.reset(robot)
        self.shift = np.zeros(len(robot.joints))
        """(n_joints,) last submitted shift of the set-points, in rad."""
        self.has_follower = False
        """True if a behaviour submits the set-points that a policy decides."""
        self._gains: ServoGains | None = None
        self._period_s = period_ticks * ledger.cfg.tick_s
        self.decided = Limits(stiffness=np.full(len(robot.joints), np.nan))
        """Last accepted decision of the controller, before any limitation."""
        self.seen: Observation | None = None
        """Observation of that decision."""

    @property
    def limits(self) -> FloatArray:
        """(n_joints,) stiffness of the controller's last decision."""
        return self.decided.stiffness

    def change(self, controller: Controller) -> None:
        """Switch to another controller from its next period on; it is reset."""
        with attribute_errors_to(controller, "reset"):
            controller.reset(self._robot)
        self.controller = controller

    def __call__(self, tick: int, observation: Observation) -> None:
        """Run the controller in the slots of its period.

        Raises:
            BadInput: a limit or a shift is invalid for every robot.
            ControllerFailed: the controller raised.
        """
        if tick % self._period:
            return
        with attribute_errors_to(
            self.controller, f"its step at t = {observation.time_s:.3f} s"
        ):
            decided = self.controller.step(observation)
        check_answer(self.controller, decided)
        self._submit(decided)
        self.seen, self.decided = observation, decided

    def _submit(self, decided: Limits) -> None:
        """Submit the limits of the leaves held.

        Raises:
            BadInput: a limit or a shift is invalid for every robot.
        """
        limits, current = decided.stiffness, decided.current_limit
        is_policy = decided.target is not None or decided.gains is not None
        if is_policy and not self.has_follower:
            raise BadInput(
                f"controller {self.controller.name!r} chooses set-points and gains, "
                "but the joints belong to behaviours here; use heat, sweep, live "
                "without a scenario, or the regression kit."
            )
        if decided.gains is not self._gains:
            self._gate.set_gains(decided.gains or own_gains(self._robot))
            self._gains = decided.gains
        if current is not None:
            check_current_limit(current, self._robot)
        if decided.shift is not None:
            check_shift(decided.shift, self._robot)
        moves = self._move_shift(decided.shift, urgent=decided.is_urgent)
        if self._has_all():
            self._gate.submit_stiffness(self._whole, limits, current)
            if moves:
                self._submit_shift(self._whole)
            return
        for name, joints in self._parts:
            outcome = self._tickets[name].outcome
            if outcome is None:
                continue  # held by another owner
            token = outcome.token
            if token is None or not self._ledger.covers(token, name):
                self._tickets[name] = self._ask(name)
            elif self._ledger.authorise(token, name) is None:
                stiffness = limits[joints]
                value: FloatArray | MotorLimit = stiffness
                if current is not None:
                    value = MotorLimit(stiffness=stiffness, current=current[joints])
                self._gate.submit(token, name, value)
                if moves:
                    self._submit_shift(token)

    def _move_shift(self, wanted: FloatArray | None, *, urgent: bool = False) -> bool:
        """Move towards the shift that the controller wants; None: towards zero.

        A step starts at the present shift: joints that another owner held follow at the
        same rate limit.

        Returns:
            True if there is a shift to add to the set-points.
        """
        present = self._gate.shift
        if wanted is None and not present.any():
            self.shift = present
            return False
        most = (URGENT_RATE if urgent else SHIFT_RATE) * self._period_s
        step = np.clip((0.0 if wanted is None else wanted) - present, -most, most)
        self.shift = present + step
        return True

    def _submit_shift(self, token: Token | None) -> None:
        """Submit the shift of joints that a token covers; others keep their shift."""
        may = self._gate.may_shift(token)
        self._gate.submit_shift(token, np.where(may, self.shift, self._gate.shift))

    def _has_all(self) -> bool:
        """Return True if one token covers every leaf: the usual, fast case."""
        token, authorise = self._whole, self._ledger.authorise
        if token is None:
            return False
        if any(authorise(token, leaf) is not None for leaf in self._leaves):
            self._whole = None  # afterwards with one token per leaf
        return self._whole is not None

    def _request_all(self) -> Ticket:
        """Request all free leaves with one token, which survives partial losses."""
        request = Request(
            owner=STIFFNESS_OWNER,
            optional=self._leaves,
            loss=Loss.PARTIAL,
            timeout_s=0.0,
        )
        return self._ledger.request(request, self._ledger.tick)

    def _ask(self, leaf: str) -> Ticket:
        """Request one leaf, without a time limit."""
        request = Request(owner=STIFFNESS_OWNER, resources=(leaf,), timeout_s=LONGEST_S)
        return self._ledger.request(request, self._ledger.tick)
