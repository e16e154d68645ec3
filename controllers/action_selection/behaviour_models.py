"""Behaviour models as plain data, for example from a scenario file.

    play:
      priority: 1
      start: idle
      nodes:
        idle:
          - {event: ball, quantity: size, high: 1000, to: {idle: [100, kick]}}
          - {quantity: exercise, low: 50, to: {idle: [70], tired: [30, dance]}}
        tired: []

Each row lists its target nodes with the probability in percent and, optionally, the
behaviour proposed on the transition.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from nao_testbed.controllers.action_selection.automaton import (
    Arc,
    Automaton,
    BehaviourModel,
    NodeRow,
    RowCondition,
)
from nao_testbed.models import BadInput, UnknownName

_MODEL_KEYS = ("priority", "start", "nodes")
_ROW_KEYS = ("event", "quantity", "low", "high", "to")


def read_models(data: Mapping[str, Any]) -> tuple[BehaviourModel, ...]:
    """Parse models from plain data.

    Args:
        data: name to model.

    Raises:
        UnknownName: a key or a named node is unknown.
        BadInput: a value is missing, has the wrong type, or is not a distribution.
    """
    return tuple(_model(name, model) for name, model in data.items())


def actions_of(models: Sequence[BehaviourModel]) -> tuple[str, ...]:
    """Return the names of all behaviours that models may propose, sorted."""
    return tuple(sorted({name for model in models for name in model.automaton.actions}))


def _model(name: str, data: Any) -> BehaviourModel:
    where = f"model {name!r}"
    _check_keys(where, data, _MODEL_KEYS)
    nodes = data.get("nodes")
    if not isinstance(nodes, Mapping) or not nodes:
        raise BadInput(f"{where} has no nodes; give each node's name and its rows.")
    tables = {
        node: tuple(
            _row(f"row {number} of node {node!r} of {where}", row)
            for number, row in enumerate(_rows(f"node {node!r} of {where}", rows), 1)
        )
        for node, rows in nodes.items()
    }
    priority = data.get("priority", 0)
    _expect(f"priority of {where}", priority, int, "a whole number")
    start = data.get("start", next(iter(tables)))
    return BehaviourModel(
        name=name, priority=priority, automaton=Automaton(tables, start)
    )


def _row(where: str, data: Any) -> NodeRow:
    _check_keys(where, data, _ROW_KEYS)
    to = data.get("to")
    if not isinstance(to, Mapping):
        raise BadInput(f"{where} has no targets; give `to`: node to [percent, action].")
    condition = RowCondition(
        event=_name(f"event of {where}", data.get("event")),
        quantity=_name(f"quantity of {where}", data.get("quantity")),
        low=_number(f"low of {where}", data.get("low", 0.0)),
        high=_number(f"high of {where}", data.get("high", 100.0)),
    )
    arcs = tuple(_arc(f"{where} to {node!r}", node, arc) for node, arc in to.items())
    return NodeRow(condition=condition, arcs=arcs)


def _arc(where: str, node: str, data: Any) -> Arc:
    given = _rows(where, data)
    if len(given) not in {1, 2}:
        raise BadInput(f"{where} is {data!r}; give [percent] or [percent, action].")
    return Arc(
        to=node,
        percent=_number(f"percent of {where}", given[0]),
        action=_name(f"action of {where}", given[1] if len(given) == 2 else None),
    )


def _check_keys(where: str, data: Any, known: Sequence[str]) -> None:
    _expect(where, data, Mapping, ", ".join(known))
    for key in data:
        if key not in known:
            raise UnknownName("Key", str(key), known, where)


def _expect(where: str, value: Any, kind: Any, words: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, kind):
        raise BadInput(f"{where} is {value!r}; give {words}.")
    return value


def _rows(where: str, value: Any) -> Any:
    return _expect(where, value, list | tuple, "a list")


def _name(where: str, value: Any) -> Any:
    return _expect(where, value, str | None, "a name")


def _number(where: str, value: Any) -> float:
    return float(_expect(where, value, int | float, "a number"))
