"""The tree of owners that `parent:` makes: each has one, and none is its own."""

from experiments.scenarios.plan.scenario import Behaviour
from experiments.scenarios.reading.scene import Scene


def check_owner_tree(behaviours: tuple[Behaviour, ...], scene: Scene) -> None:
    """Note parents that are below the top or come later, and circles of them (RM-6).

    Behaviours of the top level are owners even if they need nothing.

    Args:
        behaviours: of the top level, in the order of the file.
        scene: knows all of them.
    """
    above: dict[str, str] = {}
    order = {behaviour.name: i for i, behaviour in enumerate(behaviours)}
    for i, behaviour in enumerate(behaviours):
        parent = behaviour.owner_parent
        if parent is None:
            continue
        place = ("behaviours", i, "parent")
        role = scene.behaviour(place, parent)
        if role is not None and not role.is_top:
            scene.notes.add(
                place,
                f"behaviour {parent!r} is below another one and comes and goes with "
                "it; name one of the top level.",
            )
        elif role is not None:
            above[behaviour.name] = role.path
    in_circle = _note_circles(behaviours, above, scene)
    for name, parent in above.items():
        if name not in in_circle and order[parent] > order[name]:
            scene.notes.add(
                ("behaviours", order[name], "parent"),
                f"behaviour {parent!r} comes later in the file; put it before "
                f"{name!r}, so that there is an owner to be a part of.",
            )


def _note_circles(
    behaviours: tuple[Behaviour, ...], above: dict[str, str], scene: Scene
) -> set[str]:
    """Note each circle once, and return who is in one."""
    in_circle: set[str] = set()
    for i, behaviour in enumerate(behaviours):
        way = [behaviour.name]
        while way[-1] in above and above[way[-1]] not in way:
            way.append(above[way[-1]])
        last = above.get(way[-1])
        if last == behaviour.name and behaviour.name not in in_circle:
            in_circle.update(way)
            circle = " is a part of ".join([*way, last])
            scene.notes.add(
                ("behaviours", i, "parent"),
                f"cycle of owners: {circle}; take one parent away.",
            )
    return in_circle
