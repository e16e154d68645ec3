"""Reservations: who may command what, and until when.

    tree = ResourceTree(load_robot().resources)
    ledger = Ledger(tree)
    ledger.add_owner(Owner(name="wave"), tick=0)
    ticket = ledger.request(Request(owner="wave", resources=("Left arm",)), tick=0)

`ledger` grants and ends reservations (`core` is its inside), `policies` answer for
holders, `gate` lets only live tokens pass to the robot, `body` takes what is hot,
broken or absent. `trace` tells all that happens, `invariants` judges it, `snapshot`
shows who holds and who waits. `behaviours` are what a person writes; `calls` are the
names that people know from the robot.
"""

from controllers.resources.behaviours import Behaviour
from controllers.resources.front import Front, LedgerFront
from controllers.resources.ledger import Ledger
from controllers.resources.ledger_cfg import LedgerCfg
from controllers.resources.not_granted import NotGranted
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
from controllers.resources.start_behaviour import (
    Running,
    start_behaviour,
    stop_behaviour,
)
from controllers.resources.ticket import Ticket
from controllers.resources.tokens import Token, TokenId, TokenMint
from controllers.resources.words import (
    AskerTie,
    HolderTie,
    Loss,
    LossCause,
    NoticeKind,
    OutcomeKind,
    Preemption,
    Refusal,
    Why,
)

__all__ = [
    "AskerTie",
    "Behaviour",
    "Blocker",
    "CallbackOnDemand",
    "ConflictPolicy",
    "Front",
    "HolderTie",
    "Ledger",
    "LedgerCfg",
    "LedgerFront",
    "Lock",
    "Loss",
    "LossCause",
    "NotGranted",
    "NoticeKind",
    "Outcome",
    "OutcomeKind",
    "Owner",
    "PauseOnDemand",
    "Preemption",
    "Refusal",
    "Request",
    "ResourceTree",
    "Running",
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
    "start_behaviour",
    "stop_behaviour",
    "take_snapshot",
]
