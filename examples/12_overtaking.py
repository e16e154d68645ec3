"""Waiting times without overtaking, and with a time window for it.

Behaviours arrive at random. Most request one of six resources, some request four at
once. For `overtake_s`, 5 s by default, requests of equal priority overtake a group at
the head of a queue. After that the free resources of the group are reserved for it,
since it would starve otherwise.

At this load, a window of 15 s reduces the waiting time of single requests by a factor
of six. Short windows also reduce that of the groups; the longest increases it again.
"""

import random
from dataclasses import dataclass

from nao_testbed import Ledger, Owner, Request
from nao_testbed.controllers.arbitration import LedgerCfg, ResourceTree
from nao_testbed.controllers.arbitration.requests import Ticket
from nao_testbed.models import ResourceNode

RESOURCES = ("head", "left arm", "right arm", "legs", "speech", "eyes")
TICK_S, LENGTH = 0.01, 20 * 60 * 100  # 20 minutes


@dataclass
class Load:
    """Result of a load."""

    used_s: float = 0.0
    single_s: float = 0.0
    singles: int = 0
    group_s: float = 0.0
    groups: int = 0


def run(overtake_s: float, seed: int) -> Load:
    rng = random.Random(seed)
    leaves = tuple(ResourceNode(name=name) for name in RESOURCES)
    tree = ResourceTree(ResourceNode(name="root", children=leaves))
    ledger = Ledger(tree, LedgerCfg(tick_s=TICK_S, overtake_s=overtake_s))
    load = Load()
    waiting: list[tuple[Ticket, int, int]] = []
    ends: dict[int, list[Ticket]] = {}
    for tick in range(LENGTH):
        for ticket in ends.pop(tick, ()):
            ledger.release(ticket.token, tick)
        if rng.random() < 0.013:  # more than one a second
            size, length = rng.choice((1, 1, 1, 1, 4)), rng.randint(50, 250)
            owner = Owner(name=f"behaviour {tick}", timeout_s=60.0)
            ledger.add_owner(owner, tick)
            wanted = tuple(rng.sample(RESOURCES, size))
            ticket = ledger.request(Request(owner=owner.name, resources=wanted), tick)
            waiting.append((ticket, tick, length))
        ledger.advance(tick)
        for ticket, since, length in waiting:
            if ticket.outcome and ticket.outcome.is_granted:
                ends.setdefault(tick + length, []).append(ticket)
                count(load, len(ticket.outcome.obtained), tick - since, length)
        waiting = [item for item in waiting if not item[0].outcome]
    return load


def count(load: Load, size: int, waited: int, length: int) -> None:
    load.used_s += size * length * TICK_S
    if size == 1:
        load.singles, load.single_s = load.singles + 1, load.single_s + waited * TICK_S
    else:
        load.groups, load.group_s = load.groups + 1, load.group_s + waited * TICK_S


def main() -> None:
    print(f"{'window':>8}{'in use':>9}{'wait for 1':>14}{'wait for 4':>15}")
    for overtake_s in (0.0, 2.0, 5.0, 15.0):
        load = run(overtake_s, seed=0)
        used = load.used_s / (len(RESOURCES) * LENGTH * TICK_S)
        single, group = load.single_s / load.singles, load.group_s / load.groups
        print(f"{overtake_s:6.0f} s{used:9.1%}{single:12.2f} s{group:13.2f} s")


if __name__ == "__main__":
    main()
