"""Random histories of streams; the trace rules hold in each (I-23, I-24).

At the end all streams have ended, and the transmitter has removed all of them.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.transmitter.buses.bus import Watch
from nao_testbed.controllers.transmitter.receipt import GroupKey, Receipt, SyncTag
from nao_testbed.models import Robot
from nao_testbed.models.library import Unit
from tests.controllers.transmitter.transmitter_world import (
    BUSES,
    LEAVES,
    Clip,
    World,
)

T = TypeVar("T")
OWNED = {"left": LEAVES[:2], "right": LEAVES[2:4], "boss": LEAVES[1:3]}
"""Owner to its leaves; the boss preempts some of both others."""
KEYS = (GroupKey(3, "g"), GroupKey(3, "h"), GroupKey(2, "g"))
TTL = 4
"""Slots after which an incomplete group expires."""


class Choice(Protocol):
    """Chooses options: by a seeded generator or by hypothesis."""

    def choose(self, options: Sequence[T]) -> T: ...


class Life:
    """A transmitter, the streams given to it, and the tokens."""

    def __init__(self, robot: Robot, buses: str, watch: Watch) -> None:
        self.closed: list[str] = []
        """Buses that do not permit a group to start."""
        self.may_close = True
        self.rights: dict[Token, tuple[str, ...]] = {}
        self.tokens: list[tuple[Token, tuple[str, ...]]] = []
        """All tokens ever granted, with their leaves."""
        self.stage = World.of(
            robot,
            buses,
            watch,
            ttl_s=0.01 * TTL,
            permits=lambda bus, tick: bus not in self.closed,
        )
        self.bus_of = {u: bus for bus, units in BUSES[buses].items() for u in units}
        self.given: list[tuple[Clip, SyncTag | None]] = []
        """Streams by number, from 1."""
        self.receipts: list[Receipt] = []
        for owner in ("left", "right"):
            self.take(owner)

    # -- actions ----------------------------------------------------------------------

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
        if tag is not None and after is not None and first and not first.is_over:
            before = self.given[after - 1][1]
            if before is not None and before.key == tag.key:
                return  # following its own group is an error
        self.given.append((clip, tag))
        self.receipts.append(self.stage.receive(clip, tag, first))

    def interrupt(self, clip: Clip, delete: Sequence[GroupKey]) -> None:
        stage = self.stage
        receipt = stage.transmitter.interrupt(clip, stage.tick, delete=delete)
        self.given.append((clip, None))
        self.receipts.append(receipt)

    def withdraw(self, number: int) -> None:
        self.stage.transmitter.withdraw(self.receipts[number - 1], self.stage.tick)

    def delete(self, key: GroupKey) -> None:
        self.stage.transmitter.delete_group(key, self.stage.tick)

    def slot(self, between: Callable[[], None] | None = None) -> None:
        """Run a slot; `between` is called before the ledger advances."""
        self.stage.between = between
        self.stage.slot()

    def finish(self) -> None:
        """Run until all streams have ended; then check the trace."""
        self.closed.clear()
        for _ in range(40):
            self.slot()
        assert all(receipt.is_over for receipt in self.receipts)
        groups = self.stage.transmitter.groups
        assert not any(groups.find(key) for key in KEYS)
        assert not groups.running
        assert not groups.free
        found = self.stage.checker.finish()
        assert not found, "; ".join(map(str, found))


# -- choices --------------------------------------------------------------------------


def run_history(life: Life, choice: Choice, steps: int) -> None:
    """Run random actions and slots."""
    for _ in range(steps):
        act = choice.choose(ACTS)
        act(life, choice)
    life.finish()


def _clip(life: Life, choice: Choice) -> Clip:
    dead_too = choice.choose([False] * 7 + [True])
    known = life.tokens if dead_too else list(life.rights.items())
    token, leaves = choice.choose(known or life.tokens)
    some = choice.choose([leaves[:1], leaves[1:], leaves])
    if choice.choose([False] * 15 + [True]):
        some = (*some, LEAVES[-1])  # a leaf without a holder
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


def _after(life: Life, choice: Choice) -> int | None:
    if not life.receipts or choice.choose([True, True, True, False]):
        return None
    return choice.choose([receipt.number for receipt in life.receipts[-6:]])


def _independent(life: Life, choice: Choice) -> None:
    life.receive(_clip(life, choice), None, _after(life, choice))


def _tagged(life: Life, choice: Choice) -> None:
    key = choice.choose(KEYS)
    points = choice.choose([1, 1, 1, 2])
    tag = SyncTag(group=key.group, points=points, preset=key.preset)
    life.receive(_clip(life, choice), tag, _after(life, choice))


def _whole_group(life: Life, choice: Choice) -> None:
    """Receive members that fit together, one after another."""
    key, after = choice.choose(KEYS), _after(life, choice)
    owned = [(token, leaf) for token, leaves in life.rights.items() for leaf in leaves]
    for n, (token, leaf) in enumerate(owned[: key.preset]):
        length = choice.choose([1, 2, 3, 5])
        clip = Clip(token, [leaf], length, unit=list(Unit)[n], leads=n)
        tag = SyncTag(group=key.group, points=1, preset=key.preset)
        life.receive(clip, tag, after)


def _again(life: Life, choice: Choice) -> None:
    if life.receipts:
        number = choice.choose([receipt.number for receipt in life.receipts[-4:]])
        clip, before = life.given[number - 1]
        if not life.receipts[number - 1].is_over:
            life.receive(clip, choice.choose([None, before]), None)


def _interrupt(life: Life, choice: Choice) -> None:
    delete = choice.choose([(), (), (), KEYS[:1]])
    life.interrupt(_clip(life, choice), delete)


def _withdraw(life: Life, choice: Choice) -> None:
    if life.receipts:
        life.withdraw(choice.choose([x.number for x in life.receipts[-6:]]))


def _delete(life: Life, choice: Choice) -> None:
    life.delete(choice.choose(KEYS))


def _take(life: Life, choice: Choice) -> None:
    life.take(choice.choose(list(OWNED)))


def _release(life: Life, choice: Choice) -> None:
    if life.rights:
        life.release(choice.choose(list(life.rights)))


def _bus(life: Life, choice: Choice) -> None:
    bus = life.bus_of[choice.choose(list(Unit))]
    if not life.may_close:
        return
    (life.closed.remove if bus in life.closed else life.closed.append)(bus)


def _slots(life: Life, choice: Choice) -> None:
    for _ in range(choice.choose([1, 1, 2, 3])):
        life.slot()


def _broken_slot(life: Life, choice: Choice) -> None:
    """Run a slot with an action between the items and the flush."""
    act = choice.choose([_release, _withdraw, _take, _delete, _independent])
    life.slot(lambda: act(life, choice))


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
