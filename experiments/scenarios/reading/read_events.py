"""The events of a scenario file, with every name looked up and every time a slot."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from experiments.scenarios.form import events as f
from experiments.scenarios.plan import events as e
from experiments.scenarios.reading.one_line import one_line, plain
from experiments.scenarios.reading.read_conditions import read_condition
from experiments.scenarios.reading.read_parameters import read_parameters
from experiments.scenarios.reading.read_settings import read_controller
from experiments.scenarios.reading.scene import Scene
from models.yaml_lines import Place


def read_event(
    form: f.Triggered, place: Place, scene: Scene, tree: Any, line: int
) -> e.ScenarioEvent | None:
    """Return an event; None, and notes, where something in it is wrong.

    Args:
        form: of the event.
        place: of the event in the file.
        scene: what it may name.
        tree: the event as it was read.
        line: of the event in the file.
    """
    trigger = _trigger(form, place, scene)
    action = _READERS[type(form)](form, place, scene)
    if trigger is None or action is None:
        return None
    text = one_line(tree)
    return e.ScenarioEvent(
        trigger=trigger, action=action, name=form.name, text=text, line=line
    )


def event_names(forms: Iterable[f.Triggered], scene: Scene) -> dict[str, float | None]:
    """Return name to time in s, None of one on a condition; note names of two."""
    names: dict[str, float | None] = {}
    for i, form in enumerate(forms):
        if form.name is None:
            continue
        if form.name in names:
            scene.notes.add(
                ("events", i, "name"),
                f"a second event is called {form.name!r}; give each a name of its own.",
            )
        names[form.name] = form.at_s
    return names


def _trigger(form: f.Triggered, place: Place, scene: Scene) -> e.Trigger | None:
    if form.when is None:
        return e.AtTick(tick=scene.moment((*place, "at_s"), form.at_s or 0.0))
    condition = read_condition(form.when, (*place, "when"), scene)
    after = scene.ticks((*place, "after_s"), form.after_s or 0.0)
    if condition is None:
        return None
    return e.WhenTrue(condition=condition, after_ticks=after)


def _top_level(name: str, place: Place, scene: Scene) -> str | None:
    role = scene.behaviour(place, name)
    if role is None:
        return None
    if not role.is_top:
        above = role.path.partition("/")[0]
        scene.notes.add(
            place,
            f"behaviour {name!r} is below {above!r}, which alone wakes it and puts it "
            "to sleep; name one of the top level.",
        )
        return None
    return role.path


def _start(form: Any, place: Place, scene: Scene) -> e.Action | None:
    name = _top_level(form.start, (*place, "start"), scene)
    return None if name is None else e.StartBehaviour(behaviour=name)


def _stop(form: Any, place: Place, scene: Scene) -> e.Action | None:
    name = _top_level(form.stop, (*place, "stop"), scene)
    return None if name is None else e.StopBehaviour(behaviour=name)


def _say(form: Any, place: Place, scene: Scene) -> e.Action | None:
    if not any(letter.isalnum() for letter in form.say):
        scene.notes.add(
            (*place, "say"),
            f"{form.say!r} has no letter and no digit; give something to say.",
        )
        return None
    return e.Say(text=form.say)


def _push(form: Any, place: Place, scene: Scene) -> e.Action | None:
    here = (*place, "push")
    push: f.PushForm = form.push
    links = [link.name for link in scene.robot.links]
    where = f"robot {scene.robot.name!r}"
    ticks = scene.ticks((*here, "for_s"), push.for_s)
    if not scene.notes.is_known((*here, "link"), "Link", push.link, links, where):
        return None
    x, y, z = push.newton
    return e.Push(link=push.link, newton=(x, y, z), ticks=ticks)


def _heat(form: Any, place: Place, scene: Scene) -> e.Action | None:
    heat: f.HeatForm = form.heat
    if not scene.joint((*place, "heat", "joint"), heat.joint):
        return None
    return e.SetTemperature(joint=heat.joint, degc=heat.degc)


def _break(form: Any, place: Place, scene: Scene) -> e.Action | None:
    here = (*place, "break")
    known = [scene.resource((*here, i), part) for i, part in enumerate(form.break_)]
    return e.BreakParts(parts=tuple(form.break_)) if all(known) else None


def _repair(form: Any, place: Place, scene: Scene) -> e.Action | None:
    here = (*place, "repair")
    known = [scene.resource((*here, i), part) for i, part in enumerate(form.repair)]
    return e.RepairParts(parts=tuple(form.repair)) if all(known) else None


def _body(form: Any, place: Place, scene: Scene) -> e.Action | None:
    robot = scene.robot
    where = f"robot {robot.name!r}"
    is_known = scene.notes.is_known(
        (*place, "body"), "Body", form.body, robot.bodies, where
    )
    return e.ChangeBody(body=form.body) if is_known else None


def _ground(form: Any, place: Place, scene: Scene) -> e.Action | None:
    del place, scene  # its form has the ranges
    ground: f.GroundForm = form.ground
    return e.SetGround(friction=ground.friction, slope_deg=ground.slope_deg)


def _controller(form: Any, place: Place, scene: Scene) -> e.Action | None:
    read_controller((*place, "controller"), form.controller, scene.notes)
    return e.UseController(controller=form.controller)


def _delete_group(form: Any, place: Place, scene: Scene) -> e.Action | None:
    scene.group((*place, "delete_group"), form.delete_group)
    return e.DeleteGroup(group=form.delete_group)


def _modulate(form: Any, place: Place, scene: Scene) -> e.Action | None:
    here = (*place, "modulate")
    modulate: f.ModulateForm = form.modulate
    role = scene.behaviour((*here, "behaviour"), modulate.behaviour)
    if role is None:
        return None
    given = plain(modulate.with_)
    if role.schema is not None:
        there = (*here, "with")
        base = role.parameters
        read_parameters(role.schema.info, given, there, scene.notes, base)
    return e.Modulate(behaviour=role.path, parameters=given)


_READERS: Mapping[type, Callable[[Any, Place, Scene], e.Action | None]] = {
    f.StartEvent: _start,
    f.StopEvent: _stop,
    f.SayEvent: _say,
    f.PushEvent: _push,
    f.HeatEvent: _heat,
    f.BreakEvent: _break,
    f.RepairEvent: _repair,
    f.BodyEvent: _body,
    f.GroundEvent: _ground,
    f.ControllerEvent: _controller,
    f.DeleteGroupEvent: _delete_group,
    f.ModulateEvent: _modulate,
}
