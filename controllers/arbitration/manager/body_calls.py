"""Calls about the robot: freeze and thaw parts, change states and resources.

Changes of the body need no consent. A request to leave a state is negotiated.
"""

from collections.abc import Iterable, Sequence

from nao_testbed.controllers.arbitration.events import (
    Frozen,
    StateChanged,
    StateRefused,
    Thawed,
)
from nao_testbed.controllers.arbitration.manager.calls import Core
from nao_testbed.controllers.arbitration.manager.state.holdings import innermost_first
from nao_testbed.controllers.arbitration.manager.state.leaves import (
    StateGroup,
    StateLeaf,
)
from nao_testbed.controllers.arbitration.manager.state.records import (
    Freeze,
    Leaf,
    Reservation,
    Yielding,
    names_of,
)
from nao_testbed.controllers.arbitration.resource_tree import check_name, check_names
from nao_testbed.controllers.arbitration.tokens import LossCause, NoticeKind
from nao_testbed.models import BadInput
from nao_testbed.models.resources import ResourceKind
from nao_testbed.models.values import is_fraction, short

MOST_TURNS = 20
"""Largest number of rounds of questions, since an answer may activate another state."""


class BodyCalls(Core):
    """Calls about parts of the robot, its states, and the list of resources."""

    # -- parts ------------------------------------------------------------------------

    def freeze(
        self,
        names: Iterable[str],
        by: str,
        tick: int,
        *,
        effort_cap: float | None = None,
        is_total: bool = True,
    ) -> None:
        """Freeze resources for a fault (hot, broken or absent part).

        Total: holders lose them, and they are not granted. Partial: they stay usable
        with a capped effort.

        Args:
            names: leaves, or composites with all leaves below.
            by: name of the virtual owner, such as `hotEngine`.
            tick: present tick.
            effort_cap: largest stiffness of their joints, in [0, 1].
            is_total: True if no other owner may use them.

        Raises:
            BadInput: the cap is out of range, or a real owner has that name.
        """
        names, by = check_names(names, "names"), check_name(by, "a virtual owner")
        if type(is_total) is not bool:
            raise BadInput(f"is_total is {short(is_total)}; give true or false.")
        with self._calls.at(tick):
            leaves = self.resources.below(names)
            if effort_cap is not None and not is_fraction(effort_cap):
                raise BadInput(
                    f"effort cap is {short(effort_cap)}; give a fraction from 0 to 1."
                )
            self._keep_name(by)
            seated: Yielding = {}
            for leaf in leaves if is_total else ():
                for holder in leaf.seated():
                    seated.setdefault(holder, []).append(leaf)
            self.holdings.take_all(innermost_first(seated), LossCause.FROZEN, by)
            for leaf in leaves:
                leaf.freezes[by] = Freeze(is_total, effort_cap)
                self._refresh(leaf)
            now, named, cap = self._timers.now, names_of(leaves), effort_cap
            self._trace.emit(
                Frozen(tick=now, leaves=named, by=by, effort_cap=cap, is_total=is_total)
            )
            if cap is not None:
                self._notify_capped(leaves, by, NoticeKind.LIMITED)

    def add_virtual_owner(self, name: str, tick: int) -> None:
        """Reserve a name for a virtual owner.

        Raises:
            BadInput: a real owner has the name.
        """
        with self._calls.at(tick):
            self._keep_name(check_name(name, "a virtual owner"))

    @property
    def virtual_owners(self) -> frozenset[str]:
        """Names reserved for present and past virtual owners."""
        return frozenset(self.holdings.virtual)

    def thaw(self, by: str, tick: int, names: Iterable[str] | None = None) -> None:
        """Release the leaves of a virtual owner whose cause has ended.

        Args:
            by: name of the virtual owner; other holders are not affected.
            tick: present tick.
            names: leaves or composites; None: all.
        """
        names = None if names is None else check_names(names, "names")
        by = check_name(by, "a virtual owner")
        with self._calls.at(tick):
            every = (self.resources.tree.root.name,)
            leaves = self.resources.below(every if names is None else names)
            theirs = [leaf for leaf in leaves if by in leaf.freezes]
            capped = [x for x in theirs if x.freezes[by].effort_cap is not None]
            for leaf in theirs:
                del leaf.freezes[by]
                self._refresh(leaf)
            if theirs:
                self._trace.emit(
                    Thawed(tick=self._timers.now, leaves=names_of(theirs), by=by)
                )
                self._notify_capped(capped, by, NoticeKind.UNLIMITED)

    # -- states -----------------------------------------------------------------------

    def active_state(self, group: str) -> str | None:
        """Return the active state of a set, or None."""
        active = self.resources.group(group).active
        return active.name if active else None

    def set_state(self, group: str, active: str | None, tick: int) -> None:
        """Set the active state of a set without consent, for instance after a fall.

        Holders of the previous state lose it.
        """
        with self._calls.at(tick):
            self._set_state(*self.resources.state(group, active))

    def ask_state(
        self, group: str, wanted: str | None, tick: int, by: str = ""
    ) -> bool:
        """Ask the holders of the active state to release it.

        If a policy changes the active state or the list of states, the holders of the
        new active state are asked.

        Args:
            group: set of states.
            wanted: state that becomes active if all agree; None: no state until
                `set_state`.
            tick: present tick.
            by: requesting owner, for the notices.

        Returns:
            True if all holders released the state at once.
        """
        by, find = check_name(by, "a requester") if by else "", self.resources.state
        with self._calls.at(tick):
            for _ in range(MOST_TURNS):
                states, following = find(group, wanted)
                left = states.active
                asked = states, following, left

                def is_wanted(asked: object = asked) -> bool:
                    states, following = find(group, wanted)
                    return (states, following, states.active) == asked

                if (
                    left is None
                    or left is following
                    or self._negotiation.ask_holders(left, by, is_wanted)
                ):
                    self._set_state(states, following)
                    return True
                if is_wanted():
                    self._refuse(left, following)
                    break
            return False

    # -- the list of resources --------------------------------------------------------

    def add_resource(
        self,
        name: str,
        parent: str,
        tick: int,
        kind: ResourceKind = ResourceKind.EXCLUSIVE,
    ) -> None:
        """Add a leaf, such as a ball.

        Raises:
            BadInput: the name is taken, or the parent is a leaf in use.
        """
        with self._calls.at(tick):
            self.resources.add(name, parent, kind)

    def remove_resource(self, name: str, tick: int) -> None:
        """Remove a leaf; a composite without remaining parts becomes a leaf.

        Raises:
            BadInput: the resource has parts, is in use, or commands a device.
        """
        with self._calls.at(tick):
            self.resources.remove(name)

    # -- internals ---------------------------------------------------------------------

    def _keep_name(self, name: str) -> None:
        if name in self.holdings.owners:
            raise BadInput(
                f"{name!r} is a real owner; a virtual one needs its own name."
            )
        self.holdings.virtual.add(name)

    def _refresh(self, leaf: Leaf) -> None:
        leaf.is_frozen = any(freeze.is_total for freeze in leaf.freezes.values())
        if not leaf.is_frozen:
            self._queue.touch(leaf)

    def _notify_capped(self, leaves: Sequence[Leaf], by: str, kind: NoticeKind) -> None:
        """Notify holders of the start or end of a virtual owner's limit."""
        limited: dict[Reservation, list[Leaf]] = {}
        for leaf in leaves:
            for holder in leaf.seated()[:1] if leaf.is_motor or leaf.limits else ():
                limited.setdefault(holder, []).append(leaf)
        for holder, theirs in limited.items():
            self._trace.notify(holder, kind, theirs, by=by)

    def _set_state(self, group: StateGroup, following: StateLeaf | None) -> None:
        left = group.active
        if left is following:
            return
        name, now = following.name if following else None, self._timers.now
        seated: Yielding = {holder: [left] for holder in left.seated()} if left else {}
        by, why = name or group.name, LossCause.STATE_LEFT
        self.holdings.take_all(innermost_first(seated), why, by)
        group.active = following
        for leaf in group.leaves.values():
            self._queue.touch(leaf)
        self._trace.emit(StateChanged(tick=now, group=group.name, active=name))

    def _refuse(self, kept: StateLeaf, wanted: StateLeaf | None) -> None:
        now, group = self._timers.now, kept.group.name
        name = wanted.name if wanted else None
        holders = tuple(sorted({held.owner.name for held in kept.seated()}))
        self._trace.emit(
            StateRefused(tick=now, group=group, wanted=name, holders=holders)
        )
