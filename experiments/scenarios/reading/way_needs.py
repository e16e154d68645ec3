"""Commands that begin in another posture or go to one: what the way needs (SY-20)."""

from typing import Any

from controllers.schemas.library.needs import resources_of_joints
from controllers.schemas.parameters import make_parameters
from controllers.schemas.registry import schema_class
from controllers.sync.orders.posture_way import find_way
from experiments.scenarios.plan.scenario import Behaviour
from experiments.scenarios.reading.scene import Scene
from models import BadInput
from models.library import Unit
from models.resource_node import DeviceKind
from models.yaml_lines import Place


def check_ways(behaviours: tuple[Behaviour, ...], posture: str, scene: Scene) -> None:
    """Note behaviours whose command an initial motion leads to that they may not play.

    Only where nobody else in the file may move the joints of the way: else the robot
    may be in the right posture by then.

    Args:
        behaviours: of the top level, in the order of the file.
        posture: in which the scenario begins.
        scene: knows all behaviours and what they ask for.
    """
    for i, behaviour in enumerate(behaviours):
        _check(behaviour, ("behaviours", i), posture, scene)


def _check(behaviour: Behaviour, place: Place, posture: str, scene: Scene) -> None:
    for i, child in enumerate(behaviour.children):
        _check(child, (*place, "children", i), posture, scene)
    order = scene.robot.library.orders.get(_command(behaviour))
    if order is None:
        return
    motion = scene.robot.library.motions.get(order.outputs.get(Unit.MOTION, ""))
    begin = order.to if motion is None else motion.start
    if begin in {None, posture} or posture not in scene.robot.postures:
        return
    library = scene.robot.library
    way = find_way(library, posture, begin or "")
    steps = way or ()
    joints = {j for step in steps for j in library.motion(step.motion).joints}
    needed = scene.leaves(resources_of_joints(scene.robot, joints))
    role = scene.roles[behaviour.path]
    others = [r for r in scene.roles.values() if r.path != role.path]
    moved = needed or scene.leaves(("All motors",))
    if any(moved & other.leaves for other in others):
        return
    if way is None:
        scene.notes.add(
            (*place, "with"),
            f"command {order.name!r} {'begins in' if motion else 'goes to'} {begin}, "
            f"the robot begins in {posture}, and no transition leads there; begin in "
            "another posture, or add one.",
        )
    elif needed - role.leaves:
        _note_needs(behaviour, place, needed, scene)


def _note_needs(
    behaviour: Behaviour, place: Place, needed: frozenset[str], scene: Scene
) -> None:
    robot, held = scene.robot, scene.roles[behaviour.path].leaves
    motors = {
        name
        for leaf in needed | held
        if (device := scene.tree.node(leaf).device) is not None
        and device.kind is DeviceKind.MOTOR
        for name in device.names
    }
    joints = [joint.name for joint in robot.joints if joint.motor in motors]
    rest = [leaf for leaf in sorted(held) if leaf not in motors]
    needs = ", ".join((*resources_of_joints(robot, joints), *rest))
    scene.notes.add(
        (*place, "with"),
        f"{behaviour.name!r} brings the robot into another posture, and does not ask "
        f"for all that moves on the way; give needs: [{needs}].",
    )


def _command(behaviour: Behaviour) -> str:
    """Return the command that its schema plays; empty where it has none."""
    try:
        info = schema_class(behaviour.schema).info
        made: Any = make_parameters(info, behaviour.parameters)
    except BadInput:
        return ""  # it is told elsewhere
    command = getattr(made, "command", "")
    return command if isinstance(command, str) else ""
