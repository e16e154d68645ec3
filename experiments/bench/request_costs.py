"""What the cost of a request depends on: its own size, and nothing else.

One thing grows at a time, the request stays the same; each figure is the time with the
larger number over that with the smallest, block by block. No worse than linear in the
size of the request plus its depth means: about 1 in all of them, and per leaf in the
last.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import process_time

from controllers.arbitration.manager.ledger import Ledger
from controllers.arbitration.requests import Owner, Request, Ticket
from controllers.arbitration.resource_tree import ResourceTree
from controllers.arbitration.tokens import Token
from experiments.bench.figures import Figure, ratio
from models.resources import ResourceNode

LONG_S = 1e6
"""A time limit in s that nothing here reaches."""
HELD = "leaf 0"
MOST = 2.0
"""What a ratio may be: half of it would be noise on a busy machine."""
Do = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class RequestCostCfg:
    """How large things grow; the first number of each is the one to compare with."""

    resources: tuple[int, ...] = (25, 250, 2500)
    waiters: tuple[int, ...] = (1, 100, 10_000)
    depths: tuple[int, ...] = (2, 8, 32)
    sizes: tuple[int, ...] = (2, 8, 32)
    blocks: int = 11
    repeats: int = 200
    """Requests in a block."""


def measure_request_costs(cfg: RequestCostCfg) -> list[Figure]:
    """Measure what a request costs among more resources, waiters, levels, leaves."""
    subjects: dict[str, tuple[str, dict[int, Do]]] = {
        "resources": (
            "take + release of 4 of {n} resources",
            {n: _among_resources(n) for n in cfg.resources},
        ),
        "waiters": (
            "join a queue + withdraw, {n} waiters",
            {n: _behind_waiters(n) for n in cfg.waiters},
        ),
        "hand_over": (
            "hand over to the next, {n} waiters",
            {n: _hand_over(n) for n in cfg.waiters},
        ),
        "depth": (
            "take + release {n} levels above a leaf",
            {n: _above(n) for n in cfg.depths},
        ),
        "owners": (
            "take + release in {n} nested holds",
            {n: _inside(n) for n in cfg.depths},
        ),
        "size": (
            "take + release, a leaf of {n}",
            {n: _of_leaves(n) for n in cfg.sizes},
        ),
    }
    figures = []
    for key, (what, runs) in subjects.items():
        times = _times(runs, cfg)
        smallest, *larger = runs
        for n in larger:
            above, below = times[n], times[smallest]
            if key == "size":
                above = [time / n for time in above]
                below = [time / smallest for time in below]
            text = f"{what.format(n=n)} / {smallest}"
            figures.append(ratio(f"cost_{key}_{n}", text, above, below, MOST))
    return figures


def granted(ticket: Ticket) -> Token:
    """Return the token of a request that was granted in its call."""
    assert ticket.outcome is not None
    assert ticket.outcome.token is not None
    return ticket.outcome.token


def _times(runs: Mapping[int, Do], cfg: RequestCostCfg) -> dict[int, list[float]]:
    """Return processor times of a request in s, block by block, in turn."""
    times: dict[int, list[float]] = {n: [] for n in runs}
    for do in runs.values():
        do()
    for _ in range(cfg.blocks):
        for n, do in runs.items():
            begin = process_time()
            for _ in range(cfg.repeats):
                do()
            times[n].append((process_time() - begin) / cfg.repeats)
    return times


def _ledger(root: ResourceNode) -> Ledger:
    ledger = Ledger(ResourceTree(root))
    ledger.add_owner(Owner(name="bench", timeout_s=LONG_S), 0)
    return ledger


def _flat(count: int) -> ResourceNode:
    leaves = tuple(ResourceNode(name=f"leaf {k}") for k in range(count))
    return ResourceNode(name="root", children=leaves)


def _take_and_release(ledger: Ledger, names: Sequence[str], owner: str = "bench") -> Do:
    request = Request(owner=owner, resources=tuple(names))

    def do() -> None:
        ledger.release(granted(ledger.request(request, 0)), 0)

    return do


def _among_resources(count: int) -> Do:
    names = [f"leaf {(k * count) // 4}" for k in range(4)]
    return _take_and_release(_ledger(_flat(count)), names)


def _behind_waiters(count: int) -> Do:
    ledger = _ledger(_flat(1))
    request = Request(owner="bench", resources=(HELD,))
    for k in range(count + 1):
        name = f"owner {k}"
        ledger.add_owner(Owner(name=name, timeout_s=LONG_S), 0)
        ledger.request(Request(owner=name, resources=(HELD,)), 0)

    def do() -> None:
        ledger.withdraw(ledger.request(request, 0).number, 0)

    return do


def _hand_over(count: int) -> Do:
    """Return: the holder joins the queue's end, then gives the leaf to the first."""
    ledger = _ledger(_flat(1))
    names = [f"owner {k}" for k in range(count + 1)]
    tickets: list[Ticket] = []
    for name in names:
        ledger.add_owner(Owner(name=name, timeout_s=LONG_S), 0)
        tickets.append(ledger.request(Request(owner=name, resources=(HELD,)), 0))
    line = iter(tickets)
    holding = [next(line)]

    def do() -> None:
        last = holding.pop()
        ledger.release(granted(last), 0)
        tickets.append(ledger.request(last.request, 0))
        holding.append(next(line))

    return do


def _above(levels: int) -> Do:
    node = ResourceNode(name=HELD)
    for k in range(levels):
        beside = ResourceNode(name=f"beside {k}")
        if k < levels - 1:
            node = ResourceNode(name=f"level {k}", children=(node,))
        else:
            node = ResourceNode(name=f"level {k}", children=(node, beside))
    return _take_and_release(_ledger(node), [f"level {levels - 2}"])


def _inside(levels: int) -> Do:
    ledger = _ledger(_flat(1))
    above: str | None = None
    for k in range(levels):
        owner = Owner(name=f"owner {k}", parent=above)
        ledger.add_owner(owner, 0)
        above = owner.name
        kept = Request(owner=above, resources=(HELD,))
        granted(ledger.request(kept, 0))
    ledger.add_owner(Owner(name="inmost", parent=above), 0)
    return _take_and_release(ledger, [HELD], owner="inmost")


def _of_leaves(count: int) -> Do:
    return _take_and_release(_ledger(_flat(32)), [f"leaf {k}" for k in range(count)])
