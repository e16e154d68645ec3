"""Schemas by name, including those of other packages (JD-19, plug-ins of JD-25)."""

import sys
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import numpy as np
import pytest

from nao_testbed.controllers.schemas import ActuationSchema, SchemaInfo, registry
from nao_testbed.controllers.schemas.registry import (
    BUILT_IN,
    ENTRY_POINT_GROUP,
    Registry,
    schema_class,
    schema_names,
)
from nao_testbed.models import BadInput, Robot, UnknownName
from tests.controllers.schemas.schema_world import SchemaWorld, actuation

HERE = __name__


class Foreign(ActuationSchema[Any]):
    """Schema of another package."""

    info = SchemaInfo(name="foreign", about="Of another package. " * 20)


class Nameless(ActuationSchema[Any]):
    info = "x" * 1000  # type: ignore[assignment]


NOT_ONE = 7
ARRAY = np.arange(900.0)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """Return the list of installed entry points, initially empty."""
    points: list[EntryPoint] = []

    def entry_points(*, group: str) -> EntryPoints:
        assert group == ENTRY_POINT_GROUP
        return EntryPoints(points)

    monkeypatch.setattr(registry, "entry_points", entry_points)
    return points


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, ENTRY_POINT_GROUP)


@pytest.fixture(autouse=True)
def _importable_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "a_foreign_package", sys.modules[HERE])


@pytest.mark.requirement("JD-19")
@pytest.mark.parametrize("name", BUILT_IN)
def test_each_built_in_schema_has_name_description_and_defaults(name: str) -> None:
    info = schema_class(name).info
    assert info.name == name
    assert info.about.endswith(".")
    info.parameters()


@pytest.mark.requirement("JD-19")
def test_schema_of_another_package_is_registered(
    nao: Robot, installed: list[EntryPoint]
) -> None:
    installed.append(point("foreign", "a_foreign_package:Foreign"))
    assert schema_names()[-1] == "foreign"
    stage = SchemaWorld.of(nao).begin("foreign").slot()
    assert stage.runtime.winners == ("foreign",)


@pytest.mark.requirement("JD-19")
@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("no_such_package:X", "cannot be loaded: ModuleNotFoundError"),
        ("a_foreign_package:NoSuch", "cannot be loaded: AttributeError"),
        ("a_foreign_package:NOT_ONE", "give a class derived from"),
        ("a_foreign_package:ARRAY", "give a class derived from"),
        ("a_foreign_package:Nameless", "set it to a SchemaInfo of that name"),
        ("a_foreign_package:Foreign", "has the name 'foreign' in its `info`"),
    ],
)
def test_invalid_package_does_not_affect_others(
    nao: Robot, installed: list[EntryPoint], value: str, says: str
) -> None:
    installed.append(point("broken", value))
    with pytest.raises(BadInput, match=says) as refused:
        schema_class("broken")
    assert len(str(refused.value)) < 250, "a sentence, not a page"
    assert "\n" not in str(refused.value)
    stage = SchemaWorld.of(nao).begin("example").slot()
    assert stage.runtime.winners == ("example",)


@pytest.mark.requirement("JD-22")
def test_name_registered_by_two_packages_is_rejected(
    installed: list[EntryPoint],
) -> None:
    installed.append(point("foreign", "a_foreign_package:Foreign"))
    installed.append(point("foreign", "another_package:Foreign"))
    with pytest.raises(BadInput, match=r"a_foreign_package:Foreign and another_pack"):
        schema_class("foreign")


@pytest.mark.requirement("JD-22")
def test_built_in_schema_cannot_be_replaced() -> None:
    with pytest.raises(BadInput, match="has the name of a built-in one"):
        Registry({"example": actuation("example")})


def test_unknown_schema_is_rejected_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'example'"):
        schema_class("exampel")


def test_schema_that_cannot_be_created_is_rejected(nao: Robot) -> None:
    def init(self: object) -> None:
        raise RuntimeError("no camera")

    kind = actuation("blind")
    kind.__init__ = init  # type: ignore[method-assign]
    stage = SchemaWorld.of(nao, kind)
    with pytest.raises(BadInput, match="'blind' cannot be created: RuntimeError: no"):
        stage.begin("blind")
