"""File of a station: rules and behaviours as YAML, sent before a run.

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
      - name: nod
        schema: move               # needs the joints of its motion
        with: {motion: yes}
    motions:
      yes: {angles_deg: {HeadPitch: [[0.5, 10.0], [1.0, 0.0]]}}

Pydantic models define the format, which has the keys of a scenario's behaviours and no
code. `read_station` reports all errors at once, one per line, and changes nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, Strict

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.policies import (
    ConflictPolicy,
    Lock,
    make_policy,
)
from nao_testbed.controllers.arbitration.requests import Owner
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import AskerTie, HolderTie, Preemption
from nao_testbed.controllers.schemas.activation import Activation
from nao_testbed.experiments.common.form_parts import Notes, Part, Priority, plain
from nao_testbed.experiments.scenarios.reading.behaviours import (
    AnyPolicy,
    Percent,
    RequestedResources,
    read_requested,
    read_schema,
)
from nao_testbed.experiments.scenarios.reading.behaviours import (
    BehaviourForm as ScenarioBehaviour,
)
from nao_testbed.experiments.scenarios.vocabulary.lookup import Lookup
from nao_testbed.experiments.server.messages import MAX_NAMES, DefinitionData, Name
from nao_testbed.experiments.server.service.station_behaviours import StationBehaviour
from nao_testbed.models import Robot
from nao_testbed.models.files.yaml_forms import FileErrors, Place, ReadFile, read_file
from nao_testbed.models.load.library_files import (
    KnownNames,
    build_library,
    library_problems,
)
from nao_testbed.models.load.library_forms import LibraryForm
from nao_testbed.models.resources import ResourceKind

MAX_WAIT_S = 60.0
"""Maximum wait in s of a behaviour at its start; its station waits for the same
time."""

MAX_ENTRIES = 500
"""Maximum entries of a list, and behaviours of a file with all their parts."""

SETTLING = {"preemption", "retry_s", "overtake_s"}
"""Keys of the file that are fields of `LedgerCfg`."""

Wait = Annotated[float, Field(ge=0.0, le=MAX_WAIT_S)]
Period = Annotated[float, Strict(), Field(ge=0.01, le=3600.0)]
Names = Annotated[list[Name], Field(max_length=MAX_NAMES)]


class OwnerForm(Part):
    """Rule for an owner by its name; it overrides the owner's settings."""

    name: Name
    priority: Priority | None = None
    """Priority from 0 (low) to 9 (high)."""
    max_priority: Priority | None = None
    """Highest priority of its requests."""
    policy: AnyPolicy | None = None
    """Response to a demand for its resources."""
    timeout_s: Annotated[float, Field(ge=0.0, le=86_400.0)] | None = None
    """Maximum wait of its requests, in s."""
    asker_tie: Annotated[AskerTie, Field(strict=False)] | None = None
    holder_tie: Annotated[HolderTie, Field(strict=False)] | None = None


class StationBehaviourForm(Part):
    """Behaviour as data, with the keys of a scenario's behaviours."""

    name: Name
    schema_: Annotated[Name | None, Field(alias="schema")] = None
    """Registered schema, such as look around; absent: it only holds resources."""
    with_: dict[str, Any] = Field(alias="with", default_factory=dict)
    """Parameters of the schema."""
    needs: Names | None = None
    """Resources required to run; absent: those of its schema."""
    optional: Names | None = None
    """Resources used if they are free."""
    rates: dict[Name, Percent] | None = None
    """Cumulative resource, such as CPU, to the required rate, in percent."""
    children: "list[StationBehaviourForm]" = Field(
        default_factory=list, max_length=MAX_ENTRIES
    )
    """Parts, which may use all its resources."""
    policy: AnyPolicy | None = None
    """Response to a demand for held resources: lock, stop, pause or callback."""
    priority: Priority = 0
    timeout_s: Wait = 0.0
    """Maximum wait for its resources, in s."""
    runs_regardless: bool = False
    """True if it also runs without its needs."""
    needs_all_children: bool = False
    """True if it runs only with all its children."""


class ResourceForm(Part):
    """Resource in addition to those of the robot, such as a ball."""

    name: Name
    parent: Name
    kind: Annotated[ResourceKind, Field(strict=False)] = ResourceKind.EXCLUSIVE


class StationFile(LibraryForm):
    """Whole file; omitted rules have the server's initial values.

    Its motions, lights, sounds, commands and transitions extend the robot's library.
    """

    preemption: Annotated[Preemption, Field(strict=False)] | None = None
    """`by_priority`: a strictly higher priority preempts the holder."""
    retry_s: Period | None = None
    """Period of repeated demands to the holders, in s."""
    overtake_s: Annotated[float, Strict(), Field(ge=0.0, le=3600.0)] | None = None
    """Time limit for equals to overtake a waiting request, in s."""
    resources: list[ResourceForm] = Field(default_factory=list, max_length=MAX_ENTRIES)
    owners: list[OwnerForm] = Field(default_factory=list, max_length=MAX_ENTRIES)
    behaviours: list[StationBehaviourForm] = Field(
        default_factory=list, max_length=MAX_ENTRIES
    )


NO_ROBOT = (
    "this server has no robot to check it against; serve one with --robot, or send "
    "needs instead of a schema."
)


@dataclass(frozen=True, kw_only=True)
class StationRules:
    """Valid file."""

    settling: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `LedgerCfg` set by the file: the conflict rules."""
    resources: tuple[ResourceForm, ...] = ()
    rules: Mapping[str, Mapping[str, Any]]
    """Owner name to the fields of `Owner` set by the station; others are the owner's
    own."""
    behaviours: dict[str, StationBehaviour]
    """Behaviours of the top level by name."""
    definitions: dict[str, DefinitionData]
    """Definitions in the file by name, including all parts."""

    def of(self, owner: Owner) -> Owner:
        """Return an owner's defaults under its rule, if there is one.

        Raises:
            BadInput: a value of the owner contradicts the rule.
        """
        return replace(owner, **self.rules.get(owner.name, {}))

    def is_compatible(self, taken: frozenset[str], clients: frozenset[str]) -> bool:
        """Return True if none of its names is reserved (as in `read_station`)."""
        names = {*self.all_names()}
        return names.isdisjoint(taken | clients) and taken.isdisjoint(self.rules)

    def all_names(self) -> Iterator[str]:
        """Yield the names of the behaviours and all their parts."""
        for behaviour in self.behaviours.values():
            yield from (one.name for one in behaviour.walk())


def read_station(
    text: str,
    name: str,
    tree: ResourceTree,
    taken: frozenset[str],
    clients: frozenset[str],
    max_priority: int,
    robot: Robot | None = None,
) -> StationRules:
    """Return the validated rules of a file.

    Args:
        text: text of the file.
        name: name of the file, for messages.
        tree: tree of known resources.
        taken: names that neither a behaviour nor a rule may have.
        clients: names that a rule may have, but no behaviour.
        max_priority: highest priority of any request at this server.
        robot: robot for the check of schemas; None: no robot, and no schemas.

    Raises:
        FileErrors: all errors of the file, one per line, with `file:line`.
    """
    file = read_file(Path(name), StationFile, text=text)
    if file.value is None:
        raise FileErrors(file.errors())
    notes = Notes()
    reader = _StationReader(
        file, file.value, robot, notes, tree, taken, clients, max_priority
    )
    rules = reader.read()
    file.refuse(notes.problems)
    return rules


@dataclass
class _StationReader:
    """Reader of a file whose form is valid."""

    _read: ReadFile[StationFile]
    _file: StationFile
    _robot: Robot | None
    _notes: Notes
    _tree: ResourceTree
    _taken: frozenset[str]
    _clients: frozenset[str]
    _max_priority: int

    def __post_init__(self) -> None:
        tree = self._read.tree
        sections = [name for name in LibraryForm.model_fields if name in tree]
        self._library = {name: plain(tree[name]) for name in sections}
        self._definitions: dict[str, DefinitionData] = {}
        self._named: set[str] = set()
        self._built: list[tuple[Place, StationBehaviour]] = []

    def read(self) -> StationRules:
        """Return the rules; report all errors."""
        for i, form in enumerate(self._file.resources):
            self._resource(form, ("resources", i))
        rules: dict[str, Mapping[str, Any]] = {}
        for i, owner in enumerate(self._file.owners):
            rules[owner.name] = self._rule(owner, ("owners", i))
        self._scene = self._make_scene()
        behaviours = [
            self._behaviour(form, ("behaviours", i))
            for i, form in enumerate(self._file.behaviours)
        ]
        if len(self._built) > MAX_ENTRIES:
            self._notes.add(
                ("behaviours",),
                f"there are {len(self._built)} behaviours with their parts; send at "
                f"most {MAX_ENTRIES}.",
            )
        if not self._notes.problems:
            ledger = Ledger(self._tree)
            for place, behaviour in self._built:
                self._notes.attempt(place, _try, behaviour, ledger)
        return StationRules(
            settling=self._file.model_dump(include=SETTLING, exclude_none=True),
            resources=tuple(self._file.resources),
            rules=rules,
            behaviours={one.name: one for one in behaviours if one is not None},
            definitions=self._definitions,
        )

    def _resource(self, form: ResourceForm, place: Place) -> None:
        if form.name in self._tree.names and self._is_unchanged(form):
            return  # already sent
        grown = self._notes.attempt(
            place, self._tree.with_resource, form.name, form.parent, form.kind
        )
        self._tree = grown or self._tree

    def _is_unchanged(self, form: ResourceForm) -> bool:
        node = self._tree.node(form.name)
        is_there = self._tree.parent(form.name) == form.parent
        return is_there and node.kind is form.kind and not node.children

    def _rule(self, form: OwnerForm, place: Place) -> Mapping[str, Any]:
        self._name(form.name, place)
        for key in ("priority", "max_priority"):
            self._priority(getattr(form, key), (*place, key))
        said = form.model_dump(exclude={"name", "policy"}, exclude_none=True)
        policy = self._policy(form.policy, place)
        if policy is not None:
            said["policy"] = policy
        self._notes.attempt(place, replace, Owner(name=form.name), **said)
        return said

    def _behaviour(
        self, form: StationBehaviourForm, place: Place
    ) -> StationBehaviour | None:
        self._name(form.name, place)
        if form.name in self._clients:
            self._notes.add(
                (*place, "name"),
                f"an owner named {form.name!r} is registered; choose another name for "
                "the behaviour.",
            )
        self._priority(form.priority, (*place, "priority"))
        requested = self._requested(form, place)
        self._define(form, requested, place)
        parts = [
            self._behaviour(child, (*place, "children", i))
            for i, child in enumerate(form.children)
        ]
        policy = self._policy(form.policy, place) or Lock()
        owner = self._notes.attempt(
            place,
            Owner,
            name=form.name,
            policy=policy,
            priority=form.priority,
            timeout_s=form.timeout_s,
        )
        if owner is None:
            return None
        built = StationBehaviour(
            owner=owner,
            requested=requested,
            parts=tuple(part for part in parts if part is not None),
            runs_regardless=form.runs_regardless,
            needs_all_parts=form.needs_all_children,
        )
        self._built.append((place, built))
        return built

    def _make_scene(self) -> Lookup | None:
        """Return the robot with the entries of the file; None without a robot."""
        robot, file = self._robot, self._file
        if robot is None:
            for section in self._library:
                self._notes.add((section,), NO_ROBOT)
        if robot is None or not (self._library or _use_schemas(file.behaviours)):
            return None
        left_out = self._read.left_out
        known = KnownNames.of_library(robot.library).with_left_out(left_out)
        problems = library_problems(file, robot, known)
        self._notes.problems += problems
        is_right = not problems and not {p[0] for p in left_out} & {*self._library}
        if is_right:
            more = robot.library.with_more(build_library(file, robot))
            robot = replace(robot, library=more)
        return Lookup(
            robot=robot,
            tree=self._tree,
            tick_s=LedgerCfg().tick_s,
            duration_ticks=1,
            notes=self._notes,
            line_of=lambda _: 0,
            is_library_right=is_right,
        )

    def _requested(
        self, form: StationBehaviourForm, place: Place
    ) -> RequestedResources:
        """Return a behaviour's requests: its own, or its schema's by default."""
        if form.schema_ is not None:
            return self._requested_by_schema(form, form.schema_, place)
        if form.with_:
            text = (
                "with gives parameters of a schema; name the schema, or leave out with."
            )
            self._notes.add((*place, "with"), text)
        needs, optional = form.needs or [], form.optional or []
        for key, names in (("needs", needs), ("optional", optional)):
            for i, name in enumerate(names):
                self._notes.attempt((*place, key, i), self._tree.node, name)
        for name in form.rates or ():
            self._notes.attempt((*place, "rates", name), self._tree.node, name)
        return RequestedResources(
            needs=tuple(needs), optional=tuple(optional), rates=dict(form.rates or {})
        )

    def _requested_by_schema(
        self, form: StationBehaviourForm, schema: str, place: Place
    ) -> RequestedResources:
        if form.children:
            self._notes.add(
                (*place, "children"),
                f"the children of schema {schema!r} compete for resources and cannot "
                "all run at once; give each its own start, or put them into a "
                "scenario.",
            )
        if self._scene is None:
            self._notes.add((*place, "schema"), NO_ROBOT)
            return RequestedResources()
        same = ScenarioBehaviour.model_construct(
            name=form.name,
            schema_=schema,
            with_=form.with_,
            needs=form.needs,
            optional=form.optional,
            rates=form.rates,
        )
        self._notes.attempt((*place, "name"), Activation, schema=schema, name=form.name)
        found, parameters = read_schema(same, place, self._notes)
        return read_requested(same, place, found, parameters, self._scene)

    def _define(
        self, form: StationBehaviourForm, requested: RequestedResources, place: Place
    ) -> None:
        said = reduce(getitem, place, self._read.tree)
        asks = {
            "needs": requested.needs,
            "optional": requested.optional,
            "rates": requested.rates,
        }
        behaviour = plain({**said, **asks})
        if form.schema_ is None:
            self._definitions[form.name] = DefinitionData(behaviour=behaviour)
            return
        fields = ScenarioBehaviour.model_fields.items()
        keys = [field.alias or name for name, field in fields]
        self._definitions[form.name] = DefinitionData(
            behaviour={key: behaviour[key] for key in keys if key in behaviour},
            library=self._library,
        )

    def _name(self, name: str, place: Place) -> None:
        if name in self._named:
            self._notes.add(
                (*place, "name"),
                f"two owners or behaviours are called {name!r}; give each a unique "
                "name.",
            )
        elif name in self._taken:
            self._notes.add(
                (*place, "name"),
                f"{name!r} exists already as an owner, a behaviour of this robot or a "
                "cause; choose another name.",
            )
        self._named.add(name)

    def _priority(self, given: int | None, place: Place) -> None:
        if given is not None and given > self._max_priority:
            self._notes.add(
                place,
                f"priority is {given}; the maximum of this server is "
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


def _try(behaviour: StationBehaviour, ledger: Ledger) -> None:
    """Request the needs of a behaviour in a trial ledger.

    Raises:
        BadInput: the request can never be granted, alone or with the essential needs of
            its parts.
    """
    ledger.add_owner(behaviour.owner, 0)
    alone = replace(behaviour, needs_all_parts=False).request(behaviour.requested, 0.0)
    if alone is not None:
        ledger.request(alone, 0)
        ledger.give_up([behaviour.name], 0)
    behaviour.request(behaviour.requested)


def _use_schemas(forms: list[StationBehaviourForm]) -> bool:
    return any(f.schema_ is not None or _use_schemas(f.children) for f in forms)
