"""Behaviours of a scenario file: schema, parameters, owners and their tree.

A behaviour requests the resources of the file (`needs`, `optional`, `rates`), or by
default those that its schema declares. A trial ledger receives the requests, so that
rejected requests are reported before the run.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.policies import ConflictPolicy, make_policy
from nao_testbed.controllers.arbitration.requests import Owner, Request, Ticket
from nao_testbed.controllers.interface.ranges import Name
from nao_testbed.controllers.schemas.declaration import Kind
from nao_testbed.controllers.schemas.registry import SchemaClass, schema_class
from nao_testbed.controllers.schemas.schema import ActuationSchema
from nao_testbed.experiments.common.form_parts import (
    MANY,
    ONE,
    BehaviourPath,
    Notes,
    Part,
    Priority,
    plain,
    value_or_many,
)
from nao_testbed.experiments.scenarios.scenario import Behaviour
from nao_testbed.experiments.scenarios.vocabulary.lookup import (
    Lookup,
    Role,
    read_parameters,
)
from nao_testbed.models.files.yaml_forms import Place
from nao_testbed.models.values import Seconds

Percent = Annotated[float, Field(gt=0.0, le=100.0, allow_inf_nan=False)]


class PolicyForm(Part):
    """A conflict policy with settings."""

    name: Name
    """Name of the policy, such as pause."""
    within_s: Seconds | None = None
    """Time to release after a demand, in s (stop, pause)."""
    resume_timeout_s: Seconds | None = None
    """Longest pause, in s (pause)."""
    limit_s: Seconds | None = None
    """Time limit before the holder is stopped, in s (callback)."""


AnyPolicy = Annotated[
    Annotated[Name, ONE] | Annotated[PolicyForm, MANY], Discriminator(value_or_many)
]
"""A name, or a mapping with a name and settings."""


class BehaviourForm(Part):
    """A behaviour with a schema; its children compete."""

    name: Name
    """Unique name in this file, without a slash."""
    schema_: Annotated[Name, Field(alias="schema")]
    """Registered schema, such as look around."""
    with_: dict[str, Any] = Field(alias="with", default_factory=dict)
    """Parameters of the schema."""
    children: "list[BehaviourForm]" = Field(default_factory=list)
    """Children in their static order, highest first."""
    needs: list[Name] | None = None
    """Resources required to act; absent: those that its schema declares."""
    optional: list[Name] | None = None
    """Resources used if they are free."""
    rates: dict[Name, Percent] | None = None
    """Cumulative resource, such as CPU, to the required rate, in percent."""
    mode: Literal["use", "reserve"] | None = None
    """Field of earlier files; without effect."""
    policy: AnyPolicy | None = None
    """Response to a demand for held resources: lock, stop, pause or callback."""
    priority: Priority | None = None
    """Priority from 0, low, to 9, high."""
    timeout_s: Seconds | None = None
    """Maximum wait for its resources, in s."""
    start_s: Seconds | None = None
    """Activation time, in s; absent: 0."""
    start: Literal["waits"] | None = None
    """`waits`: activation by an event only."""
    parent: BehaviourPath | None = None
    """Parent behaviour: this owner is a part of it."""


@dataclass(frozen=True, kw_only=True)
class RequestedResources:
    """Requested resources by name."""

    needs: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    rates: Mapping[str, float] = field(default_factory=dict)
    """Cumulative resource to the required rate, in percent."""
    is_certain: bool = True
    """True if the list is complete; False if the behaviour has an error."""

    @property
    def needed(self) -> tuple[str, ...]:
        """Resources required to act."""
        return (*self.needs, *self.rates)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all requested resources."""
        return (*self.needs, *self.optional, *self.rates)


def read_requested(
    form: BehaviourForm,
    place: Place,
    schema: SchemaClass | None,
    parameters: Any,
    lookup: Lookup,
) -> RequestedResources:
    """Return the resources that a behaviour requests: needed, optional and by rate.

    Args:
        form: form of the behaviour.
        place: place of the behaviour in the file.
        schema: class of the schema; None: unknown.
        parameters: parameters of the schema; None: invalid ones.
        lookup: collects reports of requests that the ledger rejects.
    """
    needs = _named(form, place, "needs", schema, parameters, lookup)
    optional = _named(form, place, "optional", schema, parameters, lookup)
    rates = form.rates
    if rates is None:
        rates = {} if schema is None else dict(schema.info.rates)
    names = (*(needs or ()), *(optional or ()), *rates)
    is_certain = needs is not None and optional is not None
    trial = _TrialLedger(form.name, lookup)
    known = [name in lookup.tree for name in names]
    known += [lookup.resource((*place, "rates", name), name) for name in rates]
    taken = [
        *(
            trial.ask((*place, "rates", n), rates={n: rate})
            for n, rate in rates.items()
        ),
        *(trial.ask((*place, "needs"), resources=(n,)) for n in needs or ()),
        *(trial.ask((*place, "optional"), resources=(n,)) for n in optional or ()),
    ]
    is_right = all(known) and all(taken)
    if is_right and names:
        trial.ask(
            (*place, "needs"),
            resources=needs or (),
            optional=optional or (),
            rates=rates,
        )
    return RequestedResources(
        needs=needs or (),
        optional=optional or (),
        rates=rates,
        is_certain=is_certain and is_right,
    )


class _TrialLedger:
    """Ledger that receives trial requests, to report rejected ones before the run."""

    def __init__(self, owner: str, lookup: Lookup) -> None:
        self._owner = owner
        self._lookup = lookup
        self._ledger = Ledger(lookup.tree)
        self._ledger.add_owner(Owner(name=owner), 0)

    def ask(self, place: Place, **wanted: Any) -> bool:
        """Return True if the request is valid; report it otherwise."""
        names = [name for group in wanted.values() for name in group]
        if not all(name in self._lookup.tree for name in names):
            return False  # reported before
        return self._lookup.notes.attempt(place, self._request, **wanted) is not None

    def _request(self, **wanted: Any) -> Ticket:
        return self._ledger.request(Request(owner=self._owner, **wanted), 0)


def _named(
    form: BehaviourForm,
    place: Place,
    key: str,
    schema: SchemaClass | None,
    parameters: Any,
    lookup: Lookup,
) -> tuple[str, ...] | None:
    """Return resources of a kind; None if the schema's declaration is unavailable."""
    given = getattr(form, key)
    if given is not None:
        for i, name in enumerate(given):
            lookup.resource((*place, key, i), name)
        return tuple(given)
    if schema is None or not issubclass(schema, ActuationSchema):
        return None if schema is None else ()
    if parameters is None or not lookup.is_library_right:
        return None
    ask = schema.needs_of if key == "needs" else schema.optional_of
    found = lookup.notes.attempt((*place, "with"), ask, parameters, lookup.robot)
    return None if found is None else tuple(found)


def read_behaviours(
    forms: list[BehaviourForm], lookup: Lookup, started: Mapping[str, float]
) -> tuple[Behaviour, ...]:
    """Return the behaviours of the top level; register all behaviours in the lookup.

    Args:
        forms: forms of the file.
        lookup: receives their names and roles.
        started: name to the earliest time at which an event may start it, in s.
    """
    _check_names(forms, lookup)
    found = []
    for i, form in enumerate(forms):
        times = [started[form.name]] if form.name in started else []
        if form.start is None:
            times.append(form.start_s or 0.0)
        first = round(min(times) / lookup.tick_s) if times else None
        reader = _Reader(lookup, first)
        found.append(reader.read(form, ("behaviours", i), above=""))
    return tuple(found)


def walk_forms(
    forms: list[BehaviourForm], place: Place = ("behaviours",)
) -> Iterator[tuple[Place, BehaviourForm]]:
    """Yield all behaviours with their places, parents before children."""
    for i, form in enumerate(forms):
        yield (*place, i), form
        yield from walk_forms(form.children, (*place, i, "children"))


def read_schema(
    form: BehaviourForm, place: Place, notes: Notes
) -> tuple[SchemaClass | None, Any]:
    """Return the schema and its parameters, validated one by one; None: invalid."""
    found = notes.attempt((*place, "schema"), schema_class, form.schema_)
    if found is None:
        return None, None
    if found.kind is Kind.PERCEPTIVE and (form.children or form.needs):
        key = "children" if form.children else "needs"
        notes.add(
            (*place, key),
            f"schema {form.schema_!r} is perceptive: it commands nothing and "
            f"activates no other schema; leave out {key}.",
        )
    given = plain(form.with_)
    return found, read_parameters(found.info, given, (*place, "with"), notes)


def _check_names(forms: list[BehaviourForm], lookup: Lookup) -> None:
    first: dict[str, Place] = {}
    for place, form in walk_forms(forms):
        here = (*place, "name")
        if "/" in form.name or "." in form.name:
            lookup.notes.add(
                here,
                f"behaviour {form.name!r} has '/' or '.' in its name; these separate "
                "the parts of paths and variables. Leave them out.",
            )
        if form.name in lookup.virtual:
            lookup.notes.add(
                here,
                f"behaviour {form.name!r} has the name of a built-in owner; choose "
                "another name.",
            )
        if first.setdefault(form.name, place) != place:
            lookup.notes.add(
                here,
                f"two behaviours are called {form.name!r}; give each a unique name.",
            )


class _Reader:
    """Reader of one behaviour of the top level and its descendants."""

    def __init__(self, lookup: Lookup, first_tick: int | None) -> None:
        self._lookup = lookup
        self._notes = lookup.notes
        self._first_tick = first_tick

    def read(
        self, form: BehaviourForm, place: Place, above: str, order: int = 0
    ) -> Behaviour:
        """Return a behaviour; report its errors.

        Args:
            form: form of the behaviour.
            place: place of the behaviour in the file.
            above: path of its parent; empty at the top.
            order: rank among its siblings.
        """
        path = f"{above}/{form.name}" if above else form.name
        self._add_role(form, place, path, is_top=not above)
        if above:
            self._check_child(form, place)
        elif form.start is not None and form.start_s is not None:
            self._notes.add(
                (*place, "start_s"),
                "start_s and start: waits exclude each other; leave one out.",
            )
        n = len(form.children)
        return Behaviour(
            name=form.name,
            path=path,
            order=order,
            schema=form.schema_,
            parameters=plain(form.with_),
            children=tuple(
                self.read(child, (*place, "children", i), path, n - i)
                for i, child in enumerate(form.children)
            ),
            needs=_tuple(form.needs),
            optional=_tuple(form.optional),
            rates=form.rates,
            policy=self._policy(form, place),
            priority=form.priority,
            timeout_s=self._timeout_s(form, place),
            start_tick=self._start(form, place),
            owner_parent=form.parent,
            line=self._lookup.line_of(place),
        )

    def _add_role(
        self, form: BehaviourForm, place: Place, path: str, *, is_top: bool
    ) -> None:
        """Register the behaviour in the lookup."""
        schema, parameters = read_schema(form, place, self._notes)
        requested = read_requested(form, place, schema, parameters, self._lookup)
        names = (
            requested.names if requested.is_certain else (self._lookup.tree.root.name,)
        )
        self._lookup.roles[path] = Role(
            path=path,
            is_owner=bool(names),
            leaves=self._lookup.leaves(names),
            needed=self._lookup.leaves(requested.needed),
            first_tick=self._first_tick,
            is_top=is_top,
            schema=schema,
            parameters=plain(form.with_),
            made=parameters,
        )
        self._lookup.paths[path] = path
        self._lookup.paths.setdefault(form.name, path)

    def _check_child(self, form: BehaviourForm, place: Place) -> None:
        for key in ("start_s", "start", "parent"):
            if getattr(form, key) is not None:
                self._notes.add(
                    (*place, key),
                    f"{key} is only for top-level behaviours; the parent of "
                    f"{form.name!r} activates it. Leave it out.",
                )

    def _timeout_s(self, form: BehaviourForm, place: Place) -> float:
        if form.timeout_s is None:
            return Behaviour.timeout_s
        self._lookup.ticks((*place, "timeout_s"), form.timeout_s)
        return form.timeout_s

    def _policy(self, form: BehaviourForm, place: Place) -> ConflictPolicy | None:
        given = form.policy
        if given is None:
            return None
        here = (*place, "policy")
        if isinstance(given, str):
            return self._notes.attempt(here, make_policy, given)
        settings: dict[str, Any] = given.model_dump(exclude_unset=True)
        for key, value in settings.items():
            if key.endswith("_s") and value is not None:
                self._lookup.ticks((*here, key), value)
        return self._notes.attempt(here, make_policy, settings.pop("name"), **settings)

    def _start(self, form: BehaviourForm, place: Place) -> int | None:
        if form.start is not None:
            return None
        if form.start_s is None:
            return 0
        return self._lookup.moment((*place, "start_s"), form.start_s)


def _tuple(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)
