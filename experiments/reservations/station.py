"""What a station may do: set the rules of a server, and take resources away (RM-64).

It sends a file before a run (`station_file`), which is installed whole or not at all.
Owners that register are bound by its rules; its behaviours are started and stopped by
name. During the run it computes nothing. By the secret that the server asks for, every
caller is a station.
"""

from dataclasses import dataclass

from controllers.resources.behaviours import Behaviour
from controllers.resources.owner import Owner
from controllers.resources.snapshot import take_snapshot
from controllers.resources.start_behaviour import (
    Running,
    start_behaviour,
    stop_behaviour,
)
from experiments.reservations.station_file import StationRules, read_station
from experiments.reservations.threaded import SharedLedger
from models import BadInput, TestbedError, UnknownName

STATION = "station"
"""The virtual owner of what a station took away: it is there for nobody else."""


class Busy(TestbedError):
    """Somebody stands in the way of a station; nothing has changed. Worth a retry."""


@dataclass(frozen=True, kw_only=True)
class Installed:
    """One behaviour that a station sent."""

    behaviour: Behaviour
    runs: bool
    has: tuple[str, ...] = ()
    """Leaves that it had at its start, if it runs."""


class Station:
    """The rules and behaviours of one server; safe for threads as its front is."""

    def __init__(self, front: SharedLedger, max_priority: int) -> None:
        """Begin without rules.

        Args:
            front: the ledger that all share.
            max_priority: the highest that anybody may ask with.
        """
        self._front = front
        self._max_priority = max_priority
        self._rules = StationRules(rules={}, behaviours={})
        self._running: dict[str, Running] = {}
        self._starting: set[str] = set()
        with front.step() as (ledger, tick):
            ledger.add_virtual_owner(STATION, tick)

    # -- rules -------------------------------------------------------------------------

    def habits(self, owner: Owner) -> Owner:
        """Return an owner's habits under the rules.

        Raises:
            BadInput: a value of its own does not go with its rule.
        """
        return self._rules.of(owner)

    def ruled(self) -> tuple[str, ...]:
        """Return the names of owners that have a rule."""
        return tuple(self._rules.rules)

    def has_behaviour(self, name: str) -> bool:
        """Whether a name is a behaviour's or a part's of it."""
        return name in self._rules.all_names()

    def read(self, text: str, name: str, guests: set[str]) -> StationRules:
        """Return what a file says, checked against what there is now.

        Args:
            text: of the file.
            name: of the file.
            guests: names of those who are registered: they may get rules.

        Raises:
            FileErrors: all that is wrong in it.
            Busy: a behaviour that it leaves out or changes is being started.
        """
        with self._front.step() as (ledger, _):
            taken = {row.name for row in take_snapshot(ledger).owners}
            taken |= ledger.book.virtual
            taken -= {*self._rules.all_names(), *guests}
            tree = ledger.tree
        rules = read_station(text, name, tree, taken, self._max_priority)
        behaviours = [one for b in rules.behaviours.values() for one in b.walk()]
        for one in behaviours:
            if one.name in guests:
                raise BadInput(
                    f"behaviour {one.name!r} has the name of an owner that is "
                    "registered; choose another one, or let that one leave."
                )
        return rules

    def install(self, rules: StationRules) -> None:
        """Put rules in the place of those before; what they change or lack is stopped.

        Raises:
            Busy: a behaviour that they leave out or change is being started.
        """
        old = self._rules.behaviours
        gone = [n for n, one in old.items() if rules.behaviours.get(n) != one]
        with self._front.step() as (ledger, tick):
            for name in gone:
                if name in self._starting:
                    raise Busy(f"behaviour {name!r} is starting; send it again soon.")
            for name in gone:
                self._end(name)
                known = {row.name for row in take_snapshot(ledger).owners}
                for one in reversed([*old[name].walk()]):
                    if one.name in known:
                        ledger.forget_owner(one.name, tick)
            for form in rules.resources:
                if form.name not in ledger.tree.names:
                    ledger.add_resource(form.name, form.parent, tick, form.kind)
            if rules.retry_s is not None:
                ledger.set_retry(rules.retry_s)
            self._rules = rules

    # -- behaviours --------------------------------------------------------------------

    def installed(self) -> tuple[Installed, ...]:
        """Return all behaviours of the top level, in the order of the file."""
        with self._front.step() as (ledger, _):
            found = []
            for name, behaviour in self._rules.behaviours.items():
                running = self._running.get(name)
                runs = running is not None and not running.is_over(ledger)
                has = running.has if running is not None and runs else ()
                found.append(Installed(behaviour=behaviour, runs=runs, has=has))
        return tuple(found)

    def start(self, name: str) -> Running:
        """Start a behaviour; this waits as long as the behaviour says.

        Raises:
            UnknownName: none of this name was sent.
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
        """Stop a behaviour; one that does not run stays as it is.

        Raises:
            UnknownName: none of this name was sent.
        """
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
            UnknownName: there is no such resource.
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
        """Let resources that were taken away be had again; None: all of them.

        Raises:
            UnknownName: there is no such resource.
        """
        with self._front.step() as (ledger, tick):
            ledger.thaw(STATION, tick, names)

    # -- inside ------------------------------------------------------------------------

    def _named(self, name: str) -> Behaviour:
        behaviours = self._rules.behaviours
        if name not in behaviours:
            raise UnknownName("Behaviour", name, behaviours, "what a station sent")
        return behaviours[name]

    def _end(self, name: str) -> None:
        running = self._running.pop(name, None)
        if running is not None:
            stop_behaviour(running, self._front)
