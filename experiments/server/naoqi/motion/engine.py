"""Motion engine: moves joints slot by slot with tokens of the ledger.

Joints have two kinds of commands [naoqi-api]:

- A *task* is timed and holds its joints: it is a separate owner, a part of its client.
A second task on the same joint waits in the ledger's queue until the first has ended. -
A *reactive* target holds a joint only briefly: the newest replaces the previous one. It
releases the joint at once on demand, and has no effect on a joint held by a task.

Every value passes the gate with the token of its client. A client that loses a joint to
heat, a fault or another owner gets the reason.
"""

import itertools
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nao_testbed.controllers.arbitration.manager.ledger_cfg import LONGEST_S
from nao_testbed.controllers.arbitration.manager.snapshot import users_of
from nao_testbed.controllers.arbitration.requests import Owner, Ticket
from nao_testbed.controllers.arbitration.tokens import Loss, Token
from nao_testbed.controllers.interface.robot_interface import MotorTarget, Observation
from nao_testbed.experiments.server.naoqi.motion.body import BodyNames
from nao_testbed.experiments.server.naoqi.motion.curves import Timed
from nao_testbed.experiments.server.naoqi.served_robot import (
    ServedRobot,
    fail,
    finish,
    on_cancel,
)
from nao_testbed.models import BadInput, TestbedError

ENGINE = "ALMotion"
"""Owner for which the engine is stepped, and of the motions of disconnected clients."""
ARRIVED = 1e-6
"""Tolerance in rad at which a reactive target is reached."""
ACCELERATION_S = 0.1
"""Time in s for a reactive target to accelerate a joint to full speed: an estimate."""
SETTLE_S = 0.2
"""Time in s after a motion before the robot counts as at rest and its joints are
released. A lagging joint that is released at once would be held at its present
angle."""

CLIENT = "naoqi client"
"""Prefix of the owner of a client, followed by its number."""
MOTION = "a program's motion"
"""Common name of the tasks."""

_LOG = logging.getLogger(__name__)
Curves = Mapping[str, Timed]
"""Curves by joint."""
Plan = Callable[[Mapping[str, float]], Curves]
"""Function that creates the curves from the joints' set-points at the task's start."""


class JointTaken(TestbedError):
    """Motion ended because its joints were revoked."""


@dataclass(kw_only=True)
class MotionTask:
    """Timed motion, until it has ended."""

    number: int
    name: str
    client: str
    joints: tuple[str, ...]
    leaves: tuple[str, ...]
    plan: Plan
    owner: str
    ticket: Ticket
    future: Future[Any]
    token: Token | None = None
    start_tick: int = 0
    curves: Curves = field(default_factory=dict)
    length_s: float = 0.0
    value: object = None
    """Result for its client."""
    yields: bool = False
    is_over: bool = False
    """True if the last set-point was submitted; the task ends with the next slot."""


@dataclass(kw_only=True)
class _Goal:
    """Reactive target of one leaf."""

    owner: str
    token: Token
    target: float
    speed: float
    velocity: float = 0.0
    over_s: float | None = None
    """Time at which its set-point was reached; the leaf is released soon after."""


class MotionEngine:
    """Engine that moves the joints of one robot for all its clients."""

    def __init__(self, served: ServedRobot, body: BodyNames) -> None:
        """Register with the ledger."""
        self._served, self.body = served, body
        self._ledger, self._gate = served.body.ledger, served.body.gate
        robot = served.robot
        self._joint_of = {
            leaf: robot.joints[robot.joint_index(joint)].motor
            for joint, leaf in served.leaf_of.items()
        }
        """Leading joint of each leaf."""
        self._most = {joint.name: joint.max_velocity for joint in robot.joints}
        self._tasks: dict[int, MotionTask] = {}
        self._goals: dict[str, _Goal] = {}
        """Reactive target of each leaf."""
        self._numbers = itertools.count(1)
        self._moved_s = -SETTLE_S
        self.warnings: Counter[str] = Counter()
        """Counts of accepted commands that were not executed as requested."""
        self._ledger.add_owner(Owner(name=ENGINE, priority=1), self._ledger.tick)
        served.body.behaviours.add(ENGINE, self._step)
        served.on_close.append(self._end_all)

    # -- queries -------------------------------------------------------------------

    def tasks(self) -> list[MotionTask]:
        """Return the tasks that have not ended, in order."""
        return list(self._tasks.values())

    def commanded(self, joints: Iterable[str]) -> dict[str, float]:
        """Return the present set-points, without shift, in rad."""
        present, leaf_of = self._gate.present, self._served.leaf_of
        return {joint: float(present[leaf_of[joint]]) for joint in joints}

    def are_free(self, joints: Iterable[str]) -> bool:
        """Return True if no task holds or awaits any of these joints."""
        leaves = self._leaves(joints)
        return not any(
            leaves & set(task.leaves)
            for task in self._tasks.values()
            if not task.yields
        )

    @property
    def is_moving(self) -> bool:
        """Return True if a joint moves or has just moved."""
        return self._served.time_s < self._moved_s + SETTLE_S

    # -- commands ----------------------------------------------------------------------

    def begin(
        self,
        client: str,
        name: str,
        joints: Sequence[str],
        plan: Plan,
        *,
        value: object = None,
        waits: bool = True,
        yields: bool = False,
    ) -> MotionTask:
        """Start a task, or queue it for its joints.

        Args:
            client: owner of the task.
            name: name of the task.
            joints: joints to move.
            plan: function that creates the curves.
            value: result for its client.
            waits: True to wait for busy joints; otherwise the task fails at once.
            yields: True to end the task when another owner demands its joints.
        """
        with self._served.access():
            number = next(self._numbers)
            leaves = tuple(sorted(self._leaves(joints)))
            parent = self._home(client, leaves)
            owner = f"{parent}/{name} {number}"
            self._served.add_owner(owner, parent, yields=yields)
            wait_s = LONGEST_S if waits else 0.0
            ticket = self._served.request(owner, leaves, wait_s)
            task = MotionTask(
                number=number,
                name=name,
                client=client,
                joints=tuple(joints),
                leaves=leaves,
                plan=plan,
                owner=owner,
                ticket=ticket,
                future=Future(),
                value=value,
                yields=yields,
            )
            self._tasks[number] = task
            on_cancel(task.future, lambda: self.kill([task]))
            self._served.event("task", said=f"{client}: {name} {number}")
            return task

    def aim(self, client: str, targets: Mapping[str, tuple[float, float]]) -> None:
        """Set reactive targets: joint to angle in rad and fraction of full speed.

        A joint held by a task or another owner ignores its target; that is counted.
        """
        with self._served.access():
            wanted: dict[str, tuple[float, float]] = {}
            for joint, (angle, fraction) in targets.items():
                leaf = self._served.leaf_of[joint]
                if leaf not in wanted or self._joint_of[leaf] == joint:
                    speed = fraction * self._most[joint]
                    wanted[leaf] = self.body.clip(joint, angle), speed
                if self.body.clip(joint, angle) != angle:
                    self.warn("angle clipped to its range")
            owner, tokens = self._reactive_tokens(client, list(wanted))
            for leaf, (angle, speed) in wanted.items():
                token = tokens.get(leaf)
                if token is None:
                    self.warn_busy(leaf, "setAngles")
                    continue
                before = self._goals.get(leaf)
                self._goals[leaf] = _Goal(
                    owner=owner,
                    token=token,
                    target=angle,
                    speed=speed,
                    velocity=before.velocity if before else 0.0,
                )

    def warn_busy(self, leaf: str, command: str) -> None:
        """Count a command without effect on a leaf; name the leaf's holders."""
        who = {
            MOTION if one.startswith(CLIENT) else one  # client numbers are omitted
            for one in users_of(self._ledger, leaf)
        }
        said = ", ".join(sorted(who)) or "an owner that waits"
        self.warn(f"{leaf} is busy ({said}): {command} had no effect")

    def warn(self, said: str) -> None:
        """Count a warning, and record its first occurrence as an event."""
        self.warnings[said] += 1
        if self.warnings[said] == 1:
            self._served.event("warning", said=said)

    def kill(self, tasks: Iterable[MotionTask]) -> int:
        """End tasks; their clients get a normal return. Return the number of tasks."""
        with self._served.access():
            killed = [task for task in tasks if task.number in self._tasks]
            for task in killed:
                self._end(task)
            return len(killed)

    def kill_using(self, joints: Iterable[str]) -> None:
        """End the tasks that use any of these joints, and their reactive targets."""
        leaves = self._leaves(joints)
        self.kill([t for t in self.tasks() if leaves & set(t.leaves)])
        with self._served.access():
            self._drop_goals(leaves)

    def inherit(self, client: str) -> None:
        """Continue the motions of a disconnecting client, with the engine as owner.

        A task whose joints another owner waits for ends and releases them.
        """
        with self._served.access():
            goals = [
                leaf
                for leaf, goal in self._goals.items()
                if goal.owner.startswith(f"{client}/")
            ]
            owner, tokens = self._reactive_tokens(ENGINE, goals)
            for leaf, token in tokens.items():
                goal = self._goals[leaf]
                goal.owner, goal.token = owner, token
            for task in self.tasks():
                if task.client == client:
                    self._inherit_task(task)

    def _inherit_task(self, task: MotionTask) -> None:
        self._ledger.forget_owner(task.owner, self._ledger.tick)
        task.client, task.owner = ENGINE, f"{ENGINE}/{task.name} {task.number}"
        self._served.add_owner(task.owner, ENGINE)
        has_started = task.token is not None
        wait_s = 0.0 if has_started else LONGEST_S
        task.ticket = self._served.request(task.owner, task.leaves, wait_s)
        if has_started:
            outcome = task.ticket.outcome
            task.token = None if outcome is None else outcome.token
            if task.token is None:
                self._end(task, JointTaken(f"{task.name}: {outcome}"))

    def drop_client(self, client: str) -> None:
        """End all motions of a client."""
        for task in self.tasks():
            if task.client == client:
                self._end(task)

    # -- internals ---------------------------------------------------------------------

    def _leaves(self, joints: Iterable[str]) -> set[str]:
        return {self._served.leaf_of[joint] for joint in joints}

    def _home(self, client: str, leaves: Iterable[str]) -> str:
        """Return the client's owner that holds any of these leaves, or the client."""
        for leaf in leaves:
            for held in self._ledger.resources.leaves[leaf].seated():
                if held.owner.name == client or held.owner.name.startswith(
                    f"{client}/"
                ):
                    continue  # the client itself, or another of its tasks or targets
                if client in {one.name for one in held.owner.line}:
                    return held.owner.name
        return client

    def _reactive_tokens(
        self, client: str, leaves: list[str]
    ) -> tuple[str, dict[str, Token]]:
        """Return owner and tokens with which a client may command these leaves."""
        parent = self._home(client, leaves)
        owner = f"{parent}/setAngles"
        self._served.add_owner(owner, parent, yields=True)
        found = {
            leaf: goal.token
            for leaf in leaves
            if (goal := self._goals.get(leaf)) is not None
            and goal.owner == owner
            and self._ledger.authorise(goal.token, leaf) is None
        }
        missing = tuple(leaf for leaf in leaves if leaf not in found)
        if missing:
            found |= self._ask(owner, missing)
        return owner, found

    def _ask(self, owner: str, leaves: tuple[str, ...]) -> dict[str, Token]:
        """Request all leaves together or, if that fails, each of them."""
        parts = (leaves,) if len(leaves) == 1 else (leaves, *((x,) for x in leaves))
        found: dict[str, Token] = {}
        for part in parts:
            outcome = self._served.request(owner, part, loss=Loss.PARTIAL).outcome
            if outcome is not None and outcome.token is not None:
                found |= dict.fromkeys(part, outcome.token)
                if part == leaves:
                    break
        return found

    def _step(self, tick: int, observation: Observation) -> None:
        """Submit the set-points of a slot."""
        for task in self.tasks():
            if task.is_over:
                self._end_and_settle(task, observation.time_s)
        due_s = observation.time_s - SETTLE_S
        self._drop_goals(
            [
                leaf
                for leaf, goal in self._goals.items()
                if goal.over_s is not None and goal.over_s <= due_s
            ]
        )
        moves = False
        for task in self.tasks():
            if task.token is None and not self._has_started(task, tick):
                continue
            assert task.token is not None
            moves = True
            values, task.is_over = self._next(task, tick)
            refused = self._gate.submit_all(task.token, values)
            if refused is not None:
                self._end(task, self._taken(task, refused.resource, refused.reason))
        for leaf, goal in list(self._goals.items()):
            if self._ledger.authorise(goal.token, leaf) is not None:
                del self._goals[leaf]
                continue
            if goal.over_s is not None:
                continue
            moves = True
            target, has_arrived = self._lead(leaf, goal)
            self._gate.submit(goal.token, leaf, target)
            if has_arrived:
                goal.over_s = observation.time_s
        if moves:
            self._moved_s = observation.time_s
        self._served.stiffness.moves = self.is_moving

    def _has_started(self, task: MotionTask, tick: int) -> bool:
        """Start a task whose joints were granted; return True if it runs."""
        outcome = task.ticket.outcome
        if outcome is None:
            return False
        if outcome.token is None:
            self._end(task, JointTaken(f"{task.name}: {outcome}"))
            return False
        task.token = outcome.token
        task.start_tick = tick
        try:
            task.curves = task.plan(self.commanded(task.joints))
        except Exception as error:  # noqa: BLE001  # reported to its client
            self._end(task, error)
            return False
        task.length_s = max((c.length_s for c in task.curves.values()), default=0.0)
        return True

    def _next(self, task: MotionTask, tick: int) -> tuple[dict[str, MotorTarget], bool]:
        """Return the set-points of a task in this slot, and True if they are the last.

        A joint never exceeds its maximum speed; it then arrives later.
        """
        dt, present = self._served.tick_s, self._gate.present
        time_s = (tick - task.start_tick + 1) * dt
        values: dict[str, MotorTarget] = {}
        is_over = time_s >= task.length_s - 1e-9
        for joint in task.joints:
            leaf = self._served.leaf_of[joint]
            if leaf in values and self._joint_of[leaf] != joint:
                continue
            wanted = self.body.clip(joint, task.curves[joint].curve(time_s))
            here, most = present[leaf], self._most[joint]
            step = float(np.clip(wanted - here, -most * dt, most * dt))
            if abs(wanted - here) > most * dt + 1e-9:
                self.warn(
                    "slower than requested: limited by the speed limit of a joint"
                )
                is_over = False
            velocity = 0.0 if is_over else float(np.clip(step / dt, -most, most))
            angle = self.body.clip(joint, here + step)
            values[leaf] = MotorTarget(angle=angle, velocity=velocity)
        return values, is_over

    def _lead(self, leaf: str, goal: _Goal) -> tuple[MotorTarget, bool]:
        """Move a leaf towards its target with bounded speed and acceleration."""
        dt, here = self._served.tick_s, float(self._gate.present[leaf])
        joint = self._joint_of[leaf]
        left = goal.target - here
        a = self._most[joint] / ACCELERATION_S
        fastest = min(goal.speed, np.sqrt(2.0 * a * abs(left)), abs(left) / dt)
        wanted = float(np.copysign(fastest, left))
        change = float(np.clip(wanted - goal.velocity, -a * dt, a * dt))
        goal.velocity = float(
            np.clip(goal.velocity + change, -self._most[joint], self._most[joint])
        )
        step = goal.velocity * dt
        if abs(left) <= ARRIVED or abs(left) <= abs(step) <= a * dt * dt * 2.0:
            goal.velocity = 0.0
            return MotorTarget(angle=goal.target, velocity=0.0), True
        angle = self.body.clip(joint, here + step)
        return MotorTarget(angle=angle, velocity=goal.velocity), False

    def _taken(self, task: MotionTask, leaf: str, reason: object) -> JointTaken:
        who = ", ".join(users_of(self._ledger, leaf))
        said = f" by {who}" if who else ""
        return JointTaken(f"{task.name}: {leaf} was taken away{said} ({reason}).")

    def _end(self, task: MotionTask, error: Exception | None = None) -> None:
        """End a task and release its joints."""
        if self._tasks.pop(task.number, None) is None:
            return
        self._served.forget_owner(task.owner)
        if error is None:
            finish(task.future, task.value)
        else:
            self._served.event("task", said=f"{task.client}: {error}", has_failed=True)
            fail(task.future, error)

    def _end_and_settle(self, task: MotionTask, time_s: float) -> None:
        """End a task and keep its last set-points for `SETTLE_S`, while its joints lag.

        Another owner gets the joints at once on request, as for any reactive target.
        """
        last = {leaf: float(self._gate.present[leaf]) for leaf in task.leaves}
        self._end(task)
        if not self._ledger.knows(task.client):
            return
        owner, tokens = self._reactive_tokens(task.client, list(last))
        for leaf, token in tokens.items():
            target = last[leaf]
            self._gate.submit(token, leaf, MotorTarget(angle=target, velocity=0.0))
            self._goals[leaf] = _Goal(
                owner=owner, token=token, target=target, speed=0.0, over_s=time_s
            )

    def _drop_goals(self, leaves: Iterable[str]) -> None:
        """Remove reactive targets and release their leaves."""
        for leaf in leaves:
            goal = self._goals.pop(leaf, None)
            if goal is not None and self._ledger.covers(goal.token, leaf):
                self._ledger.release(goal.token, self._ledger.tick, [leaf])

    def _end_all(self) -> None:
        for task in self.tasks():
            self._tasks.pop(task.number)
            fail(task.future, TestbedError("the robot is no longer served."))


def check_fraction(fraction: float) -> float:
    """Return a fraction of the maximum speed, in ]0, 1].

    Raises:
        BadInput: the fraction is out of range.
    """
    if not 0.0 < fraction <= 1.0:
        raise BadInput(
            f"fraction of the largest speed is {fraction:g}; give more than 0, at most "
            "1."
        )
    return fraction
