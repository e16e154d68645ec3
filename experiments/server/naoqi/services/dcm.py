"""DCM: timed commands to single actuators, sent in each device slot (until NAOqi 2.7).

The output is linear in time between the last sent value and the next command; after the
last command its value is held [naoqi-dcm]. A position is submitted to the gate with a
token of the client, which releases it for any motion; a hardness is the user's
stiffness. Future commands of a client are executed even after it has left: NAOqi's DCM
has no notion of clients. The DCM then becomes the owner of these commands, and of
commands that the client sent before it left and that arrive later.
"""

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nao_testbed.controllers.arbitration.tokens import Loss, Token
from nao_testbed.experiments.server.naoqi.arguments import (
    Value,
    items,
    known,
    number,
    text,
    texts,
    whole,
)
from nao_testbed.experiments.server.naoqi.memory.memory_keys import PREFIX
from nao_testbed.experiments.server.naoqi.naoqi_client import NaoqiClient, Parts
from nao_testbed.experiments.server.naoqi.service import (
    ALService,
    SharedPart,
    check_room,
)
from nao_testbed.experiments.server.naoqi.services.leds import Leds, Spot
from nao_testbed.models import BadInput, UnknownName

MAX_COMMANDS = 512
"""Maximum number of pending commands of an actuator."""
SUFFIX = "Actuator/Value"
UPDATES = ("Merge", "ClearAll", "ClearAfter", "ClearBefore")
SET_ALIAS = (
    '[alias, update type, "time-separate", 0, [time, ...], [[value, ...], ...]] or '
    '[alias, update type, "time-mixed", [[[value, time], ...], ...]]'
)
BOARD = "Device/DeviceList/"
WRAP = 1 << 31
SETTLE_MS = 500
"""Time in ms for which an actuator is held after its last command. A lagging joint that
is released at once would be held at its present angle."""

OWNER = "DCM"
"""Owner of the commands of disconnected clients."""
INHERITED_MS = 5000
"""Time limit in ms; later commands of a disconnected client are dropped."""

Command = tuple[int, float]
"""Time in ms and value."""


@dataclass
class _Line:
    """Commands of one actuator."""

    client: str
    waiting: list[Command] = field(default_factory=list)
    sent: Command | None = None
    """Last sent time and value; None: nothing sent since the leaf was taken."""


class Dcm:
    """Timed commands of all clients; the last command wins."""

    def __init__(self, parts: Parts) -> None:
        """Create it without commands."""
        self._parts, self._served = parts, parts.served
        robot = parts.served.robot
        self._positions = {f"{m}/Position/{SUFFIX}": m for m in robot.servo_names}
        self._hardness = {f"{m}/Hardness/{SUFFIX}": m for m in robot.servo_names}
        self._leds = {
            name: spots[0]
            for name, spots in parts.get(Leds).names.items()
            if name.endswith(SUFFIX)
        }
        self.aliases: dict[str, list[str]] = {}
        self._lines: dict[str, _Line] = {}
        self._tokens: dict[str, tuple[str, Token]] = {}
        """Client and token, by leaf."""
        self._known: set[str] = set()
        """Clients whose commands are inherited when they leave."""
        parts.served.add_owner(OWNER, None)
        parts.served.each_slot.append(lambda *_: self._slot())

    def _owner(self, client: NaoqiClient) -> str:
        """Return the owner of a client's commands: the DCM once the client has left."""
        if client.has_left:
            return OWNER
        if client.name not in self._known:
            self._known.add(client.name)
            client.on_leave.append(lambda: self._inherit(client.name))
        return client.name

    def _inherit(self, client: str) -> None:
        """Inherit the future commands of a client that leaves."""
        self._known.discard(client)
        last = self.now_ms() + INHERITED_MS
        for line in self._lines.values():
            if line.client == client:
                line.client = OWNER
                line.waiting = [one for one in line.waiting if one[0] <= last]
        for leaf, (owner, _) in list(self._tokens.items()):
            if owner == client:
                del self._tokens[leaf]
                self._token(OWNER, leaf)  # before the client's token becomes void

    def now_ms(self) -> int:
        """Return the time in ms, which is constant until the next slot has run."""
        return round(self._served.time_s * 1000.0)

    def actuator(self, name: str) -> str:
        """Return an actuator's name without its prefix; "" for an unknown one."""
        brief = name.removeprefix(PREFIX)
        known = brief in self._positions or brief in self._hardness
        return brief if known or brief in self._leds else ""

    def put(
        self, client: NaoqiClient, name: str, update: str, new: Sequence[Command]
    ) -> None:
        """Merge commands with the pending commands of an actuator.

        Args:
            client: sender; it may have disconnected.
            name: name of the actuator, without its prefix.
            update: merge rule, one of `UPDATES`.
            new: the commands.

        Raises:
            BadInput: the rule is unknown, or too many commands are pending.
        """
        known("Update type", update, UPDATES, "DCM")
        with self._served.access():
            owner = self._owner(client)
            if client.has_left:
                last = self.now_ms() + INHERITED_MS
                new = [one for one in new if one[0] <= last]
            line = self._lines.setdefault(name, _Line(owner))
            line.client = owner
            old, new = line.waiting, sorted(new)
            if update == "ClearAll":
                old = []
            elif update == "ClearAfter" and new:
                old = [one for one in old if one[0] <= new[0][0]]
            elif update == "ClearBefore" and new:
                old = [one for one in old if one[0] >= new[-1][0]]
            times = {time for time, _ in new}
            merged = sorted([one for one in old if one[0] not in times] + list(new))
            if len(merged) > MAX_COMMANDS:
                raise BadInput(
                    f"{len(merged)} commands wait for {name}; the limit is 512."
                )
            line.waiting = merged

    # -- in each slot --

    def _slot(self) -> None:
        if not self._lines:
            return
        now = self.now_ms()
        values: dict[str, dict[str, float]] = {}
        for name, line in list(self._lines.items()):
            value = self._value(name, line, now)
            if value is not None:
                values.setdefault(line.client, {})[name] = value
            if not line.waiting and (
                line.sent is None or line.sent[0] < now - SETTLE_MS
            ):
                del self._lines[name]
        for client, mine in values.items():
            self._write(client, mine)
        if not self._lines:
            self._give_back()

    def _value(self, name: str, line: _Line, now: int) -> float | None:
        """Return the value of an actuator in this slot; None: unchanged."""
        last: float | None = None
        while line.waiting and line.waiting[0][0] <= now:
            last = line.waiting.pop(0)[1]
        if last is None and line.waiting:
            if line.sent is None:
                line.sent = now, self._present(name)
            (t0, v0), (t1, v1) = line.sent, line.waiting[0]
            last = v0 + (v1 - v0) * (now - t0) / (t1 - t0) if t1 > t0 else v1
        if last is not None:
            line.sent = now, last
        return last

    def _present(self, name: str) -> float:
        if name in self._leds:
            return float(self._parts.memory.get(PREFIX + name))
        motor = self._positions.get(name) or self._hardness[name]
        if name in self._positions:
            return self._parts.motion.commanded([motor])[motor]
        i = self._served.robot.joint_index(motor)
        return float(self._served.stiffness.user[i])

    def _write(self, client: str, values: Mapping[str, float]) -> None:
        self._write_positions(client, values)
        user, robot = self._served.stiffness.user, self._served.robot
        for name, value in values.items():
            if (motor := self._hardness.get(name)) is not None:
                for i, joint in enumerate(robot.joints):
                    if joint.motor == motor:
                        user[i] = min(max(value, 0.0), 1.0)
        self._served.stiffness.set_user(user)
        lights = {self._leds[n]: v for n, v in values.items() if n in self._leds}
        self._write_leds(client, lights)

    def _write_positions(self, client: str, values: Mapping[str, float]) -> None:
        motion, gate = self._parts.motion, self._served.body.gate
        parts: dict[Token, dict[str, float]] = {}
        for name, value in values.items():
            motor = self._positions.get(name)
            if motor is None:
                continue
            leaf = self._served.leaf_of[motor]
            token = self._token(client, leaf)
            if token is None:
                motion.warn_busy(leaf, "DCM")
                continue
            here = gate.present[leaf]
            most = motion.body.max_speed(motor) * self._served.tick_s
            step = min(max(value - here, -most), most)
            angle = motion.body.clip(motor, here + step)
            if abs(value - here) > most:  # the remainder follows in the next slots
                line = self._lines[name]
                bisect.insort(line.waiting, (self.now_ms() + 1, value))
            parts.setdefault(token, {})[leaf] = angle
        if parts:
            gate.submit_together(list(parts.items()))

    def _write_leds(self, client: str, values: Mapping[Spot, float]) -> None:
        leds = self._parts.get(Leds)
        by_leaf: dict[str, dict[Spot, float]] = {}
        for spot, value in values.items():
            by_leaf.setdefault(leds.leaf(spot), {})[spot] = value
        for leaf, mine in by_leaf.items():
            token = self._token(client, leaf)
            if token is not None:
                leds.put(token, mine, 0.0)

    def _token(self, client: str, leaf: str) -> Token | None:
        """Return a client's token for a leaf; None: another owner holds the leaf."""
        ledger = self._served.body.ledger
        kept = self._tokens.get(leaf)
        is_mine = kept is not None and kept[0] == client
        if kept is not None and is_mine and ledger.authorise(kept[1], leaf) is None:
            return kept[1]
        owner = f"{client}/DCM"
        if not ledger.knows(client):
            return None
        self._served.add_owner(owner, client, yields=True)
        outcome = self._served.request(owner, [leaf], loss=Loss.PARTIAL).outcome
        token = None if outcome is None else outcome.token
        if token is not None:
            self._tokens[leaf] = client, token
        return token

    def _give_back(self) -> None:
        ledger = self._served.body.ledger
        for leaf, (_, token) in self._tokens.items():
            if ledger.covers(token, leaf):
                ledger.release(token, ledger.tick, [leaf])
        self._tokens.clear()


class DCM(ALService):
    """Timed commands to actuators; removed from NAOqi with 2.8."""

    NAME = "DCM"
    _dcm = SharedPart(Dcm)

    def createAlias(self, alias: Value) -> list[Any]:
        """Define an alias for a list of actuators; return it, unknown ones as ""."""
        name, actuators = items(alias, {2}, "[name, [actuator, ...]]")
        names = [self._dcm.actuator(one) for one in texts(actuators)]
        check_room(self._dcm.aliases, text(name), "aliases")
        self._dcm.aliases[name] = names
        return [name, [PREFIX + n if n else "" for n in names]]

    def set(self, commands: Value) -> None:
        """Command an actuator, or all of an alias: [name, update, [[value, ms]]]."""
        usage = "[name, update type, [[value, time], ...]]"
        alias, update, given, *_ = items(commands, range(3, 9), usage)
        new = _commands(given)
        for name in self._actuators(text(alias)):
            self._dcm.put(self._client, name, text(update), new)

    def setAlias(self, commands: Value) -> None:
        """Command the actuators of an alias, each with its values."""
        alias, update, kind, given, *more = items(commands, range(4, 9), SET_ALIAS)
        names = self._actuators(text(alias))
        if kind == "time-mixed":
            rows = [_commands(row) for row in items(given, range(MAX_COMMANDS), "rows")]
        else:
            given_times, values = items([kind, *more[:2]], {3}, SET_ALIAS)[1:]
            known("Kind of times", kind, ("time-mixed", "time-separate"), "DCM")
            times = [whole(t) for t in items(given_times, range(MAX_COMMANDS), "times")]
            n = {len(times)}
            rows = [
                list(
                    zip(
                        times,
                        map(number, items(row, n, "a value per time")),
                        strict=True,
                    )
                )
                for row in items(
                    values, range(MAX_COMMANDS), "a list of values per actuator"
                )
            ]
        if len(rows) != len(names):
            raise BadInput(
                f"the alias has {len(names)} actuators, but {len(rows)} rows."
            )
        with self._served.access():  # all from the same slot on
            for name, row in zip(names, rows, strict=True):
                if name:
                    self._dcm.put(self._client, name, text(update), row)

    def getTime(self, offset: int) -> int:
        """Return the time in ms plus an offset, as a signed 32-bit number."""
        now = self._dcm.now_ms() + offset
        return (now + WRAP) % (2 * WRAP) - WRAP

    def getPrefix(self) -> list[str]:
        """Return the prefixes that names may omit."""
        return [PREFIX, BOARD]

    def _actuators(self, name: str) -> list[str]:
        if name in self._dcm.aliases:
            return self._dcm.aliases[name]
        one = self._dcm.actuator(name)
        if not one:
            raise UnknownName("Actuator or alias", name, self._dcm.aliases, "DCM")
        return [one]


def _commands(given: Any) -> list[Command]:
    usage = "[[value, time], ...]"
    pairs = [
        items(x, (2, 3), usage) for x in items(given, range(MAX_COMMANDS + 1), usage)
    ]
    return [(whole(one[1]), number(one[0])) for one in pairs]
