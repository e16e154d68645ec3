"""Expectations of one time: who holds what, who waits, who runs, how the robot is."""

from dataclasses import dataclass
from typing import Any

from experiments.scenarios.plan import expectations as x
from experiments.scenarios.reading.read_conditions import read_holders
from experiments.scenarios.reading.scene import Role, Scene
from models.yaml_lines import Place


@dataclass(frozen=True, kw_only=True)
class Item:
    """One expectation of a file, and where it stands."""

    form: Any
    place: Place
    scene: Scene
    text: str
    line: int


def read_at_time(item: Item) -> x.Expectation | None:
    """Return what is so at one time."""
    form, place, scene = item.form, item.place, item.scene
    waiters: dict[str, tuple[str, ...]] = {}
    for resource, names in form.waiters.items():
        here = (*place, "waiters", resource)
        roles = [scene.owner((*here, i), name) for i, name in enumerate(names)]
        paths = tuple(role.path for role in roles if role is not None)
        if scene.resource(here, resource):
            for leaf in scene.tree.leaves(resource):
                waiters[leaf] = paths
                _note_idle_waiters(here, leaf, roles, scene)
    running = _paths(item, "running")
    not_running = _paths(item, "not_running")
    for name in set(running) & set(not_running):
        scene.notes.add(
            (*place, "not_running"),
            f"impossible: {name!r} would be running and not running; keep one.",
        )
    if form.state is not None:
        scene.state((*place, "state"), form.state)
    if form.posture is not None:
        scene.notes.attempt((*place, "posture"), scene.robot.posture, form.posture)
    return x.AtTime(
        text=item.text,
        line=item.line,
        tick=scene.moment((*place, "at_s"), form.at_s),
        holders=read_holders(form.holds, (*place, "holds"), scene),
        waiters=waiters,
        states=() if form.state is None else (form.state,),
        running=running,
        not_running=not_running,
        posture=form.posture,
        within_deg=form.within_deg,
    )


def _note_idle_waiters(
    place: Place, leaf: str, roles: list[Role | None], scene: Scene
) -> None:
    for role in roles:
        if role is not None and leaf not in role.leaves:
            scene.notes.add(
                place,
                f"impossible: {role.path!r} never waits for {leaf!r}, since it does "
                "not ask for it. Name another resource, or add it to its needs.",
            )


def _paths(item: Item, key: str) -> tuple[str, ...]:
    found = []
    for i, name in enumerate(getattr(item.form, key)):
        role = item.scene.behaviour((*item.place, key, i), name)
        if role is not None:
            found.append(role.path)
    return tuple(found)
