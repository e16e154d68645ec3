"""Behaviours of a robot with ledger, called in every slot; one that fails ends alone.

A robot is protected whatever its behaviours do, so nothing that one of them raises ends
a slot half-way. A behaviour that raises is not called any more, and its owner is
dropped in the same tick: its commands of that slot are refused, and its joints get
their safe set-points. Nothing is lost either: each failure is kept with its tick, and
raised once the slots that were asked for have run.

`StiffnessOwner` makes a stiffness controller one owner among others: it holds the
torque limits alone. It takes every stiffness of the robot that is free and submits
limits at its own period; another controller may take its place at any slot. Which
posture is held is not its matter; a controller that shifts set-points a little has its
shift put on top of them, never faster than `SHIFT_RATE` (`URGENT_RATE` while it catches
a push), also when another controller takes over. It is entrusted with both by whoever
holds a motor and does not forbid it.
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
    check_current_limit,
    check_shift,
)
from nao_testbed.experiments.closed_loop.controller_failure import blamed_on
from nao_testbed.models import BadInput, Robot, TestbedError, UnknownName
from nao_testbed.models.errors import FOREIGN
from nao_testbed.models.resources import DeviceKind
from nao_testbed.models.values import FloatArray

MOST_KEPT = 100
"""Failures that are kept, as one a slot is 100 a second; further ones are counted."""
MOST_SAID = 3
"""Failures that a message spells out."""


@dataclass(frozen=True, kw_only=True)
class SlotFailure:
    """One failure in a slot."""

    tick: int
    """Of the ledger."""
    who: str
    """Owner of a behaviour, or the part of the robot's loop that failed."""
    error: BaseException

    def __str__(self) -> str:
        """Say it in a line."""
        kind = type(self.error).__name__
        return f"{self.who!r} at tick {self.tick}: {kind}: {self.error}"


class SlotsFailed(TestbedError):
    """Something failed in the slots that were run; all of them were run to their end.

    A behaviour that failed is not called any more, and its owner was dropped. The robot
    may go on with the others: run further slots.
    """

    def __init__(self, failures: tuple[SlotFailure, ...], count: int) -> None:
        """Say what failed.

        Args:
            failures: the first of them.
            count: of all.
        """
        self.failures = failures
        self.count = count
        said = "; ".join(str(failure) for failure in failures[:MOST_SAID])
        super().__init__(
            f"{count} time(s) something failed while the robot went on: {said}. A "
            "behaviour among them was stopped and its owner dropped; mend it, and add "
            "it again."
        )


class SlotFailures:
    """Lets parts of a slot fail alone; `attempt` in the slot, `raise_new` after it."""

    def __init__(self) -> None:
        """Begin without any."""
        self.kept: list[SlotFailure] = []
        """The first ones, in order."""
        self.count = 0
        """Of all."""
        self._raised = 0
        self._raised_count = 0

    def attempt(self, who: str, tick: int, part: Callable[[], object]) -> bool:
        """Let a part of the slot do its work; return whether it did not fail."""
        try:
            part()
        except FOREIGN as error:  # whatever it is, the slot goes on
            self.count += 1
            if len(self.kept) < MOST_KEPT:
                self.kept.append(SlotFailure(tick=tick, who=who, error=error))
            return False
        return True

    def raise_new(self) -> None:
        """Raise what failed since this was called last.

        Raises:
            SlotsFailed: something did.
        """
        new, count = tuple(self.kept[self._raised :]), self.count - self._raised_count
        self._raised, self._raised_count = len(self.kept), self.count
        if count:
            raise SlotsFailed(new, count) from (new[0].error if new else None)


Behaviour = Callable[[int, Observation], object]
"""Given the tick and the newest observation, it requests, releases and submits; what it
returns is no matter."""


class BehaviourList:
    """Calls behaviours in the order in which they were added."""

    def __init__(self, ledger: Ledger, failures: SlotFailures) -> None:
        """Begin without any.

        Args:
            ledger: knows their owners.
            failures: gets what they raise.
        """
        self._ledger = ledger
        self._failures = failures
        self._behaviours: list[tuple[str, Behaviour]] = []

    @property
    def owners(self) -> tuple[str, ...]:
        """For whom behaviours act, in the order of being called."""
        return tuple(owner for owner, _ in self._behaviours)

    def add(self, owner: str | Owner, behaviour: Behaviour) -> None:
        """Call a behaviour in every slot from the next one on.

        Args:
            owner: for whom it acts: the name of an owner that the ledger knows, or an
                `Owner`, which is registered. When the behaviour raises, all behaviours
                of that owner end and what it holds is free.
            behaviour: gets the tick and the newest observation.

        Raises:
            UnknownName: the ledger knows no owner of this name.
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
            tick: now. Behaviours get the ledger's tick, if that is later.
            observation: the newest one.
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
                f"it called the ledger with tick {self._ledger.tick}, but it is {tick};"
                " pass the tick that it is given."
            )

    def _end(self, owner: str, tick: int) -> None:
        self._behaviours = [(o, b) for o, b in self._behaviours if o != owner]
        self._failures.attempt(owner, tick, partial(self._drop, owner, tick))

    def _drop(self, owner: str, tick: int) -> None:
        with suppress(UnknownName):  # it may have been forgotten
            self._ledger.drop(owner, tick)


STIFFNESS_OWNER = "stiffness controller"
STIFFNESS_PRIORITY = 5
"""Above what behaviours usually have, below an emergency that makes the robot limp."""
SHIFT_RATE = np.deg2rad(2.0)
"""Largest speed of a shift, in rad/s: three times that of `minheat`."""
URGENT_RATE = np.deg2rad(150.0)
"""That of one that is urgent (`Limits.is_urgent`): 3 degrees in 20 ms."""


class StiffnessOwner:
    """Asks a controller for limits and submits them; a behaviour of `BehaviourList`.

    What of the stiffness somebody else has got it leaves alone until it is free again.
    """

    def __init__(
        self,
        ledger: Ledger,
        gate: Gate,
        robot: Robot,
        controller: Controller,
        period_ticks: int,
    ) -> None:
        """Become known to the ledger.

        Args:
            ledger: where it reserves.
            gate: of the robot.
            robot: whose joints.
            controller: decides the limits; it is reset.
            period_ticks: slots between two decisions.
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
        first = self._ask_for_all()
        self._whole = first.outcome.token if first.outcome else None
        """Token of all leaves, until it lacks one."""
        self._tickets = dict.fromkeys(self._leaves, first)
        self.controller = controller
        with blamed_on(controller, "reset"):
            controller.reset(robot)
        self.shift = np.zeros(len(robot.joints))
        """(n_joints,) submitted last, on top of the set-points, in rad."""
        self._period_s = period_ticks * ledger.cfg.tick_s
        self.decided = Limits(stiffness=np.full(len(robot.joints), np.nan))
        """What the controller decided last, before anything cut it; no answer that was
        refused."""
        self.seen: Observation | None = None
        """What it was given then."""

    @property
    def limits(self) -> FloatArray:
        """(n_joints,) stiffness that the controller decided last."""
        return self.decided.stiffness

    def change(self, controller: Controller) -> None:
        """Let another controller decide from its next period on; it is reset."""
        with blamed_on(controller, "reset"):
            controller.reset(self._robot)
        self.controller = controller

    def __call__(self, tick: int, observation: Observation) -> None:
        """Decide, in the slots of its period.

        Raises:
            BadInput: a limit or a shift that no robot accepts.
            ControllerFailed: the controller raised.
        """
        if tick % self._period:
            return
        with blamed_on(self.controller, f"its step at t = {observation.time_s:.3f} s"):
            decided = self.controller.step(observation)
        check_answer(self.controller, decided)
        self._submit(decided)
        self.seen, self.decided = observation, decided

    def _submit(self, decided: Limits) -> None:
        """Submit what of it is ours.

        Raises:
            BadInput: a limit or a shift that no robot accepts.
        """
        limits, current = decided.stiffness, decided.current_limit
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
                continue  # somebody else has it
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
        """Go towards the shift that the controller wants; None: towards none.

        A step begins at what is in force: joints that were somebody else's come after
        the others no faster than these went.

        Returns:
            Whether there is one to be put on the set-points.
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
        """Submit the shift of what a token may move; the rest keeps what it has."""
        may = self._gate.may_shift(token)
        self._gate.submit_shift(token, np.where(may, self.shift, self._gate.shift))

    def _has_all(self) -> bool:
        """Whether one token covers every leaf: the usual case, and the quick one."""
        token, authorise = self._whole, self._ledger.authorise
        if token is None:
            return False
        if any(authorise(token, leaf) is not None for leaf in self._leaves):
            self._whole = None  # from now on leaf by leaf
        return self._whole is not None

    def _ask_for_all(self) -> Ticket:
        """Take what is free by one token, which outlives the loss of single leaves."""
        request = Request(
            owner=STIFFNESS_OWNER,
            optional=self._leaves,
            loss=Loss.PARTIAL,
            timeout_s=0.0,
        )
        return self._ledger.request(request, self._ledger.tick)

    def _ask(self, leaf: str) -> Ticket:
        """Ask for one leaf, and wait as long as it takes."""
        request = Request(owner=STIFFNESS_OWNER, resources=(leaf,), timeout_s=LONGEST_S)
        return self._ledger.request(request, self._ledger.tick)
