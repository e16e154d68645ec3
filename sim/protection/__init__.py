"""Protections: what a robot does to its stiffness when a motor gets too hot (ST-4).

`none` does nothing; `nao` reduces the joints of a hot motor in steps and gives the
stiffness back when it has cooled; `document` shuts down for good. The modules of the
same names hold the rules and their numbers.
"""

from typing import Literal, get_args

from models import BadInput, Robot
from sim.protection.document import DocumentProtection, DocumentProtectionCfg
from sim.protection.nao import NaoProtection, NaoProtectionCfg
from sim.protection.none import NoProtection
from sim.protection.seam import Protection, ProtectionState, StatusChange

ProtectionName = Literal["none", "nao", "document"]


def make_protection(name: str, robot: Robot) -> Protection:
    """Return a protection with its default numbers.

    Args:
        name: `none`, `nao` or `document`.
        robot: whose joints and motors it watches.

    Raises:
        BadInput: there is no such protection.
    """
    if name == "none":
        return NoProtection(robot)
    if name == "nao":
        return NaoProtection(robot, NaoProtectionCfg())
    if name == "document":
        return DocumentProtection(robot, DocumentProtectionCfg())
    raise BadInput(
        f"protection is {name!r}; choose one of {', '.join(get_args(ProtectionName))}."
    )


__all__ = [
    "DocumentProtection",
    "DocumentProtectionCfg",
    "NaoProtection",
    "NaoProtectionCfg",
    "NoProtection",
    "Protection",
    "ProtectionName",
    "ProtectionState",
    "StatusChange",
    "make_protection",
]
