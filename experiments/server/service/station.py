"""Station: rules of a server, behaviours, and revocation of resources.

A station is a client that sends a file before a run (`station_file`), which is
installed completely or not at all. The rules apply to registered owners; behaviours are
started and stopped by name. A station takes no part in the run. Every caller with the
server's secret is a station.
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
"""Virtual owner of revoked resources."""


TRIES = 3
"""Number of attempts to read a file if the state it was checked against changes."""


class Busy(TestbedError):
    """An owner blocks a station's call; the state is unchanged. Worth a retry."""


class Station:
    """Rules and behaviours of one server; thread-safe like its front end."""

    def __init__(
        self, front: SharedLedger, max_priority: int, robot: Robot | None = None
    ) -> None:
        """Create the station without rules.

        Args:
            front: shared ledger.
            max_priority: highest priority of any request.
            robot: robot with the ledger's resources; None: no robot.
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

    def defaults(self, owner: Owner) -> Owner:
        """Return an owner's defaults under the rules.

        Raises:
            BadInput: a value of the owner contradicts its rule.
        """
        return self._rules.of(owner)

    def has_behaviour(self, name: str) -> bool:
        """Return True if the name belongs to a behaviour or one of its parts."""
        return name in self._rules.all_names()

    def install(
        self, text: str, name: str, clients: Callable[[], Mapping[str, Owner]]
    ) -> None:
        """Replace the present file; changed or missing behaviours end.

        The file is read outside the lock, since reading takes time. It is installed
        only if the state used for its checks has not changed.

        Args:
            text: text of the file.
            name: name of the file.
            clients: function that returns the registered owners with their own
                defaults.

        Raises:
            FileErrors: all errors of the file; nothing has changed.
            BadInput: a registered owner requests more than its rule allows; nothing has
                changed.
            Busy: a behaviour that the file omits or changes is being started, or owners
                change too fast; nothing has changed.
        """
        for _ in range(TRIES):
            with self._front.step():
                tree, taken, known = self._now(clients())
            rules = read_station(
                text, name, tree, taken, known, self._max_priority, self._robot
            )
            with self._front.step():
                tree_now, taken_now, known = self._now(clients())
                is_right = tree_now is tree and rules.is_compatible(taken_now, known)
                if is_right:
                    self._apply_rules(rules, clients())
                    return
        raise Busy("owners changed while the file was read; send it again.")

    def _now(
        self, clients: Mapping[str, Owner]
    ) -> tuple[ResourceTree, frozenset[str], frozenset[str]]:
        """Return the tree, the reserved names, and the names of clients."""
        with self._front.step() as (ledger, _):
            known = {row.name for row in take_snapshot(ledger).owners}
            known |= ledger.virtual_owners
            taken = known - {*self._rules.all_names(), *clients}
            return ledger.tree, frozenset(taken), frozenset(clients)

    def _apply_rules(self, rules: StationRules, clients: Mapping[str, Owner]) -> None:
        """Install the rules in one step, after checking all of them."""
        defaults = [rules.of(owner) for owner in clients.values()]
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
            for owner in defaults:
                self._front.add_owner(owner)

    # -- behaviours --------------------------------------------------------------------

    def installed(self) -> InstalledData:
        """Return the conflict rules, the owners with a rule, and all behaviours."""
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
        """Return the definition of a behaviour, or of a part of one."""
        found = self._rules.definitions
        if name not in found:
            raise UnknownName("Behaviour", name, found, "the uploaded file")
        return found[name]

    def start(self, name: str) -> Started:
        """Start a behaviour; wait for its resources up to its timeout.

        Raises:
            Busy: the behaviour runs, or is being started.
        """
        with self._front.step() as (ledger, _):
            behaviour = self._named(name)
            running = self._running.get(name)
            if name in self._starting or (running and not running.is_over(ledger)):
                raise Busy(f"behaviour {name!r} is already running; stop it first.")
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
        """Stop a behaviour; ignore one that does not run."""
        with self._front.step():
            self._named(name)
            self._end(name)

    # -- resources ---------------------------------------------------------------------

    def take_away(self, names: tuple[str, ...], priority: int | None) -> None:
        """Revoke resources from their holders; `give_back` returns them.

        The holders lose them at once and are notified of the revoking owner. A joint
        gets its safe set-point, as for a broken part.

        Args:
            names: leaves and composites.
            priority: revoke only if all holders have a lower priority; None: revoke
                from all.

        Raises:
            Busy: a holder's priority is not lower.
        """
        with self._front.step() as (ledger, tick):
            leaves = {leaf for name in names for leaf in ledger.tree.leaves(name)}
            for row in take_snapshot(ledger).resources:
                for holding in row.holders if row.name in leaves else ():
                    if priority is not None and holding.priority >= priority:
                        raise Busy(
                            f"{holding.owner!r} holds {row.name} with priority "
                            f"{holding.priority}; give a higher priority, or none to "
                            "revoke it in any case."
                        )
            ledger.freeze(names, STATION, tick)

    def give_back(self, names: tuple[str, ...] | None) -> None:
        """Return revoked resources; None: all of them."""
        with self._front.step() as (ledger, tick):
            ledger.thaw(STATION, tick, names)

    # -- internals ---------------------------------------------------------------------

    def _named(self, name: str) -> StationBehaviour:
        behaviours = self._rules.behaviours
        if name not in behaviours:
            raise UnknownName("Behaviour", name, behaviours, "the uploaded file")
        return behaviours[name]

    def _forget(self, behaviour: StationBehaviour) -> None:
        """Release the names of a behaviour and its parts."""
        with self._front.step() as (ledger, tick):
            for one in reversed([*behaviour.walk()]):
                if ledger.knows(one.name):
                    ledger.forget_owner(one.name, tick)

    def _end(self, name: str) -> None:
        running = self._running.pop(name, None)
        if running is not None:
            stop_behaviour(running, self._front)
