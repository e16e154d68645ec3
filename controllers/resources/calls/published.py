"""The calls of the resource manager that the robot's maker published later.

Names, parameters and order of ALResourceManager [choregraphe-resources], beside
the document's own. Where that service waits for ever at a negative time limit, this one
refuses (RM-20). States are not owned there; here who asks for one holds it, and loses
it when the robot leaves it (RM-51).
"""

from collections.abc import Sequence

from controllers.resources.calls.document import DocumentCalls
from controllers.resources.calls.taken_already import held_leaves
from controllers.resources.names import check_name, check_names
from controllers.resources.resource_tree import ResourceTree
from controllers.resources.snapshot import ResourceRow, take_snapshot
from models import BadInput
from models.real_numbers import short
from models.resource_node import ResourceKind, ResourceNode

FULL_PERCENT = 100.0


class PublishedCalls(DocumentCalls):
    """The later service, and the document's calls under its deprecated names."""

    # -- take and give back -----------------------------------------------------------

    def acquireResource(
        self, resource: str, module: str, callback: str, timeoutSeconds: float
    ) -> None:
        """Do as `waitForResource`, its older name; `module` is the owner."""
        self.waitForResource(resource, module, callback, timeoutSeconds)

    def acquireResourcesTree(
        self, resources: Sequence[str], module: str, callback: str, timeout: float
    ) -> None:
        """Take several at once; parents and children of one request do not conflict.

        Raises:
            NotGranted, UnknownName, BadInput: as `waitForResource`.
        """
        self._take(resources, module, callback, timeout)

    def waitForResourcesTree(
        self, resources: Sequence[str], owner: str, callback: str, timeout: float
    ) -> None:
        """Do as `acquireResourcesTree`: its older name."""
        self._take(resources, owner, callback, timeout)

    def waitForOptionalResourcesTree(
        self,
        resources: Sequence[str],
        owner: str,
        callback: str,
        timeout: float,
        optional: Sequence[str],
    ) -> list[str]:
        """Take all of `resources`, and of `optional` those that are free (RM-48).

        Returns:
            The names that the owner has now; of a composite, all of it.

        Raises:
            NotGranted, UnknownName, BadInput: as `waitForResource`.
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
        """Give back several, all or none.

        Raises:
            BadInput: the owner holds nothing of one of them.
            UnknownName: there is no such resource.
        """
        self._release(resources, owner)

    # -- look -------------------------------------------------------------------------

    def isResourceFree(self, resource: str) -> bool:
        """Tell whether nobody has it, nor any part; of a state, whether it is active.

        Raises:
            UnknownName: there is no such resource. So do all that take a name here.
        """
        return self.areResourcesFree([resource])

    def areResourcesFree(self, resources: Sequence[str]) -> bool:
        """Tell whether all are free."""
        resources = check_names(resources, "resources")
        with self._front.step() as (ledger, _):
            snapshot, tree = take_snapshot(ledger), ledger.tree
            asked = {leaf for name in resources for leaf in _meant(name, tree)}
        return all(_is_free(row) for row in snapshot.resources if row.name in asked)

    def checkStateResourceFree(self, resources: Sequence[str]) -> bool:
        """Tell whether all are free, which for a state is to be active."""
        return self.areResourcesFree(resources)

    def areResourcesOwnedBy(self, resources: Sequence[str], owner: str) -> bool:
        """Tell whether one owner has all."""
        resources = check_names(resources, "resources")
        check_name(owner, "an owner")
        with self._front.step() as (ledger, _):
            held = held_leaves(take_snapshot(ledger), owner)
            return all(held.issuperset(_meant(n, ledger.tree)) for n in resources)

    def isInGroup(self, group: str, resource: str) -> bool:
        """Tell whether a resource is somewhere under another."""
        with self._front.step() as (ledger, _):
            ledger.tree.node(group)
            above = ledger.tree.parent(resource)
            while above is not None and above != group:
                above = ledger.tree.parent(above)
            return above is not None

    def getResources(self) -> ResourceNode:
        """Return the whole tree; its layout on the wire is not published."""
        with self._front.step() as (ledger, _):
            return ledger.tree.root

    def ownersGet(self) -> dict[str, list[str]]:
        """Return resource to owners, virtual ones too, of those that have any.

        A map, as on the wire; its layout there is not published.
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
        """Let an exclusive resource be known; parent "" puts it at the root.

        Raises:
            BadInput: the name is taken, or the parent is a leaf in use or with a
                device.
        """
        self.createResourcesList([name], parent)

    def createResourcesList(self, names: Sequence[str], parent: str) -> None:
        """Let several be known under one parent, all or none.

        Raises:
            BadInput: as `createResource`.
        """
        names = check_names(names, "names")
        with self._front.step() as (ledger, tick):
            above = parent or ledger.tree.root.name
            tree = ledger.tree
            for name in names:
                tree = tree.with_resource(name, above)  # would all of them do?
            for name in names:
                ledger.add_resource(name, above, tick)

    def deleteResource(self, name: str) -> None:
        """Forget a resource.

        Raises:
            BadInput: it has parts, or is held, waited for or frozen.
        """
        with self._front.step() as (ledger, tick):
            ledger.remove_resource(name, tick)

    def enableStateResource(self, name: str, enabled: bool) -> None:
        """Note as a fact that the robot is in a state, or has left it (RM-52).

        Raises:
            BadInput: it is no state, or `enabled` neither true nor false.
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
    """Return the leaves that taking a name would take."""
    return tree.exclusive_leaves(name) or tree.leaves(name)


def _is_free(row: ResourceRow) -> bool:
    if any(virtual.is_total for virtual in row.virtual):
        return False
    if row.kind is ResourceKind.STATE:
        return row.is_active is True
    if row.kind is ResourceKind.CUMULATIVE:
        return (row.used_percent or 0.0) < FULL_PERCENT
    return not row.holders
