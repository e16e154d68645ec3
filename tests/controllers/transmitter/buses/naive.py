"""The transmitter by its rules alone: no index, no heap, everything is looked through.

It plays the same clips with the same rights as the real one, and says what goes out in
each slot and how every stream ends.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from controllers.transmitter.receipt import (
    EndReason,
    GroupKey,
    NotReceived,
    StreamState,
    SyncTag,
)
from tests.controllers.transmitter.transmitter_world import Clip

Rights = Callable[[Clip], bool]
"""Whether a clip's token covers its leaves now."""


@dataclass(eq=False)
class Naive:
    """One stream."""

    number: int
    clip: Clip
    tag: SyncTag | None
    tick: int
    after: "Naive | None" = None
    is_interrupt: bool = False
    refused: NotReceived | None = None
    state: StreamState = StreamState.WAITING
    reason: EndReason | None = None
    started: int | None = None
    ended: int | None = None
    sent: int = 0

    @property
    def is_over(self) -> bool:
        return self.state is StreamState.ENDED

    @property
    def key(self) -> GroupKey | None:
        return self.tag.key if self.tag else None

    @property
    def leaves(self) -> set[str]:
        return set(self.clip.leaves)


@dataclass(eq=False)
class NaiveGroup:
    """What plays together."""

    key: GroupKey | None
    streams: list[Naive]
    blockers: list["NaiveGroup"] = field(default_factory=list)
    is_paused: bool = False
    lead: list[list[tuple[Naive, float]]] | None = None
    sends: bool = False
    """Whether it gave the gate something in this slot."""

    @property
    def live(self) -> list[Naive]:
        return [one for one in self.streams if not one.is_over]

    @property
    def leaves(self) -> set[str]:
        return {leaf for one in self.live for leaf in one.leaves}


class NaiveTransmitter:
    """The rules."""

    def __init__(
        self, rights: Rights, ttl: int, permits: Callable[[NaiveGroup], bool]
    ) -> None:
        self.has_right = rights
        self.ttl = ttl
        self.permits = permits
        self.all: list[Naive] = []
        self.groups: dict[GroupKey, list[Naive]] = {}
        self.dead: dict[GroupKey, int] = {}
        self.at_once: list[NaiveGroup] = []
        self.interrupting: list[NaiveGroup] = []
        self.queue: list[NaiveGroup] = []
        """Complete groups and followers, in the order in which they came."""
        self.running: list[NaiveGroup] = []
        self.out: dict[str, float] = {}
        """Leaf to what this slot writes."""

    # -- calls ------------------------------------------------------------------------

    def receive(
        self, clip: Clip, tag: SyncTag | None, tick: int, after: Naive | None = None
    ) -> Naive:
        self.expire(tick - 1, tick)
        one = self._new(Naive(len(self.all) + 1, clip, tag, tick, after))
        one.refused = self._why_not(one)
        if one.refused is not None:
            self._refuse(one)
        elif tag is not None:
            group = self.groups.setdefault(tag.key, [])
            group.append(one)
            if self._points(tag.key) == tag.preset:
                self._enqueue(NaiveGroup(tag.key, list(group)), tick)
        elif after is not None and after.reason is not EndReason.DONE:
            self._enqueue(NaiveGroup(None, [one]), tick)
        else:
            self.at_once.append(NaiveGroup(None, [one]))
        return one

    def interrupt(self, clip: Clip, tick: int, delete: Sequence[GroupKey]) -> Naive:
        self.expire(tick - 1, tick)
        one = self._new(Naive(len(self.all) + 1, clip, None, tick, is_interrupt=True))
        one.refused = self._why_not(one)
        if one.refused is not None:
            self._refuse(one)
            return one
        for key in delete:
            self.delete(key, tick)
        self.interrupting.append(NaiveGroup(None, [one]))
        return one

    def delete(
        self, key: GroupKey, tick: int, reason: EndReason = EndReason.DELETED
    ) -> None:
        for play in self.running:
            if play.key == key and play.live:
                has_started = play.streams[0].started is not None
                why = EndReason.REVOKED if has_started else reason
                self._end_play(play, why, tick)
                return
        if self.groups.get(key):
            self.dead[key] = tick + self.ttl
            for one in self.groups.pop(key):
                self._end(one, reason, tick)

    def withdraw(self, one: Naive, tick: int) -> None:
        if one.is_over:
            return
        if one.tag is not None:
            self.delete(one.tag.key, tick)
        else:
            waits = one.started is None
            self._end(one, EndReason.DELETED if waits else EndReason.REVOKED, tick)

    # -- a slot -----------------------------------------------------------------------

    def step(self, tick: int) -> None:
        self.out = {}
        self.expire(tick, tick)
        for play in list(self.running):
            if not all(self.has_right(one.clip) for one in play.live):
                self._end_play(play, EndReason.REVOKED, tick)
        self._interrupt(tick)
        self._resume(tick)
        followers = [x for x in self._free() if x.key is None]
        self.queue = [play for play in self.queue if play not in followers]
        plays, self.at_once = followers + self.at_once, []
        for play in plays:
            if play in followers and self._is_held(play):
                self.queue.append(play)
            else:
                self._replace(play, tick)
                self._begin(play, tick)
        for play in self._free():
            if (
                play.key
                and play.live
                and not self._is_held(play)
                and self.permits(play)
            ):
                self.queue.remove(play)
                del self.groups[play.key]
                self._begin(play, tick)
        for play in self.running:
            play.sends = bool(play.lead) or not play.is_paused

    def settle(self, tick: int) -> dict[str, float]:
        """Return what is written; rights are those at the flush."""
        for play in list(self.running):
            parts = self._parts(play) if play.sends else []
            if not play.live or not play.sends:
                continue
            if not all(self.has_right(one.clip) for one in play.live):
                self._end_play(play, EndReason.REVOKED, tick)
                continue
            for one, value in parts:
                if value is not None:
                    self.out |= dict.fromkeys(one.clip.leaves, value)
            if play.lead:
                play.lead.pop(0)
            else:
                self._count(play, tick)
        self.running = [play for play in self.running if play.live]
        return self.out

    def expire(self, due: int, now: int) -> None:
        for key, group in list(self.groups.items()):
            is_complete = self._points(key) == key.preset
            if (
                key in self.groups
                and not is_complete
                and group[0].tick + self.ttl <= due
            ):
                self.dead[key] = due + self.ttl
                for one in self.groups.pop(key):
                    self._end(one, EndReason.EXPIRED, now)

    # -- inside -----------------------------------------------------------------------

    def _new(self, one: Naive) -> Naive:
        self.all.append(one)
        return one

    def _points(self, key: GroupKey) -> int:
        return sum(one.tag.points for one in self.groups.get(key, ()) if one.tag)

    def _users(self, leaves: set[str]) -> list[NaiveGroup]:
        return [play for play in self.running if play.leaves & leaves]

    def _why_not(self, one: Naive) -> NotReceived | None:
        """Return the first reason that holds."""
        key = one.key
        twins = [x for x in self.all[:-1] if x.clip is one.clip and not x.is_over]
        members = self.groups.get(key, []) if key else []
        runs = any(play.key == key and play.live for play in self.running)
        follows = one.after is not None and one.after.reason is not EndReason.DONE
        is_plain = key is None and not one.is_interrupt and not follows
        used = is_plain and any(play.key for play in self._users(one.leaves))
        tags = [x.tag for x in (*members, one) if x.tag]
        too_late = key is not None and self.dead.get(key, 0) > one.tick
        reasons = {
            NotReceived.NO_TOKEN: not self.has_right(one.clip),
            NotReceived.AFTER_FAILED: _has_failed(one.after),
            NotReceived.UNDER_WAY: any(key is None or x.key != key for x in twins),
            NotReceived.IN_USE: used,
            NotReceived.GROUP_STARTED: key is not None and runs,
            NotReceived.GROUP_DELETED: too_late,
            NotReceived.DOUBLED_MEMBER: any(one.leaves & x.leaves for x in members),
            NotReceived.GROUP_EXCEEDS: key is not None
            and sum(tag.points for tag in tags) > key.preset,
        }
        return next((reason for reason, holds in reasons.items() if holds), None)

    def _refuse(self, one: Naive) -> None:
        one.state, one.reason = StreamState.ENDED, EndReason.REJECTED
        one.ended = one.tick
        harmful = (NotReceived.DOUBLED_MEMBER, NotReceived.GROUP_EXCEEDS)
        if one.refused in harmful and one.tag is not None:
            self.delete(one.tag.key, one.tick, EndReason.REJECTED)

    def _enqueue(self, play: NaiveGroup, tick: int) -> None:
        self.queue.append(play)
        if any(_has_failed(one.after) for one in play.streams):
            self._fail(play, tick)

    def _fail(self, play: NaiveGroup, tick: int) -> None:
        if play.key is None:
            self._end_play(play, EndReason.DELETED, tick)
        else:
            self.delete(play.key, tick)

    def _is_held(self, play: NaiveGroup) -> bool:
        if any(x.after is not None and not x.after.is_over for x in play.live):
            return True
        users = self._users(play.leaves)
        return bool(users) if play.key else any(user.key for user in users)

    def _free(self) -> list[NaiveGroup]:
        return [play for play in self.queue if play.live and not self._is_held(play)]

    def _replace(self, play: NaiveGroup, tick: int) -> None:
        for user in self._users(play.leaves):
            if user.key is None:
                self._end_play(user, EndReason.REPLACED, tick)

    def _begin(self, play: NaiveGroup, tick: int) -> bool:
        if not play.live:
            return False
        if not all(self.has_right(one.clip) for one in play.live):
            self._end_play(play, EndReason.REVOKED, tick)
            return False
        if any(one.clip.cannot for one in play.live):
            self._end_play(play, EndReason.CANNOT_BEGIN, tick)
            return False
        for one in play.live:
            one.state = StreamState.RUNNING
        self.running.append(play)
        return True

    def _interrupt(self, tick: int) -> None:
        plays, self.interrupting = self.interrupting, []
        for play in plays:
            users = self._users(play.leaves)
            if any(user.streams[0].started is None for user in users):
                self.interrupting.append(play)
            elif self._begin(play, tick):
                for user in users:
                    user.is_paused, user.lead = True, None
                    user.blockers.append(play)
                    for one in user.live:
                        one.state = StreamState.PAUSED

    def _resume(self, tick: int) -> None:
        for play in self.running:
            if not play.is_paused or any(other.live for other in play.blockers):
                continue
            if play.lead is None:
                longest = max((one.clip.leads for one in play.live), default=0)
                play.lead = [
                    [(x, x.clip.angle(-1 - n)) for x in play.live if n < x.clip.leads]
                    for n in range(longest)
                ]
            if not play.lead:
                play.is_paused, play.lead = False, None
                for one in play.live:
                    one.state = StreamState.RUNNING

    def _parts(self, play: NaiveGroup) -> list[tuple[Naive, float | None]]:
        if play.lead:
            return list(play.lead[0])
        return [
            (x, None if x.sent in x.clip.empty else x.clip.angle(x.sent))
            for x in play.live
        ]

    def _count(self, play: NaiveGroup, tick: int) -> None:
        for one in play.live:
            one.started = tick if one.started is None else one.started
            one.sent += 1
        for one in play.live:
            if one.sent == one.clip.length:
                self._end(one, EndReason.DONE, tick)

    def _end_play(self, play: NaiveGroup, reason: EndReason, tick: int) -> None:
        for one in play.live:
            self._end(one, reason, tick)

    def _end(self, one: Naive, reason: EndReason, tick: int) -> None:
        one.state, one.reason, one.ended = StreamState.ENDED, reason, tick
        if reason is EndReason.DONE:
            return
        for play in list(self.queue):
            if any(other.after is one for other in play.live):
                self._fail(play, tick)


def _has_failed(one: Naive | None) -> bool:
    return one is not None and one.is_over and one.reason is not EndReason.DONE
