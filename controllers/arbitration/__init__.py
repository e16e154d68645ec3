"""Arbitration of resources between behaviours [ES2535273T3].

    tree = ResourceTree(load_robot().resources)
    ledger = Ledger(tree)
    ledger.add_owner(Owner(name="wave"), tick=0)
    ticket = ledger.request(Request(owner="wave", resources=("Left arm",)), tick=0)

resource_tree, requests, tokens    resources, requests of owners, proofs of grants
policies        answers of holders to competing requests
manager         the ledger, which grants, stores and ends reservations
leases          reservations for a `with` block
gate            passes commands with valid tokens to the robot's devices
faults          virtual owners of hot, broken or absent parts; posture monitor
events          event trace; `controllers.trace_rules` checks it
naoqi           calls of NAOqi and ES2535273
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
