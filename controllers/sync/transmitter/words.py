"""The few words of the transmitter: what a stream does, and why it ended."""

from enum import StrEnum


class StreamState(StrEnum):
    """Where a stream is in its life."""

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
    """It was refused, or its group was, because of a later member."""
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
