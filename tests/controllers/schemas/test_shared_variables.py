"""Shared variables: declared, typed, owned, found by name (JD-21, JD-22)."""

from math import inf
from typing import Any

import numpy as np
import pytest

from nao_testbed.controllers.schemas import SchemaInfo, State, Variable
from nao_testbed.controllers.schemas.declaration import Cell
from nao_testbed.models import BadInput, Robot, UnknownName
from tests.controllers.schemas.schema_world import SchemaWorld, actuation, perceptive

DISTANCE = Variable(name="distance", type=float, unit="m", about="To the wall.")


def says(name: str, value: float) -> type:
    return perceptive(
        name, outputs=(DISTANCE,), perceive=lambda s: s.write("distance", value)
    )


@pytest.mark.requirement("JD-21")
def test_value_is_visible_in_the_same_slot_and_immutable(nao: Robot) -> None:
    """Schemas called after the writer see it; the array is a read-only copy."""
    field = Variable(name="field", type=np.ndarray, about="Of a test.")
    mine = np.zeros(3)

    def perceive(schema: Any) -> None:
        mine[:] = schema.tick
        schema.write("field", mine)
        mine[:] = -1.0

    seen: list[float] = []

    def iterate(schema: Any) -> None:
        value = schema.read("grid.field")
        seen.append(float(value[0]))
        with pytest.raises(ValueError, match="read-only"):
            value[0] = 9.0

    grid = perceptive("grid", outputs=(field,), perceive=perceive)
    user = actuation("user", reads=("grid.field",), iterate=iterate)
    SchemaWorld.of(nao, grid, user).begin("grid").begin("user").slot(3)
    assert seen == [0.0, 1.0, 2.0]


@pytest.mark.requirement("JD-21")
@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (float, (1.5, 2), ("1.5", True, None)),
        (int, (3,), (3.0, "3")),
        (float | None, (1.0, None), ("x",)),
        (str, ("a",), (1,)),
        (np.ndarray, (np.ones(2),), ([1.0],)),
    ],
)
def test_value_must_have_the_declared_type(
    kind: type, good: tuple[object, ...], bad: tuple[object, ...]
) -> None:
    cell = Cell(Variable(name="x", type=kind, about="Of a test."), "a/b")
    for value in good:
        cell.write(value, 1)
    for value in bad:
        with pytest.raises(BadInput, match=r"a/b\.x is "):
            cell.write(value, 1)


@pytest.mark.requirement("JD-21")
def test_only_declared_variables_can_be_written_and_read(nao: Robot) -> None:
    errors: list[str] = []

    def tries(schema: Any) -> None:
        for call, *given in (
            (schema.write, "distanc", 1.0),
            (schema.read, "wall.distance"),
            (schema.read, "ghost.distance"),
        ):
            with pytest.raises(UnknownName) as caught:
                call(*given)
            errors.append(str(caught.value))

    eye = perceptive(
        "eye", outputs=(DISTANCE,), reads=("ghost.distance",), perceive=tries
    )
    stage = SchemaWorld.of(nao, eye, says("wall", 1.0)).begin("wall").begin("eye")
    stage.slot()
    assert "Did you mean 'distance'" in errors[0]
    assert "'wall.distance' is not in the inputs of 'eye'" in errors[1]
    assert "Schema 'ghost' is not in scope of 'eye'" in errors[2]


@pytest.mark.requirement("JD-22")
def test_reader_finds_the_nearest_schema_of_a_name(nao: Robot) -> None:
    """The nearest is a child, then a sibling, then a sibling of an ancestor."""
    seen: dict[str, list[float]] = {}

    def look(schema: Any) -> None:
        seen.setdefault(schema.path, []).append(schema.read("wall.distance"))

    reads = ("wall.distance",)
    leaf = actuation("leaf", reads=reads, iterate=look)
    near = actuation(
        "near",
        reads=reads,
        start=lambda s: [s.wake("wall near", called="wall"), s.wake("leaf")],
        iterate=look,
    )
    far = actuation("far", reads=reads, start=lambda s: s.wake("leaf"), iterate=look)
    stage = SchemaWorld.of(
        nao, says("wall", 9.0), says("wall near", 1.0), leaf, near, far
    )
    for root in ("wall", "near", "far"):
        stage.begin(root)
    stage.slot(2)
    assert seen == {
        "near": [1.0, 1.0],
        "near/leaf": [1.0, 1.0],
        "far": [9.0, 9.0],
        "far/leaf": [9.0, 9.0],
    }
    assert stage.runtime.value("near/wall", "distance") == 1.0
    assert stage.runtime.value("wall", "distance") == 9.0


def test_nearer_schema_woken_later_is_read_from_then_on(nao: Robot) -> None:
    seen: list[float] = []

    def iterate(schema: Any) -> None:
        seen.append(schema.read("wall.distance"))
        if schema.tick == 1:
            schema.wake("wall near", called="wall")

    user = actuation("user", reads=("wall.distance",), iterate=iterate)
    stage = SchemaWorld.of(nao, says("wall", 9.0), says("wall near", 1.0), user)
    stage.begin("wall").begin("user").slot(4)
    assert seen == [9.0, 9.0, 1.0, 1.0]


@pytest.mark.requirement("JD-21")
def test_value_has_an_age(nao: Robot) -> None:
    ages: list[float] = []

    def iterate(schema: Any) -> None:
        ages.append(schema.age_s("eye.distance"))

    first = Variable(name="distance", type=float, about="Of a test.", initial=7.0)
    eye = perceptive(
        "eye",
        outputs=(first,),
        perceive=lambda s: s.write("distance", 1.0) if s.tick == 2 else None,
    )
    user = actuation("user", reads=("eye.distance",), iterate=iterate)
    stage = SchemaWorld.of(nao, eye, user).begin("eye").begin("user").slot()
    assert stage.runtime.value("eye", "distance") == 7.0
    stage.slot(2)
    stage.runtime.sleep("eye", 2)
    stage.slot(2)
    assert ages == pytest.approx([inf, inf, 0.0, 0.01, 0.02])
    assert stage.state("eye") is State.SLEPT


def test_duplicate_output_is_rejected() -> None:
    with pytest.raises(BadInput, match="declares the output 'distance' twice"):
        SchemaInfo(name="x", about="Of a test.", outputs=(DISTANCE, DISTANCE))
    with pytest.raises(BadInput, match="'a-b'; give letters"):
        Variable(name="a-b", type=int, about="Of a test.")
