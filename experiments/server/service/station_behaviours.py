"""Behaviours of a station: resources of each behaviour and its parts while they run.

A need is essential or optional: a behaviour requires its essential needs to run, but
not its optional ones. By default a part without its needs does not run, while the whole
always runs [ES2535273T3, F7]; `runs_regardless` and `needs_all_parts` change these
defaults. The client that plays a behaviour runs the schema named in the station's file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from nao_testbed.controllers.arbitration.manager.front import Front
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.experiments.scenarios.reading.behaviours import RequestedResources


@dataclass(frozen=True, kw_only=True)
class StationBehaviour:
    """Behaviour: an owner with its requests and parts."""

    owner: Owner
    """Owner with name and defaults; the parent is set at the start."""
    requested: RequestedResources = field(default_factory=RequestedResources)
    parts: tuple["StationBehaviour", ...] = ()
    """Parts, which may use the resources of the whole."""
    runs_regardless: bool = False
    """True: it also runs without its essential needs, with the obtained ones."""
    needs_all_parts: bool = False
    """True if it runs only with all its parts. All essential needs of the parts are
    then acquired in one step."""

    @property
    def name(self) -> str:
        """Name of its owner."""
        return self.owner.name

    def walk(self) -> Iterator["StationBehaviour"]:
        """Yield this behaviour and all its parts, parents first."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def request(
        self, requested: RequestedResources, timeout_s: float | None = None
    ) -> Request | None:
        """Return the request for the given needs and the essential needs of its parts.

        Returns:
            None without needs.

        Raises:
            BadInput: the sum exceeds the capacity, or a name is repeated.
        """
        names: dict[str, None] = {}
        sums = dict(requested.rates)
        parts = self.parts if self.needs_all_parts else ()
        for one in (one for part in parts for one in part.walk()):
            if not one.runs_regardless:
                names.update(dict.fromkeys(one.requested.needs))
                for name, percent in one.requested.rates.items():
                    sums[name] = round(sums.get(name, 0.0) + percent, 2)
        more = (name for name in names if name not in requested.needs)
        resources = (*requested.needs, *more)
        optional = tuple(name for name in requested.optional if name not in names)
        if not (resources or sums or optional):
            return None
        return Request(
            owner=self.name,
            resources=resources,
            rates=sums,
            optional=optional,
            timeout_s=timeout_s,
        )


@dataclass(frozen=True, kw_only=True)
class Started:
    """Result of starting a behaviour, with its parts."""

    name: str
    number: int = 0
    """Number of this start in its ledger."""
    runs: bool = False
    """True if it obtained the needs required to run."""
    token: Token | None = None
    """Token granted at its start; None: no resources. With `needs_all_parts` it also
    covers the essential needs of the parts."""
    has: tuple[str, ...] = ()
    """Leaves of its own needs that its token covered at the start, sorted."""
    missing: tuple[str, ...] = ()
    """Names of its needs that were not granted."""
    parts: tuple["Started", ...] = ()

    def is_over(self, ledger: Ledger) -> bool:
        """Return True if it was stopped, or lost its token's leaves permanently."""
        if not self.runs or not ledger.has_started(self.name, self.number):
            return True
        return self.token is not None and ledger.follow(self.name, self.token).is_over

    def starts(self) -> dict[str, int]:
        """Return name to start number of it and its parts, parents first."""
        found = {self.name: self.number}
        for part in self.parts:
            found |= part.starts()
        return found


def start_behaviour(behaviour: StationBehaviour, front: Front) -> Started:
    """Request the resources of a behaviour and its parts, each part separately.

    The call waits up to the owners' timeouts. A part that does not run holds nothing.

    Raises:
        UnknownName: a resource is unknown; nothing is held then.
        BadInput: a request is invalid, or one of these names is in use; nothing is held
            then.
    """
    starts: dict[str, int] = {}
    try:
        return _start(behaviour, front, starts, None)
    except BaseException:
        _stop(starts, front)
        raise


def stop_behaviour(started: Started, front: Front) -> None:
    """Release all resources of a behaviour and its parts, and withdraw their requests.

    Paused behaviours do not resume. A later start with the same name is not affected.
    """
    _stop(started.starts(), front)


def _stop(starts: Mapping[str, int], front: Front) -> None:
    with front.step() as (ledger, tick):
        ledger.stop(starts, tick)


def _start(
    one: StationBehaviour, front: Front, starts: dict[str, int], parent: str | None
) -> Started:
    with front.step() as (ledger, _):
        ledger.check_free(one.name)
        front.add_owner(replace(one.owner, parent=parent))
        number = starts[one.name] = ledger.start(one.name)
    needs = (*one.requested.needed, *one.requested.optional)
    idle = Started(name=one.name, number=number, missing=needs)
    started = _take_own(one, idle, front)
    if started.runs:
        parts = tuple(_start(part, front, starts, one.name) for part in one.parts)
        runs = not one.needs_all_parts or all(part.runs for part in parts)
        started = replace(started, parts=parts) if runs else idle
    if started.runs:
        with front.step() as (ledger, _):
            ledger.end_start(one.name, number)
    else:
        _stop({part.name: starts.get(part.name, 0) for part in one.walk()}, front)
    return started


def _take_own(one: StationBehaviour, idle: Started, front: Front) -> Started:
    """Return its own start without parts; `idle` if it does not run."""
    requested = one.requested
    request = one.request(requested)
    if request is None:
        return replace(idle, runs=True)
    outcome = front.take(request)
    lacking: tuple[str, ...] = ()
    if not outcome.is_granted and requested.needed:
        if not one.runs_regardless:
            return idle
        optional_only = RequestedResources(
            optional=(*requested.needs, *requested.optional)
        )
        request = one.request(optional_only, timeout_s=0.0)
        if request is not None:
            outcome, lacking = front.take(request), tuple(requested.rates)
    if not outcome.is_granted:
        is_for_parts = one.request(RequestedResources()) is not None
        return idle if is_for_parts else replace(idle, runs=True)
    with front.step() as (ledger, _):
        tree = ledger.tree
    own = {leaf for name in requested.names for leaf in tree.leaves(name)}
    own.update(motor for leaf in tuple(own) for motor in tree.limits.get(leaf, ()))
    return replace(
        idle,
        runs=True,
        token=outcome.token,
        has=tuple(leaf for leaf in outcome.obtained if leaf in own),
        missing=(*outcome.missing, *lacking),
    )
