"""Operator: a person as an owner of the ledger; commands pass the gate.

    take -> request -> token -> gate, or command controller -> transmitter -> gate

The operator holds one token per taken resource. A joint is moved to its angle slot by
slot, at most at `SPEED`; postures, motions, lights and texts are orders, as for any
behaviour. The owner is registered with the first request: a run without requests is the
same as one without a page.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from nao_testbed.controllers.arbitration.manager.snapshot import take_snapshot
from nao_testbed.controllers.arbitration.requests import (
    NotGranted,
    Owner,
    Request,
    Ticket,
)
from nao_testbed.controllers.arbitration.tokens import Loss, Token
from nao_testbed.controllers.interface.robot_interface import Observation, check_target
from nao_testbed.controllers.schemas.library.common import (
    leaves_under,
    motor_leaves,
    resources_of_all,
)
from nao_testbed.controllers.transmitter.commands.order import OutputSet, PlacedOrder
from nao_testbed.experiments.live.robot.moment import ResourceGroup
from nao_testbed.experiments.live.robot.operation import (
    OPERATOR_PRIORITY,
    GiveBack,
    GoTo,
    Light,
    MoveJoint,
    Play,
    Say,
    Take,
    TurnHead,
)
from nao_testbed.experiments.scenarios.vocabulary.setup import Setup
from nao_testbed.models import Robot, TestbedError, UnknownName
from nao_testbed.models.library import LightPattern, LightStep, Sound
from nao_testbed.models.resources import DeviceKind

OPERATOR = "operator"
SPEED = np.deg2rad(60.0)
"""Maximum speed of a joint on the way to its angle, in rad/s."""
FADE_S = 0.2

Command = TurnHead | MoveJoint | GoTo | Play | Light | Say
"""Requests that need a token."""


def limbs_of(robot: Robot) -> Mapping[str, tuple[str, ...]]:
    """Return the highest composites with a motor among their direct parts.

    Returns:
        Their names and their leaves: head, arms and legs of a NAO.
    """
    limbs: dict[str, tuple[str, ...]] = {}
    below: set[str] = set()
    for node in robot.resources.walk():
        devices = [child.device for child in node.children]
        has_motor = any(d is not None and d.kind is DeviceKind.MOTOR for d in devices)
        if has_motor and node.name not in below:
            limbs[node.name] = leaves_under(robot, [node.name])
            below |= {one.name for one in node.walk()}
    return limbs


def groups_of(robot: Robot) -> tuple[str, ...]:
    """Return the resources an operator takes: limbs, all motors, LEDs, speakers."""
    kinds = (DeviceKind.MOTOR, DeviceKind.LEDS, DeviceKind.SPEAKER)
    whole = (name for kind in kinds for name in resources_of_all(robot, kind))
    return tuple(dict.fromkeys((*limbs_of(robot), *whole)))


class Operator:
    """Person as an owner that takes, commands and releases resources.

    Return values and errors of the methods are texts for the person.
    """

    def __init__(self, setup: Setup) -> None:
        """Create an operator that owns nothing."""
        self._setup, self._body = setup, setup.body
        self._ledger, self._gate = setup.body.ledger, setup.body.gate
        self._robot = setup.robot
        self._groups = {
            name: leaves_under(self._robot, [name]) for name in groups_of(self._robot)
        }
        self._leaf_of = motor_leaves(self._robot)
        self._tokens: dict[str, Token] = {}
        """Resource to token, also ended ones, for which the gate gives the reason."""
        self._waits: dict[str, Ticket] = {}
        self._goals: dict[str, float] = {}
        """Leaf of a motor to its goal angle, in rad."""
        self._orders: list[PlacedOrder] = []
        self.messages: list[str] = []
        """Results of earlier requests; the reader clears the list."""
        self._shown: tuple[int, tuple[ResourceGroup, ...]] = (-1, ())

    # -- reservations ------------------------------------------------------------------

    def take(self, action: Take) -> str:
        """Request a resource; return a text with the previous or present holders.

        Raises:
            UnknownName: the resource does not exist.
            TestbedError: the request is denied.
        """
        leaves = leaves_under(self._robot, [action.resource])
        self._register()
        tick, before = self._body.tick, self._holders(leaves)
        self._release(action.resource)
        request = Request(
            owner=OPERATOR,
            resources=(action.resource,),
            priority=action.priority,
            timeout_s=action.timeout_s,
            loss=Loss.PARTIAL,
        )
        ticket = self._ledger.request(request, tick)
        if ticket.outcome is None:
            self._waits[action.resource] = ticket
            return (
                f"waiting up to {action.timeout_s:g} s for {action.resource}; held by: "
                f"{'; '.join(self._describe_holders(leaves)) or 'no owner'}"
            )
        try:
            return self._taken(action.resource, ticket, before)
        except NotGranted as error:
            holders = "; ".join(self._describe_holders(leaves))
            raise TestbedError(
                f"{error}{f' Now with {holders}.' if holders else ''}"
            ) from error

    def release(self, action: GiveBack) -> str:
        """Release a resource, or withdraw the request for it."""
        if not self._release(action.resource):
            return f"you do not hold {action.resource}"
        return f"{action.resource} released"

    def groups(self) -> tuple[ResourceGroup, ...]:
        """Return the available groups with their holders, updated on each change."""
        changes, rows = self._shown
        if changes != self._ledger.changes or self._waits:
            changes, rows = self._ledger.changes, tuple(self._describe_groups())
            self._shown = changes, rows
        return rows

    # -- commands ----------------------------------------------------------------------

    def command(self, action: Command) -> str:
        """Command a taken resource; the gate or the command controller may refuse.

        Raises:
            UnknownName: the joint, posture, motion or resource does not exist.
            BadInput: an angle is out of its joint's range.
        """
        library = self._body.commands.library
        match action:
            case TurnHead(yaw_deg=yaw, pitch_deg=pitch):
                head = self._robot.head("turning the head")
                return self._move_joints(dict(zip(head, (yaw, pitch), strict=True)))
            case MoveJoint(joint=joint, angle_deg=angle):
                return self._move_joints({joint: angle})
            case GoTo(posture=posture):
                posture = self._robot.posture_name(posture)
                if posture not in self._robot.postures:
                    known = self._robot.postures
                    raise UnknownName("Posture", posture, known, "the robot")
                outputs = OutputSet(name=f"go to {posture}", to=posture)
                return self._order(outputs, set(self._leaf_of.values()))
            case Play(motion=name):
                motion = library.motion(name)
                leaves = {self._leaf_of[joint] for joint in motion.joints}
                return self._order(OutputSet(name=name, motion=motion), leaves)
            case Light(leds=leds, colour=colour):
                rgb = [int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)]
                groups = leaves_under(self._robot, [leds])
                step = LightStep(
                    at_s=0.0,
                    leds=groups,
                    colour=(rgb[0], rgb[1], rgb[2]),
                    fade_s=FADE_S,
                )
                name = f"{leds} {colour}"
                pattern = LightPattern(name=name, steps=(step,), length_s=FADE_S)
                return self._order(OutputSet(name=name, light=pattern), set(groups))
            case Say(text=text):
                sound = Sound(name="operator says", text=text)
                speakers = resources_of_all(self._robot, DeviceKind.SPEAKER)
                leaves = set(leaves_under(self._robot, speakers))
                return self._order(OutputSet(name=text, sound=sound), leaves)

    def __call__(self, tick: int, observation: Observation) -> None:
        """Step the joints, and process results of requests and orders."""
        del tick, observation
        if self._goals:
            self._step_joints()
        if self._waits:
            self._check_waits()
        if self._orders:
            for order in [one for one in self._orders if one.is_over]:
                self._orders.remove(order)
                self.messages.append(_ended(order))

    # -- internals ---------------------------------------------------------------------

    def _register(self) -> None:
        """Register as an owner, at the first request or after a removal."""
        if self._ledger.knows(OPERATOR):
            return
        owner = Owner(name=OPERATOR, priority=OPERATOR_PRIORITY)
        self._ledger.add_owner(owner, self._body.tick)
        self._body.behaviours.add(OPERATOR, self)

    def _taken(
        self, resource: str, ticket: Ticket, before: Mapping[str, tuple[str, ...]]
    ) -> str:
        self._tokens[resource] = ticket.token
        gave_way = _list(before)
        return f"{resource} taken" + (f" from {gave_way}" if gave_way else "")

    def _release(self, resource: str) -> bool:
        """Release the token or withdraw the request; return False if there was none."""
        tick, found = self._body.tick, False
        ticket = self._waits.pop(resource, None)
        if ticket is not None:
            self._ledger.withdraw(ticket.number, tick)
            found = True
        token = self._tokens.pop(resource, None)
        if token is not None:
            leaves = [
                leaf
                for leaf in leaves_under(self._robot, [resource])
                if self._ledger.covers(token, leaf)
            ]
            for leaf in leaves:
                self._goals.pop(leaf, None)
            if leaves:
                self._ledger.release(token, tick)
            found = bool(leaves) or found
        return found

    def _check_waits(self) -> None:
        for resource, ticket in list(self._waits.items()):
            if ticket.outcome is None:
                continue
            del self._waits[resource]
            try:
                self.messages.append(self._taken(resource, ticket, {}))
            except NotGranted as error:
                self.messages.append(f"refused: {error}")

    def _move_joints(self, angles_deg: Mapping[str, float]) -> str:
        robot = self._robot
        target = 0.5 * (robot.lower + robot.upper)
        for joint, angle in angles_deg.items():
            target[robot.joint_index(joint)] = np.deg2rad(angle)
        check_target(target, robot)  # raises with the joint and its range
        leaves = {
            self._leaf_of[joint]: float(target[robot.joint_index(joint)])
            for joint in angles_deg
        }
        now = {leaf: self._gate.present[leaf] for leaf in leaves}
        refused = self._gate.submit_all(self._token(leaves), now)
        names = " and ".join(angles_deg)
        if refused is not None:
            who = _list(self._holders(leaves)) or "nobody"
            return f"the gate refused {names}: {refused.reason.value}; held by {who}"
        self._goals |= leaves
        angles = ", ".join(f"{round(angle, 1):g}°" for angle in angles_deg.values())
        return f"{names} to {angles}"

    def _step_joints(self) -> None:
        """Move every joint with a goal one step, all in one batch."""
        most = SPEED * self._ledger.cfg.tick_s
        values, present = {}, self._gate.present
        for leaf, goal in self._goals.items():
            here = present[leaf]
            values[leaf] = here + min(max(goal - here, -most), most)
        token_of = {leaf: self._token([leaf]) for leaf in values}
        parts: dict[Token | None, dict[str, float]] = {}
        for leaf, token in token_of.items():
            parts.setdefault(token, {})[leaf] = values[leaf]
        refused = self._gate.submit_together(list(parts.items())).refused
        if refused is not None:
            self.messages.append(
                f"the gate refused {refused.resource}: {refused.reason.value}"
            )
        authorise = self._ledger.authorise
        for leaf, angle in values.items():
            is_lost = authorise(token_of[leaf], leaf) is not None
            if is_lost or (refused is None and angle == self._goals[leaf]):
                del self._goals[leaf]

    def _order(self, outputs: OutputSet, leaves: set[str]) -> str:
        token = self._token(leaves)
        if token is None:
            who = _list(self._holders(leaves)) or "nobody"
            return (
                f"refused {outputs.name!r}: NO_TOKEN, you have no reservation for all "
                f"of {_short(leaves)}; held by {who}"
            )
        for leaf in leaves:
            self._goals.pop(leaf, None)
        order = self._body.commands.submit(outputs, token, self._body.tick)
        if order.is_over:
            return _ended(order)
        self._orders.append(order)
        return f"{outputs.name!r} ordered"

    def _token(self, leaves: Iterable[str]) -> Token | None:
        """Return the operator's token that may command all of these leaves.

        Without one, return an ended token that covered them, for the gate's reason.
        """
        wanted, authorise = set(leaves), self._ledger.authorise
        dead = None
        for resource, token in self._tokens.items():
            if all(authorise(token, leaf) is None for leaf in wanted):
                return token
            if wanted <= set(leaves_under(self._robot, [resource])):
                dead = token
        return dead

    def _holders(self, leaves: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return leaf to its other users."""
        wanted = set(leaves)
        return {
            row.name: users
            for row in take_snapshot(self._ledger).resources
            if row.name in wanted
            and (users := tuple(who for who in row.users if who != OPERATOR))
        }

    def _describe_holders(self, leaves: Iterable[str]) -> list[str]:
        """Describe the other holders of leaves: priority and start time.

        A reservation has no fixed end: its owner releases or loses it.
        """
        wanted, tick_s = set(leaves), self._ledger.cfg.tick_s
        said = {
            hold.owner: f"{hold.owner} (priority {hold.priority}, since "
            f"{hold.since_tick * tick_s:.1f} s, until released)"
            for row in take_snapshot(self._ledger).resources
            if row.name in wanted
            for hold in row.holders
            if hold.owner != OPERATOR and not hold.is_lent
        }
        return [said[owner] for owner in sorted(said)]

    def _describe_groups(self) -> Iterable[ResourceGroup]:
        users = {row.name: row.users for row in take_snapshot(self._ledger).resources}
        waits = {
            wait.request: wait.until_tick
            for row in take_snapshot(self._ledger).resources
            for wait in row.waiters
        }
        tick_s = self._ledger.cfg.tick_s
        for name, leaves in self._groups.items():
            ticket = self._waits.get(name)
            until = None if ticket is None else waits.get(ticket.number)
            holders = dict.fromkeys(who for leaf in leaves for who in users[leaf])
            yield ResourceGroup(
                name=name,
                holders=tuple(holders),
                is_mine=self._token(leaves) is not None,
                wait_left_s=None
                if until is None
                else (until - self._ledger.tick) * tick_s,
            )


def _list(holders: Mapping[str, tuple[str, ...]]) -> str:
    return ", ".join(sorted({who for users in holders.values() for who in users}))


def _short(leaves: Iterable[str]) -> str:
    names = sorted(leaves)
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if names[4:] else "")


def _ended(order: PlacedOrder) -> str:
    if not order.has_failed:
        return f"{order.outputs.name!r} done"
    why = order.refused or order.reason
    detail = f": {order.detail}" if order.detail else ""
    return f"refused {order.outputs.name!r}: {why}{detail}"
