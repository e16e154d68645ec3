"""Arbitration: who may command what, and until when [ES2535273T3].

    tree = ResourceTree(load_robot().resources)
    ledger = Ledger(tree)
    ledger.add_owner(Owner(name="wave"), tick=0)
    ticket = ledger.request(Request(owner="wave", resources=("Left arm",)), tick=0)

resource_tree, requests, tokens    what can be reserved, who asks, what proves a grant
policies        what a holder answers when somebody else asks
manager         the ledger: it grants, keeps and ends reservations
leases          a reservation for the length of a `with` block
gate            lets only valid tokens through to the robot's devices
faults          take what is hot, broken or absent; say which posture the robot is in
events          all that happens; `controllers.trace_rules` checks it
naoqi           the calls that people know from the robot
"""

from nao_testbed.controllers.arbitration.manager.front import LedgerFront
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.manager.snapshot import (
    take_snapshot,
    token_data,
)
from nao_testbed.controllers.arbitration.policies import (
    CallbackOnDemand,
    Lock,
    PauseOnDemand,
    StopOnDemand,
)
from nao_testbed.controllers.arbitration.requests import NotGranted, Owner, Request
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree

__all__ = [
    "CallbackOnDemand",
    "Ledger",
    "LedgerCfg",
    "LedgerFront",
    "Lock",
    "NotGranted",
    "Owner",
    "PauseOnDemand",
    "Request",
    "ResourceTree",
    "StopOnDemand",
    "take_snapshot",
    "token_data",
]
