"""What a station may do: set the rules of a server, and take resources away.

It sends a file before a run (`station_file`), which is installed whole or not at all.
Owners that register are bound by its rules; its behaviours are started and stopped by
name. During the run it computes nothing. By the secret that the server asks for, every
caller is a station.
"""

from collections.abc import Callable, Mapping

from nao_testbed.controllers.arbitration.manager.snapshot import take_snapshot
from nao_testbed.controllers.arbitration.requests import Owner
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.experiments.server.messages import (
    BehaviourData,
    DefinitionData,
    InstalledData,
)
from nao_testbed.experiments.server.service.station_behaviours import (
    Started,
    StationBehaviour,
    start_behaviour,
    stop_behaviour,
)
from nao_testbed.experiments.server.service.station_file import (
    SETTLING,
    StationRules,
    read_station,
)
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from nao_testbed.models import Robot, TestbedError, UnknownName

STATION = "station"
"""The virtual owner of what a station took away: it is there for nobody else."""


TRIES = 3
"""Times that a file is read, if what it was checked against changes meanwhile."""


class Busy(TestbedError):
    """Somebody stands in the way of a station; nothing has changed. Worth a retry."""


class Station:
    """The rules and behaviours of one server; safe for threads as its front is."""

    def __init__(
        self, front: SharedLedger, max_priority: int, robot: Robot | None = None
    ) -> None:
        """Begin without rules.

        Args:
            front: the ledger that all share.
            max_priority: the highest that anybody may ask with.
            robot: whose resources the ledger has; None: no robot's.
        """
        self._robot = robot
        self._front = front
        self._max_priority = max_priority
        self._rules = StationRules(rules={}, behaviours={}, definitions={})
        self._running: dict[str, Started] = {}
        self._starting: set[str] = set()
        with front.step() as (ledger, tick):
            ledger.add_virtual_owner(STATION, tick)
            self._began = {name: getattr(ledger.cfg, name) for name in SETTLING}

    # -- rules -------------------------------------------------------------------------

    def habits(self, owner: Owner) -> Owner:
        """Return an owner's habits under the rules.

        Raises:
            BadInput: a value of its own does not go with its rule.
        """
        return self._rules.of(owner)

    def has_behaviour(self, name: str) -> bool:
        """Whether a name is a behaviour's or a part's of it."""
        return name in self._rules.all_names()

    def install(
        self, text: str, name: str, guests: Callable[[], Mapping[str, Owner]]
    ) -> None:
        """Put a file in the place of the one before; what it changes or lacks ends.

        It is read outside the lock, since that takes a while, and is taken over only if
        what it was checked against has not changed.

        Args:
            text: of the file.
            name: of the file.
            guests: returns those who are registered, as they said: they may get rules.

        Raises:
            FileErrors: all that is wrong in it. Nothing has changed, as with these:
            BadInput: an owner that is registered asks for more than its rule allows.
            Busy: a behaviour that it leaves out or changes is being started, or others
                come and go too fast.
        """
        for _ in range(TRIES):
            with self._front.step():
                tree, taken, known = self._now(guests())
            rules = read_station(
                text, name, tree, taken, known, self._max_priority, self._robot
            )
            with self._front.step():
                tree_now, taken_now, known = self._now(guests())
                is_right = tree_now is tree and rules.goes_with(taken_now, known)
                if is_right:
                    self._take_over(rules, guests())
                    return
        raise Busy("owners come and go while the file is read; send it again soon.")

    def _now(
        self, guests: Mapping[str, Owner]
    ) -> tuple[ResourceTree, frozenset[str], frozenset[str]]:
        """Return the tree, the names that nobody may get, and those of guests."""
        with self._front.step() as (ledger, _):
            known = {row.name for row in take_snapshot(ledger).owners}
            known |= ledger.virtual_owners
            taken = known - {*self._rules.all_names(), *guests}
            return ledger.tree, frozenset(taken), frozenset(guests)

    def _take_over(self, rules: StationRules, guests: Mapping[str, Owner]) -> None:
        """Change everything, in one step; whatever can be wrong is looked at first."""
        habits = [rules.of(owner) for owner in guests.values()]
        old = self._rules.behaviours
        gone = [
            name
            for name, one in old.items()
            if rules.behaviours.get(name) != one
            or rules.definitions[name] != self._rules.definitions[name]
        ]
        for name in gone:
            if name in self._starting:
                raise Busy(f"behaviour {name!r} is starting; send it again soon.")
        with self._front.step():
            for name in gone:
                self._end(name)
                self._forget(old[name])
            with self._front.step() as (ledger, tick):
                for form in rules.resources:
                    if form.name not in ledger.tree.names:
                        ledger.add_resource(form.name, form.parent, tick, form.kind)
                ledger.reconfigure(tick, **{**self._began, **rules.settling})
            self._rules = rules
            for owner in habits:
                self._front.add_owner(owner)

    # -- behaviours --------------------------------------------------------------------

    def installed(self) -> InstalledData:
        """Return how conflicts are settled, who has a rule, and all behaviours."""
        with self._front.step() as (ledger, _):
            found = []
            for name, behaviour in self._rules.behaviours.items():
                running = self._running.get(name)
                runs = running is not None and not running.is_over(ledger)
                has = running.has if running is not None and runs else ()
                parts = tuple(part.name for part in behaviour.parts)
                found.append(BehaviourData(name=name, runs=runs, has=has, parts=parts))
            return InstalledData(
                **{name: getattr(ledger.cfg, name) for name in SETTLING},
                owners=tuple(self._rules.rules),
                behaviours=tuple(found),
            )

    def definition(self, name: str) -> DefinitionData:
        """Return what was sent of a behaviour, or of a part of one."""
        found = self._rules.definitions
        if name not in found:
            raise UnknownName("Behaviour", name, found, "what a station sent")
        return found[name]

    def start(self, name: str) -> Started:
        """Start a behaviour; this waits as long as the behaviour says.

        Raises:
            Busy: it runs, or is being started.
        """
        with self._front.step() as (ledger, _):
            behaviour = self._named(name)
            running = self._running.get(name)
            if name in self._starting or (running and not running.is_over(ledger)):
                raise Busy(f"behaviour {name!r} runs already; stop it first.")
            self._end(name)
            self._starting.add(name)
        try:
            running = start_behaviour(behaviour, self._front)
            with self._front.step():
                if running.runs:
                    self._running[name] = running
        finally:
            with self._front.step():
                self._starting.discard(name)
        return running

    def stop(self, name: str) -> None:
        """Stop a behaviour; one that does not run stays as it is."""
        with self._front.step():
            self._named(name)
            self._end(name)

    # -- resources ---------------------------------------------------------------------

    def take_away(self, names: tuple[str, ...], priority: int | None) -> None:
        """Take resources from whoever has them; they are free again by `give_back`.

        The holders lose them at once, are told by whom, and a joint is made safe, as
        when a part breaks.

        Args:
            names: leaves and composites.
            priority: takes only from lower ones, or from nobody; None: from all.

        Raises:
            Busy: a holder's priority is not lower.
        """
        with self._front.step() as (ledger, tick):
            leaves = {leaf for name in names for leaf in ledger.tree.leaves(name)}
            for row in take_snapshot(ledger).resources:
                for holding in row.holders if row.name in leaves else ():
                    if priority is not None and holding.priority >= priority:
                        raise Busy(
                            f"{holding.owner!r} has {row.name} with priority "
                            f"{holding.priority}; give a higher one than that, or none "
                            "to take it in any case."
                        )
            ledger.freeze(names, STATION, tick)

    def give_back(self, names: tuple[str, ...] | None) -> None:
        """Let resources that were taken away be had again; None: all of them."""
        with self._front.step() as (ledger, tick):
            ledger.thaw(STATION, tick, names)

    # -- inside ------------------------------------------------------------------------

    def _named(self, name: str) -> StationBehaviour:
        behaviours = self._rules.behaviours
        if name not in behaviours:
            raise UnknownName("Behaviour", name, behaviours, "what a station sent")
        return behaviours[name]

    def _forget(self, behaviour: StationBehaviour) -> None:
        """Let the names of a behaviour and its parts be free for others."""
        with self._front.step() as (ledger, tick):
            for one in reversed([*behaviour.walk()]):
                if ledger.knows(one.name):
                    ledger.forget_owner(one.name, tick)

    def _end(self, name: str) -> None:
        running = self._running.pop(name, None)
        if running is not None:
            stop_behaviour(running, self._front)
