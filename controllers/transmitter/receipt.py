"""Tag and receipt of a stream: what its sender gives with it, and what it gets back.

The tag at the head of a synchronous stream names its group and its points; the receipt
says how far the stream has come: `StreamState`, and `EndReason` or `NotReceived` in the
end.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from nao_testbed.models import BadInput
from nao_testbed.models.library import PRESET


class StreamState(StrEnum):
    """State of a stream."""

    WAITING = "waiting"
    """For its first slot, or for the rest of its group."""
    RUNNING = "running"
    PAUSED = "paused"
    """By an interrupt, until that is over and it is back where it was."""
    ENDED = "ended"


class EndReason(StrEnum):
    """Why a stream ended; all streams of a group share it, but for DONE."""

    DONE = "done"
    """All of its items went out."""
    REVOKED = "revoked"
    """Its authority was lost, or its sender withdrew it when it had started."""
    DELETED = "deleted"
    """It had not started, and its sender deleted it, or what it should follow did not
    come to its end."""
    EXPIRED = "expired"
    """Its group was not complete in time."""
    REJECTED = "rejected"
    """It was refused, or its group was, because of a later stream."""
    CANNOT_BEGIN = "cannot begin"
    """The robot is not where it begins, or an item of it is not fit."""
    REPLACED = "replaced"
    """A later independent stream commands the same leaf by the same right."""


class NotReceived(StrEnum):
    """Why the transmitter refused a stream."""

    NO_TOKEN = "NO_TOKEN"
    """Its token does not cover all its leaves now."""
    GROUP_EXCEEDS = "GROUP_EXCEEDS"
    """The points of its group sum to more than the preset: the group is rejected."""
    DOUBLED_MEMBER = "DOUBLED_MEMBER"
    """Its group has it, or one for the same leaf, already: the group is rejected."""
    GROUP_DELETED = "GROUP_DELETED"
    """Its group was deleted, rejected or has expired; it comes too late."""
    GROUP_STARTED = "GROUP_STARTED"
    """Its group has started and is not over; it comes too late."""
    IN_USE = "IN_USE"
    """A group that has started uses one of its leaves; interrupt it, or wait."""
    AFTER_FAILED = "AFTER_FAILED"
    """What it should follow has ended, but not come to its end."""
    UNDER_WAY = "UNDER_WAY"
    """This very stream was received before and is not over."""


class GroupKey(NamedTuple):
    """Key of the group of a stream.

    The preset is part of it: points towards 10 never count towards 100.
    """

    preset: int
    group: str

    def __str__(self) -> str:
        """Return a form for people."""
        return f"{self.group!r} of {self.preset}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncTag:
    """The ID and the points of one stream [CN1396856, claims 6 and 7].

    The group starts when the points of its streams sum to the preset: motion 20, light
    10 and sound 70 to 100, say, or light 4 and sound 6 to 10.
    """

    group: str
    """ID of the group. Groups that are under way at one time need different ones."""
    points: int
    """What this stream adds, at least 1."""
    preset: int = PRESET
    """Sum at which the group starts, at least 1."""

    def __post_init__(self) -> None:
        """Refuse a head that could never count.

        Raises:
            BadInput: the ID is empty, or a number is not whole or below 1.
        """
        if not (isinstance(self.group, str) and self.group):
            raise BadInput(f"ID of a group is {self.group!r}; give a text.")
        for what, value in (("points", self.points), ("preset", self.preset)):
            if type(value) is not int or value < 1:
                raise BadInput(
                    f"{what} of a member of group {self.group!r} is {value!r}; give a "
                    "whole number of at least 1."
                )

    @property
    def key(self) -> GroupKey:
        """Its group."""
        return GroupKey(self.preset, self.group)


def count_tag(group: str, total: int) -> SyncTag:
    """Return the head in its general form: ID and number of streams.

    Each stream counts one [CN1396856, claims 14 and 15].

    Raises:
        BadInput: the ID is empty, or the number not whole or below 1.
    """
    return SyncTag(group=group, points=1, preset=total)


@dataclass(kw_only=True, slots=True, eq=False)
class Receipt:
    """The state of one stream. Its sender looks; only the transmitter writes."""

    number: int
    """Of the stream, counted from 1 in the order of receiving, refused ones too."""
    received_tick: int
    refused: NotReceived | None = None
    """Why it was not received; None: it was."""
    state: StreamState = StreamState.WAITING
    reason: EndReason | None = None
    """Why it ended; None: it has not."""
    detail: str = ""
    """More about that, for people."""
    started_tick: int | None = None
    """Slot in which its first item went out."""
    ended_tick: int | None = None
    """Slot in which its last item went out, or in which it ended otherwise."""
    items: int | None = None
    """How many it has; None before it starts."""
    sent: int = 0
    """How many of them have gone out."""

    @property
    def items_left(self) -> int | None:
        """Number of items not yet sent; None before the start."""
        return None if self.items is None else self.items - self.sent

    @property
    def is_over(self) -> bool:
        """True if it has ended."""
        return self.state is StreamState.ENDED

    @property
    def is_done(self) -> bool:
        """True if all of its items were sent."""
        return self.reason is EndReason.DONE
