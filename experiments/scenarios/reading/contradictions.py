"""Note events and expectations that could never be, whatever the run does.

Expectations that exclude each other; what is waited for or expected of behaviours that
nothing has activated by then; events that wait for each other; repairs of what is not
broken by then.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from controllers.arbitration.resource_tree import ResourceTree
from experiments.common.yaml_forms import Notes
from experiments.scenarios.vocabulary.conditions import EventForm
from experiments.scenarios.vocabulary.events import (
    AtTick,
    BreakParts,
    RepairParts,
    ScenarioEvent,
    WhenTrue,
)
from experiments.scenarios.vocabulary.expectations import (
    AtTime,
    Expectation,
    Happens,
    InOrder,
    Window,
)
from experiments.scenarios.vocabulary.lookup import Lookup
from models.files.yaml_forms import Place
from models.resources import ResourceKind


def check_together(
    expectations: Iterable[tuple[Place, Expectation]], tree: ResourceTree, notes: Notes
) -> None:
    """Note two holders of one leaf in one slot, two states of a set, and such.

    Args:
        expectations: each with its place in the file.
        tree: of resources; only exclusive leaves have one holder.
        notes: gets the later one of two that exclude each other.
    """
    first: dict[tuple[int, str, str], tuple[int, object]] = {}
    for place, item in expectations:
        if not isinstance(item, AtTime):
            continue
        claims: list[tuple[str, str, object]] = [
            ("holds", leaf, owner)
            for leaf, owner in item.holders.items()
            if tree.node(leaf).kind is ResourceKind.EXCLUSIVE
        ]
        claims += [("state", tree.state_group(s), s) for s in item.states if s in tree]
        claims += [("running", name, True) for name in item.running]
        claims += [("not_running", name, False) for name in item.not_running]
        for key, what, claim in claims:
            about = "running" if key == "not_running" else key
            line, before = first.setdefault(
                (item.tick, about, what), (item.line, claim)
            )
            if before != claim and line != item.line:
                notes.add(
                    (*place, key),
                    f"impossible: {what!r} is {_claim_in_words(key, claim)} here, and "
                    f"{_claim_in_words(key, before)} at the same time in line "
                    f"{line}; keep one.",
                )


def _claim_in_words(key: str, claim: object) -> str:
    if key == "holds":
        return "nobody's" if claim is None else f"held by {claim!r}"
    if key == "state":
        return f"{claim!r}"
    return "running" if claim else "not running"


def check_times(
    expectations: Iterable[tuple[Place, Expectation]], lookup: Lookup
) -> None:
    """Note what is expected before it can be.

    Args:
        expectations: each with its place in the file.
        lookup: knows when behaviours are woken at the earliest, and events take place.
    """
    end = lookup.duration_ticks - 1
    for place, item in expectations:
        match item:
            case AtTime(tick=tick):
                for key, path in _acting(item):
                    lookup.note_asleep((*place, key), path, tick)
            case Happens(condition=condition, where=where, times=times) if times != 0:
                first, last = 0, end
                if isinstance(where, Window):
                    first, last = where.first, where.last
                condition.check((*place, "happens"), first, last, lookup)
            case InOrder(conditions=conditions):
                for i, condition in enumerate(conditions):
                    condition.check((*place, "order", i), 0, end, lookup)
            case _:
                pass


def check_triggers(events: Sequence[ScenarioEvent | None], lookup: Lookup) -> None:
    """Note events that wait for what never comes true, or for each other.

    Args:
        events: in the order of the file; None where one is wrong.
        lookup: as of `check_times`.
    """
    waits_for: dict[str, str] = {}
    for i, event in enumerate(events):
        if event is None or not isinstance(event.trigger, WhenTrue):
            continue
        condition = event.trigger.condition
        condition.check(("events", i, "when"), 0, lookup.duration_ticks - 1, lookup)
        if event.trigger.after_ticks >= lookup.duration_ticks:
            lookup.notes.add(
                ("events", i, "after_s"),
                "after_s is longer than the scenario; give a shorter time.",
            )
        if event.name is not None and isinstance(condition, EventForm):
            waits_for[event.name] = condition.event
    for i, event in enumerate(events):
        if event is None or event.name not in waits_for:
            continue
        way = [event.name]
        while way[-1] in waits_for and waits_for[way[-1]] not in way:
            way.append(waits_for[way[-1]])
        if waits_for.get(way[-1]) == event.name:
            circle = " waits for ".join([*way, event.name])
            lookup.notes.add(
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


def check_repairs(events: Sequence[ScenarioEvent | None], lookup: Lookup) -> None:
    """Note parts that are repaired but never broken, or only later.

    Args:
        events: in the order of the file; None where one is wrong.
        lookup: gets the notes.
    """
    broken: dict[str, int] = {}
    for event in events:
        if event is not None and isinstance(event.action, BreakParts):
            for part in event.action.parts:
                broken[part] = min(
                    broken.get(part, _earliest_slot(event)), _earliest_slot(event)
                )
    for i, event in enumerate(events):
        if event is None or not isinstance(event.action, RepairParts):
            continue
        for j, part in enumerate(event.action.parts):
            place = ("events", i, "repair", j)
            where = "what events of this scenario break"
            if not lookup.notes.is_known(place, "Part", part, sorted(broken), where):
                continue
            if broken[part] > _latest_slot(event):
                lookup.notes.add(
                    place,
                    f"{part!r} is repaired at "
                    f"{_latest_slot(event) * lookup.tick_s:g} s, but broken at "
                    f"{broken[part] * lookup.tick_s:g} s; exchange the times.",
                )


def _earliest_slot(event: ScenarioEvent) -> int:
    """Return the slot before which it cannot take place."""
    return event.trigger.tick if isinstance(event.trigger, AtTick) else 0


def _latest_slot(event: ScenarioEvent) -> float:
    """Return the slot after which it cannot take place."""
    return event.trigger.tick if isinstance(event.trigger, AtTick) else math.inf
