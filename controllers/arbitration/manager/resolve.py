"""From the names of a request to the leaves that it wants."""

from collections.abc import Mapping, Sequence

from nao_testbed.controllers.arbitration.manager.holdings import motors_besides
from nao_testbed.controllers.arbitration.manager.records import (
    Leaf,
    OwnerRecord,
    Reservation,
    ResolvedRequest,
    Shares,
    Terms,
    Waiting,
)
from nao_testbed.controllers.arbitration.manager.state import ReservationState
from nao_testbed.controllers.arbitration.requests import (
    FULL,
    Owner,
    Request,
    Ticket,
    rate_of,
)
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree, find_name
from nao_testbed.controllers.arbitration.tokens import AskerTie, HolderTie
from nao_testbed.models import BadInput
from nao_testbed.models.resources import ResourceKind


def resolve(
    request: Request,
    tree: ResourceTree,
    state: ReservationState,
    owner: OwnerRecord,
    add_to: Reservation | None,
    *,
    recalls: bool = False,
) -> Waiting:
    """Return a request with its leaves found and its owner's defaults filled in.

    One that recalls what it has lent comes before all equals: it never gave it up.

    Raises:
        UnknownName: a resource is not in the tree.
        BadInput: a name cannot be asked for in this way.
    """
    wanted, defaults = owner.resolved, owner.defaults
    if (
        wanted is None
        or wanted.request is not request
        or wanted.defaults is not defaults
        or wanted.tree is not tree
    ):
        wanted = owner.resolved = _read(request, defaults, tree, state)
    terms = wanted.terms
    if add_to is not None:
        _check_new(wanted, add_to)
        terms = terms._replace(
            loss=add_to.loss,
            policy=add_to.policy,
            keeps_ties=add_to.keeps_ties,
        )
    if recalls and add_to is not None:
        terms = terms._replace(priority=add_to.priority)  # whatever it may now
    shares, optional = wanted.shares, wanted.optional
    if wanted.has_limits and not recalls:
        shares = _in_order({**shares, **motors_besides(shares, owner)})
        optional = {
            name: _in_order(_left({**unit, **motors_besides(unit, owner)}, shares))
            for name, unit in optional.items()
        }
    number, priority = state.next_ticket(), terms.priority
    arrival = 0 if recalls else number
    waiting = Waiting(
        Ticket(number, request),
        owner,
        terms,
        shares,
        optional,
        arrival,
        add_to,
        None,
        state.tick,
        state.tick,
        priority,
        (-priority, arrival, number),
    )
    if recalls:
        waiting.recalls = True
    if wanted.has_limits:
        every = [wanted.shares, *wanted.optional.values()]
        named = {leaf for leaves in every for leaf in leaves}
        wide = [shares, *optional.values()]
        waiting.implied = frozenset({x for leaves in wide for x in leaves} - named)
    return waiting


def covered_leaves(
    reservation: Reservation, names: Sequence[str], tree: ResourceTree
) -> list[Leaf]:
    """Return the leaves of a reservation that are meant by some names, sorted.

    Raises:
        UnknownName: a resource is not in the tree.
        BadInput: there is no name, or the reservation covers nothing of one.
    """
    if not names:
        raise BadInput("names are none; give one or more, of what the token covers.")
    held = {leaf.name: leaf for leaf in reservation.shares}
    meant: set[str] = set()
    for name in names:
        here = [leaf for leaf in tree.leaves(name) if leaf in held]
        if not here:
            raise BadInput(
                f"token {reservation.token.id} of {reservation.owner.name!r} does not "
                f"cover {name!r}; it covers {', '.join(sorted(held))}."
            )
        meant.update(here)
        for leaf in here:
            along = reservation.implied.intersection(held[leaf].limits)
            meant.update(motor.name for motor in along if motor.name in held)
    return [held[name] for name in sorted(meant)]


def _read(
    request: Request, defaults: Owner, tree: ResourceTree, state: ReservationState
) -> ResolvedRequest:
    shares = _essential(request, tree, state)
    optional = {}
    for name in sorted(request.optional) if request.optional else ():
        optional[name] = _unit(name, tree, state, shares)
    asker, holder = request.asker_tie, request.holder_tie
    priority, timeout_s = request.priority, request.timeout_s
    if priority is not None and priority > defaults.max_priority:
        raise BadInput(
            f"{defaults.name!r} asks with priority {priority}; its highest is "
            f"{defaults.max_priority}."
        )
    terms = Terms(
        priority=_by_rule(request, defaults, shares, tree, state)
        if priority is None
        else priority,
        loss=request.loss,
        policy=request.policy or defaults.policy,
        wins_ties=(asker or defaults.asker_tie) is AskerTie.WINS,
        keeps_ties=(holder or defaults.holder_tie) is HolderTie.KEEPS,
        timeout_s=defaults.timeout_s if timeout_s is None else timeout_s,
        retry_s=request.retry_s or defaults.retry_s,
    )
    has_limits = False
    for leaves in (shares, *optional.values()) if optional else (shares,):
        for leaf in leaves:
            has_limits = has_limits or bool(leaf.limits)
    return ResolvedRequest(request, defaults, tree, terms, shares, optional, has_limits)


def _by_rule(
    request: Request,
    defaults: Owner,
    shares: Shares,
    tree: ResourceTree,
    state: ReservationState,
) -> int:
    """Return the priority by the kind of operation, else the resources, else the owner.

    Raises:
        UnknownName: there is no such kind of operation.
    """
    cfg, kind = state.cfg, request.operation
    if kind is not None:
        known = cfg.operation_priority
        given: list[int | None] = [
            find_name(known, kind, "Operation", "operation_priority")
        ]
    else:
        rules = cfg.resource_priority
        given = [_rule_of(x.name, rules, tree) for x in shares] if rules else []
    found = [priority for priority in given if priority is not None]
    return min(max(found), defaults.max_priority) if found else defaults.priority


def _rule_of(leaf: str, rules: Mapping[str, int], tree: ResourceTree) -> int | None:
    """Return the rule for a leaf, or for the smallest composite around it."""
    name: str | None = leaf
    while name is not None and name not in rules:
        name = tree.parent(name)
    return None if name is None else rules[name]


def _essential(request: Request, tree: ResourceTree, state: ReservationState) -> Shares:
    leaves = state.leaves
    if len(request.resources) == 1 and not request.rates:
        name = request.resources[0]
        leaf = leaves.get(name)
        if leaf is not None and leaf.kind is ResourceKind.EXCLUSIVE:
            return {leaf: FULL}  # the common case, found at once
    shares: dict[str, int] = {}
    for name in request.resources:
        shares.update(_exclusive_or_state(name, tree))
    for name, percent in request.rates.items():
        kind = tree.node(name).kind
        if tree.children(name) or kind is not ResourceKind.CUMULATIVE:
            raise BadInput(
                f"{name!r} has no rates; ask for it among the resources, without one."
            )
        shares[name] = rate_of(name, percent)
    return {leaves[name]: shares[name] for name in sorted(shares)}


def _exclusive_or_state(name: str, tree: ResourceTree) -> dict[str, int]:
    """Return leaf to share for one name of a request."""
    node = tree.node(name)
    if not node.children:
        if node.kind is ResourceKind.CUMULATIVE:
            raise BadInput(f"{name!r} is shared by rates; ask for a rate in percent.")
        return {name: FULL if node.kind is ResourceKind.EXCLUSIVE else 0}
    exclusive = tree.exclusive_leaves(name)
    if not exclusive:
        raise BadInput(
            f"{name!r} cannot be taken as a whole; ask for one of "
            f"{', '.join(child.name for child in node.children)}."
        )
    return dict.fromkeys(exclusive, FULL)


def _unit(
    name: str, tree: ResourceTree, state: ReservationState, essential: Shares
) -> Shares:
    """Return what an optional name adds to the essential leaves."""
    found = _exclusive_or_state(name, tree)
    unit = {state.leaves[leaf]: share for leaf, share in sorted(found.items())}
    return _left(unit, essential)


def _in_order(shares: Shares) -> Shares:
    return dict(sorted(shares.items(), key=lambda item: item[0].name))


def _left(unit: Shares, essential: Shares) -> Shares:
    return {leaf: share for leaf, share in unit.items() if leaf not in essential}


def _check_new(wanted: ResolvedRequest, add_to: Reservation) -> None:
    owner = wanted.defaults.name
    if add_to.owner.name != owner:
        raise BadInput(
            f"token {add_to.token.id} is {add_to.owner.name!r}'s; {owner!r} can only "
            "add to its own."
        )
    every = [wanted.shares, *wanted.optional.values()]
    for leaf in (leaf for leaves in every for leaf in leaves):
        if leaf in add_to.shares:
            raise BadInput(
                f"token {add_to.token.id} covers {leaf.name!r} already; add others."
            )
