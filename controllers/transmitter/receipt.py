"""Tag and receipt of a stream, a sequence of items with one item per slot.

The sender gives a synchronous stream a tag with its group and its points. The
transmitter answers with a receipt, which shows the progress of the stream: its
`StreamState`, and the reason of its end (`EndReason`) or refusal (`NotReceived`).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from nao_testbed.models import BadInput
from nao_testbed.models.library import PRESET


class StreamState(StrEnum):
    """State of a stream."""

    WAITING = "waiting"
    """The stream waits for its first slot, or for the rest of its group."""
    RUNNING = "running"
    PAUSED = "paused"
    """Paused by an interrupting stream, until that stream has ended and the joints are
    back at the interrupted position."""
    ENDED = "ended"


class EndReason(StrEnum):
    """Reason why a stream ended; all streams of a group share it, except for DONE."""

    DONE = "done"
    """All items were sent."""
    REVOKED = "revoked"
    """The stream lost its token, or its sender withdrew it after the start."""
    DELETED = "deleted"
    """The sender deleted the stream before the start, or its predecessor failed."""
    EXPIRED = "expired"
    """The group was incomplete at the end of its time to live."""
    REJECTED = "rejected"
    """The stream was refused, or a later stream caused the refusal of the group."""
    CANNOT_BEGIN = "cannot begin"
    """The robot is not in the first posture, or an item of the stream is invalid."""
    REPLACED = "replaced"
    """A later independent stream commands the same leaf."""


class NotReceived(StrEnum):
    """Reason why the transmitter refused a stream."""

    NO_TOKEN = "NO_TOKEN"
    """The token does not cover all leaves of the stream now."""
    GROUP_EXCEEDS = "GROUP_EXCEEDS"
    """The points of the group sum to more than the preset: the group is rejected."""
    DOUBLED_MEMBER = "DOUBLED_MEMBER"
    """The group already has this stream or another one for the same leaf: the group is
    rejected."""
    GROUP_DELETED = "GROUP_DELETED"
    """The group was deleted, was rejected or has expired."""
    GROUP_STARTED = "GROUP_STARTED"
    """The group is already running."""
    IN_USE = "IN_USE"
    """A running group uses a leaf of the stream; interrupt that group, or wait."""
    AFTER_FAILED = "AFTER_FAILED"
    """The predecessor of the stream failed."""
    UNDER_WAY = "UNDER_WAY"
    """The same stream object was received before and has not ended."""


class GroupKey(NamedTuple):
    """Key of the group of a stream.

    The preset is part of the key: points towards 10 never count towards 100.
    """

    preset: int
    group: str

    def __str__(self) -> str:
        """Return the key as text for messages."""
        return f"{self.group!r} of {self.preset}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncTag:
    """Group ID and points of one stream [CN1396856, claims 6 and 7].

    The group starts when the points of its streams sum to the preset. Examples: motion
    20 + light 10 + sound 70 = 100, or light 4 + sound 6 = 10.
    """

    group: str
    """ID of the group; unique among the groups that wait or run."""
    points: int
    """Points that this stream adds, at least 1."""
    preset: int = PRESET
    """Sum at which the group starts, at least 1."""

    def __post_init__(self) -> None:
        """Validate the ID and the numbers.

        Raises:
            BadInput: the ID is empty, or a number is not an integer of at least 1.
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
        """Key of the stream's group."""
        return GroupKey(self.preset, self.group)


def count_tag(group: str, total: int) -> SyncTag:
    """Return the tag of a group that starts when it has `total` streams.

    Each stream has one point [CN1396856, claims 14 and 15].

    Raises:
        BadInput: the ID is empty, or the number is not an integer of at least 1.
    """
    return SyncTag(group=group, points=1, preset=total)


@dataclass(kw_only=True, slots=True, eq=False)
class Receipt:
    """State of one stream, read by its sender and written by the transmitter."""

    number: int
    """Number of the stream in the order of reception, from 1, including refused
    streams."""
    received_tick: int
    refused: NotReceived | None = None
    """Reason of the refusal; None if the stream was received."""
    state: StreamState = StreamState.WAITING
    reason: EndReason | None = None
    """Reason of the end; None before the end."""
    detail: str = ""
    """Details for messages."""
    started_tick: int | None = None
    """Slot of the first item; None before the start."""
    ended_tick: int | None = None
    """Slot of the end, for DONE that of the last item; None before the end."""
    items: int | None = None
    """Number of items; None before the start."""
    sent: int = 0
    """Number of items sent."""

    @property
    def items_left(self) -> int | None:
        """Number of items not yet sent; None before the start."""
        return None if self.items is None else self.items - self.sent

    @property
    def is_over(self) -> bool:
        """True if the stream has ended."""
        return self.state is StreamState.ENDED

    @property
    def is_done(self) -> bool:
        """True if all items were sent."""
        return self.reason is EndReason.DONE
