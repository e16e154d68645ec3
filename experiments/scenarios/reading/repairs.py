"""Repairs of a scenario file: of what is broken by then."""

import math
from collections.abc import Sequence

from experiments.scenarios.plan.events import (
    AtTick,
    BreakParts,
    RepairParts,
    ScenarioEvent,
)
from experiments.scenarios.reading.scene import Scene


def check_repairs(events: Sequence[ScenarioEvent | None], scene: Scene) -> None:
    """Note parts that are repaired but never broken, or only later (RM-45).

    Args:
        events: in the order of the file; None where one is wrong.
        scene: gets the notes.
    """
    broken: dict[str, int] = {}
    for event in events:
        if event is not None and isinstance(event.action, BreakParts):
            for part in event.action.parts:
                broken[part] = min(broken.get(part, _first(event)), _first(event))
    for i, event in enumerate(events):
        if event is None or not isinstance(event.action, RepairParts):
            continue
        for j, part in enumerate(event.action.parts):
            place = ("events", i, "repair", j)
            where = "what events of this scenario break"
            if not scene.notes.is_known(place, "Part", part, sorted(broken), where):
                continue
            if broken[part] > _last(event):
                scene.notes.add(
                    place,
                    f"{part!r} is repaired at {_last(event) * scene.tick_s:g} s, but "
                    f"broken at {broken[part] * scene.tick_s:g} s; exchange the times.",
                )


def _first(event: ScenarioEvent) -> int:
    """Return the slot before which it cannot take place."""
    return event.trigger.tick if isinstance(event.trigger, AtTick) else 0


def _last(event: ScenarioEvent) -> float:
    """Return the slot after which it cannot take place."""
    return event.trigger.tick if isinstance(event.trigger, AtTick) else math.inf
