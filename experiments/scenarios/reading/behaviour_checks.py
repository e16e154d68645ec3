"""Checks of a file's behaviours that can never act.

The owner tree made by `parent:` must have no cycles. Further checks cover the ids of
synchronous groups, spoken texts, the resources that an initial motion needs, activation
parameters that a schema rejects, and resources that are never granted.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from nao_testbed.controllers.arbitration.tokens import Preemption
from nao_testbed.controllers.schemas.library.common import resources_of_joints
from nao_testbed.controllers.schemas.runtime.instances import check_activation_data
from nao_testbed.controllers.transmitter.commands.planning import find_way
from nao_testbed.experiments.scenarios.reading.behaviours import BehaviourForm
from nao_testbed.experiments.scenarios.reading.scenario_file import ScenarioFile
from nao_testbed.experiments.scenarios.scenario import Behaviour
from nao_testbed.experiments.scenarios.vocabulary.judge import Expectation
from nao_testbed.experiments.scenarios.vocabulary.lookup import Lookup
from nao_testbed.experiments.shared_robot.behaviours import STIFFNESS_PRIORITY
from nao_testbed.models import BadInput
from nao_testbed.models.files.yaml_forms import Place
from nao_testbed.models.library import Library, Unit
from nao_testbed.models.resources import DeviceKind


def check_owner_tree(behaviours: tuple[Behaviour, ...], lookup: Lookup) -> None:
    """Report parents below the top level or later in the file, and cycles of parents.

    Behaviours of the top level are owners even without needs.

    Args:
        behaviours: behaviours of the top level, in the order of the file.
        lookup: lookup with all of them registered.
    """
    above: dict[str, str] = {}
    order = {behaviour.name: i for i, behaviour in enumerate(behaviours)}
    for i, behaviour in enumerate(behaviours):
        parent = behaviour.owner_parent
        if parent is None:
            continue
        place = ("behaviours", i, "parent")
        role = lookup.behaviour(place, parent)
        if role is not None and not role.is_top:
            lookup.notes.add(
                place,
                f"behaviour {parent!r} is a child of another behaviour and starts and "
                "stops with it; name a top-level behaviour.",
            )
        elif role is not None:
            above[behaviour.name] = role.path
    in_circle = _note_circles(behaviours, above, lookup)
    for name, parent in above.items():
        if name not in in_circle and order[parent] > order[name]:
            lookup.notes.add(
                ("behaviours", order[name], "parent"),
                f"behaviour {parent!r} comes later in the file; put it before "
                f"{name!r}, which is a part of it.",
            )


def _note_circles(
    behaviours: tuple[Behaviour, ...], above: dict[str, str], lookup: Lookup
) -> set[str]:
    """Report each cycle once; return the behaviours in cycles."""
    in_circle: set[str] = set()
    for i, behaviour in enumerate(behaviours):
        way = [behaviour.name]
        while way[-1] in above and above[way[-1]] not in way:
            way.append(above[way[-1]])
        last = above.get(way[-1])
        if last == behaviour.name and behaviour.name not in in_circle:
            in_circle.update(way)
            circle = " is a part of ".join([*way, last])
            lookup.notes.add(
                ("behaviours", i, "parent"),
                f"cycle of owners: {circle}; remove one parent.",
            )
    return in_circle


MAX_PARTS = 10
"""Number of parts whose point sums are tested; larger groups are accepted."""


def group_ids(
    library: Library, behaviours: Iterable[Behaviour], lookup: Lookup
) -> Iterator[str]:
    """Yield every text that may be the id of a synchronous group.

    A group has the name of its command unless its sender gives another id. That id is a
    parameter of a behaviour, under any parameter name.

    Args:
        library: library of the robot, extended by the file.
        behaviours: behaviours of the top level.
        lookup: lookup with their parameters.
    """
    yield from (name for name, order in library.orders.items() if order.is_synchronous)
    yield from parameter_texts(behaviours, lookup)


def joined_commands(form: ScenarioFile) -> frozenset[str]:
    """Return the commands that behaviours complete to a group with one id.

    Behaviours whose commands have the same `group` send parts of one group, which can
    start if the points of some parts sum to the preset.
    """
    parts: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for sent in _sent(form.behaviours):
        name, group = sent.get("command"), sent.get("group")
        command = form.commands.get(name) if isinstance(name, str) else None
        if command is not None and command.points and isinstance(group, str) and group:
            points = sum(command.points.values())
            parts.setdefault((group, command.preset), []).append((str(name), points))
    return frozenset(
        name
        for (_, preset), group in parts.items()
        for i, (name, points) in enumerate(group)
        if len(group) > MAX_PARTS
        or preset - points in _sums(n for _, n in group[:i] + group[i + 1 :])
    )


def _sums(points: Iterable[int]) -> set[int]:
    sums = {0}
    for n in points:
        sums |= {total + n for total in sums}
    return sums


def _sent(forms: Iterable[BehaviourForm]) -> Iterator[Mapping[str, Any]]:
    for form in forms:
        yield form.with_
        yield from _sent(form.children)


def spoken_texts(
    library: Library, behaviours: Iterable[Behaviour], lookup: Lookup
) -> Iterator[str]:
    """Yield every text that behaviours may say; arguments as in `group_ids`."""
    for sound in library.sounds.values():
        yield from filter(None, (sound.text, sound.name))
    yield from parameter_texts(behaviours, lookup)


def parameter_texts(behaviours: Iterable[Behaviour], lookup: Lookup) -> Iterator[str]:
    """Yield every text in the parameters of behaviours of the top level and below."""
    for behaviour in (one for top in behaviours for one in top.walk()):
        made = lookup.roles[behaviour.path].made
        yield from _texts(behaviour.parameters)
        if made is not None:
            yield from _texts([getattr(made, one.name) for one in fields(made)])


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in parameters."""
    if isinstance(value, str):
        yield str(value)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def check_ways(behaviours: tuple[Behaviour, ...], posture: str, lookup: Lookup) -> None:
    """Report behaviours that lack resources for the initial motion of their command.

    A behaviour is checked only if no other behaviour moves the joints on that path;
    otherwise the robot may already be in the right posture.

    Args:
        behaviours: behaviours of the top level, in the order of the file.
        posture: initial posture of the scenario.
        lookup: lookup with all behaviours and their requests.
    """
    for i, behaviour in enumerate(behaviours):
        _check_way(behaviour, ("behaviours", i), posture, lookup)


def _check_way(
    behaviour: Behaviour, place: Place, posture: str, lookup: Lookup
) -> None:
    for i, child in enumerate(behaviour.children):
        _check_way(child, (*place, "children", i), posture, lookup)
    order = lookup.robot.library.orders.get(_command(lookup.roles[behaviour.path].made))
    if order is None:
        return
    motion = lookup.robot.library.motions.get(order.outputs.get(Unit.MOTION, ""))
    begin = order.to if motion is None else motion.start
    if begin in {None, posture} or posture not in lookup.robot.postures:
        return
    library = lookup.robot.library
    way = find_way(library, posture, begin or "")
    steps = way or ()
    joints = {j for step in steps for j in library.motion(step.motion).joints}
    needed = lookup.leaves(resources_of_joints(lookup.robot, joints))
    role = lookup.roles[behaviour.path]
    others = [r for r in lookup.roles.values() if r.path != role.path]
    moved = needed or lookup.leaves(("All motors",))
    if any(moved & other.leaves for other in others):
        return
    if way is None:
        lookup.notes.add(
            (*place, "with"),
            f"command {order.name!r} {'starts in' if motion else 'goes to'} {begin}, "
            f"the robot starts in {posture}, and no transition leads there; start in "
            "another posture, or add a transition.",
        )
    elif needed - role.leaves:
        _note_needs(behaviour, place, needed, lookup)


def _note_needs(
    behaviour: Behaviour, place: Place, needed: frozenset[str], lookup: Lookup
) -> None:
    robot, held = lookup.robot, lookup.roles[behaviour.path].leaves
    motors = {
        name
        for leaf in needed | held
        if (device := lookup.tree.node(leaf).device) is not None
        and device.kind is DeviceKind.MOTOR
        for name in device.names
    }
    joints = [joint.name for joint in robot.joints if joint.motor in motors]
    rest = [leaf for leaf in sorted(held) if leaf not in motors]
    needs = ", ".join((*resources_of_joints(robot, joints), *rest))
    lookup.notes.add(
        (*place, "with"),
        f"{behaviour.name!r} moves the robot to another posture, but does not request "
        f"all joints that move; give needs: [{needs}].",
    )


def _command(parameters: Any) -> str:
    """Return the command that a schema plays; empty without one."""
    command = getattr(parameters, "command", "")
    return command if isinstance(command, str) else ""


def check_activation(behaviours: Iterable[Behaviour], lookup: Lookup) -> None:
    """Report activation parameters that a schema rejects.

    Args:
        behaviours: behaviours of the top level, in the order of the file.
        lookup: lookup with their schemas.
    """
    for place, behaviour in _walk_with_places(behaviours):
        schema, made = (role := lookup.roles[behaviour.path]).schema, role.made
        if schema is None or made is None or not lookup.is_library_right:
            continue
        try:
            behaviour.check()
        except BadInput:
            continue  # reported elsewhere
        here = (*place, "with" if behaviour.parameters else "schema")
        check = check_activation_data
        lookup.notes.attempt(here, check, schema, behaviour, made, lookup.robot)


def check_grants(
    behaviours: Iterable[Behaviour],
    expectations: Iterable[Expectation],
    preemption: Preemption,
    lookup: Lookup,
    *,
    changes_body: bool,
) -> None:
    """Report behaviours whose requests can never be granted, unless this is expected.

    Args:
        behaviours: behaviours of the top level, in the order of the file.
        expectations: expectations of the file.
        preemption: rule by which priorities preempt holders.
        lookup: lookup with their requests.
        changes_body: True if an event changes the robot's body.
    """
    expected = {w for one in expectations for w in one.denied_waiters()}
    absent = frozenset() if changes_body else lookup.leaves(lookup.robot.absent)
    priorities: dict[str, int] = {}
    for place, behaviour in _walk_with_places(behaviours):
        above = priorities.get(behaviour.path.rpartition("/")[0], 0)
        priority = above if behaviour.priority is None else behaviour.priority
        priorities[behaviour.path] = priority
        needed = lookup.roles[behaviour.path].needed
        if behaviour.path in expected:
            continue
        key = "needs" if behaviour.needs is not None else "schema"
        meant = (
            "If it should time out, expect {happens: {timed_out: "
            f"{behaviour.path}}}}}."
        )
        if lacking := sorted(needed & absent):
            lookup.notes.add(
                (*place, key),
                f"{behaviour.name!r} needs {', '.join(lacking)}, which this body "
                f"lacks, so it never acts. {meant}",
            )
        elif _limits_torque(needed, lookup) and (
            preemption is Preemption.OFF or priority <= STIFFNESS_PRIORITY
        ):
            lookup.notes.add(
                (*place, key),
                f"{behaviour.name!r} needs torque limits that the stiffness "
                "controller holds, so it never acts. Give it a priority above "
                f"{STIFFNESS_PRIORITY}, and reservations: {{preemption: "
                f"by_priority}}. {meant}",
            )


def _walk_with_places(
    behaviours: Iterable[Behaviour], place: Place = ("behaviours",)
) -> Iterator[tuple[Place, Behaviour]]:
    for i, behaviour in enumerate(behaviours):
        yield (*place, i), behaviour
        yield from _walk_with_places(behaviour.children, (*place, i, "children"))


def _limits_torque(leaves: Iterable[str], lookup: Lookup) -> bool:
    devices = (lookup.tree.node(leaf).device for leaf in leaves)
    return any(d is not None and d.kind is DeviceKind.STIFFNESS for d in devices)
