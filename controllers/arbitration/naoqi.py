"""Calls of ES2535273 and of NAOqi's ALResourceManager.

    calls = ES2535273Calls(LedgerFront(ledger, loop.cycle), services={"Dance": dance})
    calls.waitForResource("Head", "Dance", "onResource", 5)  # dance.onResource(...)
    gate.submit(calls.token("Dance", "HeadYaw"), "HeadYaw", 0.3)
    calls.releaseResource("Head", "Dance")

Thin layer over a ledger [ES2535273T3, description of F2 and F4b]. Names, parameters and
their order are those of the source. Its calls have no tokens, so this layer keeps the
tickets by owner name; the ledger maps each ticket to its present token. All calls act
at the present tick of the ledger. A waiting call advances time through its `Front`: a
loop in a scenario, a sleeping thread in other programs.

Interpretation where ES2535273 is silent:

- An owner is registered by its first call. An object has its parent as an attribute; a
  name implies it: `a__b__c` is a part of `a__b`, as for box names
  [choregraphe-resources]. An owner that the ledger already knows keeps its parent and
  defaults.
- Taking held resources again succeeds; the missing ones of a set are taken with another
  token.
- A negative time limit is rejected; no request waits forever, unlike in
  ALResourceManager [choregraphe-resources].
- A call without a grant raises `NotGranted`, the release of resources that are not held
  `BadInput`, and an unknown name `UnknownName`; none of them changes anything.
- States are not owned in ALResourceManager; here the requester of a state holds it, and
  loses it when the robot leaves the state.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Protocol

from nao_testbed.controllers.arbitration.events import Expired, Notified
from nao_testbed.controllers.arbitration.manager.front import Front
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.owner_calls import DEEPEST_OWNER
from nao_testbed.controllers.arbitration.manager.snapshot import (
    LedgerSnapshot,
    ResourceRow,
    take_snapshot,
)
from nao_testbed.controllers.arbitration.policies import (
    Answer,
    CallbackOnDemand,
    ConflictPolicy,
    Demand,
)
from nao_testbed.controllers.arbitration.requests import (
    NotGranted,
    OnLost,
    Owner,
    Present,
    Request,
    Ticket,
)
from nao_testbed.controllers.arbitration.resource_tree import (
    ResourceTree,
    check_name,
    check_names,
)
from nao_testbed.controllers.arbitration.tokens import Outcome, Token, Why
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.resources import ResourceKind, ResourceNode
from nao_testbed.models.values import short


def held_leaves(snapshot: LedgerSnapshot, owner: str) -> set[str]:
    """Return the leaves that an owner holds, including those that a child uses."""
    return {
        row.name
        for row in snapshot.resources
        if any(one.owner == owner for one in row.holders)
    }


def still_lacking(
    names: Iterable[str], held: set[str], tree: ResourceTree
) -> tuple[str, ...]:
    """Return the names that are not completely held yet, each once."""
    rest: dict[str, None] = {}
    for name in names:
        leaves = tree.exclusive_leaves(name) if tree.children(name) else (name,)
        missing = [leaf for leaf in leaves if leaf not in held]
        if len(missing) == len(leaves):
            rest[name] = None
        else:
            rest.update(dict.fromkeys(missing))
    return tuple(rest)


NAME_SEPARATOR = "__"
"""Separator of the parts of a name."""


class TreeOwner(Protocol):
    """Object in a tree of objects, such as a box inside a box."""

    @property
    def name(self) -> str:
        """Name of the owner."""

    @property
    def parent(self) -> "TreeOwner | None":
        """Parent object; None for the root."""


def name_of(owner: str | TreeOwner) -> str:
    """Return the name of an owner given by name or as an object."""
    name = owner if isinstance(owner, str) else getattr(owner, "name", owner)
    return check_name(name, "an owner")


def line_of(
    owner: str | TreeOwner, on_lost: Callable[[str, object], OnLost | None]
) -> list[Owner]:
    """Return an owner and its ancestors, from the root.

    Calls foreign code, so hold no lock.

    Args:
        owner: name, or object in a tree.
        on_lost: function of an owner's name and object that returns its loss callback.

    Raises:
        BadInput: an object is its own ancestor or has no root, or a name is invalid.
    """
    home: object = None
    if isinstance(owner, str):
        pieces = owner.split(NAME_SEPARATOR)
        names = [NAME_SEPARATOR.join(pieces[: n + 1]) for n in range(len(pieces))]
        names = [name for name in names if name]  # leading separator: empty
    else:
        names, home = _line(owner), owner
    return [
        Owner(name=n, parent=up, on_lost=on_lost(n, home if n == names[-1] else None))
        for n, up in zip(names, [None, *names], strict=False)
    ]


def make_known(
    line: Sequence[Owner], front: Front, snapshot: LedgerSnapshot, *, is_object: bool
) -> None:
    """Register an owner and its ancestors.

    A registered name keeps its parent and its defaults.

    Args:
        line: owner and its ancestors, from the root.
        front: front of the ledger.
        snapshot: present snapshot of the ledger.
        is_object: True: each owner must have exactly this parent.

    Raises:
        BadInput: an object is registered under another parent.
    """
    parents = {row.name: row.parent for row in snapshot.owners}
    if not is_object and line[-1].name in parents:
        return
    for owner in line:
        if owner.name not in parents:
            front.add_owner(owner)
        elif is_object and parents[owner.name] != owner.parent:
            raise BadInput(
                f"owner {owner.name!r} is already a part of {parents[owner.name]!r}, "
                f"not of {owner.parent!r}; give each owner one parent and a unique "
                "name."
            )


def _line(owner: TreeOwner) -> list[str]:
    """Return the names of an owner and its ancestors, from the root.

    Raises:
        BadInput: its ancestors form a cycle, or one is not a tree object.
    """
    names: list[str] = []
    one: TreeOwner | None = owner
    while one is not None:
        name = name_of(one)
        if name in names or len(names) > DEEPEST_OWNER:
            deep = f"more than {DEEPEST_OWNER} levels deep"
            above = "its own ancestor" if name in names else deep
            raise BadInput(
                f"owner {name!r} is {above}; give a tree of owners with a root."
            )
        names.append(name)
        one = one.parent
        if one is not None and not hasattr(one, "parent"):
            raise BadInput(
                f"the parent of {name!r} is {short(one)}; give the object that "
                "contains it, with a name and a parent, or None."
            )
    return names[::-1]


MOST_LOOKS = 100
"""Largest number of retries of a call while its owner takes and releases
concurrently."""
_NO_SERVICES: Mapping[str, object] = MappingProxyType({})


class ES2535273Calls:
    """Calls of ES2535273: take, wait and release by names."""

    def __init__(
        self, front: Front, services: Mapping[str, object] = _NO_SERVICES
    ) -> None:
        """Create the calls for a front.

        Args:
            front: front of the ledger.
            services: owner name to the object with its callbacks. An owner without one
                is not notified, and keeps its resources by default. A method
                `onResourceLost` is called for each lost leaf with the names of the
                resource and the owner.
        """
        self._front = front
        self._services = services
        self._tickets: dict[str, list[Ticket]] = {}
        """Owner to its tickets from these calls that wait, hold or are paused."""

    # -- the calls of ES2535273 -------------------------------------------------------

    def waitForResource(
        self,
        resourceName: str,
        ownerName: str,
        callbackName: str,
        timeoutSeconds: float,
    ) -> None:
        """Take a resource, or wait for it.

        Args:
            resourceName: a leaf, or a composite with all leaves below it.
            ownerName: owner that takes it.
            callbackName: method of the owner's service, called with the names of the
                resource and the owner of a competing request: it may release, or
                return an `Answer`; otherwise the owner keeps. "": no callback.
            timeoutSeconds: longest wait in s; 0 tries once.

        Raises:
            NotGranted: the time limit is reached, or waiting would never end.
            BadInput: the time limit is negative.
        """
        self._take([resourceName], ownerName, callbackName, timeoutSeconds)

    def waitForLocalResourcesTree(
        self,
        resourceName: Sequence[str],
        treeOwnerPtr: TreeOwner,
        callbackName: str,
        timeoutSeconds: float,
    ) -> None:
        """Take several resources together for an owner in a tree.

        Resources of its ancestors are open to it. The callback is a method of the owner
        itself, or of its service.
        """
        self._take(resourceName, treeOwnerPtr, callbackName, timeoutSeconds)

    def waitResources(
        self,
        resources: Sequence[str],
        owner: str | TreeOwner,
        callback: str,
        timeout: float,
    ) -> None:
        """Take a group of resources like one resource, or wait for it.

        The owner is a name, or an object in a tree.
        """
        self._take(resources, owner, callback, timeout)

    def releaseResource(self, resourceName: str, ownerName: str) -> None:
        """Release a resource, or the held part of a composite.

        A paused owner loses the whole set with which it would resume, since it can only
        resume with exactly that set.

        Raises:
            BadInput: the owner has not taken the resource by these calls, or has lost
                it.
        """
        self._release([resourceName], ownerName)

    # -- additions to ES2535273 --------------------------------------------------------

    def token(self, ownerName: str, resourceName: str) -> Token:
        """Return the token with which an owner may command a leaf.

        Raises:
            BadInput: the owner has not taken the resource by these calls, or has lost
                it.
        """
        check_name(ownerName, "an owner")
        with self._front.step() as (ledger, _):
            ledger.tree.node(resourceName)
            for now in self._present(ownerName, ledger):
                token = now.token
                if token is not None and ledger.covers(token, resourceName):
                    return token
        raise _not_held(resourceName, ownerName)

    # -- internals ---------------------------------------------------------------------

    def _take(
        self,
        names: Sequence[str],
        owner: str | TreeOwner,
        callback: str,
        timeout_s: float,
        optional: Sequence[str] = (),
    ) -> Outcome | None:
        """Take or wait; return None if the owner already holds everything."""
        name = name_of(owner)
        wish = Request(
            owner=name,
            resources=check_names(names, "resources"),
            optional=check_names(optional, "optional"),
            timeout_s=timeout_s,
            policy=self._policy(owner, callback),
        )
        line, is_object = line_of(owner, self._on_lost), not isinstance(owner, str)
        due: int | None = None
        for look in range(MOST_LOOKS):
            with self._front.step() as (ledger, tick):
                snapshot = take_snapshot(ledger)
                held = held_leaves(snapshot, name)
                essential = still_lacking(wish.resources, held, ledger.tree)
                extra = still_lacking(wish.optional, held, ledger.tree)
                make_known(line, self._front, snapshot, is_object=is_object)
                if not essential and not extra:
                    return None
                request = replace(wish, resources=essential, optional=extra)
                if due is None:
                    due = tick + ledger.cfg.ticks(request.timeout_s or 0.0)
                else:
                    left_s = max(0, due - tick) * ledger.cfg.tick_s
                    request = replace(request, timeout_s=left_s)
                ticket = self._front.ask(request)
                self._tickets.setdefault(name, []).append(ticket)
            outcome = self._front.wait(ticket)
            if outcome.is_granted:
                return outcome
            if look + 1 == MOST_LOOKS or not self._blocks_itself(name, outcome):
                raise NotGranted(request, outcome)
        raise AssertionError("the last look ends it")

    def _blocks_itself(self, owner: str, outcome: Outcome) -> bool:
        """Return True if the owner blocked itself by a call in another thread.

        It now holds the resource, or has released it: in both cases retry.
        """
        if outcome.why is not Why.DEADLOCK:
            return False
        own = {b.resource for b in outcome.blockers if owner in b.owners}
        with self._front.step() as (ledger, _):
            rows = take_snapshot(ledger).resources
        waited = {row.name for row in rows for w in row.waiters if w.owner == owner}
        return bool(own - waited)

    def _release(self, names: Iterable[str], owner: str) -> None:
        names = check_names(names, "resources")
        check_name(owner, "an owner")
        with self._front.step() as (ledger, tick):
            present = self._present(owner, ledger)
            given: dict[Token, set[str]] = {}
            paused: set[int] = set()
            for name in names:
                leaves = set(ledger.tree.leaves(name))
                found = False
                for now in present:
                    meant: set[str] = set()
                    if now.ticket is not None:  # the owner would resume with these
                        meant = leaves.intersection(now.ticket.request.resources)
                        paused.update([now.ticket.number] if meant else ())
                    elif (token := now.token) is not None:
                        meant = {x for x in leaves if ledger.covers(token, x)}
                        given.setdefault(token, set()).update(meant)
                    found = found or bool(meant)
                if not found:
                    raise _not_held(name, owner)
            for number in sorted(paused):
                ledger.withdraw(number, tick)
            for token, leaves in given.items():
                if leaves:
                    ledger.release(token, tick, sorted(leaves))

    def _present(self, owner: str, ledger: Ledger) -> list[Present]:
        """Return the present valid or paused reservations of an owner.

        Tickets of ended reservations are removed.
        """
        found: list[Present] = []
        kept: list[Ticket] = []
        for ticket in self._tickets.pop(owner, ()):
            if ticket.outcome is None:  # waiting in another thread
                kept.append(ticket)
            elif ticket.outcome.token is not None and ledger.knows(owner):
                now = ledger.follow(owner, ticket.outcome.token)
                if not now.is_over:
                    found.append(now)
                    kept.append(ticket)
        if kept:
            self._tickets[owner] = kept
        return found

    def _on_lost(self, owner: str, home: object) -> OnLost | None:
        """Return the callback for an owner's losses; None without such a method."""
        homes = (home, self._services.get(owner))
        method = _method("onResourceLost", homes)
        if method is None:
            return None

        def tell(lost: Notified | Expired) -> None:
            freed = lost.freed if isinstance(lost, Notified) else ()
            _call_for_each(method, (*lost.leaves, *freed), owner)

        return tell

    def _policy(self, owner: str | TreeOwner, callback: str) -> ConflictPolicy | None:
        """Return the conflict policy for an owner; None: the owner's default."""
        name = name_of(owner)
        if not isinstance(callback, str):
            raise BadInput(
                f"the callback of {name!r} is {short(callback)}; give the name of a "
                'method, or "" for no notifications.'
            )
        homes: list[object] = [] if isinstance(owner, str) else [owner]
        homes += [self._services[name]] if name in self._services else []
        if not callback or not homes:
            return None
        method = _method(callback, homes)
        if method is None:
            known = [word for word in dir(homes[-1]) if not word.startswith("_")]
            raise UnknownName("Callback", callback, known, f"service {name!r}")

        def tell(demand: Demand) -> Answer | None:
            def is_held(leaf: str) -> bool:
                with self._front.step() as (ledger, _):
                    return leaf in held_leaves(take_snapshot(ledger), name)

            left = (leaf for leaf in demand.resources if is_held(leaf))
            return _call_for_each(method, left, name)

        return CallbackOnDemand(function=tell)


def _method(name: str, homes: Iterable[object]) -> Callable[[str, str], object] | None:
    """Return the first method with a name among several objects."""
    found = (getattr(home, name, None) for home in homes)
    return next((method for method in found if callable(method)), None)


def _call_for_each(
    method: Callable[[str, str], object], leaves: Iterable[str], owner: str
) -> Answer | None:
    """Call an owner for each leaf until it answers; raise its first error at the end.

    An error for one leaf does not prevent the calls for the others.
    """
    fault: BaseException | None = None
    for leaf in leaves:
        try:
            answer = method(leaf, owner)
        except BaseException as error:  # noqa: BLE001  raised below
            fault = error if fault is None else fault
        else:
            if isinstance(answer, Answer) and fault is None:
                return answer
    if fault is not None:
        raise fault
    return None


def _not_held(resource: str, owner: str) -> BadInput:
    return BadInput(
        f"{owner!r} holds no part of {resource!r}; take it with these calls first."
    )


FULL_PERCENT = 100.0


class ResourceCalls(ES2535273Calls):
    """Calls of ALResourceManager; those of ES2535273 are its deprecated names."""

    # -- take and release --------------------------------------------------------------

    def acquireResource(
        self, resource: str, module: str, callback: str, timeoutSeconds: float
    ) -> None:
        """Take a resource: older name of `waitForResource`; `module` is the owner."""
        self.waitForResource(resource, module, callback, timeoutSeconds)

    def acquireResourcesTree(
        self, resources: Sequence[str], module: str, callback: str, timeout: float
    ) -> None:
        """Take several resources; parents and children may be in one request."""
        self._take(resources, module, callback, timeout)

    def waitForResourcesTree(
        self, resources: Sequence[str], owner: str, callback: str, timeout: float
    ) -> None:
        """Take several resources: older name of `acquireResourcesTree`."""
        self._take(resources, owner, callback, timeout)

    def waitForOptionalResourcesTree(
        self,
        resources: Sequence[str],
        owner: str,
        callback: str,
        timeout: float,
        optional: Sequence[str],
    ) -> list[str]:
        """Take all of `resources`, and the free ones of `optional`.

        Returns:
            The names that the owner now holds; composites completely.
        """
        outcome = self._take(resources, owner, callback, timeout, optional)
        missing = outcome.missing if outcome else ()
        with self._front.step() as (ledger, _):
            lacking = {leaf for name in missing for leaf in ledger.tree.leaves(name)}
            return [
                name
                for name in (*resources, *optional)
                if lacking.isdisjoint(_meant(name, ledger.tree))
            ]

    def releaseResources(self, resources: Sequence[str], owner: str) -> None:
        """Release several resources, all or none.

        Raises:
            BadInput: the owner holds no part of one of them.
        """
        self._release(resources, owner)

    # -- queries -----------------------------------------------------------------------

    def isResourceFree(self, resource: str) -> bool:
        """Return True if a resource and its parts are free, or a state is active.

        Raises:
            UnknownName: the resource does not exist, as for all calls with a name.
        """
        return self.areResourcesFree([resource])

    def areResourcesFree(self, resources: Sequence[str]) -> bool:
        """Return True if all resources are free."""
        resources = check_names(resources, "resources")
        with self._front.step() as (ledger, _):
            snapshot, tree = take_snapshot(ledger), ledger.tree
            asked = {leaf for name in resources for leaf in _meant(name, tree)}
        return all(_is_free(row) for row in snapshot.resources if row.name in asked)

    def checkStateResourceFree(self, resources: Sequence[str]) -> bool:
        """Return True if all resources are free; a state is free if it is active."""
        return self.areResourcesFree(resources)

    def areResourcesOwnedBy(self, resources: Sequence[str], owner: str) -> bool:
        """Return True if one owner holds all resources."""
        resources = check_names(resources, "resources")
        check_name(owner, "an owner")
        with self._front.step() as (ledger, _):
            held = held_leaves(take_snapshot(ledger), owner)
            return all(held.issuperset(_meant(n, ledger.tree)) for n in resources)

    def isInGroup(self, group: str, resource: str) -> bool:
        """Return True if a resource is below another."""
        with self._front.step() as (ledger, _):
            ledger.tree.node(group)
            above = ledger.tree.parent(resource)
            while above is not None and above != group:
                above = ledger.tree.parent(above)
            return above is not None

    def getResources(self) -> ResourceNode:
        """Return the whole tree; NAOqi's layout is not published."""
        with self._front.step() as (ledger, _):
            return ledger.tree.root

    def ownersGet(self) -> dict[str, list[str]]:
        """Return the owned resources with their owners, including virtual ones.

        NAOqi's layout of this map is not published.
        """
        with self._front.step() as (ledger, _):
            rows = take_snapshot(ledger).resources
        owners = {
            row.name: [v.by for v in row.virtual if v.is_total]
            + [holding.owner for holding in row.holders]
            for row in rows
        }
        return {name: those for name, those in owners.items() if those}

    # -- change the list --------------------------------------------------------------

    def createResource(self, name: str, parent: str) -> None:
        """Add an exclusive resource; parent "" is the root.

        Raises:
            BadInput: the name is taken, or the parent is a leaf in use or with a
                device.
        """
        self.createResourcesList([name], parent)

    def createResourcesList(self, names: Sequence[str], parent: str) -> None:
        """Add several resources under one parent, all or none."""
        names = check_names(names, "names")
        with self._front.step() as (ledger, tick):
            above = parent or ledger.tree.root.name
            tree = ledger.tree
            for name in names:
                tree = tree.with_resource(name, above)  # raises if one name is invalid
            for name in names:
                ledger.add_resource(name, above, tick)

    def deleteResource(self, name: str) -> None:
        """Remove a resource.

        Raises:
            BadInput: the resource has parts, is held or frozen, or a request waits for
                it.
        """
        with self._front.step() as (ledger, tick):
            ledger.remove_resource(name, tick)

    def enableStateResource(self, name: str, enabled: bool) -> None:
        """Set a state of the robot as active or inactive.

        Raises:
            BadInput: the resource is not a state, or `enabled` is not a boolean.
        """
        if type(enabled) is not bool:
            raise BadInput(f"enabled is {short(enabled)}; give true or false.")
        with self._front.step() as (ledger, tick):
            group = ledger.tree.state_group(name)
            if enabled:
                ledger.set_state(group, name, tick)
            elif ledger.active_state(group) == name:
                ledger.set_state(group, None, tick)


def _meant(name: str, tree: ResourceTree) -> tuple[str, ...]:
    """Return the leaves of a name that a request would take."""
    return tree.exclusive_leaves(name) or tree.leaves(name)


def _is_free(row: ResourceRow) -> bool:
    if any(virtual.is_total for virtual in row.virtual):
        return False
    if row.kind is ResourceKind.STATE:
        return row.is_active is True
    if row.kind is ResourceKind.CUMULATIVE:
        return (row.used_percent or 0.0) < FULL_PERCENT
    return not row.holders
