"""Texts of a scenario: ids that groups may get, and what may be said."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from controllers.schemas.parameters import make_parameters
from controllers.schemas.registry import schema_class
from experiments.scenarios.form.behaviours import BehaviourForm
from experiments.scenarios.form.scenario_file import ScenarioFile
from experiments.scenarios.plan.scenario import Behaviour
from models import BadInput
from models.library import Library

MOST_PARTS = 10
"""Of a group whose sums are looked at; whoever sends more of them is believed."""


def group_ids(library: Library, behaviours: Iterable[Behaviour]) -> Iterator[str]:
    """Yield every text that may be the id of a synchronous group.

    A group has the name of its command, unless who starts it gives another id; that is
    a parameter of a behaviour, whatever the parameter is called.

    Args:
        library: of the robot, with what the file brings.
        behaviours: of the top level.
    """
    yield from (name for name, order in library.orders.items() if order.is_synchronous)
    yield from parameter_texts(behaviours)


def joined_commands(form: ScenarioFile) -> frozenset[str]:
    """Return the commands that behaviours complete to a group of one ID (SY-7, SY-8).

    Behaviours that give commands the same `group` send its parts: it can start if the
    points of some of them sum to the preset.
    """
    parts: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for sent in _sent(form.behaviours):
        name, group = sent.get("command"), sent.get("group")
        command = form.commands.get(name) if isinstance(name, str) else None
        if command is not None and command.points and isinstance(group, str) and group:
            points = sum(command.points.values())
            parts.setdefault((group, command.preset), []).append((str(name), points))
    return frozenset(
        name
        for (_, preset), group in parts.items()
        for i, (name, points) in enumerate(group)
        if len(group) > MOST_PARTS
        or preset - points in _sums(n for _, n in group[:i] + group[i + 1 :])
    )


def _sums(points: Iterable[int]) -> set[int]:
    sums = {0}
    for n in points:
        sums |= {total + n for total in sums}
    return sums


def _sent(forms: Iterable[BehaviourForm]) -> Iterator[Mapping[str, Any]]:
    for form in forms:
        yield form.with_
        yield from _sent(form.children)


def spoken_texts(library: Library, behaviours: Iterable[Behaviour]) -> Iterator[str]:
    """Yield every text that behaviours may say; arguments as of `group_ids`."""
    for sound in library.sounds.values():
        yield from filter(None, (sound.text, sound.name))
    yield from parameter_texts(behaviours)


def parameter_texts(behaviours: Iterable[Behaviour]) -> Iterator[str]:
    """Yield every text in the parameters of behaviours of the top level and below."""
    for top in behaviours:
        for behaviour in top.walk():
            yield from _texts(behaviour.parameters)
            try:
                info = schema_class(behaviour.schema).info
                made = make_parameters(info, behaviour.parameters)
            except BadInput:
                continue  # it is told elsewhere
            yield from _texts([getattr(made, one.name) for one in fields(made)])


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in parameters."""
    if isinstance(value, str):
        yield str(value)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
