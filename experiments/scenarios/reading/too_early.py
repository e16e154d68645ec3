"""What is waited for or expected of behaviours that nothing has woken by then.

Whatever the run does, it does not come. So with events that wait for each other.
"""

from collections.abc import Iterable, Iterator, Sequence

from experiments.scenarios.plan import conditions as c
from experiments.scenarios.plan.events import ScenarioEvent, WhenTrue
from experiments.scenarios.plan.expectations import (
    AtTime,
    Expectation,
    Happens,
    InOrder,
    Window,
)
from experiments.scenarios.reading.scene import Scene
from models.yaml_lines import Place


def check_times(
    expectations: Iterable[tuple[Place, Expectation]], scene: Scene
) -> None:
    """Note what is expected before it can be.

    Args:
        expectations: each with its place in the file.
        scene: knows when behaviours are woken at the earliest, and events take place.
    """
    for place, item in expectations:
        match item:
            case AtTime(tick=tick):
                for key, path in _acting(item):
                    _note_asleep((*place, key), path, tick, scene)
            case Happens(condition=condition, where=Window() as window, times=times):
                if times != 0:
                    here = (*place, "happens")
                    _check_condition(here, condition, window, scene)
            case Happens(condition=condition, times=times) if times != 0:
                whole = Window(first=0, last=scene.duration_ticks - 1)
                _check_condition((*place, "happens"), condition, whole, scene)
            case InOrder(conditions=conditions):
                whole = Window(first=0, last=scene.duration_ticks - 1)
                for i, condition in enumerate(conditions):
                    _check_condition((*place, "order", i), condition, whole, scene)
            case _:
                pass


def check_triggers(events: Sequence[ScenarioEvent | None], scene: Scene) -> None:
    """Note events that wait for what never comes true, or for each other.

    Args:
        events: in the order of the file; None where one is wrong.
        scene: as of `check_times`.
    """
    whole = Window(first=0, last=scene.duration_ticks - 1)
    waits_for: dict[str, str] = {}
    for i, event in enumerate(events):
        if event is None or not isinstance(event.trigger, WhenTrue):
            continue
        condition = event.trigger.condition
        _check_condition(("events", i, "when"), condition, whole, scene)
        if event.trigger.after_ticks >= scene.duration_ticks:
            scene.notes.add(
                ("events", i, "after_s"),
                "after_s is longer than the scenario; give a shorter time.",
            )
        if event.name is not None and isinstance(condition, c.EventHappened):
            waits_for[event.name] = condition.name
    for i, event in enumerate(events):
        if event is None or event.name not in waits_for:
            continue
        way = [event.name]
        while way[-1] in waits_for and waits_for[way[-1]] not in way:
            way.append(waits_for[way[-1]])
        if waits_for.get(way[-1]) == event.name:
            circle = " waits for ".join([*way, event.name])
            scene.notes.add(
                ("events", i, "when"),
                f"cycle of events: {circle}; give one of them a time.",
            )


def _acting(item: AtTime) -> Iterator[tuple[str, str]]:
    """Yield key and path of each behaviour that has to be awake."""
    for owner in dict.fromkeys(item.holders.values()):
        if owner is not None:
            yield "holds", owner
    for owner in dict.fromkeys(p for paths in item.waiters.values() for p in paths):
        yield "waiters", owner
    for path in item.running:
        yield "running", path


def _check_condition(
    place: Place, condition: c.Condition, window: Window, scene: Scene
) -> None:
    match condition:
        case c.Started(behaviour=path) | c.Stopped(behaviour=path):
            _note_asleep(place, path, window.last, scene)
        case c.RequestEnded(owner=path) | c.LostLeaves(owner=path):
            _note_asleep(place, path, window.last, scene)
        case c.OutputIs(path=path) | c.OutputBeyond(path=path):
            _note_asleep(place, path, window.last, scene)
        case c.EventHappened(name=name):
            at_s = scene.events.get(name)
            if at_s is None:
                return
            if not window.first <= round(at_s / scene.tick_s) <= window.last:
                scene.notes.add(
                    place,
                    f"impossible: event {name!r} takes place at {at_s:g} s, and is "
                    f"expected {_words(window, scene)}; change one of them.",
                )
        case _:
            pass


def _note_asleep(place: Place, path: str, tick: int, scene: Scene) -> None:
    """Note a behaviour that is asleep in a slot, whatever happens."""
    top = path.partition("/")[0]
    role = scene.roles.get(top)
    if role is None or (role.first_tick is not None and role.first_tick <= tick):
        return
    if role.first_tick is None:
        why = f"{top!r} waits and no event starts it. Add one with start"
    else:
        first_s = role.first_tick * scene.tick_s
        why = f"{top!r} is woken at {first_s:g} s, not before. Change one of the times"
    scene.notes.add(
        place,
        f"impossible: {path!r} sleeps then, since {why}, or let it start at once.",
    )


def _words(window: Window, scene: Scene) -> str:
    first, last = window.first * scene.tick_s, window.last * scene.tick_s
    return f"at {first:g} s" if first == last else f"from {first:g} to {last:g} s"
