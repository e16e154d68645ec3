"""Tree of resources and its leaves, and resolution of requests to leaves."""

from collections.abc import Iterable, Mapping, Sequence

from nao_testbed.controllers.arbitration.events import ResourceAdded, ResourceRemoved
from nao_testbed.controllers.arbitration.manager.state.consent import (
    TorqueLimit,
    other_motors,
)
from nao_testbed.controllers.arbitration.manager.state.holdings import Holdings
from nao_testbed.controllers.arbitration.manager.state.leaves import (
    CumulativeLeaf,
    ExclusiveLeaf,
    StateGroup,
    StateLeaf,
)
from nao_testbed.controllers.arbitration.manager.state.records import (
    Leaf,
    OwnerRecord,
    Reservation,
    ResolvedRequest,
    Shares,
    Terms,
    Waiting,
)
from nao_testbed.controllers.arbitration.requests import (
    FULL,
    Owner,
    Request,
    rate_of,
)
from nao_testbed.controllers.arbitration.resource_tree import (
    ResourceTree,
    check_name,
    find_name,
)
from nao_testbed.controllers.arbitration.tokens import AskerTie, HolderTie
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.errors import MAX_LISTED
from nao_testbed.models.resources import ResourceKind


class Resources:
    """Present resource tree, and the record of each leaf."""

    def __init__(self, tree: ResourceTree, held: Holdings) -> None:
        """Create the records of all leaves."""
        self.tree = tree
        self.leaves: dict[str, Leaf] = {}
        self.groups: dict[str, StateGroup] = {}
        self._held = held
        self._queue = held.queue
        for node in tree.root.walk():
            self._emit_added(node.name)
            if not node.children:
                self._make(node.name)
        for name in tree.motors:
            self.leaves[name].is_motor = True
        for name, motors in tree.limits.items():
            limit = self.leaves[name]
            limit.limits = tuple(self.leaves[motor] for motor in motors)
            for motor in limit.limits:
                motor.limited += (limit,)

    # -- queries -----------------------------------------------------------------------

    def leaf(self, name: str) -> Leaf:
        """Return the record of a leaf."""
        try:
            return self.leaves[name]
        except (KeyError, TypeError):
            raise self._no_leaf(name) from None

    def below(self, names: Iterable[str]) -> list[Leaf]:
        """Return all leaves at or below the names, sorted."""
        found = {leaf for name in names for leaf in self.tree.leaves(name)}
        return [self.leaves[name] for name in sorted(found)]

    def group(self, name: str) -> StateGroup:
        """Return a set of states."""
        return find_name(self.groups, name, "Set of states", "this ledger")

    def state(
        self, group: str, name: str | None
    ) -> tuple[StateGroup, StateLeaf | None]:
        """Return a set of states and the named state; None for the name None."""
        states = self.group(group)
        if name is None:
            return states, None
        return states, find_name(states.leaves, name, "State", f"set {group!r}")

    def covered(self, held: Reservation, names: Sequence[str]) -> list[Leaf]:
        """Return the leaves of a reservation at or below the names, sorted.

        Raises:
            UnknownName: a resource is not in the tree.
            BadInput: there is no name, or the reservation covers no leaf of a name.
        """
        if not names:
            raise BadInput(
                "names are none; give one or more, of what the token covers."
            )
        theirs = {leaf.name: leaf for leaf in held.shares}
        meant: set[str] = set()
        for name in names:
            here = [leaf for leaf in self.tree.leaves(name) if leaf in theirs]
            if not here:
                raise BadInput(
                    f"token {held.token.id} of {held.owner.name!r} does not "
                    f"cover {name!r}; it covers {', '.join(sorted(theirs))}."
                )
            meant.update(here)
            for leaf in here:
                along = held.implied.intersection(theirs[leaf].limits)
                meant.update(motor.name for motor in along if motor.name in theirs)
        return [theirs[name] for name in sorted(meant)]

    # -- requests ---------------------------------------------------------------------

    def resolve(
        self,
        request: Request,
        owner: OwnerRecord,
        add_to: Reservation | None,
        *,
        recalls: bool = False,
    ) -> Waiting:
        """Return a request with resolved leaves and its owner's defaults.

        A recall of lent leaves precedes all requests of equal priority.

        Raises:
            UnknownName: a resource is not in the tree.
            BadInput: a name cannot be requested in this way.
        """
        wanted, defaults = owner.resolved, owner.defaults
        if (
            wanted is None
            or wanted.request is not request
            or wanted.defaults is not defaults
            or wanted.tree is not self.tree
        ):
            wanted = owner.resolved = self._read(request, defaults)
        terms = wanted.terms
        if add_to is not None:
            _check_new(wanted, add_to)
            held = add_to.terms
            terms = terms._replace(
                loss=held.loss, policy=held.policy, keeps_ties=held.keeps_ties
            )
            if recalls:
                terms = terms._replace(priority=held.priority)  # as at the grant
        shares, optional = wanted.shares, wanted.optional
        if wanted.has_limits and not recalls:
            shares = _in_order({**shares, **other_motors(shares, owner)})
            optional = {
                name: _in_order(_left({**unit, **other_motors(unit, owner)}, shares))
                for name, unit in optional.items()
            }
        waiting = self._queue.make(
            request, owner, terms, shares, optional, add_to, 0 if recalls else None
        )
        waiting.recalls = recalls
        if wanted.has_limits:
            every = [wanted.shares, *wanted.optional.values()]
            named = {leaf for leaves in every for leaf in leaves}
            wide = [shares, *optional.values()]
            waiting.implied = frozenset({x for leaves in wide for x in leaves} - named)
        return waiting

    def _read(self, request: Request, defaults: Owner) -> ResolvedRequest:
        shares = self._essential(request)
        optional = {}
        for name in sorted(request.optional) if request.optional else ():
            found = self._exclusive_or_state(name)
            unit = {self.leaves[leaf]: share for leaf, share in sorted(found.items())}
            optional[name] = _left(unit, shares)
        asker, holder = request.asker_tie, request.holder_tie
        priority, timeout_s = request.priority, request.timeout_s
        if priority is not None and priority > defaults.max_priority:
            raise BadInput(
                f"{defaults.name!r} asks with priority {priority}; its highest is "
                f"{defaults.max_priority}."
            )
        terms = Terms(
            priority=self._by_rule(request, defaults, shares)
            if priority is None
            else priority,
            loss=request.loss,
            policy=request.policy or defaults.policy,
            wins_ties=(asker or defaults.asker_tie) is AskerTie.WINS,
            keeps_ties=(holder or defaults.holder_tie) is HolderTie.KEEPS,
            timeout_s=defaults.timeout_s if timeout_s is None else timeout_s,
            retry_s=request.retry_s or defaults.retry_s,
        )
        has_limits = any(
            leaf.limits for leaves in (shares, *optional.values()) for leaf in leaves
        )
        return ResolvedRequest(
            request, defaults, self.tree, terms, shares, optional, has_limits
        )

    def _by_rule(self, request: Request, defaults: Owner, shares: Shares) -> int:
        """Return the priority by the kind of operation, the resources, or the owner.

        Raises:
            UnknownName: the kind of operation does not exist.
        """
        cfg, kind = self._queue.cfg, request.operation
        if kind is not None:
            known = cfg.operation_priority
            given: list[int | None] = [
                find_name(known, kind, "Operation", "operation_priority")
            ]
        else:
            rules = cfg.resource_priority
            given = [_rule_of(x.name, rules, self.tree) for x in shares if rules]
        found = [priority for priority in given if priority is not None]
        return min(max(found), defaults.max_priority) if found else defaults.priority

    def _essential(self, request: Request) -> Shares:
        leaves = self.leaves
        if len(request.resources) == 1 and not request.rates:
            name = request.resources[0]
            leaf = leaves.get(name)
            if leaf is not None and leaf.kind is ResourceKind.EXCLUSIVE:
                return {leaf: FULL}  # fast path for the common case
        shares: dict[str, int] = {}
        for name in request.resources:
            shares.update(self._exclusive_or_state(name))
        for name, percent in request.rates.items():
            kind = self.tree.node(name).kind
            if self.tree.children(name) or kind is not ResourceKind.CUMULATIVE:
                raise BadInput(
                    f"{name!r} has no rates; request it among the resources, without "
                    "a rate."
                )
            shares[name] = rate_of(name, percent)
        return {leaves[name]: shares[name] for name in sorted(shares)}

    def _exclusive_or_state(self, name: str) -> dict[str, int]:
        """Return leaf to share for one name of a request."""
        node = self.tree.node(name)
        if not node.children:
            if node.kind is ResourceKind.CUMULATIVE:
                raise BadInput(
                    f"{name!r} is shared by rates; request a rate in percent."
                )
            return {name: FULL if node.kind is ResourceKind.EXCLUSIVE else 0}
        exclusive = self.tree.exclusive_leaves(name)
        if not exclusive:
            raise BadInput(
                f"{name!r} cannot be taken as a whole; request one of "
                f"{', '.join(child.name for child in node.children)}."
            )
        return dict.fromkeys(exclusive, FULL)

    # -- changes of the tree -----------------------------------------------------------

    def add(self, name: str, parent: str, kind: ResourceKind) -> None:
        """Register a leaf; a parent that was a leaf becomes a composite."""
        above = self.leaves.get(check_name(parent, "a parent"))
        if above is not None:
            self._check_idle(above, "get parts")
        self.tree = self.tree.with_resource(name, parent, kind)
        if above is not None:
            self._forget(above)
        self._make(name)
        self._emit_added(name)

    def remove(self, name: str) -> None:
        """Remove a leaf; a composite without remaining parts becomes a leaf."""
        device = self.tree.node(name).device
        if device is not None:
            raise BadInput(
                f"{name!r} commands {', '.join(device.names)} of the robot; it "
                "cannot be removed."
            )
        leaf = self.leaves.get(name)
        if leaf is not None:
            self._check_idle(leaf, "be removed")
        above = self.tree.parent(name)
        self.tree = self.tree.without(name)
        if leaf is not None:
            self._forget(leaf)
        self._queue.trace.emit(ResourceRemoved(tick=self._queue.timers.now, name=name))
        if above is not None and not self.tree.children(above):
            self._make(above)
            self._emit_added(above)

    def _make(self, name: str) -> None:
        kind, leaves = self.tree.node(name).kind, self.leaves
        if kind is ResourceKind.STATE:
            group = self.tree.state_group(name)
            states = self.groups.setdefault(group, StateGroup(group))
            leaves[name] = StateLeaf(name, states)
        elif kind is ResourceKind.CUMULATIVE:
            leaves[name] = CumulativeLeaf(name)
        elif name in self.tree.limits:
            leaves[name] = TorqueLimit(name)
        else:
            leaves[name] = ExclusiveLeaf(name)

    def _forget(self, leaf: Leaf) -> None:
        del self.leaves[leaf.name]
        for watch in list(leaf.watches):
            watch.forget()
        if isinstance(leaf, StateLeaf):
            del leaf.group.leaves[leaf.name]
            if not leaf.group.leaves:
                del self.groups[leaf.group.name]

    def _check_idle(self, leaf: Leaf, what: str) -> None:
        waiting = self._queue.waiting.values()
        is_wanted = leaf.waiters or any(
            leaf in unit for one in waiting for unit in one.optional.values()
        )
        is_lent = any(leaf in one.lent for one in self._held.reservations.values())
        is_lent |= any(leaf in one.lent for one in waiting)
        is_active = isinstance(leaf, StateLeaf) and leaf.group.active is leaf
        if leaf.seated() or is_wanted or is_lent or leaf.freezes or is_active:
            raise BadInput(
                f"{leaf.name!r} is held, lent, waited for, frozen or the active state; "
                f"it can {what} when it is idle."
            )

    def _emit_added(self, name: str) -> None:
        queue, node = self._queue, self.tree.node(name)
        queue.trace.emit(
            ResourceAdded(
                tick=queue.timers.now,
                name=name,
                parent=self.tree.parent(name),
                kind=None if node.children else node.kind,
                device=node.device.kind if node.device else None,
                limits=self.tree.limits.get(name, ()),
            )
        )

    def _no_leaf(self, name: str) -> BadInput:
        check_name(name, "a resource")
        if name in self.tree:
            leaves = ", ".join(self.tree.leaves(name)[:MAX_LISTED])
            return BadInput(
                f"{name!r} is a composite; name one of its leaves: {leaves}."
            )
        return UnknownName("Resource", name, self.leaves, "this ledger")


def _rule_of(leaf: str, rules: Mapping[str, int], tree: ResourceTree) -> int | None:
    """Return the rule for a leaf, or for the smallest composite that contains it."""
    name: str | None = leaf
    while name is not None and name not in rules:
        name = tree.parent(name)
    return None if name is None else rules[name]


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
