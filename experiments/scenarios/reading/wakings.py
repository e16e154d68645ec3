"""Behaviours that nothing could come of: refused by their schema, or never granted."""

from collections.abc import Iterable, Iterator

from controllers.resources.words import OutcomeKind, Preemption
from controllers.schemas.parameters import make_parameters
from controllers.schemas.world import check_waking
from experiments.coupled.stiffness_owner import PRIORITY as STIFFNESS_PRIORITY
from experiments.scenarios.plan import conditions as c
from experiments.scenarios.plan.expectations import (
    AtTime,
    Expectation,
    Happens,
    InOrder,
)
from experiments.scenarios.plan.scenario import Behaviour
from experiments.scenarios.reading.scene import Scene
from models import BadInput
from models.resource_node import DeviceKind
from models.yaml_lines import Place

IN_VAIN = frozenset({OutcomeKind.TIMED_OUT, OutcomeKind.DENIED})


def check_wakings(behaviours: Iterable[Behaviour], scene: Scene) -> None:
    """Note what schemas refuse to be woken with.

    Args:
        behaviours: of the top level, in the order of the file.
        scene: knows their schemas.
    """
    for place, behaviour in _walk(behaviours):
        schema = scene.roles[behaviour.path].schema
        if schema is None or not scene.is_library_right:
            continue
        try:
            made = make_parameters(schema.info, behaviour.parameters)
            waking = behaviour.as_waking()
        except BadInput:
            continue  # it is told elsewhere
        here = (*place, "with" if behaviour.parameters else "schema")
        scene.notes.attempt(here, check_waking, schema, waking, made, scene.robot)


def check_grants(
    behaviours: Iterable[Behaviour],
    expectations: Iterable[Expectation],
    preemption: Preemption,
    scene: Scene,
    *,
    changes_body: bool,
) -> None:
    """Note behaviours that wait in vain, unless the file expects that they do.

    Args:
        behaviours: of the top level, in the order of the file.
        expectations: of the file.
        preemption: whether a priority takes what is held.
        scene: knows what they ask for.
        changes_body: whether an event gives the robot another body.
    """
    expected = set(_waiting(expectations))
    absent = frozenset() if changes_body else scene.leaves(scene.robot.absent)
    priorities: dict[str, int] = {}
    for place, behaviour in _walk(behaviours):
        above = priorities.get(behaviour.path.rpartition("/")[0], 0)
        priority = above if behaviour.priority is None else behaviour.priority
        priorities[behaviour.path] = priority
        needed = scene.roles[behaviour.path].needed
        if behaviour.path in expected:
            continue
        key = "needs" if behaviour.needs is not None else "schema"
        meant = (
            "If it is meant to wait in vain, expect "
            f"{{happens: {{timed_out: {behaviour.path}}}}}."
        )
        if lacking := sorted(needed & absent):
            scene.notes.add(
                (*place, key),
                f"{behaviour.name!r} needs {', '.join(lacking)}, which this body "
                f"lacks: it never acts. {meant}",
            )
        elif _limits_torque(needed, scene) and (
            preemption is Preemption.OFF or priority <= STIFFNESS_PRIORITY
        ):
            scene.notes.add(
                (*place, key),
                f"{behaviour.name!r} needs torque limits that the stiffness controller "
                "holds: it never acts. Give it a priority above "
                f"{STIFFNESS_PRIORITY}, and reservations: {{preemption: by_priority}}. "
                f"{meant}",
            )


def _walk(
    behaviours: Iterable[Behaviour], place: Place = ("behaviours",)
) -> Iterator[tuple[Place, Behaviour]]:
    for i, behaviour in enumerate(behaviours):
        yield (*place, i), behaviour
        yield from _walk(behaviour.children, (*place, i, "children"))


def _limits_torque(leaves: Iterable[str], scene: Scene) -> bool:
    devices = (scene.tree.node(leaf).device for leaf in leaves)
    return any(d is not None and d.kind is DeviceKind.STIFFNESS for d in devices)


def _waiting(expectations: Iterable[Expectation]) -> Iterator[str]:
    """Yield owners of whom the file expects that they wait, or get nothing."""
    for item in expectations:
        match item:
            case AtTime(waiters=waiters):
                yield from (owner for paths in waiters.values() for owner in paths)
            case Happens(condition=c.RequestEnded(owner=owner, kind=kind)):
                if kind in IN_VAIN:
                    yield owner
            case InOrder(conditions=conditions):
                for one in conditions:
                    if isinstance(one, c.RequestEnded) and one.kind in IN_VAIN:
                        yield one.owner
            case _:
                pass
