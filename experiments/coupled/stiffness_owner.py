"""A stiffness controller as one owner among others: it holds the torque limits alone.

It takes every stiffness of the robot that is free and submits limits at its own period;
another controller may take its place at any slot. Which posture is held is not its
matter; a controller that shifts set-points a little has its shift put on top of them,
never faster than `SHIFT_RATE`, also when another controller takes over. It is entrusted
with both by whoever holds a motor and does not forbid it.
"""

import numpy as np
from numpy.typing import NDArray

from controllers.arbitration.gate import Gate
from controllers.arbitration.gate.device_map import map_devices
from controllers.arbitration.manager.ledger import Ledger
from controllers.arbitration.manager.state import LONGEST_S
from controllers.arbitration.requests import Owner, Request, Ticket
from controllers.arbitration.tokens import Loss, Token
from controllers.interface.controller import Controller, Limits, check_answer
from controllers.interface.robot_interface import Observation, check_shift
from experiments.controller_failed import blamed_on
from models import Robot
from models.resources import DeviceKind

FloatArray = NDArray[np.float64]

NAME = "stiffness controller"
PRIORITY = 5
"""Above what behaviours usually have, below an emergency that makes the robot limp."""
SHIFT_RATE = np.deg2rad(2.0)
"""Largest speed of a shift, in rad/s: three times that of `minheat`."""


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
        self.name = NAME
        self._ledger = ledger
        self._gate = gate
        self._robot = robot
        self._period = period_ticks
        ledger.add_owner(Owner(name=NAME, priority=PRIORITY), ledger.tick)
        ledger.entrust(NAME, ledger.tick)
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
        self._largest_step = SHIFT_RATE * period_ticks * ledger.cfg.tick_s
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
        limits = decided.stiffness
        if decided.shift is not None:
            check_shift(decided.shift, self._robot)
        moves = self._move_shift(decided.shift)
        if self._has_all():
            self._gate.submit_stiffness(self._whole, limits)
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
                self._gate.submit(token, name, limits[joints])
                if moves:
                    self._submit_shift(token)

    def _move_shift(self, wanted: FloatArray | None) -> bool:
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
        most = self._largest_step
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
            owner=NAME, optional=self._leaves, loss=Loss.PARTIAL, timeout_s=0.0
        )
        return self._ledger.request(request, self._ledger.tick)

    def _ask(self, leaf: str) -> Ticket:
        """Ask for one leaf, and wait as long as it takes."""
        request = Request(owner=NAME, resources=(leaf,), timeout_s=LONGEST_S)
        return self._ledger.request(request, self._ledger.tick)
