"""The tree of owners that `parent:` makes: each has one, and none is its own."""

from dataclasses import replace

from experiments.scenarios.plan import Behaviour
from experiments.scenarios.scene import Scene


def check_owner_tree(behaviours: tuple[Behaviour, ...], scene: Scene) -> None:
    """Note parents that are no owners, and circles of them (RM-6).

    Behaviours of the top level are owners even if they need nothing.

    Args:
        behaviours: of the top level, in the order of the file.
        scene: knows all of them.
    """
    above: dict[str, str] = {}
    for i, behaviour in enumerate(behaviours):
        if behaviour.owner_parent is None:
            continue
        place = ("behaviours", i, "parent")
        role = scene.behaviour(place, behaviour.owner_parent)
        if role is not None and not role.is_top:
            role = scene.owner(place, behaviour.owner_parent)
        if role is not None:
            above[behaviour.name] = role.path.partition("/")[0]
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


def with_known_parents(
    behaviours: tuple[Behaviour, ...], scene: Scene
) -> tuple[Behaviour, ...]:
    """Return the behaviours with their parents named by path."""
    return tuple(
        replace(b, owner_parent=scene.paths.get(b.owner_parent, b.owner_parent))
        if b.owner_parent is not None
        else b
        for b in behaviours
    )
