"""Slot rate of a transmitter, by the number of waiting groups.

Three streams run, each on its own bus: a motion of every motor, a light and a sound,
with an item in each slot. A slot is `step`, the ledger's tick, the gate's flush and
`settle`. Two references process the same items: the gate without a transmitter, and a
loop that stores them in a dictionary and counts them without any check.

The skew of a group is counted in the trace: slots between the first items of its
members, and between all items of one instant.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice, permutations

import numpy as np

from benchmarks.figures import Figure, figure, ratio
from benchmarks.references import Run, rates_of
from benchmarks.reservations import Sink, take_all
from nao_testbed.controllers.arbitration.events import Event
from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.gate.device_map import DeviceMap, map_devices
from nao_testbed.controllers.arbitration.gate.writers import Value
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.interface.robot_interface import LedSetting, SoundChunk
from nao_testbed.controllers.transmitter.buses.bus import TransmitterCfg, bus_each
from nao_testbed.controllers.transmitter.events import Sent
from nao_testbed.controllers.transmitter.receipt import SyncTag
from nao_testbed.controllers.transmitter.streams import NO_PARTS, Item, Present
from nao_testbed.controllers.transmitter.transmitter import Transmitter
from nao_testbed.models import Robot, TestbedError
from nao_testbed.models.library import Unit
from nao_testbed.models.resources import DeviceKind

ENDLESS = 10**9
"""Number of items of a stream that does not end during the benchmark."""
POINTS = {Unit.MOTION: 20, Unit.LIGHT: 10, Unit.SOUND: 70}
"""Distribution as in [CN1396856, description of fig. 18]."""
MAX_RATIO = 1.5
"""Largest accepted ratio of the cost of a slot with many waiting groups to that with
few."""


@dataclass(frozen=True, kw_only=True)
class TransmitterBenchCfg:
    """Extent of the measurement."""

    waiting: tuple[int, ...] = (100, 10_000)
    """Numbers of waiting groups; their minimum is the reference."""
    groups: int = 50
    """Number of groups whose skew is counted."""
    blocks: int = 11
    block_s: float = 0.04
    """Processor time per block and subject, in s."""


def measure_transmitter(robot: Robot, cfg: TransmitterBenchCfg) -> list[Figure]:
    """Measure the rate of slots, relative to a bare loop, and the skew of groups."""
    few, many = min(cfg.waiting), max(cfg.waiting)
    runs = {
        "bare": _bare(robot),
        "gate": _direct(robot),
        "few": _slots(robot, few),
        "many": _slots(robot, many),
    }
    found = rates_of(runs, cfg.blocks, cfg.block_s)
    skews = _skews(robot, cfg.groups)
    return [
        figure(
            "transmitter_slots",
            f"slots of 3 buses, {few} waiting groups",
            "k/s",
            found["few"],
            0.1,
            is_at_least=True,
        ),
        figure("bare_slots", "same items, counted", "k/s", found["bare"]),
        figure("gate_slots", "same items, direct", "k/s", found["gate"]),
        ratio(
            "gate_over_transmitter",
            "direct / transmitter",
            found["gate"],
            found["few"],
        ),
        ratio(
            "bare_over_transmitter",
            "counted / transmitter",
            found["bare"],
            found["few"],
        ),
        ratio(
            "transmitter_waiting",
            f"slot, {many} / {few} waiting groups",
            found["few"],
            found["many"],
            MAX_RATIO,
        ),
        Figure(
            name="group_skew",
            what=f"largest skew of {cfg.groups} groups",
            unit="slots",
            value=max(skews),
            low=min(skews),
            high=max(skews),
            blocks=len(skews),
            target=0.0,
        ),
    ]


class _Repeated:
    """Stream that outputs the same item in each slot."""

    def __init__(
        self, unit: Unit, token: Token, item: Mapping[str, Value], length: int = ENDLESS
    ) -> None:
        self.unit = unit
        self.parts = NO_PARTS
        self.label = unit.value
        self.token = token
        self.leaves = tuple(sorted(item))
        self._item = item
        self._length = length

    def begin(self, present: Present) -> int:
        """Return the length of the stream."""
        del present
        return self._length

    def item(self, k: int) -> Item:
        """Return the item."""
        del k
        return self._item

    def rejoin(self, k: int, present: Present) -> Sequence[Item]:
        """Do nothing: the stream needs no transition."""
        del k, present
        return ()


def _items(robot: Robot, devices: DeviceMap) -> dict[Unit, dict[str, Value]]:
    """Return the items of each unit in a slot."""
    in_force = Sink(robot).read().target
    motors = devices.of_kind(DeviceKind.MOTOR)
    lights, speaker = devices.led_leaves, devices.speaker_leaf
    if not lights or speaker is None:
        raise TestbedError(f"robot {robot.name!r} has no lights or no loudspeaker.")
    samples = np.zeros(160)
    return {
        Unit.MOTION: {leaf.name: float(in_force[leaf.joints[0]]) for leaf in motors},
        Unit.LIGHT: {
            lights[0].name: LedSetting(
                colours=np.ones(lights[0].groups[0].n_channels), fade_s=0.1
            )
        },
        Unit.SOUND: {
            speaker.name: SoundChunk(
                samples=samples, sample_rate_hz=16_000, label="bench"
            )
        },
    }


class _World:
    """Transmitter with one bus per unit, and the outputs of its streams."""

    def __init__(self, robot: Robot) -> None:
        self.ledger = Ledger(ResourceTree(robot.resources))
        devices = map_devices(robot.resources, robot)
        self.sink = Sink(robot)
        self.gate = Gate(self.ledger, self.sink, devices)
        self.token = take_all(self.ledger)
        cfg = TransmitterCfg(buses=bus_each(), ttl_s=1e6)
        self.transmitter = Transmitter(self.gate, self.ledger, cfg)
        self.items = _items(robot, devices)

    def send(self, unit: Unit, group: str, length: int = ENDLESS) -> None:
        """Send a member of a group."""
        stream = _Repeated(unit, self.token, self.items[unit], length)
        tag = SyncTag(group=group, points=POINTS[unit])
        receipt = self.transmitter.receive(stream, tag, self.ledger.tick + 1)
        if receipt.refused is not None:
            raise TestbedError(f"a stream was refused: {receipt.refused}.")

    def slot(self) -> None:
        """Run one slot, without the robot."""
        tick = self.ledger.tick + 1
        self.transmitter.step(tick)
        self.ledger.advance(tick)
        self.gate.flush(tick)
        self.transmitter.settle(tick)


def _slots(robot: Robot, waiting: int) -> Run:
    world = _World(robot)
    for n in range(waiting):
        world.send(Unit.SOUND, f"waits {n}")
    for unit in Unit:
        world.send(unit, "runs")

    def run(count: int) -> int:
        writes = world.sink.writes
        for _ in range(count):
            world.slot()
        if world.sink.writes != writes + count:
            raise TestbedError("no items in some slots: nothing to measure.")
        return count

    return run


def _direct(robot: Robot) -> Run:
    world = _World(robot)
    parts = [(world.token, item) for item in world.items.values()]

    def run(count: int) -> int:
        for _ in range(count):
            tick = world.ledger.tick + 1
            world.gate.submit_together(parts)
            world.ledger.advance(tick)
            world.gate.flush(tick)
        return count

    return run


def _bare(robot: Robot) -> Run:
    items = list(_items(robot, map_devices(robot.resources, robot)).values())
    counts = dict.fromkeys(range(len(items)), 0)

    def run(count: int) -> int:
        for _ in range(count):
            out: dict[str, Value] = {}
            for unit, item in enumerate(items):
                out.update(item)
                counts[unit] += 1
        return count

    return run


def _skews(robot: Robot, groups: int) -> list[int]:
    """Return the largest skew of each group, in slots.

    The members arrive in all orders, 0 to 3 slots apart, and differ in length.
    """
    world, slots_of = _World(robot), defaultdict[tuple[str, int], list[int]](list)

    def note(event: Event) -> None:
        if isinstance(event, Sent) and event.group is not None:
            slots_of[event.group, event.k].append(event.tick)

    world.ledger.listeners.append(note)
    for n, order in enumerate(islice(cycle(permutations(Unit)), groups)):
        for late, unit in enumerate(order):
            world.send(unit, f"group {n}", length=3 + late)
            for _ in range(n % 4):
                world.slot()
        for _ in range(6):
            world.slot()
    largest: dict[str, int] = {}
    for (group, _), slots in slots_of.items():
        largest[group] = max(largest.get(group, 0), max(slots) - min(slots))
    if len(largest) != groups:
        raise TestbedError(f"only {len(largest)} of {groups} groups have started.")
    return list(largest.values())
