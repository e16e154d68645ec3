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
      - name: nod
        schema: move               # needs what its motion moves
        with: {motion: yes}
    motions:
      yes: {angles_deg: {HeadPitch: [[0.5, 10.0], [1.0, 0.0]]}}

Its words are those of a scenario's behaviours; there is no code in it. `read_station`
says all that is wrong in it at once, a line each, and changes nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

from controllers.resources.behaviours import Behaviour
from controllers.resources.front import LedgerFront
from controllers.resources.ledger import Ledger
from controllers.resources.ledger_cfg import LedgerCfg
from controllers.resources.owner import Owner
from controllers.resources.policies import ConflictPolicy, Lock, make_policy
from controllers.resources.resource_tree import ResourceTree
from controllers.resources.start_behaviour import (
    check_behaviour,
    start_behaviour,
    stop_behaviour,
)
from controllers.resources.words import AskerTie, HolderTie
from controllers.schemas.waking import Waking
from experiments.reservations.station_form import (
    MOST,
    SETTLING,
    BehaviourForm,
    OwnerForm,
    ResourceForm,
    StationFile,
)
from experiments.scenarios.form.behaviours import BehaviourForm as ScenarioBehaviour
from experiments.scenarios.reading.notes import Notes
from experiments.scenarios.reading.one_line import plain
from experiments.scenarios.reading.read_asked import Asked, read_asked
from experiments.scenarios.reading.read_behaviours import read_schema
from experiments.scenarios.reading.scene import Scene
from models import Robot
from models.build_library import build_library
from models.library_problems import KnownNames, library_problems
from models.library_yaml import LibraryForm
from models.yaml_lines import FileErrors, Place, ReadFile, read_file

NO_ROBOT = (
    "this server has no robot to check it for; serve one with --robot, or send needs "
    "in the place of a schema."
)


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
class Definition:
    """A behaviour as data, for who plays it."""

    behaviour: Mapping[str, Any]
    """In a scenario's words, with the needs that follow from its schema."""
    library: Mapping[str, Any] = field(default_factory=dict)
    """Sections of entries that came in its file; of a behaviour with a schema."""


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
    definitions: dict[str, Definition]
    """By name, with all parts: what the file says of each."""

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
    robot: Robot | None = None,
) -> StationRules:
    """Return what a file says, all of it checked.

    Args:
        text: of the file.
        name: of the file, for messages.
        tree: the resources that there are.
        taken: names of owners that no behaviour may have, nor a rule.
        guests: names of owners that no behaviour may have, but a rule.
        max_priority: the highest that anybody may ask with at this server.
        robot: for which schemas are checked; None: there is none, and no schema.

    Raises:
        FileErrors: all that is wrong in it, a line each, with `file:line`.
    """
    file = read_file(Path(name), StationFile, text=text)
    if file.value is None:
        raise FileErrors(file.errors())
    notes = Notes()
    reader = _Reader(file, file.value, robot, notes, tree, taken, guests, max_priority)
    rules = reader.read()
    file.refuse(notes.problems)
    return rules


class _Reader:
    """One pass over a file whose form is right."""

    def __init__(
        self,
        read: ReadFile[StationFile],
        file: StationFile,
        robot: Robot | None,
        notes: Notes,
        tree: ResourceTree,
        taken: frozenset[str],
        guests: frozenset[str],
        max_priority: int,
    ) -> None:
        self._guests = guests
        self._read = read
        self._file = file
        self._robot = robot
        sections = [name for name in LibraryForm.model_fields if name in read.tree]
        self._library = {name: plain(read.tree[name]) for name in sections}
        self._definitions: dict[str, Definition] = {}
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
        self._scene = self._make_scene()
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
            definitions=self._definitions,
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
        asked = self._asked(form, place)
        self._define(form, asked, place)
        parts = [
            self._behaviour(child, (*place, "children", i))
            for i, child in enumerate(form.children)
        ]
        policy = self._policy(form.policy, place) or Lock()

        def build() -> Behaviour:
            return Behaviour(
                name=form.name,
                essential=asked.needs,
                rates=asked.rates,
                optional=asked.optional,
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

    def _make_scene(self) -> Scene | None:
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
        return Scene(
            robot=robot,
            tree=self._tree,
            tick_s=LedgerCfg().tick_s,
            duration_ticks=1,
            notes=self._notes,
            line_of=lambda _: 0,
            is_library_right=is_right,
        )

    def _asked(self, form: BehaviourForm, place: Place) -> Asked:
        """Return what a behaviour asks for: as it says, or else as its schema does."""
        if form.schema_ is not None:
            return self._asked_by_schema(form, form.schema_, place)
        if form.with_:
            text = (
                "with is for a schema's parameters; name the schema, or leave it out."
            )
            self._notes.add((*place, "with"), text)
        needs, optional = form.needs or [], form.optional or []
        for key, names in (("needs", needs), ("optional", optional)):
            for i, name in enumerate(names):
                self._notes.attempt((*place, key, i), self._tree.node, name)
        for name in form.rates or ():
            self._notes.attempt((*place, "rates", name), self._tree.node, name)
        return Asked(
            needs=tuple(needs), optional=tuple(optional), rates=dict(form.rates or {})
        )

    def _asked_by_schema(self, form: BehaviourForm, schema: str, place: Place) -> Asked:
        if form.children:
            self._notes.add(
                (*place, "children"),
                f"the children of schema {schema!r} would compete where it is played, "
                "and not have what they need all at once; give each a start of its "
                "own, or put them into a scenario.",
            )
        if self._scene is None:
            self._notes.add((*place, "schema"), NO_ROBOT)
            return Asked()
        same = ScenarioBehaviour.model_construct(
            name=form.name,
            schema_=schema,
            with_=form.with_,
            needs=form.needs,
            optional=form.optional,
            rates=form.rates,
        )
        self._notes.attempt((*place, "name"), Waking, schema=schema, name=form.name)
        found, parameters = read_schema(same, place, self._notes)
        return read_asked(same, place, found, parameters, self._scene)

    def _define(self, form: BehaviourForm, asked: Asked, place: Place) -> None:
        said = reduce(getitem, place, self._read.tree)
        asks = {"needs": asked.needs, "optional": asked.optional, "rates": asked.rates}
        behaviour = plain({**said, **asks})
        if form.schema_ is None:
            self._definitions[form.name] = Definition(behaviour=behaviour)
            return
        fields = ScenarioBehaviour.model_fields.items()
        keys = [field.alias or name for name, field in fields]
        self._definitions[form.name] = Definition(
            behaviour={key: behaviour[key] for key in keys if key in behaviour},
            library=self._library,
        )

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


def _use_schemas(forms: list[BehaviourForm]) -> bool:
    return any(f.schema_ is not None or _use_schemas(f.children) for f in forms)
