"""The document's own calls: names, parameters and order as people know them.

    calls = DocumentCalls(LedgerFront(ledger, loop.cycle), services={"Dance": dance})
    calls.waitForResource("Head", "Dance", "onResource", 5)  # dance.onResource(...)
    gate.submit(calls.token("Dance", "HeadYaw"), "HeadYaw", 0.3)
    calls.releaseResource("Head", "Dance")

A thin layer over a ledger (RM-9 to RM-13 [ES2535273T3, description of F2 and F4b]). The
document's calls return nothing and know no tokens; so the tokens are kept here, by the
owner's name. All calls act at the present tick of the ledger, and one that waits lets
its `Front` pass the time: a loop in a scenario, a sleeping thread elsewhere.

Read into the document where it is silent:

- An owner comes into being with its first call. `a__b__c` is a part of `a__b`, as the
  names of boxes are [choregraphe-resources]; one that the ledger knows already stays
  where it is, with its habits.
- Who takes again what it holds succeeds; of a set it takes the rest, by another token.
- A negative time limit is refused: no request waits for ever (RM-20).
- A call that gets nothing raises `NotGranted`, one that releases what its owner does
  not hold raises `BadInput`; neither changes anything.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from controllers.resources.calls.owner_places import (
    TreeOwner,
    make_known,
    name_of,
    place_of,
)
from controllers.resources.calls.taken_already import held_leaves, still_lacking
from controllers.resources.calls.token_wallet import TokenWallet
from controllers.resources.front import Front
from controllers.resources.names import check_name, check_names
from controllers.resources.not_granted import NotGranted
from controllers.resources.owner import OnLost
from controllers.resources.policies import (
    Answer,
    CallbackOnDemand,
    ConflictPolicy,
    Demand,
)
from controllers.resources.request import Outcome, Request
from controllers.resources.snapshot import take_snapshot
from controllers.resources.tokens import Token
from controllers.resources.trace import Expired, Notified
from controllers.resources.words import Why
from models import BadInput, UnknownName
from models.real_numbers import short

MOST_LOOKS = 100
"""How often a call looks again at what its owner takes and gives back meanwhile."""
_NO_SERVICES: Mapping[str, object] = MappingProxyType({})


class DocumentCalls:
    """Take, wait and release by names."""

    def __init__(
        self, front: Front, services: Mapping[str, object] = _NO_SERVICES
    ) -> None:
        """Speak for owners that know no tokens.

        Args:
            front: of the ledger.
            services: owner's name to the object that has its callbacks. An owner
                without one is told nothing, and answers by its habit: it keeps. One
                that has a method `onResourceLost` is told by it, with the name of the
                resource and the owner's, of each leaf that it loses.
        """
        self._front = front
        self._services = services
        self._wallet = TokenWallet()
        with front.step() as (ledger, _):
            ledger.hear_at_once(self._wallet.hear)

    # -- the document's calls ---------------------------------------------------------

    def waitForResource(
        self,
        resourceName: str,
        ownerName: str,
        callbackName: str,
        timeoutSeconds: float,
    ) -> None:
        """Take a resource, or wait for it (RM-9).

        Args:
            resourceName: a leaf, or a composite and so all below it.
            ownerName: who takes.
            callbackName: method of the owner's service, called with the name of the
                resource and the owner's when somebody else asks for it (RM-33): it may
                release, or return an `Answer`; else the owner keeps. "" tells nobody.
            timeoutSeconds: longest wait in s; 0 tries once.

        Raises:
            NotGranted: the time is over, or waiting would have no end.
            UnknownName: there is no such resource or callback.
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
        """Take several resources at once for an owner with a place in a tree (RM-10).

        What the objects above have is open to it.

        Args:
            resourceName: leaves and composites; their order is of no importance.
            treeOwnerPtr: the owner.
            callbackName: method of the owner itself, or else of its service.
            timeoutSeconds: longest wait in s for all together; 0 tries once.

        Raises:
            NotGranted, UnknownName, BadInput: as `waitForResource`; BadInput also if
                the owner is known in another place.
        """
        self._take(resourceName, treeOwnerPtr, callbackName, timeoutSeconds)

    def waitResources(
        self,
        resources: Sequence[str],
        owner: str | TreeOwner,
        callback: str,
        timeout: float,
    ) -> None:
        """Take a group as if it were one resource, or wait for it (RM-12, RM-22).

        Args:
            resources: leaves and composites.
            owner: a name, or an object with a place in a tree.
            callback: as in `waitForResource`.
            timeout: longest wait in s for all together.

        Raises:
            NotGranted, UnknownName, BadInput: as `waitForResource`.
        """
        self._take(resources, owner, callback, timeout)

    def releaseResource(self, resourceName: str, ownerName: str) -> None:
        """Give back a resource, or what the owner holds of a composite (RM-11).

        Who is paused gives up what it would resume with: all of that set, since it
        resumes with exactly the set that it had (RM-37).

        Raises:
            BadInput: the owner did not take it by these calls, or has lost it.
            UnknownName: there is no such resource.
        """
        self._release([resourceName], ownerName)

    # -- what the document has no words for -------------------------------------------

    def token(self, ownerName: str, resourceName: str) -> Token:
        """Return the token with which an owner may command a leaf (AR-9).

        Raises:
            BadInput: the owner did not take it by these calls, or has lost it.
            UnknownName: there is no such leaf.
        """
        check_name(ownerName, "an owner")
        with self._front.step() as (ledger, _):
            ledger.tree.node(resourceName)
            found = self._wallet.covering(ownerName, [resourceName], ledger)
        if not found:
            raise _not_held(resourceName, ownerName)
        return next(iter(found))

    # -- inside -----------------------------------------------------------------------

    def _take(
        self,
        names: Sequence[str],
        owner: str | TreeOwner,
        callback: str,
        timeout_s: float,
        optional: Sequence[str] = (),
    ) -> Outcome | None:
        """Take, or wait; None if the owner has all already."""
        name = name_of(owner)
        wish = Request(
            owner=name,
            resources=check_names(names, "resources"),
            optional=check_names(optional, "optional"),
            timeout_s=timeout_s,
            policy=self._policy(owner, callback),
        )
        place = place_of(owner, self._on_lost)
        due: int | None = None
        for look in range(MOST_LOOKS):
            with self._front.step() as (ledger, tick):
                snapshot = take_snapshot(ledger)
                held = held_leaves(snapshot, name)
                essential = still_lacking(wish.resources, held, ledger.tree)
                extra = still_lacking(wish.optional, held, ledger.tree)
                make_known(place, self._front, snapshot)
                if not essential and not extra:
                    return None
                request = replace(wish, resources=essential, optional=extra)
                if due is None:
                    due = tick + ledger.cfg.ticks(request.timeout_s or 0.0)
                else:
                    left_s = max(0, due - tick) * ledger.cfg.tick_s
                    request = replace(request, timeout_s=left_s)
                ticket = self._front.ask(request)
                self._wallet.expect(ticket)
            outcome = self._front.wait(ticket)
            if outcome.is_granted:
                return outcome
            if look + 1 == MOST_LOOKS or not self._is_in_its_own_way(name, outcome):
                raise NotGranted(request, outcome)
        raise AssertionError("the last look ends it")

    def _is_in_its_own_way(self, owner: str, outcome: Outcome) -> bool:
        """Whether what the owner took meanwhile, in another thread, was in the way.

        It has that now, or has given it back: either way it is to look again.
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
            given: dict[Token, set[str]] = {}
            paused: dict[int, None] = {}
            for name in names:
                leaves = ledger.tree.leaves(name)
                found = self._wallet.covering(owner, leaves, ledger)
                resuming = self._wallet.resuming(owner, leaves, ledger)
                if not found and not resuming:
                    raise _not_held(name, owner)
                paused.update(dict.fromkeys(resuming))
                for token, here in found.items():
                    given.setdefault(token, set()).update(here)
            for number in paused:
                ledger.withdraw(number, tick)
            for token, leaves_of_it in given.items():
                ledger.release(token, tick, sorted(leaves_of_it))

    def _on_lost(self, owner: str, home: object) -> OnLost | None:
        """Return what tells an owner of its losses; None if it has no such method."""
        for one in (home, self._services.get(owner)):
            method = getattr(one, "onResourceLost", None)
            if callable(method):
                break
        else:
            return None

        def tell(lost: Notified | Expired) -> None:
            freed = lost.freed if isinstance(lost, Notified) else ()
            _call_for_each(method, (*lost.leaves, *freed), owner)

        return tell

    def _policy(self, owner: str | TreeOwner, callback: str) -> ConflictPolicy | None:
        """Return what answers for an owner; None leaves it to its habit."""
        name = name_of(owner)
        if not isinstance(callback, str):
            raise BadInput(
                f"the callback of {name!r} is {short(callback)}; give the name of a "
                'method, or "" to be told nothing.'
            )
        homes: list[object] = [] if isinstance(owner, str) else [owner]
        homes += [self._services[name]] if name in self._services else []
        if not callback or not homes:
            return None
        for home in homes:
            method = getattr(home, callback, None)
            if callable(method):
                break
        else:
            known = [word for word in dir(homes[-1]) if not word.startswith("_")]
            raise UnknownName("Callback", callback, known, f"service {name!r}")

        def tell(demand: Demand) -> Answer | None:
            def is_held(leaf: str) -> bool:
                with self._front.step() as (ledger, _):
                    return leaf in held_leaves(take_snapshot(ledger), name)

            left = (leaf for leaf in demand.resources if is_held(leaf))
            return _call_for_each(method, left, name)

        return CallbackOnDemand(function=tell)


def _call_for_each(
    method: Callable[[str, str], object], leaves: Iterable[str], owner: str
) -> Answer | None:
    """Tell an owner of leaves, up to its answer; what it raises it does at the end.

    Of several errors the first counts: one leaf's keeps no other from being told.
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
        f"{owner!r} holds nothing of {resource!r}; take it before, by these calls."
    )
