"""Conditions of a scenario file, with every name looked up."""

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from enum import Enum
from typing import Any, get_args

from controllers.resources.words import OutcomeKind
from controllers.schemas.library.go_to_posture import ADJUST
from controllers.sync.transmitter.words import EndReason
from experiments.scenarios.form import condition as f
from experiments.scenarios.form.base import Part
from experiments.scenarios.plan import conditions as c
from experiments.scenarios.reading.one_line import plain
from experiments.scenarios.reading.scene import Role, Scene
from models.library import Unit
from models.yaml_lines import Place


def read_condition(form: Part, place: Place, scene: Scene) -> c.Condition | None:
    """Return a condition; None, and a note, where it names what is not there."""
    return _READERS[type(form)](form, place, scene)


def read_holders(
    given: Mapping[str, str | None], place: Place, scene: Scene
) -> dict[str, str | None]:
    """Return leaf to the path of who holds it, of resources to names.

    Notes what is unknown, two holders of one leaf, and an owner that never asks for it.
    """
    holders: dict[str, str | None] = {}
    for resource, name in given.items():
        here = (*place, resource)
        if not scene.resource(here, resource):
            continue
        path, asks_for = name, None
        if name is not None and name not in scene.virtual:
            role = scene.owner(here, name)
            if role is None:
                continue
            path, asks_for = role.path, role.leaves
        leaves = scene.tree.leaves(resource)
        others = [x for x in leaves if asks_for is not None and x not in asks_for]
        if others:
            scene.notes.add(
                here,
                f"impossible: {name!r} never holds {', '.join(others)}: it does not "
                "ask for that. Name another resource, or add it to its needs.",
            )
            continue
        for leaf in leaves:
            if holders.setdefault(leaf, path) != path:
                scene.notes.add(
                    here,
                    f"impossible: {leaf!r} would be held by {holders[leaf]!r} and by "
                    f"{path!r}; keep one of them.",
                )
    return holders


def _started(form: Any, place: Place, scene: Scene) -> c.Condition | None:
    role = scene.behaviour((*place, "started"), form.started)
    return None if role is None else c.Started(behaviour=role.path)


def _stopped(form: Any, place: Place, scene: Scene) -> c.Condition | None:
    role = scene.behaviour((*place, "stopped"), form.stopped)
    return None if role is None else c.Stopped(behaviour=role.path)


def _failed(form: Any, place: Place, scene: Scene) -> c.Condition | None:
    role = scene.behaviour((*place, "failed"), form.failed)
    return None if role is None else c.SchemaFailed(behaviour=role.path)


def _ended(kind: OutcomeKind) -> Callable[[Any, Place, Scene], c.Condition | None]:
    def read(form: Any, place: Place, scene: Scene) -> c.Condition | None:
        role = scene.owner((*place, kind.value), getattr(form, kind.value))
        return None if role is None else c.RequestEnded(owner=role.path, kind=kind)

    return read


def _revoked(form: Any, place: Place, scene: Scene) -> c.Condition | None:
    role = scene.owner((*place, "revoked"), form.revoked)
    return None if role is None else c.LostLeaves(owner=role.path)


def _holds(form: Any, place: Place, scene: Scene) -> c.Condition | None:
    return c.Holds(holders=read_holders(form.holds, (*place, "holds"), scene))


def _state(form: Any, place: Place, scene: Scene) -> c.Condition | None:
    is_known = scene.state((*place, "state"), form.state)
    return c.InState(state=form.state) if is_known else None


def _hot(form: Any, place: Place, scene: Scene) -> c.Condition | None:
    is_above = isinstance(form, f.DegcAboveForm)
    key = "degc_above" if is_above else "degc_below"
    limits = getattr(form, key)
    known = [scene.joint((*place, key, joint), joint) for joint in limits]
    if not all(known):
        return None
    return c.Hot(limits_degc=limits, is_above=is_above)


def _group_started(form: Any, place: Place, scene: Scene) -> c.Condition | None:
    scene.group((*place, "group_started"), form.group_started)
    return c.GroupStarted(group=form.group_started)


def _group_ended(form: Any, place: Place, scene: Scene) -> c.Condition | None:
    scene.group((*place, "group_ended"), form.group_ended)
    if form.reason is not None:
        reasons = [reason.value for reason in EndReason]
        here = (*place, "reason")
        scene.notes.is_known(here, "Reason", form.reason, reasons, "the transmitter")
    return c.GroupEnded(group=form.group_ended, reason=form.reason)


def _said(form: Any, place: Place, scene: Scene) -> c.Condition | None:
    """Note a text that nobody says but somebody says one that is nearly the same."""
    near = get_close_matches(form.said, scene.spoken, n=1, cutoff=0.75)
    if form.said not in scene.spoken and near and not scene.doubtful:
        scene.notes.add(
            (*place, "said"),
            f"nobody says {form.said!r}. Did you mean {near[0]!r}?",
        )
        return None
    return c.Said(text=form.said)


def _motion(form: Any, place: Place, scene: Scene) -> c.Condition | None:
    """Note a motion that neither is in the library nor made by a schema of ours."""
    name, library = form.motion_started, scene.robot.library
    known = [*library.motions, *(ADJUST.format(p) for p in scene.robot.postures)]
    part = re.fullmatch(r"(.+) (\d+/\d+|back to stop \d+)", name)  # of a dance
    if part is not None and part[1] in library.motions:
        known.append(name)
    return _begins(Unit.MOTION, name, known, (*place, "motion_started"), scene)


def _light(form: Any, place: Place, scene: Scene) -> c.Condition | None:
    known = list(scene.robot.library.lights)
    name = form.light_started
    return _begins(Unit.LIGHT, name, known, (*place, "light_started"), scene)


def _begins(
    unit: Unit, name: str, known: list[str], place: Place, scene: Scene
) -> c.Condition | None:
    if scene.is_library_right:
        kind = unit.value.capitalize()
        where = f"the library of {scene.robot.name!r} and this scenario"
        if not scene.notes.is_known(place, kind, name, known, where):
            return None
    return c.StreamBegins(unit=unit, name=name)


def _event(form: Any, place: Place, scene: Scene) -> c.Condition | None:
    if form.event in scene.doubtful:
        return None
    where = "the named events of this scenario"
    here = (*place, "event")
    is_known = scene.notes.is_known(here, "Event", form.event, scene.events, where)
    return c.EventHappened(name=form.event) if is_known else None


def _output(form: Any, place: Place, scene: Scene) -> c.Condition | None:
    found = _variable(form.output, (*place, "output"), scene)
    if found is None:
        return None
    here, role, variable, kind = found
    value = plain(form.output[here[-1]])
    if kind is not None and not _may_be(kind, value):
        scene.notes.add(
            here,
            f"output {variable!r} is never {value!r}: it is of type "
            f"{_type_name(kind)}.",
        )
        return None
    return c.OutputIs(path=role.path, variable=variable, value=value)


def _beyond(form: Any, place: Place, scene: Scene) -> c.Condition | None:
    is_above = isinstance(form, f.OutputAboveForm)
    key = "output_above" if is_above else "output_below"
    found = _variable(getattr(form, key), (*place, key), scene)
    if found is None:
        return None
    here, role, variable, kind = found
    if kind is not None and not _may_be(kind, 0.5) and not _may_be(kind, 0):
        scene.notes.add(
            here,
            f"output {variable!r} is no number: it is of type {_type_name(kind)}; ask "
            "for its value by output.",
        )
        return None
    limit = float(getattr(form, key)[here[-1]])
    return c.OutputBeyond(
        path=role.path, variable=variable, limit=limit, is_above=is_above
    )


def _variable(
    given: Mapping[str, Any], place: Place, scene: Scene
) -> tuple[Place, Role, str, Any] | None:
    """Return place, behaviour, output and type of the one that a condition names.

    The type is None where the schema is not known. Notes what is not there.
    """
    (name,) = given
    here = (*place, name)
    who, dot, variable = name.rpartition(".")
    if not (dot and who and variable):
        scene.notes.add(
            here,
            f"output is {name!r}; write behaviour.output, such as "
            "'fall watch.is_falling'.",
        )
        return None
    role = scene.behaviour(here, who)
    if role is None:
        return None
    if role.schema is None:
        return here, role, variable, None
    outputs = {one.name: one for one in role.schema.info.outputs}
    where = f"what schema {role.schema.info.name!r} offers"
    if not scene.notes.is_known(here, "Output", variable, outputs, where):
        return None
    return here, role, variable, outputs[variable].type


def _type_name(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))


def _may_be(kind: Any, value: Any) -> bool:
    """Tell whether an output of a type may have a value."""
    kinds = get_args(kind) or (kind,)
    if value is None or isinstance(value, kinds):
        is_truth = isinstance(value, bool)
        return not is_truth or bool in kinds
    if isinstance(value, int) and float in kinds:
        return not isinstance(value, bool)
    words = [k for k in kinds if isinstance(k, type) and issubclass(k, Enum)]
    return any(value in {one.value for one in word} for word in words)


_READERS: Mapping[type, Callable[[Any, Place, Scene], c.Condition | None]] = {
    f.StartedForm: _started,
    f.StoppedForm: _stopped,
    f.FailedForm: _failed,
    f.GrantedForm: _ended(OutcomeKind.GRANTED),
    f.DeniedForm: _ended(OutcomeKind.DENIED),
    f.TimedOutForm: _ended(OutcomeKind.TIMED_OUT),
    f.CancelledForm: _ended(OutcomeKind.CANCELLED),
    f.RevokedForm: _revoked,
    f.HoldsForm: _holds,
    f.StateForm: _state,
    f.DegcAboveForm: _hot,
    f.DegcBelowForm: _hot,
    f.FallenForm: lambda _form, _place, _scene: c.Fallen(),
    f.ShutDownForm: lambda _form, _place, _scene: c.ShutDown(),
    f.GroupStartedForm: _group_started,
    f.GroupEndedForm: _group_ended,
    f.SaidForm: _said,
    f.MotionStartedForm: _motion,
    f.LightStartedForm: _light,
    f.EventForm: _event,
    f.OutputForm: _output,
    f.OutputAboveForm: _beyond,
    f.OutputBelowForm: _beyond,
}
