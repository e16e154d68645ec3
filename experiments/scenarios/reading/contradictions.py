"""Checks for events and expectations that no run can satisfy.

The checks report expectations that exclude each other, conditions on behaviours that
are not active at that time, events that wait for each other, and conflicting events.
"""

from collections.abc import Iterable, Sequence

from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.experiments.common.form_parts import Notes
from nao_testbed.experiments.scenarios.vocabulary.conditions import EventForm
from nao_testbed.experiments.scenarios.vocabulary.events import ScenarioEvent
from nao_testbed.experiments.scenarios.vocabulary.judge import Claim, Expectation
from nao_testbed.experiments.scenarios.vocabulary.lookup import Lookup
from nao_testbed.models.files.yaml_forms import Place


def check_together(
    expectations: Iterable[tuple[Place, Expectation]], tree: ResourceTree, notes: Notes
) -> None:
    """Report contradictory claims, such as two holders of one leaf in one slot.

    Args:
        expectations: expectations, each with its place in the file.
        tree: tree of resources; only exclusive leaves have one holder.
        notes: collector; gets the later one of two contradictory claims.
    """
    said: dict[tuple[int, tuple[str, str]], tuple[int, Claim]] = {}
    for place, item in expectations:
        for claim in item.claims(tree):
            key = (item.slots.first, claim.about)
            line, before = said.setdefault(key, (item.line, claim))
            if before.value != claim.value and line != item.line:
                notes.add(
                    (*place, claim.key),
                    f"impossible: {claim.about[1]!r} is {claim.words} here, and "
                    f"{before.words} at the same time in line {line}; keep one.",
                )


def check_triggers(events: Sequence[ScenarioEvent | None], lookup: Lookup) -> None:
    """Report events whose condition never comes true, or that wait for each other.

    Args:
        events: events in the order of the file; None for an invalid event.
        lookup: lookup with the earliest activation of behaviours and the times of
            events.
    """
    waits_for: dict[str, str] = {}
    for i, event in enumerate(events):
        if event is None or event.when is None:
            continue
        condition = event.when
        condition.check(("events", i, "when"), 0, lookup.duration_ticks - 1, lookup)
        if event.after_ticks >= lookup.duration_ticks:
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


def check_actions(events: Sequence[ScenarioEvent | None], lookup: Lookup) -> None:
    """Report impossible actions, such as repairs of parts that are not broken.

    Args:
        events: events in the order of the file; None for an invalid event.
        lookup: collector of the reports.
    """
    right = [event for event in events if event is not None]
    for i, event in enumerate(events):
        if event is not None:
            event.check(("events", i), event.latest, right, lookup)
