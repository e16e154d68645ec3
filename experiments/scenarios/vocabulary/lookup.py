"""Name lookup for the parts of a scenario file, and conversion of times to slots.

An unknown joint, resource, state, behaviour, owner or group is reported with its place
in the file and the nearest known name. Parameters of a schema are validated together,
since some values depend on each other; the wrong value of a rejected set is identified.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import (
    Annotated,
    Any,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.interface.ranges import Name
from nao_testbed.controllers.registry import check_controller
from nao_testbed.controllers.schemas.activation import make_parameters
from nao_testbed.controllers.schemas.declaration import SchemaInfo
from nao_testbed.controllers.schemas.registry import SchemaClass
from nao_testbed.experiments.common.form_parts import Notes, Part
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.models.files.yaml_forms import Place
from nao_testbed.models.resources import ResourceKind
from nao_testbed.models.values import PositiveSeconds

ATOL_TICKS = 1e-6
"""Rounding tolerance, in ticks, of times written as decimal numbers."""


@dataclass(frozen=True, kw_only=True)
class Role:
    """Properties of a behaviour of the file."""

    path: str
    is_owner: bool
    """True if the behaviour needs any resource."""
    leaves: frozenset[str]
    """All leaves that it may hold."""
    needed: frozenset[str]
    """Leaves that it needs to act."""
    first_tick: int | None
    """Earliest slot in which the behaviour or its parent is activated; None: never."""
    is_top: bool
    schema: SchemaClass | None = None
    """None: unknown, or activated by another behaviour."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters given in the file."""
    made: Any = None
    """Validated parameters of the schema; None: invalid."""


@dataclass(kw_only=True)
class Lookup:
    """Robot, clock, and names of the file."""

    robot: Robot
    """Robot, including the library of the file after it was read."""
    tree: ResourceTree
    tick_s: float
    duration_ticks: int
    notes: Notes
    line_of: Callable[[Place], int]
    """Line of the file by place."""
    roles: dict[str, Role] = field(default_factory=dict)
    """Roles by path."""
    paths: dict[str, str] = field(default_factory=dict)
    """Paths by name; a path maps to itself."""
    doubtful: frozenset[str] = frozenset()
    """Names of behaviours and events that were dropped as invalid."""
    virtual: frozenset[str] = frozenset()
    """Owners that are not behaviours, such as `hotEngine`."""
    events: Mapping[str, float | None] = field(default_factory=dict)
    """Times in s by event name; None for a conditional event."""
    is_library_right: bool = True
    """True if the robot's library holds every entry of the file."""
    groups: frozenset[str] = frozenset()
    """Ids that synchronous groups may have."""
    spoken: frozenset[str] = frozenset()
    """Texts that behaviours or events may say; others are possible."""
    start_degc: Mapping[str, float] = field(default_factory=dict)
    """Initial motor temperature in °C, by joint."""
    obstacles: tuple[str, ...] = ()
    """Obstacles around the robot."""

    @property
    def duration_s(self) -> float:
        """Simulated time in s."""
        return self.duration_ticks * self.tick_s

    def ticks(self, place: Place, seconds: float, what: str = "") -> int:
        """Return a time in slots; report it if it is not a whole number of slots.

        Args:
            place: place of the time in the file.
            seconds: time in s.
            what: name for the message; empty: the last part of the place.
        """
        exact = seconds / self.tick_s
        ticks = round(exact)
        if abs(exact - ticks) > ATOL_TICKS:
            low = int(exact) * self.tick_s
            name = what or place[-1]
            self.notes.add(
                place,
                f"{name} is {seconds:g} s, {exact:g} slots; times are whole slots "
                f"of {self.tick_s:g} s: give {low:.2f} or {low + self.tick_s:.2f}.",
            )
        return ticks

    def moment(self, place: Place, seconds: float) -> int:
        """Return a time in slots; report a time after the end of the scenario."""
        ticks = self.ticks(place, seconds)
        if ticks >= self.duration_ticks:
            self.notes.add(
                place,
                f"{place[-1]} is {seconds:g} s, but the scenario ends at "
                f"{self.duration_s:g} s and its last slot starts at "
                f"{self.duration_s - self.tick_s:g} s. Give an earlier time, or a "
                "longer duration_s.",
            )
        return ticks

    def obstacle(self, place: Place, name: str) -> bool:
        """Return True if the name is an obstacle; report it otherwise."""
        where = "this scenario's simulation"
        return self.notes.is_known(place, "Obstacle", name, self.obstacles, where)

    def behaviour(self, place: Place, name: str) -> Role | None:
        """Return a behaviour by name or path; report an unknown one.

        A child that a behaviour of the file activates by itself, such as `dance/wave`,
        is named by its path.
        """
        path = self.paths.get(name)
        if path is not None:
            return self.roles[path]
        role = self._self_starting(name)
        if role is None and name.partition("/")[0] not in self.doubtful:
            known = list(dict.fromkeys((*self.paths, *self.roles)))
            unknown = UnknownName("Behaviour", name, known, "this scenario")
            self.notes.add(place, str(unknown))
        return role

    def _self_starting(self, name: str) -> Role | None:
        """Return the role of a behaviour activated by one without children."""
        above, _, below = name.rpartition("/")
        rest = [below]
        while above and above not in self.paths:
            above, _, below = above.rpartition("/")
            rest.insert(0, below)
        if not above:
            return None
        parent = self.roles[self.paths[above]]
        if any(path.startswith(f"{parent.path}/") for path in self.roles):
            return None
        return Role(
            path="/".join((parent.path, *rest)),
            is_owner=True,
            leaves=frozenset(self.tree.all_leaves),
            needed=frozenset(),
            first_tick=parent.first_tick,
            is_top=False,
        )

    def owner(self, place: Place, name: str) -> Role | None:
        """Return a behaviour that is an owner; report it otherwise."""
        role = self.behaviour(place, name)
        if role is not None and not role.is_owner:
            self.notes.add(
                place,
                f"behaviour {name!r} needs no resource, so it never requests or holds "
                "one. Give it needs, or name another behaviour.",
            )
            return None
        return role

    def link(self, place: Place, name: str) -> bool:
        """Return True if the robot has the link; report it otherwise."""
        links = [link.name for link in self.robot.links]
        return self._of_robot(place, "Link", name, links)

    def body(self, place: Place, name: str) -> bool:
        """Return True if the robot can have the body; report it otherwise."""
        return self._of_robot(place, "Body", name, self.robot.bodies)

    def posture(self, place: Place, name: str) -> bool:
        """Return True if the robot has the posture; report it otherwise."""
        return self._of_robot(place, "Posture", name, self.robot.postures)

    def touch_sensor(self, place: Place, name: str) -> bool:
        """Return True if the robot has the touch sensor; report it otherwise."""
        return self._of_robot(place, "Touch sensor", name, self.robot.touch_sensors)

    def _of_robot(
        self, place: Place, kind: str, name: str, known: Iterable[str]
    ) -> bool:
        return self.notes.is_known(
            place, kind, name, known, f"robot {self.robot.name!r}"
        )

    def controller(self, place: Place, spec: str) -> None:
        """Report a controller that cannot be created or needs another robot."""
        self.notes.attempt(place, check_controller, spec, self.robot)

    def joint(self, place: Place, name: str) -> bool:
        """Return True if the robot has the joint; report it otherwise."""
        return self._of_robot(place, "Joint", name, self.robot.joint_names)

    def joints(self, place: Place, name: str) -> tuple[str, ...]:
        """Return the joints of a joint or group; report an unknown name."""
        robot = self.robot
        if name in robot.groups:
            return tuple(robot.groups[name])
        known = (*robot.joint_names, *robot.groups)
        return (name,) if self._of_robot(place, "Joint", name, known) else ()

    def resource(self, place: Place, name: str) -> bool:
        """Return True if the resource exists; report it otherwise."""
        where = f"the resources of {self.robot.name!r}"
        return self.notes.is_known(place, "Resource", name, self.tree.names, where)

    def state(self, place: Place, name: str) -> bool:
        """Return True if the state exists; report it otherwise."""
        states = [
            leaf
            for leaf in self.tree.all_leaves
            if self.tree.node(leaf).kind is ResourceKind.STATE
        ]
        where = f"the states of {self.robot.name!r}"
        return self.notes.is_known(place, "State", name, states, where)

    def group(self, place: Place, name: str) -> None:
        """Report a group that cannot start in this scenario."""
        base, _, number = name.rpartition(" ")
        if name in self.groups or (number.isdigit() and base in self.groups):
            return
        if not self.doubtful:
            where = "the synchronous commands and behaviours of this scenario"
            known = [
                name
                for name, order in self.robot.library.orders.items()
                if order.is_synchronous
            ]
            self.notes.is_known(place, "Group", name, known, where)

    def note_inactive(self, place: Place, path: str, tick: int) -> None:
        """Report a behaviour that is certainly asleep in a slot."""
        top = path.partition("/")[0]
        role = self.roles.get(top)
        if role is None or (role.first_tick is not None and role.first_tick <= tick):
            return
        if role.first_tick is None:
            why = f"{top!r} waits and no event starts it. Add an event with start"
        else:
            first_s = role.first_tick * self.tick_s
            why = f"{top!r} is activated only at {first_s:g} s. Change one of the times"
        self.notes.add(
            place,
            f"impossible: {path!r} is inactive then, because {why}, or let it "
            "start at the beginning.",
        )

    def leaves(self, names: Iterable[str]) -> frozenset[str]:
        """Return the leaves of the known resources."""
        return frozenset(
            leaf
            for name in names
            if name in self.tree
            for leaf in self.tree.leaves(name)
        )


def read_parameters(
    info: SchemaInfo,
    given: Mapping[str, Any],
    place: Place,
    notes: Notes,
    base: Mapping[str, Any] | None = None,
) -> Any:
    """Return the parameters with these values; None if they are rejected.

    All values are tried at once because some depend on each other. For a rejected set,
    the value without which the rest is valid is reported; otherwise each value that is
    rejected alone; otherwise all values.

    Args:
        info: declaration of the schema.
        given: values by name.
        place: place of the values in the file.
        notes: collects the errors.
        base: values given earlier.
    """
    before = dict(base or {})
    problem = _problem(info, {**before, **given})
    if problem is None:
        return make_parameters(info, {**before, **given})
    rest = {
        name: {other: one for other, one in given.items() if other != name}
        for name in given
    }
    cure = [n for n in given if _problem(info, {**before, **rest[n]}) is None]
    if len(cure) == 1:
        notes.add((*place, cure[0]), problem)
        return None
    alone = {
        name: words
        for name, value in given.items()
        if (words := _problem(info, {**before, name: value})) is not None
    }
    if cure or not alone:
        notes.add(place, problem)
        return None
    for name, words in alone.items():
        notes.add((*place, name), words)
    return None


def _problem(info: SchemaInfo, values: Mapping[str, Any]) -> str | None:
    try:
        make_parameters(info, values)
    except BadInput as error:
        return str(error)
    return None


class Known(NamedTuple):
    """Lookup of a field's value, attached to its type."""

    look: Callable[[Lookup, Place, Any], object]
    """Reports errors; returns False if the value is unusable."""


JointName = Annotated[Name, Known(Lookup.joint)]
LinkName = Annotated[Name, Known(Lookup.link)]
ObstacleName = Annotated[Name, Known(Lookup.obstacle)]
ResourceName = Annotated[Name, Known(Lookup.resource)]
StateName = Annotated[Name, Known(Lookup.state)]
GroupName = Annotated[Name, Known(Lookup.group)]
BodyName = Annotated[Name, Known(Lookup.body)]
PostureName = Annotated[Name, Known(Lookup.posture)]
TouchSensorName = Annotated[Name, Known(Lookup.touch_sensor)]
ControllerName = Annotated[Name, Known(Lookup.controller)]
WholeSlots = Annotated[PositiveSeconds, Known(Lookup.ticks)]


def is_all_known(part: Part, place: Place, lookup: Lookup) -> bool:
    """Resolve all values of a part, and of nested parts, whose type is `Known`."""
    hints = get_type_hints(type(part), include_extras=True)
    found = [
        _is_known(hints[key], getattr(part, key), (*place, one.alias or key), lookup)
        for key, one in type(part).model_fields.items()
    ]
    return all(found)


def _is_known(kind: Any, value: Any, place: Place, lookup: Lookup) -> bool:
    """Resolve a value: the keys of a mapping, the items of a list."""
    if isinstance(value, Part):  # parts resolve their own names
        return hasattr(value, "resolved") or is_all_known(value, place, lookup)
    if get_origin(kind) in {Union, UnionType}:
        kind = get_args(kind)[0]  # of the union with None
    marks = getattr(kind, "__metadata__", ())
    inner = get_args(kind.__origin__ if marks else kind)
    if isinstance(value, dict | list) and inner:
        places = value if isinstance(value, dict) else range(len(value))
        pairs = zip(places, value, strict=True)
        found = [_is_known(inner[0], one, (*place, at), lookup) for at, one in pairs]
        return all(found)
    looks = [mark.look for mark in marks if isinstance(mark, Known)]
    return value is None or all(
        look(lookup, place, value) is not False for look in looks
    )
