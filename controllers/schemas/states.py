"""The few words of schemas: kinds and states [jdec-urjc, section 2.1]."""

from enum import StrEnum


class Kind(StrEnum):
    """What a schema does (JD-3)."""

    PERCEPTIVE = "perceptive"
    """Turns sensor data or simpler stimuli into richer ones."""
    ACTUATION = "actuation"
    """Commands effectors, or wakes and modulates other schemas."""


class State(StrEnum):
    """How far a schema is active (JD-4).

    A perceptive one is SLEPT or WINNER; an actuation one takes all four.
    """

    SLEPT = "slept"
    """It does nothing; what it remembers stays."""
    CHECKING = "checking"
    """Awake, but its precondition does not hold."""
    READY = "ready"
    """Awake, its precondition holds, and it competes with its siblings."""
    WINNER = "winner"
    """It alone on its level may command effectors and wake children (JD-8)."""
