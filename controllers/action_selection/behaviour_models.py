"""Behaviour models as plain data, such as a scenario file gives.

    play:
      priority: 1
      start: idle
      nodes:
        idle:
          - {event: ball, quantity: size, high: 1000, to: {idle: [100, kick]}}
          - {quantity: exercise, low: 50, to: {idle: [70], tired: [30, dance]}}
        tired: []

Each row names the nodes that it may lead to, with the probability in percent and the
behaviour that is proposed on the way; none proposes nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from controllers.action_selection.automaton import (
    Arc,
    Automaton,
    BehaviourModel,
    Condition,
    Row,
)
from models import BadInput, UnknownName

_OF_A_MODEL = ("priority", "start", "nodes")
_OF_A_ROW = ("event", "quantity", "low", "high", "to")


def read_models(data: Mapping[str, Any]) -> tuple[BehaviourModel, ...]:
    """Return the models of plain data.

    Args:
        data: name to model.

    Raises:
        UnknownName: a key is unknown, or a node that is named is not there.
        BadInput: something is missing, of the wrong type, or no distribution.
    """
    return tuple(_model(name, model) for name, model in data.items())


def actions_of(models: Sequence[BehaviourModel]) -> tuple[str, ...]:
    """Return the names of all behaviours that models may propose, sorted."""
    return tuple(sorted({name for model in models for name in model.automaton.actions}))


def _model(name: str, data: Any) -> BehaviourModel:
    where = f"model {name!r}"
    _check_keys(where, data, _OF_A_MODEL)
    nodes = data.get("nodes")
    if not isinstance(nodes, Mapping) or not nodes:
        raise BadInput(f"{where} has no nodes; give name to rows.")
    tables = {
        node: tuple(
            _row(f"row {number} of node {node!r} of {where}", row)
            for number, row in enumerate(_list(f"node {node!r} of {where}", rows), 1)
        )
        for node, rows in nodes.items()
    }
    priority = data.get("priority", 0)
    if type(priority) is not int:
        raise BadInput(f"priority of {where} is {priority!r}; give a whole number.")
    start = data.get("start", next(iter(tables)))
    return BehaviourModel(
        name=name, priority=priority, automaton=Automaton(tables, start)
    )


def _row(where: str, data: Any) -> Row:
    _check_keys(where, data, _OF_A_ROW)
    to = data.get("to")
    if not isinstance(to, Mapping):
        raise BadInput(f"{where} leads nowhere; give `to`: node to [percent, action].")
    condition = Condition(
        event=_text(where, "event", data),
        quantity=_text(where, "quantity", data),
        low=_number(f"low of {where}", data.get("low", 0.0)),
        high=_number(f"high of {where}", data.get("high", 100.0)),
    )
    arcs = tuple(_arc(f"{where} to {node!r}", node, arc) for node, arc in to.items())
    return Row(condition=condition, arcs=arcs)


def _arc(where: str, node: str, data: Any) -> Arc:
    given = _list(where, data)
    if len(given) not in {1, 2}:
        raise BadInput(f"{where} is {data!r}; give [percent] or [percent, action].")
    action = given[1] if len(given) == 2 else None
    if action is not None and not isinstance(action, str):
        raise BadInput(f"action of {where} is {action!r}; give a name.")
    return Arc(to=node, percent=_number(f"percent of {where}", given[0]), action=action)


def _check_keys(where: str, data: Any, known: Sequence[str]) -> None:
    if not isinstance(data, Mapping):
        raise BadInput(f"{where} is {data!r}; give {', '.join(known)}.")
    for key in data:
        if key not in known:
            raise UnknownName("Key", str(key), known, where)


def _list(where: str, data: Any) -> Sequence[Any]:
    if isinstance(data, str) or not isinstance(data, Sequence):
        raise BadInput(f"{where} is {data!r}; give a list.")
    return data


def _text(where: str, key: str, data: Mapping[str, Any]) -> str | None:
    value = data.get(key)
    if value is not None and not isinstance(value, str):
        raise BadInput(f"{key} of {where} is {value!r}; give a name.")
    return value


def _number(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadInput(f"{where} is {value!r}; give a number.")
    return float(value)
