"""ALLeds: names of single LEDs and groups, fades and patterns; values through the gate.

A name maps to channels of LEDs of the robot's groups (`led_names.csv`). The positions
of Brain0 on the head and of an eye's LED 1 are not published. Here the left half of the
head precedes the right one, each from front to rear, and an eye's LED 1 is at the top.
"""

import csv
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from nao_testbed.controllers.arbitration.manager.ledger_cfg import LONGEST_S
from nao_testbed.controllers.arbitration.manager.snapshot import users_of
from nao_testbed.controllers.interface.robot_interface import LedSetting
from nao_testbed.experiments.server.naoqi import memory
from nao_testbed.experiments.server.naoqi.arguments import (
    Names,
    Value,
    in_range,
    items,
    known,
    number,
    whole,
)
from nao_testbed.experiments.server.naoqi.memory.memory_keys import PREFIX
from nao_testbed.experiments.server.naoqi.motion.engine import CLIENT
from nao_testbed.experiments.server.naoqi.naoqi_client import Parts
from nao_testbed.experiments.server.naoqi.served_robot import fail, finish, on_cancel
from nao_testbed.experiments.server.naoqi.service import (
    ALService,
    Blocks,
    SharedPart,
    check_room,
)
from nao_testbed.models import BadInput, TestbedError, UnknownName
from nao_testbed.models.resources import DeviceKind

Spot = tuple[str, int, int]
"""Group of the robot, LED in it, channel."""
Steps = Sequence[tuple[float, Mapping[Spot, float]]]
"""Durations of fades in s, and the values at their ends."""
COLOURS = {
    "white": 0xFFFFFF,
    "red": 0xFF0000,
    "green": 0x00FF00,
    "blue": 0x0000FF,
    "yellow": 0xFFFF00,
    "magenta": 0xFF00FF,
    "cyan": 0x00FFFF,
}
NAMES = Path(memory.__file__).with_name("led_names.csv")
"""Columns: name; group of the robot; its LEDs; their channels. A row without a group
has the names of its parts instead of LEDs."""
TURN_STEPS = 8
MAX_STEPS = 2000
"""Maximum number of steps of a pattern."""


def led_names(groups: Collection[str]) -> dict[str, tuple[Spot, ...]]:
    """Return all names of LEDs and groups with their channels.

    Args:
        groups: groups of the robot.
    """
    found: dict[str, tuple[Spot, ...]] = {}
    with NAMES.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            group, leds = row["group"], row["leds"].split()
            if group in groups:
                channels = row["channels"].split()
                spots = [(group, int(i), int(c)) for i in leds for c in channels]
            else:
                spots = [spot for part in leds for spot in found.get(part, ())]
            if spots:
                found[row["name"]] = tuple(spots)
    return found


class Leds:
    """LEDs of one robot for all clients."""

    def __init__(self, parts: Parts) -> None:
        """Create all names, and the keys of the memory."""
        self._served = parts.served
        robot = parts.served.robot
        self._groups = {group.name: group for group in robot.leds}
        self.names = led_names(self._groups)
        self.own: dict[str, tuple[Spot, ...]] = {}
        """Groups created by programs."""
        self._leaf_of = {
            group: node.name
            for node in robot.resources.walk()
            if node.device is not None and node.device.kind is DeviceKind.LEDS
            for group in node.device.names
        }
        self._wanted = {
            name: np.zeros((group.count, group.n_channels))
            for name, group in self._groups.items()
        }
        self._numbers = itertools.count(1)
        parts.memory.add_live(
            {
                PREFIX + name: (lambda spot=spots[0]: self._now(spot))  # type: ignore[misc]
                for name, spots in self.names.items()
                if name.endswith("Actuator/Value")
            }
        )

    def spots(self, name: str) -> tuple[Spot, ...]:
        """Return the channels of a LED or group, which must exist."""
        found = self.own.get(name) or self.names.get(name.removeprefix(PREFIX))
        if found is None:
            raise UnknownName("LED", name, [*self.names, *self.own], "the robot")
        return found

    def intensity(self, name: str) -> list[float]:
        """Return the present brightness of all channels of a name."""
        return [self._now(spot) for spot in self.spots(name)]

    def rgb(self, name: str, colour: int) -> dict[Spot, float]:
        """Return the values of a colour; one-colour LEDs get its brightest channel."""
        if not 0 <= colour <= 0xFFFFFF:
            raise BadInput(f"colour is {colour:#x}; give 0 to 0xffffff.")
        parts = [(colour >> shift & 255) / 255.0 for shift in (16, 8, 0)]
        return {
            spot: parts[spot[2]]
            if self._groups[spot[0]].n_channels == 3
            else (parts[2] if "Ear" in spot[0] else max(parts))
            for spot in self.spots(name)
        }

    def play(self, client: str, steps: Steps) -> Blocks:
        """Play fades one after another; the future ends with the last one.

        Args:
            client: owner of the pattern.
            steps: durations of fades in s, and the values at their ends.
        """
        done: Blocks = Future()
        with self._served.access():
            owner = f"{client}/leds {next(self._numbers)}"
            leaves = {self._leaf_of[s[0]] for _, values in steps for s in values}
            self._served.add_owner(owner, client, yields=True)
            outcome = self._served.request(owner, sorted(leaves)).outcome
            token = None if outcome is None else outcome.token
            if token is None:
                self._served.forget_owner(owner)
                blockers = () if outcome is None else outcome.blockers
                who = sorted({name for one in blockers for name in one.owners})
                raise BadInput(
                    f"the LEDs are held by {', '.join(who) or 'another owner'}."
                )
            on_cancel(done, lambda: self._halt(owner, token, leaves))
            self._step(owner, token, leaves, iter(steps), done)
        return done

    def _halt(self, owner: str, token: Any, leaves: Iterable[str]) -> None:
        """Stop LEDs at their present values, and release them."""
        with self._served.access():
            if not self._served.body.ledger.knows(owner):
                return
            for group, leaf in self._leaf_of.items():
                if leaf in leaves:
                    now = self._served.body.sim.leds.state(group)
                    setting = LedSetting(colours=now, fade_s=0.0)
                    self._served.body.gate.submit(token, leaf, setting)
            # after the gate has written the value
            forget = partial(self._served.forget_owner, owner)
            self._served.after(self._served.tick_s, forget)

    def put(self, token: Any, values: Mapping[Spot, float], fade_s: float) -> None:
        """Submit values with a token, for this slot."""
        for group in dict.fromkeys(spot[0] for spot in values):
            wanted = self._wanted[group]
            if fade_s > 0.0 or not self._is_set(group):
                wanted[:] = self._served.body.sim.leds.state(group)
            for (name, led, channel), value in values.items():
                if name == group:
                    wanted[led, channel] = min(max(value, 0.0), 1.0)
            setting = LedSetting(colours=wanted.copy(), fade_s=fade_s)
            self._served.body.gate.submit(token, self._leaf_of[group], setting)

    def leaf(self, spot: Spot) -> str:
        """Return the leaf of the resource tree that a channel belongs to."""
        return self._leaf_of[spot[0]]

    def _is_set(self, group: str) -> bool:
        now = self._served.body.sim.leds.state(group)
        return bool(np.allclose(now, self._wanted[group], atol=0.02))

    def _step(
        self, owner: str, token: Any, leaves: Iterable[str], steps: Any, done: Blocks
    ) -> None:
        ledger = self._served.body.ledger
        if done.cancelled():
            return
        step = next(steps, None)
        if step is None or not ledger.is_genuine(token) or not ledger.knows(owner):
            if who := self._takers(token, leaves):
                fail(done, TestbedError(f"the LEDs were taken away by {who}."))
            self._served.forget_owner(owner)
            finish(done)
            return
        fade_s, values = step
        self.put(token, values, fade_s)
        tick_s = self._served.tick_s
        wait_s = max(ceil(fade_s / tick_s - 1e-9), 1) * tick_s
        self._served.after(
            wait_s, lambda: self._step(owner, token, leaves, steps, done)
        )

    def _takers(self, token: Any, leaves: Iterable[str]) -> str:
        """Return the owners, other than programs, that hold these leaves."""
        ledger = self._served.body.ledger
        lost = [x for x in leaves if ledger.authorise(token, x) is not None]
        users = {who for leaf in lost for who in users_of(ledger, leaf)}
        return ", ".join(sorted(who for who in users if not who.startswith(CLIENT)))

    def _now(self, spot: Spot) -> float:
        return float(self._served.body.sim.leds.state(spot[0])[spot[1], spot[2]])


class ALLeds(ALService):
    """Lights LEDs."""

    NAME = "ALLeds"
    _leds = SharedPart(Leds)

    def fade(self, name: str, intensity: float, duration: float) -> Blocks:
        """Fade LEDs to an intensity from 0 to 1, and wait."""
        value = in_range("intensity", intensity, 0.0, 1.0)
        spots = dict.fromkeys(self._leds.spots(name), value)
        return self._play([(_seconds(duration), spots)])

    def fadeRGB(self, name: str, *args: Value) -> Blocks:
        """Fade LEDs to a colour (r, g, b, or a name, or 0x00RRGGBB), and wait."""
        return self._play([(self._duration(args), self._colours(name, args))])

    def fadeListRGB(self, name: str, rgbList: Value, timeList: Value) -> Blocks:
        """Fade LEDs through colours at times, and wait."""
        times = items(timeList, range(1, MAX_STEPS), "a list of times")
        n = len(times)
        colours = items(rgbList, {n}, f"{n} colours, one per time")
        steps, before = [], 0.0
        for colour, at in zip(colours, times, strict=True):
            time_s = _seconds(number(at))
            steps.append((time_s - before, self._leds.rgb(name, whole(colour))))
            if time_s < before:
                raise BadInput(f"times do not increase: {time_s:g} after {before:g} s.")
            before = time_s
        return self._play(steps)

    def on(self, name: str) -> Blocks:
        """Switch LEDs on."""
        return self.fade(name, 1.0, 0.0)

    def off(self, name: str) -> Blocks:
        """Switch LEDs off."""
        return self.fade(name, 0.0, 0.0)

    def setIntensity(self, name: str, intensity: float) -> Blocks:
        """Set LEDs to an intensity from 0 to 1."""
        return self.fade(name, intensity, 0.0)

    def getIntensity(self, name: str) -> Any:
        """Return the intensity of a LED; of a group, a list."""
        values = self._leds.intensity(name)
        return values[0] if len(values) == 1 else values

    def rasta(self, duration: float) -> Blocks:
        """Light all LEDs green, yellow and red in turn, and wait."""
        colours = itertools.cycle((0x00FF00, 0xFFFF00, 0xFF0000))
        return self._turns("AllLeds", colours, duration, 0.5)

    def randomEyes(self, duration: float) -> Blocks:
        """Light the eyes in random colours, and wait."""
        rng = np.random.default_rng(self._client.next_number())
        colours = (int(rng.integers(0x1000000)) for _ in itertools.count())
        return self._turns("FaceLeds", colours, duration, 0.2)

    def rotateEyes(
        self, rgb: int, timeForRotation: float, totalDuration: float
    ) -> Blocks:
        """Move one lit LED around each eye, and wait."""
        in_range("timeForRotation in s", timeForRotation, TURN_STEPS * 1e-3, LONGEST_S)
        step_s, leds = timeForRotation / TURN_STEPS, self._leds
        steps = []
        for i in range(_n_steps(totalDuration, step_s)):
            dark = dict.fromkeys(leds.spots("FaceLeds"), 0.0)
            steps.append((step_s, dark | leds.rgb(f"FaceLed{i % TURN_STEPS}", rgb)))
        return self._play(steps)

    def earLedsSetAngle(
        self, degrees: int, duration: float, leaveOnAtEnd: bool
    ) -> Blocks:
        """Light the LED of each ear at an angle (0 up, 90 forwards), and wait."""
        led = round(degrees / 36.0) % 10 + 1
        leds = self._leds
        dark = dict.fromkeys(leds.spots("EarLeds"), 0.0)
        lit = {
            s: 1.0
            for side in ("Left", "Right")
            for s in leds.spots(f"{side}EarLed{led}")
        }
        steps: Steps = [(_seconds(duration), dark | lit)]
        if not leaveOnAtEnd:
            steps = [*steps, (0.0, dark)]
        return self._play(steps)

    def createGroup(self, groupName: str, ledNames: Names) -> None:
        """Define a group of LEDs and groups."""
        leds = self._leds
        spots = (spot for name in ledNames for spot in leds.spots(name))
        check_room(leds.own, groupName, "groups")
        leds.own[groupName] = tuple(dict.fromkeys(spots))

    def listGroup(self, groupName: str) -> list[str]:
        """Return the LEDs of a group by their full names."""
        wanted = set(self._leds.spots(groupName))
        return [
            name
            for name, spots in self._leds.names.items()
            if name.endswith("Actuator/Value") and spots[0] in wanted
        ]

    def listGroups(self) -> list[str]:
        """Return the names of all groups."""
        named = [n for n, spots in self._leds.names.items() if len(spots) > 3]
        return [*named, *self._leds.own]

    def listLEDs(self) -> list[str]:
        """Return the short names of all LEDs."""
        return [n for n, s in self._leds.names.items() if "/" not in n and len(s) <= 3]

    # -- internals ---------------------------------------------------------------------

    def _play(self, steps: Steps) -> Blocks:
        return self._leds.play(self._client.name, steps)

    def _turns(self, name: str, colours: Any, duration: float, step_s: float) -> Blocks:
        colour = itertools.islice(colours, _n_steps(duration, step_s))
        return self._play([(step_s, self._leds.rgb(name, one)) for one in colour])

    def _duration(self, args: tuple[Any, ...]) -> float:
        if len(args) not in {2, 4}:
            raise BadInput("it takes (name, red, green, blue, duration) or a colour.")
        return _seconds(number(args[-1]))

    def _colours(self, name: str, args: tuple[Any, ...]) -> dict[Spot, float]:
        if len(args) == 2:
            given = args[0]
            if isinstance(given, str):
                given = COLOURS[known("Colour", given, COLOURS, "ALLeds")]
            return self._leds.rgb(name, whole(given))
        parts = [in_range("colour", number(one), 0.0, 1.0) for one in args[:3]]
        packed = sum(
            round(255 * p) << shift for p, shift in zip(parts, (16, 8, 0), strict=True)
        )
        return self._leds.rgb(name, packed)


def _seconds(duration: float) -> float:
    return in_range("duration in s", duration, 0.0, LONGEST_S)


def _n_steps(duration: float, step_s: float) -> int:
    """Return the number of steps of a pattern, at most `MAX_STEPS`."""
    return ceil(in_range("duration in s", duration, 0.0, MAX_STEPS * step_s) / step_s)
