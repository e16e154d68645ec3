"""Groups on one or several buses, found by watching or elected units."""

import pytest

from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.transmitter.buses.bus import (
    TransmitterCfg,
    Watch,
    bus_each,
    one_bus,
)
from nao_testbed.controllers.transmitter.events import GroupCompleted, Sent
from nao_testbed.controllers.transmitter.receipt import StreamState
from nao_testbed.models import Robot
from nao_testbed.models.library import Unit
from tests.controllers.transmitter.transmitter_world import (
    BUSES,
    LEAVES,
    LIGHT,
    MOTION,
    SOUND,
    Clip,
    World,
    tag,
)
from tests.messages import Messages, each

MEMBERS = ((MOTION, 20), (LIGHT, 10), (SOUND, 70))


def greet(stage: World, token: Token, slots_between: int = 0) -> None:
    for leaf, (unit, points) in zip(LEAVES, MEMBERS, strict=False):
        stage.receive(Clip(token, [leaf], unit=unit), tag(points))
        stage.slots(slots_between)


@pytest.mark.parametrize("watch", list(Watch))
@pytest.mark.parametrize("buses", list(BUSES))
@pytest.mark.requirement("SY-12", "SY-24", "I-23")
def test_first_items_are_in_one_slot_on_every_bus(
    nao: Robot, buses: str, watch: Watch
) -> None:
    stage = World.of(nao, buses, watch)
    greet(stage, stage.take("greet", *LEAVES), slots_between=2)
    stage.slots(2)
    instants = [(x.tick, x.k, x.unit) for x in stage.told(Sent)]
    expected = [(5 + k, k, unit) for k in range(3) for unit in Unit]
    assert sorted(instants, key=expected.index) == expected
    for bus, units in BUSES[buses].items():
        on_bus = [x for x in stage.told(Sent) if x.bus == bus]
        assert {x.unit for x in on_bus} == set(units)
        order = [(x.k, list(Unit).index(x.unit)) for x in on_bus]
        assert order == sorted(order)


@pytest.mark.parametrize(
    ("buses", "watch", "found_by"),
    [
        ("one bus", Watch.WATCHING, ("main",)),
        ("two buses", Watch.WATCHING, ("joints", "face")),
        ("three buses", Watch.WATCHING, ("joints", "lamps", "voice")),
        ("three buses", Watch.ELECTED, ("joints",)),
    ],
)
@pytest.mark.requirement("SY-24")
def test_group_is_found_by_each_unit_or_by_the_elected_one(
    nao: Robot, buses: str, watch: Watch, found_by: tuple[str, ...]
) -> None:
    stage = World.of(nao, buses, watch)
    greet(stage, stage.take("greet", *LEAVES))
    (completed,) = stage.told(GroupCompleted)
    assert completed.found_by == found_by
    assert completed.streams == (1, 2, 3)


@pytest.mark.parametrize(
    ("watch", "found_by"),
    [(Watch.ELECTED, ("joints",)), (Watch.WATCHING, ("lamps", "voice"))],
)
@pytest.mark.requirement("SY-24")
def test_elected_unit_finds_a_group_without_its_own_streams(
    nao: Robot, watch: Watch, found_by: tuple[str, ...]
) -> None:
    """The memory is shared; of the watching units only those with a member find it."""
    stage = World.of(nao, "three buses", watch)
    token = stage.take("greet", *LEAVES)
    stage.receive(Clip(token, [LEAVES[0]], unit=LIGHT), tag(4, preset=10))
    stage.receive(Clip(token, [LEAVES[1]], unit=SOUND), tag(6, preset=10))
    stage.slot()
    (completed,) = stage.told(GroupCompleted)
    assert completed.found_by == found_by
    assert {event.bus for event in stage.told(Sent)} == {"lamps", "voice"}


@pytest.mark.parametrize("watch", list(Watch))
@pytest.mark.requirement("SY-13", "SY-24")
def test_group_starts_when_all_its_buses_permit_it(nao: Robot, watch: Watch) -> None:
    """S9 and S91: until then none of its items is on any bus."""
    open_from = {"joints": 4, "lamps": 6, "voice": 1}

    def permits(bus: str, tick: int) -> bool:
        return tick >= open_from[bus]

    stage = World.of(nao, "three buses", watch, permits=permits)
    token = stage.take("greet", *LEAVES)
    greet(stage, token)
    sound = stage.receive(Clip(token, [LEAVES[3]], unit=SOUND), tag(100, "beep"))
    stage.slots(5)
    assert {event.stream for event in stage.told(Sent)} == {4}
    assert sound.is_done
    stage.slot()
    starts = [(x.tick, x.bus) for x in stage.told(Sent) if x.k == 0 and x.stream < 4]
    assert starts == [(6, "joints"), (6, "lamps"), (6, "voice")]


def test_bus_that_never_permits_keeps_its_group_waiting(nao: Robot) -> None:
    stage = World.of(nao, permits=lambda bus, tick: False)
    token = stage.take("greet", *LEAVES)
    receipt = stage.receive(Clip(token, ["HeadYaw"]), tag(100))
    stage.slots(30)
    assert receipt.state is StreamState.WAITING


def test_bus_names_of_one_bus_and_of_one_per_unit() -> None:
    assert TransmitterCfg(buses=one_bus()).bus_of(SOUND) == "main"
    assert TransmitterCfg(buses=bus_each()).bus_of(SOUND) == "sound"


def test_messages(messages: Messages) -> None:
    messages(
        invalid_buses=each(
            TransmitterCfg,
            buses=[{}, {"a": tuple(Unit), "b": (SOUND,)}, {"a": (MOTION, SOUND)}],
        ),
        invalid_ttl=each(TransmitterCfg, ttl_s=[0.0, -1.0, float("nan"), float("inf")]),
    )
