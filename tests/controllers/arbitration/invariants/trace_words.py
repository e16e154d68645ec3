"""The world of the tales, and the words in which they speak of it."""

from controllers.arbitration.tokens import Loss, OutcomeKind, Why
from models.resources import ResourceKind

EXCLUSIVE, STATE = ResourceKind.EXCLUSIVE, ResourceKind.STATE
PARTIAL, WHOLE = Loss.PARTIAL, Loss.WHOLE
ENDS = {
    "busy": (OutcomeKind.DENIED, Why.BUSY),
    "deadlock": (OutcomeKind.DENIED, Why.DEADLOCK),
    "timeout": (OutcomeKind.TIMED_OUT, Why.TIMEOUT),
    "frozen": (OutcomeKind.TIMED_OUT, Why.FROZEN),
    "tried frozen": (OutcomeKind.DENIED, Why.FROZEN),
    "withdrawn": (OutcomeKind.CANCELLED, Why.WITHDRAWN),
    "gone": (OutcomeKind.CANCELLED, Why.OWNER_GONE),
}
TREE = (
    ("root", None, None),
    ("CPU", "root", ResourceKind.CUMULATIVE),
    ("Head", "root", None),
    ("HeadPitch", "Head", EXCLUSIVE),
    ("HeadYaw", "Head", EXCLUSIVE),
    ("LHand", "root", EXCLUSIVE),
    ("State", "root", None),
    ("Sit", "State", STATE),
    ("Stand", "State", STATE),
)
OWNERS = (("ann", None), ("bob", None), ("cat", None), ("kid", "ann"), ("sib", "ann"))


def shares_of(leaves: str) -> dict[str, int]:
    """Read "HeadYaw LHand CPU:10": whole leaves, states, rates in percent."""
    found = {}
    for word in sorted(leaves.split()):
        name, _, percent = word.partition(":")
        share = 0 if name in ("Sit", "Stand") else 10_000
        found[name] = round(float(percent) * 100) if percent else share
    return found


def names_of(leaves: str) -> tuple[str, ...]:
    return tuple(sorted(leaves.split()))
