"""Schemas by name, built-in and from other packages.

A package registers a schema under the entry-point group `nao_testbed.schemas`; the
entry point is a class derived from `PerceptiveSchema` or `ActuationSchema`, and its
name is that of the class's `info`. Modules are imported on request, so that a broken
package affects no other one.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any

from nao_testbed.controllers.interface.entry_points import load_entry_point
from nao_testbed.controllers.schemas.declaration import SchemaInfo
from nao_testbed.controllers.schemas.schema import ActuationSchema, PerceptiveSchema
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.values import short

ENTRY_POINT_GROUP = "nao_testbed.schemas"

SchemaClass = type[ActuationSchema[Any]] | type[PerceptiveSchema[Any]]

_CLASSES = {
    "attention": "schemas.library.look_around:Attention",
    "balance watch": "schemas.library.balance:BalanceWatch",
    "battery watch": "schemas.library.heat_and_battery:BatteryWatch",
    "blink": "schemas.library.idle:Blink",
    "breathe": "schemas.library.idle:Breathe",
    "choose": "schemas.library.composites:Choose",
    "cool down": "schemas.library.heat_and_battery:CoolDown",
    "crouch": "schemas.library.go_to_posture:Crouch",
    "dance": "schemas.library.dance:Dance",
    "example": "schemas.example:Example",
    "fall watch": "schemas.library.fall:FallWatch",
    "frames": "schemas.library.move:Frames",
    "go to posture": "schemas.library.go_to_posture:GoToPosture",
    "greet": "schemas.library.move:Greet",
    "hold": "schemas.library.composites:Hold",
    "hot joint watch": "schemas.library.heat_and_battery:HotJointWatch",
    "look around": "schemas.library.look_around:LookAround",
    "motivated": "action_selection.motivated:Motivated",
    "move": "schemas.library.move:Move",
    "protect from fall": "schemas.library.fall:ProtectFromFall",
    "say": "schemas.library.move:Say",
    "sequence": "schemas.library.composites:StepSequence",
    "sit": "schemas.library.go_to_posture:Sit",
    "stand": "schemas.library.go_to_posture:Stand",
    "wave": "schemas.library.move:Wave",
}
BUILT_IN: Mapping[str, str] = MappingProxyType(
    {name: f"nao_testbed.controllers.{home}" for name, home in _CLASSES.items()}
)
"""Name of a built-in schema to module and class."""


class Registry:
    """Schemas by name: built-in, installed, and given."""

    def __init__(self, extra: Mapping[str, type] | None = None) -> None:
        """Create the registry with built-in and installed schemas.

        Args:
            extra: further schemas by name; built-in names are rejected.

        Raises:
            BadInput: a name is taken, or a class is not a schema.
        """
        self._given: dict[str, SchemaClass] = {}
        for name, item in (extra or {}).items():
            if name in BUILT_IN:
                raise BadInput(
                    f"schema {name!r} ({item.__module__}.{item.__qualname__}) has the "
                    f"name of a built-in one ({BUILT_IN[name]}); use another name."
                )
            self._given[name] = _checked(name, item, f"{item.__module__}")

    def names(self) -> tuple[str, ...]:
        """Return all names, built-in first."""
        others = {*_installed(), *self._given} - BUILT_IN.keys()
        return (*BUILT_IN, *sorted(others))

    def find(self, name: str) -> SchemaClass:
        """Return the class with a name; given classes take precedence over packages.

        Raises:
            UnknownName: no schema has this name.
            BadInput: its package fails to load, two packages register the name, or the
                registered object is not a schema.
        """
        if name in BUILT_IN:
            return _built_in(name)
        if name in self._given:
            return self._given[name]
        points = _installed().get(name, ())
        if not points:
            raise UnknownName("Schema", name, self.names(), "this installation")
        if len(points) > 1:
            both = " and ".join(point.value for point in points)
            raise BadInput(
                f"schema {name!r} is registered twice, as {both}; remove one package, "
                "or rename its entry point."
            )
        return _load(name, points[0])


def schema_names() -> tuple[str, ...]:
    """Return the names of all schemas of this installation, built-in first."""
    return Registry().names()


def schema_class(name: str) -> SchemaClass:
    """Return the class of a schema of this installation.

    Raises:
        UnknownName: no schema has this name.
        BadInput: as in `Registry.find`.
    """
    return Registry().find(name)


@cache
def _built_in(name: str) -> SchemaClass:
    module, _, item = BUILT_IN[name].partition(":")
    return _checked(name, getattr(import_module(module), item), BUILT_IN[name])


def _installed() -> dict[str, tuple[EntryPoint, ...]]:
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        if point not in found.get(point.name, ()):
            found[point.name] = (*found.get(point.name, ()), point)
    return found


def _load(name: str, point: EntryPoint) -> SchemaClass:
    item = load_entry_point("schema", point, "; the other schemas are available")
    return _checked(name, item, point.value)


def _checked(name: str, item: object, where: str) -> SchemaClass:
    is_schema = isinstance(item, type) and issubclass(
        item, ActuationSchema | PerceptiveSchema
    )
    if not is_schema:
        raise BadInput(
            f"schema {name!r} ({where}) is {short(item)}; give a class derived from "
            "ActuationSchema or PerceptiveSchema."
        )
    info = getattr(item, "info", None)
    if not isinstance(info, SchemaInfo):
        raise BadInput(
            f"schema {name!r} ({where}) has the `info` {short(info)}; set it to a "
            "SchemaInfo of that name."
        )
    if info.name != name:
        raise BadInput(
            f"schema {name!r} ({where}) has the name {short(info.name)} in its `info`; "
            "register it under that name, or change `info`."
        )
    return item  # type: ignore[return-value]  # tested above
