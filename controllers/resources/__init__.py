"""Reservations: who may command what, and until when.

    tree = ResourceTree(load_robot().resources)
    ledger = Ledger(tree)
    ledger.add_owner(Owner(name="wave"), tick=0)
    ticket = ledger.request(Request(owner="wave", resources=("Left arm",)), tick=0)

`ledger` grants and ends reservations, `gate` lets only their tokens pass to the robot,
`policies` answer for holders, `trace` tells all that happened and `invariants` checks
it, `snapshot` shows who holds and who waits.
"""

from controllers.resources.ledger import Ledger
from controllers.resources.ledger_cfg import LedgerCfg
from controllers.resources.owner import Owner
from controllers.resources.policies import (
    CallbackOnDemand,
    ConflictPolicy,
    Lock,
    PauseOnDemand,
    StopOnDemand,
    make_policy,
    policy_classes,
)
from controllers.resources.request import Blocker, Outcome, Request
from controllers.resources.resource_tree import ResourceTree
from controllers.resources.snapshot import Snapshot, take_snapshot
from controllers.resources.stale_token import StaleToken
from controllers.resources.ticket import Ticket
from controllers.resources.tokens import Token, TokenId, TokenMint
from controllers.resources.words import (
    AskerTie,
    HolderTie,
    Loss,
    LossCause,
    Mode,
    NoticeKind,
    OutcomeKind,
    Preemption,
    Refusal,
    Why,
)

__all__ = [
    "AskerTie",
    "Blocker",
    "CallbackOnDemand",
    "ConflictPolicy",
    "HolderTie",
    "Ledger",
    "LedgerCfg",
    "Lock",
    "Loss",
    "LossCause",
    "Mode",
    "NoticeKind",
    "Outcome",
    "OutcomeKind",
    "Owner",
    "PauseOnDemand",
    "Preemption",
    "Refusal",
    "Request",
    "ResourceTree",
    "Snapshot",
    "StaleToken",
    "StopOnDemand",
    "Ticket",
    "Token",
    "TokenId",
    "TokenMint",
    "Why",
    "make_policy",
    "policy_classes",
    "take_snapshot",
]
