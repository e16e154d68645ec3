"""What the stiffness controller wants seen: every fallback has a name."""

from enum import IntFlag


class StiffnessFlag(IntFlag):
    """Conditions of one step; several may hold at once, 0 is the plain case."""

    NO_CONTACT = 1
    """No contact point: the forces are empty, only the gravity term is left."""
    ONE_CONTACT = 2
    """A single contact: it carries the weight, the moments are not balanced."""
    TWO_CONTACTS = 4
    """Two contacts: balanced only if the centre of mass is between them."""
    COLLINEAR_CONTACTS = 8
    """Three or more contacts on one line: balanced only along that line."""
    COM_OUTSIDE_SUPPORT = 16
    """Nonnegative forces cannot balance the moments; the nearest answer is used."""
    INVERSE_NEGATIVE = 32
    """Inverting A for three contacts gave a pulling force; the QP was used."""
    IMU_DISAGREES = 64
    """The IMU's vertical and the one that the loaded soles give are far apart."""
    IMU_UNTRUSTED = 128
    """No believable accelerometer reading for a while; the vertical is old."""
    POSTURE_CONTRADICTED = 256
    """The contacts that the closest typical posture lists are none, or cannot balance
    the robot as the unfiltered ones can: its list was not applied."""
    DISABLED = 512
    """Switched off: the user's stiffness is in force."""
    JOINT_MOVING = 1024
    """The product's rule: a joint moves, so the user's stiffness is in force."""
    CONTACTS_WIDENED = 4096
    """The contacts within the threshold could not balance the robot; points a little
    higher above the virtual plane, which an error of the vertical lifts, were added."""
    CLIPPED = 2048
    """A joint needs more than its limit: its stiffness was clipped to 1."""

    CATCHING = 8192
    """The robot was pushed, or is let down after it: the limit gives way."""
    CARRYING = 16384
    """The soles feel more than the weight that is known; it is counted."""


DEGENERATE_CONTACTS = (
    StiffnessFlag.NO_CONTACT
    | StiffnessFlag.ONE_CONTACT
    | StiffnessFlag.TWO_CONTACTS
    | StiffnessFlag.COLLINEAR_CONTACTS
    | StiffnessFlag.COM_OUTSIDE_SUPPORT
)
"""The contact conditions under which A Y = B has no, or no good, solution."""


def flag_names(bits: int) -> tuple[str, ...]:
    """Return the names of the conditions in a set of flags, in a fixed order."""
    return tuple(flag.name for flag in StiffnessFlag if flag & bits and flag.name)
