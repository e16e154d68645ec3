"""What a station sends before a run: a YAML file of rules and behaviours (RM-64).

    preemption: by_priority
    retry_s: 1.0
    overtake_s: 2.0
    owners:
      - {name: visitor, priority: 1, max_priority: 3, policy: stop}
    behaviours:
      - name: greet
        needs: [TTS, Right arm]
        optional: [Left leg]
        policy: {name: pause, within_s: 0.5}

Its words are those of a scenario's behaviours; there is no code in it. `read_station`
says all that is wrong in it at once, a line each, and changes nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from controllers.resources.behaviours import Behaviour
from controllers.resources.front import LedgerFront
from controllers.resources.ledger import Ledger
from controllers.resources.owner import Owner
from controllers.resources.policies import ConflictPolicy, Lock, make_policy
from controllers.resources.resource_tree import ResourceTree
from controllers.resources.start_behaviour import (
    check_behaviour,
    start_behaviour,
    stop_behaviour,
)
from controllers.resources.words import AskerTie, HolderTie, Preemption
from experiments.reservations.wire import MAX_NAMES, Name
from experiments.scenarios.form.base import Part, Priority
from experiments.scenarios.form.behaviours import AnyPolicy, Percent
from experiments.scenarios.reading.notes import Notes
from models.resource_node import ResourceKind
from models.yaml_lines import FileErrors, Place, read_file

LONGEST_WAIT_S = 60.0
"""Longest wait of a behaviour at its start: its station waits as long."""

MOST = 500
"""Entries of a list, and behaviours of a file with all their parts."""

SETTLING = {"preemption", "retry_s", "overtake_s"}
"""Keys of the file that are fields of `LedgerCfg`."""

Wait = Annotated[float, Field(ge=0.0, le=LONGEST_WAIT_S)]
Period = Annotated[float, Field(ge=0.01, le=3600.0)]
Names = Annotated[list[Name], Field(max_length=MAX_NAMES)]


class OwnerForm(Part):
    """What holds for an owner that registers by a name, whatever it says itself."""

    name: Name
    priority: Priority | None = None
    """From 0, low, to 9, high."""
    max_priority: Priority | None = None
    """The highest that its requests may have."""
    policy: AnyPolicy | None = None
    """What is answered for it who wants what it holds."""
    timeout_s: Annotated[float, Field(ge=0.0, le=86_400.0)] | None = None
    """Longest wait of its requests, in s."""
    asker_tie: Annotated[AskerTie, Field(strict=False)] | None = None
    holder_tie: Annotated[HolderTie, Field(strict=False)] | None = None


class BehaviourForm(Part):
    """A behaviour as data, with the words of a scenario's (RM-47, RM-50, RM-58)."""

    name: Name
    needs: Names = Field(default_factory=list)
    """Resources without which it does not run."""
    optional: Names = Field(default_factory=list)
    """Resources that it takes if they are free."""
    rates: dict[Name, Percent] = Field(default_factory=dict)
    """Cumulative resource, such as CPU, to the rate that it must have, in percent."""
    children: "list[BehaviourForm]" = Field(default_factory=list, max_length=MOST)
    """Its parts, to which all that it takes is open."""
    policy: AnyPolicy | None = None
    """What it answers who wants what it holds: lock, stop, pause or callback."""
    priority: Priority = 0
    timeout_s: Wait = 0.0
    """How long it waits for its resources, in s."""
    runs_regardless: bool = False
    """Whether it runs without its needs too."""
    needs_all_children: bool = False
    """Whether it runs only if all its children do."""


class ResourceForm(Part):
    """A resource beside those of the robot, such as a ball."""

    name: Name
    parent: Name
    kind: Annotated[ResourceKind, Field(strict=False)] = ResourceKind.EXCLUSIVE


class StationFile(Part):
    """The whole file; rules that it leaves out are those that the server began with."""

    preemption: Annotated[Preemption, Field(strict=False)] | None = None
    """Whether a strictly higher priority takes what a holder keeps."""
    retry_s: Period | None = None
    """Period at which holders are told again of those who wait, in s (RM-19)."""
    overtake_s: Annotated[float, Field(ge=0.0, le=3600.0)] | None = None
    """How long a request that waits may be passed by equals, in s."""
    resources: list[ResourceForm] = Field(default_factory=list, max_length=MOST)
    owners: list[OwnerForm] = Field(default_factory=list, max_length=MOST)
    behaviours: list[BehaviourForm] = Field(default_factory=list, max_length=MOST)


@dataclass(frozen=True, kw_only=True)
class OwnerRule:
    """What a station says of an owner; None: what the owner says."""

    priority: int | None = None
    max_priority: int | None = None
    policy: ConflictPolicy | None = None
    timeout_s: float | None = None
    asker_tie: AskerTie | None = None
    holder_tie: HolderTie | None = None

    def of(self, owner: Owner) -> Owner:
        """Return an owner's habits under this rule.

        Raises:
            BadInput: its own priority is higher than the rule lets it be.
        """
        said = {f.name: getattr(self, f.name) for f in fields(self)}
        given: Any = {name: value for name, value in said.items() if value is not None}
        return replace(owner, **given)


@dataclass(frozen=True, kw_only=True)
class StationRules:
    """A file that is right."""

    settling: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `LedgerCfg` that it sets: how conflicts are settled."""
    resources: tuple[ResourceForm, ...] = ()
    rules: dict[str, OwnerRule]
    """By owner."""
    behaviours: dict[str, Behaviour]
    """By name; those of the top level."""

    def of(self, owner: Owner) -> Owner:
        """Return an owner's habits under its rule, if there is one.

        Raises:
            BadInput: a value of its own does not go with that.
        """
        rule = self.rules.get(owner.name)
        return owner if rule is None else rule.of(owner)

    def goes_with(self, taken: frozenset[str], guests: frozenset[str]) -> bool:
        """Whether no name of it is one that nobody may get (as `read_station`)."""
        names = {*self.all_names()}
        return names.isdisjoint(taken | guests) and taken.isdisjoint(self.rules)

    def all_names(self) -> Iterator[str]:
        """Yield the names of the behaviours and all their parts."""
        for behaviour in self.behaviours.values():
            yield from (one.name for one in behaviour.walk())


def read_station(
    text: str,
    name: str,
    tree: ResourceTree,
    taken: frozenset[str],
    guests: frozenset[str],
    max_priority: int,
) -> StationRules:
    """Return what a file says, all of it checked.

    Args:
        text: of the file.
        name: of the file, for messages.
        tree: the resources that there are.
        taken: names of owners that no behaviour may have, nor a rule.
        guests: names of owners that no behaviour may have, but a rule.
        max_priority: the highest that anybody may ask with at this server.

    Raises:
        FileErrors: all that is wrong in it, a line each, with `file:line`.
    """
    file = read_file(Path(name), StationFile, text=text)
    if file.value is None:
        raise FileErrors(file.errors())
    notes = Notes()
    reader = _Reader(file.value, notes, tree, taken, guests, max_priority)
    rules = reader.read()
    file.refuse(notes.problems)
    return rules


class _Reader:
    """One pass over a file whose form is right."""

    def __init__(
        self,
        file: StationFile,
        notes: Notes,
        tree: ResourceTree,
        taken: frozenset[str],
        guests: frozenset[str],
        max_priority: int,
    ) -> None:
        self._guests = guests
        self._file = file
        self._notes = notes
        self._tree = tree
        self._taken = taken
        self._max_priority = max_priority
        self._named: set[str] = set()
        self._built: list[tuple[Place, Behaviour]] = []

    def read(self) -> StationRules:
        """Return all of it; what is wrong is noted."""
        for i, form in enumerate(self._file.resources):
            self._resource(form, ("resources", i))
        rules: dict[str, OwnerRule] = {}
        for i, owner in enumerate(self._file.owners):
            rules[owner.name] = self._rule(owner, ("owners", i))
        behaviours = [
            self._behaviour(form, ("behaviours", i))
            for i, form in enumerate(self._file.behaviours)
        ]
        if len(self._built) > MOST:
            self._notes.add(
                ("behaviours",),
                f"there are {len(self._built)} behaviours with their parts; send "
                f"{MOST} at most.",
            )
        if not self._notes.problems:
            front = LedgerFront(Ledger(self._tree))
            for place, behaviour in self._built:
                self._try(place, behaviour, front)
        return StationRules(
            settling=self._file.model_dump(include=SETTLING, exclude_none=True),
            resources=tuple(self._file.resources),
            rules=rules,
            behaviours={one.name: one for one in behaviours if one is not None},
        )

    def _resource(self, form: ResourceForm, place: Place) -> None:
        if form.name in self._tree.names and self._is_as_said(form):
            return  # sent before
        grown = self._notes.attempt(
            place, self._tree.with_resource, form.name, form.parent, form.kind
        )
        self._tree = grown or self._tree

    def _is_as_said(self, form: ResourceForm) -> bool:
        node = self._tree.node(form.name)
        is_there = self._tree.parent(form.name) == form.parent
        return is_there and node.kind is form.kind and not node.children

    def _rule(self, form: OwnerForm, place: Place) -> OwnerRule:
        self._name(form.name, place)
        for key in ("priority", "max_priority"):
            self._priority(getattr(form, key), (*place, key))
        rule = OwnerRule(
            priority=form.priority,
            max_priority=form.max_priority,
            policy=self._policy(form.policy, place),
            timeout_s=form.timeout_s,
            asker_tie=form.asker_tie,
            holder_tie=form.holder_tie,
        )
        self._notes.attempt(place, rule.of, Owner(name=form.name))
        return rule

    def _behaviour(self, form: BehaviourForm, place: Place) -> Behaviour | None:
        self._name(form.name, place)
        if form.name in self._guests:
            self._notes.add(
                (*place, "name"),
                f"an owner is registered by the name {form.name!r}; choose another one "
                "for the behaviour.",
            )
        self._priority(form.priority, (*place, "priority"))
        for key, names in (("needs", form.needs), ("optional", form.optional)):
            for i, name in enumerate(names):
                self._notes.attempt((*place, key, i), self._tree.node, name)
        for name in form.rates:
            self._notes.attempt((*place, "rates", name), self._tree.node, name)
        parts = [
            self._behaviour(child, (*place, "children", i))
            for i, child in enumerate(form.children)
        ]
        policy = self._policy(form.policy, place) or Lock()

        def build() -> Behaviour:
            return Behaviour(
                name=form.name,
                essential=tuple(form.needs),
                rates=dict(form.rates),
                optional=tuple(form.optional),
                parts=tuple(part for part in parts if part is not None),
                runs_regardless=form.runs_regardless,
                needs_all_parts=form.needs_all_children,
                timeout_s=form.timeout_s,
                policy=policy,
                priority=form.priority,
            )

        built = self._notes.attempt(place, build)
        if built is not None:
            self._built.append((place, built))
        return built

    def _try(self, place: Place, behaviour: Behaviour, front: LedgerFront) -> None:
        """Ask for what a behaviour needs, at a ledger on which nothing else happens."""
        alone = replace(behaviour, parts=(), needs_all_parts=False, timeout_s=0.0)
        running = self._notes.attempt(place, start_behaviour, alone, front)
        if running is not None:
            stop_behaviour(running, front)
        self._notes.attempt(place, check_behaviour, behaviour, self._tree)

    def _name(self, name: str, place: Place) -> None:
        if name in self._named:
            self._notes.add(
                (*place, "name"),
                f"a second owner or behaviour is called {name!r}; give each a name of "
                "its own.",
            )
        elif name in self._taken:
            self._notes.add(
                (*place, "name"),
                f"{name!r} is there already, as an owner, a behaviour of this robot or "
                "a cause; choose another name.",
            )
        self._named.add(name)

    def _priority(self, given: int | None, place: Place) -> None:
        if given is not None and given > self._max_priority:
            self._notes.add(
                place,
                f"priority is {given}; at this server the highest is "
                f"{self._max_priority}.",
            )

    def _policy(self, given: Any, place: Place) -> ConflictPolicy | None:
        if given is None:
            return None
        here = (*place, "policy")
        if isinstance(given, str):
            return self._notes.attempt(here, make_policy, given)
        settings: dict[str, Any] = given.model_dump(exclude_unset=True)
        return self._notes.attempt(here, make_policy, settings.pop("name"), **settings)
