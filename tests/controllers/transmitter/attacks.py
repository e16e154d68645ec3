"""Random attempts at every entry point to the devices, with every kind of token.

A small model derives the holders from the trace; each attempt states its token and
leaves. A device that changes without an attempt by the token that holds it is an
error.
"""

import contextlib
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from nao_testbed.controllers import Command
from nao_testbed.controllers.arbitration.events import (
    Event,
    Expired,
    Frozen,
    Granted,
    MadeSafe,
    Released,
    Revoked,
    Thawed,
    Unshifted,
)
from nao_testbed.controllers.arbitration.faults.virtual_owners import (
    BrokenPart,
    DegradedModes,
    energy_saving,
)
from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.requests import Owner, Request, StaleToken
from nao_testbed.controllers.arbitration.tokens import Loss, Token, TokenId
from nao_testbed.controllers.interface.robot_interface import LedSetting, SoundChunk
from nao_testbed.controllers.schemas.runtime.gate_actuators import GateActuators
from nao_testbed.controllers.transmitter.commands.order import OutputSet
from nao_testbed.controllers.transmitter.commands.pipeline import (
    CommandController,
)
from nao_testbed.controllers.transmitter.receipt import SyncTag
from nao_testbed.controllers.transmitter.streams import (
    SLOT_S,
    EffectorLeaves,
    Stream,
    effector_leaves,
)
from nao_testbed.controllers.transmitter.streams.light_and_sound_streams import (
    LightStream,
    SoundStream,
)
from nao_testbed.controllers.transmitter.streams.motion_stream import MotionStream
from nao_testbed.controllers.transmitter.transmitter import Transmitter
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.models.library import (
    LightPattern,
    LightStep,
    Motion,
    Sound,
    Track,
    Unit,
)
from nao_testbed.models.resources import DeviceKind
from nao_testbed.models.values import FloatArray

MOTORS = ("HeadYaw", "HeadPitch", "LElbowYaw", "RElbowYaw", "LWristYaw")
WAYS = ("LKneePitch", "RKneePitch", "RShoulderPitch")
"""Motors of initial motions and of the motions that follow."""
LAMPS = ("Left eye", "Left ear", "Chest")
SPEAKER = "TTS"
LIMITS = ("Head-stiffness", "Arms-stiffness")
DEVICES = (*MOTORS, *WAYS, *LAMPS, SPEAKER, *LIMITS)
OWNERS = ("ann", "bob", "cat", "dan")
SILENT = SoundChunk(samples=np.full(40, 0.1), sample_rate_hz=16000, label="chunk")
RIGHTS = ("right", "stale", "foreign", "forged", "none")
"""Kinds of token of an attempt; valid ones may be lent, dropped or frozen."""


class Body(Protocol):
    """Robot under attack, with its entry points."""

    robot: Robot
    ledger: Ledger
    gate: Gate
    transmitter: Transmitter
    commands: CommandController
    writes: list[Command]
    """Commands written to the robot in the last slot."""

    def slot(self) -> None:
        """Run one device slot."""

    def in_force(self) -> tuple[FloatArray, FloatArray]:
        """Return set-points in rad and stiffness of all joints."""


@dataclass
class Holders:
    """Holders and freezes of each leaf, derived from events only."""

    of: dict[str, set[TokenId]] = field(default_factory=dict)
    frozen: dict[str, set[str]] = field(default_factory=dict)
    disturbed: set[str] = field(default_factory=set)
    """Leaves lost, capped, made safe, or leaving a shift in this slot."""

    def hear(self, event: Event) -> None:
        match event:
            case Granted(token=token, shares=shares):
                for leaf in shares:
                    self.of.setdefault(leaf, set()).add(token)
            case (
                Released(token=token, leaves=leaves)
                | Expired(token=token, leaves=leaves)
            ):
                self._lose(token, leaves)
            case Revoked(token=token, lost=lost, freed=freed):
                self._lose(token, (*lost, *freed))
            case Frozen(by=by, leaves=leaves, is_total=is_total):
                self.disturbed.update(leaves)
                for leaf in leaves:
                    by_whom = self.frozen.setdefault(leaf, set())
                    (by_whom.add if is_total else by_whom.discard)(by)
            case Thawed(by=by, leaves=leaves):
                self.disturbed.update(leaves)
                for leaf in leaves:
                    self.frozen.get(leaf, set()).discard(by)
            case MadeSafe(leaves=leaves) | Unshifted(leaves=leaves):
                self.disturbed.update(leaves)

    def _lose(self, token: TokenId, leaves: tuple[str, ...]) -> None:
        self.disturbed.update(leaves)
        for leaf in leaves:
            self.of.get(leaf, set()).discard(token)


@dataclass
class Attempt:
    """An attempt to command leaves."""

    entry_point: str
    token: Token | None
    leaves: frozenset[str]
    is_over: Callable[[], bool]
    """Return True if it ended before this slot."""


class Attack:
    """Random attempts at one body, checked against the changes of its robot."""

    def __init__(self, body: Body, seed: int, named: tuple[str, ...] = ()) -> None:
        """Set up; `named` are commands of the body's library."""
        self.body = body
        self.named = named
        self.rng = random.Random(seed)
        self.holders = Holders()
        self.tokens: list[Token] = []
        self.attempts: list[Attempt] = []
        self.tried: Counter[tuple[str, str]] = Counter()
        """Entry point and kind of token to number of attempts."""
        self.changed: Counter[str] = Counter()
        """Kind of device to number of changes."""
        self.effectors: EffectorLeaves = effector_leaves(body.robot)
        self.handles: list[Any] = []
        self.is_fair = False
        """True: the next attempt uses a valid token for all leaves, where possible."""
        self.told: Counter[str] = Counter()
        """Kind of event to number of events."""
        self.broken = BrokenPart(body.ledger)
        self.modes = DegradedModes(body.ledger)
        self.actuators = GateActuators(body.gate, body.commands, body.ledger)
        for listener in (self.holders.hear, self._count):
            body.ledger.add_direct_listener(listener)
        for k, name in enumerate(OWNERS):
            body.ledger.add_owner(Owner(name=name, priority=k % 3), body.ledger.tick)
        self.leaf_of = {
            j: self.effectors.motors[joint.motor]
            for j, joint in enumerate(body.robot.joints)
            if joint.motor in self.effectors.motors
        }
        self.lamp_of = {
            group: node.name
            for node in body.robot.resources.walk()
            if node.device is not None and node.device.kind is DeviceKind.LEDS
            for group in node.device.names
        }

    def _count(self, event: Event) -> None:
        self.told[type(event).__name__] += 1

    # -- rights ------------------------------------------------------------------------

    def right(self, leaves: frozenset[str]) -> tuple[str, Token | None]:
        """Draw a kind of token, and a token of that kind for some leaves."""
        rng, ledger = self.rng, self.body.ledger
        kind = "right" if self.is_fair else rng.choice(RIGHTS)
        live = [t for t in self.tokens if any(ledger.covers(t, x) for x in DEVICES)]
        whole = [t for t in live if all(ledger.covers(t, x) for x in leaves)]
        dead = [t for t in self.tokens if t not in live]
        if kind == "right" and not whole:
            self.ask(rng.choice(OWNERS), leaves)
            whole = self.tokens[-1:]
        pool = {"right": whole, "stale": dead, "foreign": live, "forged": live or dead}
        token = rng.choice(pool[kind]) if pool.get(kind) else None
        if kind == "forged" and token is not None:
            token = rng.choice(
                [
                    token._replace(secret=token.secret ^ 1),
                    token._replace(sequence=token.sequence + 1),
                ]
            )
        return kind if token is not None else "none", token

    def ask(self, owner: str, names: frozenset[str]) -> None:
        request = Request(
            owner=owner,
            resources=tuple(names),
            timeout_s=0.0,
            loss=self.rng.choice([Loss.WHOLE, Loss.PARTIAL]),
            priority=self.rng.choice([None, 0, 2]),
        )
        outcome = self.body.ledger.request(request, self.body.ledger.tick).outcome
        if outcome is not None and outcome.token is not None:
            self.tokens.append(outcome.token)

    # -- outputs -----------------------------------------------------------------------

    def motion(self) -> tuple[Motion, frozenset[str]]:
        joints = self.rng.sample(MOTORS, self.rng.randint(1, 2))
        q, _ = self.body.in_force()
        tracks = tuple(
            Track(
                joint=joint,
                times_s=(self.rng.choice([0.1, 0.4]),),
                angles=(float(q[self.joint(joint)]) + self.rng.uniform(-0.05, 0.05),),
            )
            for joint in joints
        )
        return Motion(name="try", tracks=tracks), frozenset(joints)

    def light(self) -> tuple[LightPattern, frozenset[str]]:
        leds = tuple(self.rng.sample(LAMPS, self.rng.randint(1, 2)))
        steps = tuple(
            LightStep(at_s=at, leds=leds, colour=(self.rng.random(),) * 3)
            for at in (0.0, 0.05)
        )
        return LightPattern(name="try", steps=steps, length_s=0.1), frozenset(leds)

    def sound(self) -> tuple[Sound, frozenset[str]]:
        length_s = self.rng.choice([0.02, 0.2])
        sound = Sound(name="try", tone_hz=440.0, length_s=length_s, volume=0.5)
        return sound, frozenset([SPEAKER])

    def stream(self) -> tuple[str, Stream, frozenset[str], Token | None]:
        unit = self.rng.choice(list(Unit))
        if unit is Unit.MOTION:
            motion, leaves = self.motion()
            kind, token = self.right(leaves)
            made: Stream = MotionStream((motion,), token, self.effectors, SLOT_S)  # type: ignore[arg-type]
        elif unit is Unit.LIGHT:
            pattern, leaves = self.light()
            kind, token = self.right(leaves)
            made = LightStream(pattern, token, self.effectors, SLOT_S)  # type: ignore[arg-type]
        else:
            _, leaves = self.sound()
            kind, token = self.right(leaves)
            samples = np.full(self.rng.choice([200, 1600]), 0.2)
            made = SoundStream("try", samples, 16000, token, SPEAKER, SLOT_S)  # type: ignore[arg-type]
        return kind, made, leaves, token

    def value(self, leaf: str) -> Any:
        if leaf in (*MOTORS, *WAYS):
            q, _ = self.body.in_force()
            return float(q[self.joint(leaf)]) + self.rng.uniform(-0.02, 0.02)
        if leaf in LIMITS:
            return self.rng.uniform(0.3, 1.0)
        if leaf == SPEAKER:
            return SILENT
        return LedSetting(colours=np.full(self.effectors.led_channels[leaf], 0.5))

    def joint(self, name: str) -> int:
        return self.body.robot.joint_index(name)

    # -- entry points ------------------------------------------------------------------

    def note(
        self,
        entry_point: str,
        kind: str,
        token: Token | None,
        leaves: frozenset[str],
        is_over: Callable[[], bool] | None = None,
    ) -> None:
        self.tried[entry_point, kind] += 1
        over = is_over or iter((False, True)).__next__
        self.attempts.append(Attempt(entry_point, token, leaves, over))

    def gate(self) -> None:
        gate, rng = self.body.gate, self.rng
        leaves = frozenset(rng.sample(DEVICES, rng.randint(1, 2)))
        kind, token = self.right(leaves)
        values = {leaf: self.value(leaf) for leaf in sorted(leaves)}
        first = next(iter(values))
        self.note("gate", kind, token, leaves)
        calls: tuple[Callable[[], object], ...] = (
            lambda: gate.submit(token, first, values[first]),
            lambda: gate.submit_all(token, values),
            lambda: gate.submit_together([(token, values)]),
        )
        rng.choice(calls)()

    def schema(self) -> None:
        acts, rng, tick = self.actuators, self.rng, self.body.ledger.tick
        what = rng.choice(["submit", "all", "play", "light", "sound"])
        if what in {"submit", "all"}:
            leaves = frozenset(rng.sample(DEVICES, rng.randint(1, 2)))
            kind, token = self.right(leaves)
            values = {leaf: self.value(leaf) for leaf in sorted(leaves)}
            self.note("schema", kind, token, leaves)
            first = next(iter(values))
            if what == "submit":
                acts.submit(token, first, values[first])
            else:
                acts.submit_all(token, values)
            return
        made, leaves = {"play": self.motion, "light": self.light, "sound": self.sound}[
            what
        ]()
        kind, token = self.right(leaves)
        playing = getattr(acts, what)(token, made, tick)
        self.note("schema", kind, token, leaves, lambda: playing.is_over)
        if rng.random() < 0.1:
            playing.end()

    def transmit(self) -> None:
        rng, transmitter, tick = self.rng, self.body.transmitter, self.body.ledger.tick
        kind, stream, leaves, token = self.stream()
        what = rng.choice(["receive", "group", "group", "interrupt", "follow"])
        if what == "interrupt":
            receipt = transmitter.interrupt(stream, tick)
        elif what == "group":
            tag = SyncTag(group=f"g{rng.randint(0, 2)}", points=rng.choice([50, 60]))
            receipt = transmitter.receive(stream, tag, tick)
        else:
            after = None
            if what == "follow" and self.handles:
                after = rng.choice(self.handles)
            receipt = transmitter.receive(stream, None, tick, after=after)
        self.handles.append(receipt)
        self.note(f"transmitter {what}", kind, token, leaves, lambda: receipt.is_over)
        if rng.random() < 0.05:
            transmitter.withdraw(rng.choice(self.handles), tick)

    def command(self) -> None:
        rng, commands, tick = self.rng, self.body.commands, self.body.ledger.tick
        if self.named and rng.random() < 0.3:
            self.named_command()
            return
        made: dict[str, Any] = {}
        tokens: dict[Unit, Token | None] = {}
        kinds: dict[Unit, str] = {}
        covers: dict[Unit, frozenset[str]] = {}
        draw = {
            Unit.MOTION: self.motion,
            Unit.LIGHT: self.light,
            Unit.SOUND: self.sound,
        }
        units = rng.sample(list(Unit), rng.randint(1, 3))
        for unit in units:
            made[unit.value], covers[unit] = draw[unit]()
            kinds[unit], tokens[unit] = self.right(covers[unit])
        points = {}
        if len(units) > 1 or rng.random() < 0.5:
            share = 100 // len(units)
            points = dict.fromkeys(units, share)
            points[units[0]] += rng.choice([0, 100 - share * len(units)])
        if len(units) == 1 and rng.random() < 0.3:
            points = {}
            outputs = OutputSet(name="try", **made)
            handle = commands.interrupt(outputs, tokens[units[0]], tick)  # type: ignore[arg-type]
            entry_point = "command interrupt"
        else:
            outputs = OutputSet(name="try", points=points, **made)
            handle = commands.submit(
                outputs,
                tokens,  # type: ignore[arg-type]
                tick,
                group=rng.choice([None, "h"]),
                prepares=rng.random() < 0.5,
            )
            entry_point = "command group" if points else "command"
        for unit in units:
            over: Callable[[], bool] = lambda: handle.is_over  # noqa: E731
            self.note(entry_point, kinds[unit], tokens[unit], covers[unit], over)
        if rng.random() < 0.05:
            commands.withdraw(handle, tick)

    def named_command(self) -> None:
        """Submit a command with an initial motion, whose other leaves may be lent."""
        commands, tick = self.body.commands, self.body.ledger.tick
        leaves = frozenset([*WAYS, "HeadPitch", "Left eye", "Left ear", SPEAKER])
        kind, token = self.right(leaves)
        name = self.rng.choice(self.named)
        handle = commands.submit(name, token, tick)  # type: ignore[arg-type]

        def is_over() -> bool:
            initial = handle.initial
            return handle.is_over and (initial is None or initial.is_over)

        self.note("command way", kind, token, leaves, is_over)
        if self.rng.random() < 0.1:
            commands.withdraw(handle, tick)
        if self.rng.random() < 0.1:
            commands.belief.set_posture(self.rng.choice(["Sit", "Stand", "Crouch"]))

    def disturb(self) -> None:
        """Lend, recall, release, drop, break, heat, repair."""
        rng, ledger = self.rng, self.body.ledger
        tick = ledger.tick
        token = rng.choice(self.tokens) if self.tokens else None
        part = rng.choice([*MOTORS, "Head", *LAMPS, SPEAKER])
        calls: list[Callable[[], object]] = [
            lambda: self.ask(rng.choice(OWNERS), frozenset([rng.choice(DEVICES)])),
            lambda: self.ask(rng.choice(OWNERS), frozenset(rng.sample(DEVICES, 3))),
            lambda: self.broken.inject([part], tick),
            lambda: self.broken.repair(self.broken.faults, tick),
            lambda: self.modes.enter(energy_saving(self.body.robot), tick),
            lambda: self.modes.leave("energySaving", tick),
            lambda: ledger.freeze([part], "hot", tick, effort_cap=0.5, is_total=False),
            lambda: ledger.freeze([part], "absent", tick),
            lambda: ledger.thaw("absent", tick),
            lambda: ledger.thaw("hot", tick),
        ]
        if rng.random() < 0.3:
            calls.append(lambda: ledger.drop(rng.choice(OWNERS), tick))
        if token is not None:
            calls += [
                lambda: self.lend(token, tick),
                lambda: self.lend(token, tick),
                lambda: ledger.recall(token, tick),
                lambda: ledger.release(token, tick),
                lambda: ledger.release(token, tick, [rng.choice(DEVICES)]),
            ]
        rng.choice(calls)()

    def lend(self, token: Token, tick: int) -> None:
        covers = [x for x in DEVICES if self.body.ledger.covers(token, x)]
        if covers:
            self.body.ledger.lend(token, tick, [self.rng.choice(covers)])

    # -- a slot ------------------------------------------------------------------------

    def slot(self) -> None:
        """Make some attempts, run a slot, and check the changes of the robot."""
        self.attempts = [one for one in self.attempts if not one.is_over()]
        for _ in range(self.rng.randint(1, 4)):
            self.attempt()
        target, stiffness = (values.copy() for values in self.body.in_force())
        self.body.slot()
        self._check_changes(target, stiffness)
        self.holders.disturbed.clear()

    def attempt(self) -> None:
        """Try one entry point."""
        entry_points = [
            self.gate,
            self.schema,
            self.transmit,
            self.command,
            self.disturb,
        ]
        self.is_fair = self.rng.random() < 0.4
        with contextlib.suppress(StaleToken, BadInput, UnknownName):
            self.rng.choice(entry_points)()

    def _check_changes(self, target: FloatArray, stiffness: FloatArray) -> None:
        now, limits = self.body.in_force()
        limp = limits == 0.0
        for j in np.flatnonzero((now != target) & ~limp & (stiffness != 0.0)):
            self._explained("motor", self.leaf_of[int(j)])
        for j in np.flatnonzero(limits != stiffness):
            self._limited(int(j))
        for command in self.body.writes:
            for group in command.leds or ():
                self._explained("light", self.lamp_of[group])
            if command.sound is not None:
                self._explained("sound", SPEAKER)

    def _limited(self, joint: int) -> None:
        motor = self.leaf_of[joint]
        part = next(
            (x for x in LIMITS if x.startswith("Head") == motor.startswith("Head")), ""
        )
        if motor not in self.holders.disturbed:
            self._explained("stiffness", part)

    def _explained(self, kind: str, leaf: str) -> None:
        self.changed[kind] += 1
        held = self.holders.of.get(leaf, set())
        if leaf in self.holders.disturbed and kind in {"motor", "stiffness"}:
            return  # made safe
        assert not self.holders.frozen.get(leaf), f"{leaf} is frozen, and changes"
        genuine = set(self.tokens)
        by = [
            one.entry_point
            for one in self.attempts
            if leaf in one.leaves
            and one.token in genuine
            and one.token is not None
            and one.token.id in held
        ]
        assert by, f"{leaf} changes; it is held by {held or 'nobody'}, who did nothing"
