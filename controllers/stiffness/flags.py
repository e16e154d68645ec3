"""Flags of the stiffness controller: one for each fallback."""

from enum import IntFlag


class StiffnessFlag(IntFlag):
    """Conditions of one step; several may hold at once, 0 is the normal case."""

    NO_CONTACT = 1
    """No contact point: the forces are empty, only the gravity term is left."""
    ONE_CONTACT = 2
    """A single contact: it carries the weight, the moments are not balanced."""
    TWO_CONTACTS = 4
    """Two contacts: balanced only if the centre of mass is between them."""
    COLLINEAR_CONTACTS = 8
    """Three or more contacts on one line: balanced only along that line."""
    COM_OUTSIDE_SUPPORT = 16
    """Nonnegative forces cannot balance the moments; the closest solution is used."""
    INVERSE_NEGATIVE = 32
    """Inverting A for three contacts gave a negative force; the QP was used."""
    IMU_DISAGREES = 64
    """The verticals from the IMU and from the loaded soles differ too much."""
    IMU_UNTRUSTED = 128
    """No plausible accelerometer reading for a while; the vertical is outdated."""
    POSTURE_CONTRADICTED = 256
    """The closest typical posture lists no touching contact, or its contacts cannot
    balance the robot as the unfiltered ones can: its list was not applied."""
    DISABLED = 512
    """Switched off: the user's stiffness is in force."""
    JOINT_MOVING = 1024
    """Product rule: a joint moves, so the user's stiffness is in force."""
    CONTACTS_WIDENED = 4096
    """The contacts within the threshold could not balance the robot; points slightly
    higher above the virtual plane were added. An error of the vertical lifts them."""
    CLIPPED = 2048
    """A joint needs more than its limit: its stiffness was clipped to 1."""

    CATCHING = 8192
    """The robot was pushed, or is being lowered after a push: the limit is raised."""
    CARRYING = 16384
    """The soles measure more than the known weight; the difference is included."""


DEGENERATE_CONTACTS = (
    StiffnessFlag.NO_CONTACT
    | StiffnessFlag.ONE_CONTACT
    | StiffnessFlag.TWO_CONTACTS
    | StiffnessFlag.COLLINEAR_CONTACTS
    | StiffnessFlag.COM_OUTSIDE_SUPPORT
)
"""Contact conditions under which A Y = B has no solution, or a poor one."""


def flag_names(bits: int) -> tuple[str, ...]:
    """Return the names of the conditions in a set of flags, in a fixed order."""
    return tuple(flag.name for flag in StiffnessFlag if flag & bits and flag.name)
