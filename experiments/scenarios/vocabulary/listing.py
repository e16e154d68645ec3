"""Listing of all names and words that a scenario file may use.

    words = scenario_words(load_robot())   # kind to its entries, as JSON data for table
    in word_tables(words, ["motions", "policies"]): ...

Names and numbers come from the robot and the registries, sentences from the docstrings
of the classes of the vocabulary.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from rich.table import Table
from rich.text import Text

from nao_testbed.controllers.arbitration.policies import policy_classes
from nao_testbed.controllers.schemas.registry import schema_class, schema_names
from nao_testbed.experiments.common.drawing.plain_table import plain_table
from nao_testbed.experiments.common.form_parts import flow, one_line
from nao_testbed.experiments.scenarios.vocabulary.conditions import CONDITIONS
from nao_testbed.experiments.scenarios.vocabulary.events import ACTIONS
from nao_testbed.experiments.scenarios.vocabulary.expectations import EXPECTATIONS
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.models.files.documented import field_docs

Entry = Mapping[str, Any]
Words = Mapping[str, list[dict[str, Any]]]
Columns = Mapping[str, Callable[[Entry], str]]
"""Column heads to functions that return the cell of an entry."""


def scenario_words(robot: Robot) -> Words:
    """Return all kinds of words with their entries.

    Raises:
        FileErrors: the library of the robot is invalid.
    """
    library = robot.library
    return {
        "motions": [
            {
                "name": name,
                "from": one.start,
                "to": one.end,
                "length_s": one.length_s,
                "stops_s": list(one.stops_s),
                "joints": list(one.joints),
            }
            for name, one in library.motions.items()
        ],
        "lights": [
            {"name": name, "length_s": one.length_s, "leds": list(one.leds)}
            for name, one in library.lights.items()
        ],
        "sounds": [
            {
                "name": name,
                "text": one.text,
                "tone_hz": one.tone_hz,
                "length_s": one.length_s,
            }
            for name, one in library.sounds.items()
        ],
        "commands": [
            {
                "name": name,
                **({} if one.to is None else {"to": one.to}),
                **{unit.value: output for unit, output in one.outputs.items()},
                "points": {unit.value: n for unit, n in one.points.items()},
                "preset": one.preset if one.points else None,
            }
            for name, one in library.orders.items()
        ],
        "postures": [
            {"name": name, "state": one.state, "effectors": list(one.effectors)}
            for name, one in robot.postures.items()
        ],
        "schemas": schema_words(),
        "policies": [
            {"name": name, "about": _about(kind), "settings": _settings(kind)}
            for name, kind in policy_classes().items()
        ],
        "conditions": [
            {"name": key, "about": _about(form), "lasts": form.lasts}
            for key, form in CONDITIONS.items()
        ],
        "events": [
            {"name": key, "about": _about(form)} for key, form in ACTIONS.items()
        ],
        "expectations": [
            {"name": key, "about": _about(form)} for key, form in EXPECTATIONS.items()
        ],
    }


def schema_words() -> list[dict[str, Any]]:
    """Return the installed schemas; for one that fails to load, the reason."""
    return [_schema(name) for name in schema_names()]


def check_kinds(kinds: Iterable[str]) -> None:
    """Reject unknown kinds of words.

    Raises:
        UnknownName: a kind is unknown.
    """
    for kind in kinds:
        if kind not in _COLUMNS:
            raise UnknownName("Kind", kind, _COLUMNS, "the vocabulary of scenarios")


def word_tables(words: Words, kinds: Iterable[str] = ()) -> Iterator[Table]:
    """Yield one table per kind; without kinds, all of them."""
    for kind in kinds or words:
        yield _table(f"\n{kind.capitalize()}", words[kind], _COLUMNS[kind])


def schema_table() -> Table:
    """Return the table of installed schemas; for one that fails to load, the reason."""
    return _table("", schema_words(), {"does": _said, "with": _parameters}, "schema")


def _table(
    title: str, entries: Iterable[Entry], columns: Columns, head: str = "name"
) -> Table:
    table = plain_table(title)
    for text in (head, *columns):
        table.add_column(text, overflow="fold")
    for entry in entries:
        cells = (Text(show(entry)) for show in columns.values())
        table.add_row(Text(entry["name"]), *cells)
    return table


# -- text of an entry ----------------------------------------------------------------


def _schema(name: str) -> dict[str, Any]:
    try:
        schema = schema_class(name)
    except BadInput as error:  # the package fails to load
        return {"name": name, "about": str(error), "parameters": [], "outputs": []}
    info = schema.info
    made, abouts = info.parameters(), field_docs(info.parameters)
    return {
        "name": name,
        "kind": schema.kind,
        "about": info.about,
        "period_s": info.period_s,
        "parameters": [
            {
                "name": one.name,
                "default": _plain(getattr(made, one.name)),
                "about": " ".join(abouts.get(one.name, "").split()),
            }
            for one in fields(made)
        ],
        "outputs": [
            {"name": one.name, "unit": one.unit, "about": one.about}
            for one in info.outputs
        ],
    }


def _about(kind: type) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def _settings(kind: type) -> dict[str, Any]:
    """Return the settings of a policy that a file can give, with their defaults."""
    parameters = inspect.signature(kind).parameters.values()
    return {one.name: one.default for one in parameters if not callable(one.default)}


def _plain(value: object) -> Any:
    """Convert a default to JSON data; an infinite value becomes None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    is_plain = value is None or isinstance(value, bool | int | float | str)
    return value if is_plain else str(value)


# -- display ------------------------------------------------------------------------


def _way(entry: Entry) -> str:
    start, end = entry["from"] or "anywhere", entry["to"] or "anywhere"
    return f"{start} to {end}"


def _sound(entry: Entry) -> str:
    if entry["text"] is not None:
        return f'"{entry["text"]}"'
    return f"{entry['tone_hz']:g} Hz, {entry['length_s']:g} s"


def _outputs(entry: Entry) -> str:
    points = entry["points"]
    return ", ".join(
        f"{key} {entry[key]}"
        + (f" ({points['motion' if key == 'to' else key]})" if points else "")
        for key in ("motion", "to", "light", "sound")
        if key in entry
    )


def _parameters(entry: Entry) -> str:
    return one_line({one["name"]: one["default"] for one in entry["parameters"]})


def _listed(key: str) -> Callable[[Entry], str]:
    return lambda entry: ", ".join(map(flow, entry[key]))


def _length(entry: Entry) -> str:
    return f"{entry['length_s']:g} s"


def _said(entry: Entry) -> str:
    return str(entry["about"])


_COLUMNS: Mapping[str, Columns] = {
    "motions": {
        "from, to": _way,
        "duration": _length,
        "pause points (s)": _listed("stops_s"),
    },
    "lights": {"duration": _length, "LEDs": _listed("leds")},
    "sounds": {"content": _sound},
    "commands": {"outputs (points)": _outputs},
    "postures": {
        "state": lambda one: one["state"] or "",
        "support": _listed("effectors"),
    },
    "schemas": {
        "description": _said,
        "parameters": _parameters,
        "outputs": lambda one: ", ".join(o["name"] for o in one["outputs"]),
    },
    "policies": {
        "description": _said,
        "parameters": lambda one: one_line(one["settings"]),
    },
    "conditions": {
        "description": _said,
        "kind": lambda one: "lasts" if one["lasts"] else "happens",
    },
    "events": {"description": _said},
    "expectations": {"description": _said},
}
"""Columns after the name by kind: head, and the function that returns the cell."""
