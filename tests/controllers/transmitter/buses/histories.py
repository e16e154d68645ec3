"""Histories that nobody wrote: the transmitter and the naive one live them together.

After each slot both must have written the same values and left every stream in the same
state; the judges follow the trace.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from controllers.arbitration.events import Executed
from controllers.arbitration.tokens import Token
from controllers.transmitter.buses.bus import Watch
from controllers.transmitter.receipt import GroupKey, Receipt, SyncTag
from models import Robot
from models.library import Unit
from tests.controllers.transmitter.buses.naive import (
    Naive,
    NaiveGroup,
    NaiveTransmitter,
)
from tests.controllers.transmitter.transmitter_world import (
    BUSES,
    LEAVES,
    Clip,
    World,
)

T = TypeVar("T")
OWNED = {"left": LEAVES[:2], "right": LEAVES[2:4], "boss": LEAVES[1:3]}
"""Owner to its leaves; the boss takes some of both others by its priority."""
KEYS = (GroupKey(3, "g"), GroupKey(3, "h"), GroupKey(2, "g"))
TTL = 4
"""Slots for which a group may be incomplete."""


class Choice(Protocol):
    """Chooses what happens: at random, or as hypothesis likes."""

    def choose(self, options: Sequence[T]) -> T: ...


class Twins:
    """A transmitter, and the naive one that says what it should do."""

    def __init__(self, robot: Robot, buses: str, watch: Watch) -> None:
        self.closed: list[str] = []
        """Buses that permit no group to start."""
        self.may_close = True
        self.rights: dict[Token, tuple[str, ...]] = {}
        self.tokens: list[tuple[Token, tuple[str, ...]]] = []
        """All that were ever granted, and their leaves."""
        self.stage = World.of(
            robot,
            buses,
            watch,
            ttl_s=0.01 * TTL,
            permits=lambda bus, tick: bus not in self.closed,
        )
        self.bus_of = {u: bus for bus, units in BUSES[buses].items() for u in units}
        self.naive = NaiveTransmitter(self._has_right, TTL, self._permits)
        self.receipts: list[Receipt] = []
        self.written: list[dict[str, float]] = []
        """Of each slot."""
        for owner in ("left", "right"):
            self.take(owner)

    # -- what may happen --------------------------------------------------------------

    def take(self, owner: str) -> None:
        leaves = OWNED[owner]
        met = [token for token, has in self.rights.items() if set(has) & set(leaves)]
        if owner != "boss" and met:
            return
        if any(self.rights[token] == OWNED["boss"] for token in met):
            return
        for token in met:
            del self.rights[token]
        token = self.stage.take(owner, *leaves, priority=5 if owner == "boss" else 0)
        self.rights[token] = leaves
        self.tokens.append((token, leaves))

    def release(self, token: Token) -> None:
        if self.rights.pop(token, None) is not None:
            self.stage.ledger.release(token, self.stage.tick)

    def receive(self, clip: Clip, tag: SyncTag | None, after: int | None) -> None:
        first = None if after is None else self.receipts[after - 1]
        naive = None if after is None else self.naive.all[after - 1]
        is_live = naive is not None and not naive.is_over
        if tag is not None and is_live and naive is not None and naive.key == tag.key:
            return  # it would follow its own group: an error
        self.receipts.append(self.stage.receive(clip, tag, first))
        self.naive.receive(clip, tag, self.stage.tick, naive)
        self.compare()

    def interrupt(self, clip: Clip, delete: Sequence[GroupKey]) -> None:
        stage = self.stage
        receipt = stage.transmitter.interrupt(clip, stage.tick, delete=delete)
        self.receipts.append(receipt)
        self.naive.interrupt(clip, stage.tick, delete)
        self.compare()

    def withdraw(self, number: int) -> None:
        tick = self.stage.tick
        self.stage.transmitter.withdraw(self.receipts[number - 1], tick)
        self.naive.withdraw(self.naive.all[number - 1], tick)
        self.compare()

    def delete(self, key: GroupKey) -> None:
        self.stage.transmitter.delete_group(key, self.stage.tick)
        self.naive.delete(key, self.stage.tick)
        self.compare()

    def slot(self, between: Callable[[], None] | None = None) -> None:
        """Run a slot; `between` happens before time passes and the gate writes."""
        tick = self.stage.tick
        self.naive.step(tick)
        self.stage.between = between
        self.stage.slot()
        wanted = self.naive.settle(tick)
        done = [x.resource for x in self.stage.told(Executed) if x.tick == tick]
        written = {leaf: self.stage.target(leaf) for leaf in done}
        assert written == wanted, f"slot {tick}"
        self.written.append(written)
        self.compare()

    def compare(self) -> None:
        """Both say the same of every stream."""
        for receipt, naive in zip(self.receipts, self.naive.all, strict=True):
            assert _state(receipt) == _naive_state(naive), f"stream {naive.number}"

    def finish(self) -> None:
        """Let all that can end end; then judge the trace."""
        self.closed.clear()
        for _ in range(40):
            self.slot()
        assert all(receipt.is_over for receipt in self.receipts)
        groups = self.stage.transmitter.groups
        assert not any(groups.find(key) for key in KEYS)
        assert not groups.running
        assert not groups.free
        found = self.stage.checker.finish(is_over=True)
        assert not found, "; ".join(map(str, found))

    # -- inside -----------------------------------------------------------------------

    def _has_right(self, clip: Clip) -> bool:
        return set(clip.leaves) <= set(self.rights.get(clip.token, ()))

    def _permits(self, play: NaiveGroup) -> bool:
        return not any(self.bus_of[one.clip.unit] in self.closed for one in play.live)


def _state(receipt: Receipt) -> tuple[object, ...]:
    return (
        receipt.refused,
        receipt.state,
        receipt.reason,
        receipt.started_tick,
        receipt.ended_tick,
        receipt.sent,
    )


def _naive_state(one: Naive) -> tuple[object, ...]:
    return one.refused, one.state, one.reason, one.started, one.ended, one.sent


# -- choosing -------------------------------------------------------------------------


def live_a_history(twins: Twins, choice: Choice, steps: int) -> None:
    """Let things happen, and slots pass in between."""
    for _ in range(steps):
        act = choice.choose(ACTS)
        act(twins, choice)
    twins.finish()


def _clip(twins: Twins, choice: Choice) -> Clip:
    dead_too = choice.choose([False] * 7 + [True])
    known = twins.tokens if dead_too else list(twins.rights.items())
    token, leaves = choice.choose(known or twins.tokens)
    some = choice.choose([leaves[:1], leaves[1:], leaves])
    if choice.choose([False] * 15 + [True]):
        some = (*some, LEAVES[-1])  # to which nobody has a right
    length = choice.choose([1, 2, 3, 5])
    return Clip(
        token,
        some,
        length,
        unit=choice.choose(list(Unit)),
        empty=choice.choose([(), (), (0,), (1, 2)]),
        leads=choice.choose([0, 0, 1, 2]),
        cannot=choice.choose([""] * 12 + ["too far"]),
    )


def _after(twins: Twins, choice: Choice) -> int | None:
    if not twins.receipts or choice.choose([True, True, True, False]):
        return None
    return choice.choose([receipt.number for receipt in twins.receipts[-6:]])


def _independent(twins: Twins, choice: Choice) -> None:
    twins.receive(_clip(twins, choice), None, _after(twins, choice))


def _tagged(twins: Twins, choice: Choice) -> None:
    key = choice.choose(KEYS)
    points = choice.choose([1, 1, 1, 2])
    tag = SyncTag(group=key.group, points=points, preset=key.preset)
    twins.receive(_clip(twins, choice), tag, _after(twins, choice))


def _whole_group(twins: Twins, choice: Choice) -> None:
    """Members that fit together, one after another."""
    key, after = choice.choose(KEYS), _after(twins, choice)
    owned = [(token, leaf) for token, leaves in twins.rights.items() for leaf in leaves]
    for n, (token, leaf) in enumerate(owned[: key.preset]):
        length = choice.choose([1, 2, 3, 5])
        clip = Clip(token, [leaf], length, unit=list(Unit)[n], leads=n)
        tag = SyncTag(group=key.group, points=1, preset=key.preset)
        twins.receive(clip, tag, after)


def _again(twins: Twins, choice: Choice) -> None:
    if twins.receipts:
        number = choice.choose([receipt.number for receipt in twins.receipts[-4:]])
        before = twins.naive.all[number - 1]
        if not before.is_over:
            tag = choice.choose([None, before.tag])
            twins.receive(before.clip, tag, None)


def _interrupt(twins: Twins, choice: Choice) -> None:
    delete = choice.choose([(), (), (), KEYS[:1]])
    twins.interrupt(_clip(twins, choice), delete)


def _withdraw(twins: Twins, choice: Choice) -> None:
    if twins.receipts:
        twins.withdraw(choice.choose([x.number for x in twins.receipts[-6:]]))


def _delete(twins: Twins, choice: Choice) -> None:
    twins.delete(choice.choose(KEYS))


def _take(twins: Twins, choice: Choice) -> None:
    twins.take(choice.choose(list(OWNED)))


def _release(twins: Twins, choice: Choice) -> None:
    if twins.rights:
        twins.release(choice.choose(list(twins.rights)))


def _bus(twins: Twins, choice: Choice) -> None:
    bus = twins.bus_of[choice.choose(list(Unit))]
    if not twins.may_close:
        return
    (twins.closed.remove if bus in twins.closed else twins.closed.append)(bus)


def _slots(twins: Twins, choice: Choice) -> None:
    for _ in range(choice.choose([1, 1, 2, 3])):
        twins.slot()


def _broken_slot(twins: Twins, choice: Choice) -> None:
    """Something happens between the items and the flush."""
    act = choice.choose([_release, _withdraw, _take, _delete, _independent])
    twins.slot(lambda: act(twins, choice))


ACTS = (
    _independent,
    _tagged,
    _tagged,
    _tagged,
    _whole_group,
    _whole_group,
    _again,
    _interrupt,
    _withdraw,
    _delete,
    _take,
    _take,
    _release,
    _bus,
    *[_slots] * 7,
    _broken_slot,
)
