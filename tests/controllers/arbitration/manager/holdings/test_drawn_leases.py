"""Random histories of leases: pauses, losses, faults and expiry between two checks.

A lease has a token exactly while its owner holds the reservation; otherwise it waits,
is lost, or was never granted. After closing all of them nothing is held or awaited.
"""

from random import Random

import pytest

from nao_testbed.controllers.arbitration.leases import Lease
from nao_testbed.controllers.arbitration.manager.front import LedgerFront
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.manager.snapshot import take_snapshot
from nao_testbed.controllers.arbitration.policies import PauseOnDemand, StopOnDemand
from nao_testbed.controllers.arbitration.requests import Owner
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import Preemption
from nao_testbed.testing import TraceChecker
from tests.controllers.arbitration.ledger_setup import BODY

LEAVES = ("HeadYaw", "TTS")
POLICIES = (
    *("lock", "stop", "pause", "pause", "pause"),
    PauseOnDemand(within_s=0.03),
    PauseOnDemand(resume_timeout_s=0.1),
    StopOnDemand(within_s=0.02),
)


def draw_a_step(draw: Random, front: LedgerFront, leases: list[Lease]) -> None:
    with front.step() as (ledger, tick):
        kind = draw.random()
        if kind < 0.3:
            lease = front.lease(
                *draw.sample(LEAVES, draw.randint(1, 2)),
                owner=draw.choice("abc"),
                wait_s=draw.choice((0.0, 0.05, 1.0)),
                priority=draw.randint(0, 3),
                policy=draw.choice(POLICIES),
            )
            lease.begin()
            leases.append(lease)
        elif kind < 0.5 and leases:
            leases.pop(draw.randrange(len(leases))).close()
        elif kind < 0.55:
            ledger.freeze([draw.choice(LEAVES)], "fault", tick)
        elif kind < 0.62:
            ledger.thaw("fault", tick)
        elif kind < 0.64:
            ledger.drop(draw.choice("abc"), tick)
        else:
            ledger.advance(tick + draw.randint(1, 8))


def check_a_lease(lease: Lease, ledger: Ledger) -> None:
    token = lease.token
    if token is None:
        is_refused = lease.outcome is not None and not lease.outcome.is_granted
        assert lease.is_waiting or lease.lost is not None or is_refused
    else:
        holders = [x for row in take_snapshot(ledger).resources for x in row.holders]
        assert (lease.request.owner, token.id) in {(x.owner, x.token) for x in holders}
        assert not lease.is_waiting
        assert lease.lost is None


@pytest.mark.slow
@pytest.mark.requirement("RM-37", "RM-20")
def test_lease_has_a_token_while_its_reservation_is_held() -> None:
    for seed in range(120):
        draw, checker = Random(seed), TraceChecker()
        cfg = LedgerCfg(
            preemption=draw.choice(list(Preemption)),
            dead_tokens_kept=draw.choice((0, 3, 10_000)),
        )
        ledger = Ledger(ResourceTree(BODY), cfg, listeners=[checker.see])
        front = LedgerFront(ledger)
        for name in "abc":
            parent = "a" if name == "c" and draw.random() < 0.5 else None
            live_s = draw.choice((None, 0.3))
            front.add_owner(Owner(name=name, parent=parent, time_to_live_s=live_s))
        leases: list[Lease] = []
        for _ in range(100):
            draw_a_step(draw, front, leases)
            for lease in leases:
                if draw.random() < 0.3:
                    check_a_lease(lease, ledger)
        for lease in leases:
            lease.close()
        rows = take_snapshot(ledger).resources
        assert not [row for row in rows if row.holders or row.waiters], seed
        assert not checker.finish(), seed
