"""Limits of a hierarchy: levels, children of one schema, instances in total."""

from typing import Any

import pytest

from nao_testbed.controllers.schemas import Activation, ActuationSchema, State
from nao_testbed.controllers.schemas.runtime.instances import SchemaLimits
from nao_testbed.models import BadInput, Robot
from tests.controllers.schemas.schema_world import SchemaWorld, actuation

FEW = SchemaLimits(depth=5, children=3, instances=12)


def numbered(schema: Any, count: int = 1) -> None:
    """Wake `count` children with new names."""
    for _ in range(count):
        schema.n = getattr(schema, "n", 0) + 1
        schema.wake("leaf", called=f"leaf {schema.n}")


def grown(
    nao: Robot, grows: type[ActuationSchema[Any]], slots: int, **given: Any
) -> SchemaWorld:
    leaf = actuation("leaf", iterate=lambda s: s.submit("HeadYaw", 0.1))
    stage = SchemaWorld.of(nao, grows, leaf, limits=FEW).begin("leaf")
    return stage.begin(grows.info.name, **given).slot(slots)


def test_schema_that_wakes_children_without_end_fails_alone(nao: Robot) -> None:
    """One new child in each slot; unlimited, there were 913 after 9 s."""
    stage = grown(nao, actuation("many", iterate=numbered), 20)
    assert sum(path.startswith("many/") for path in stage.runtime.paths) == 3
    error = stage.runtime.view("many").error
    assert "'many/leaf 4' would be child 4 of 'many'" in error
    assert "at most 3 besides its given children" in error
    assert stage.state("many") is State.SLEPT
    assert stage.runtime.winners == ("leaf",)


def test_given_children_do_not_count(nao: Robot) -> None:
    def start(schema: Any) -> None:
        for activation in schema.children_given:
            schema.wake_child(activation)
        numbered(schema, 3)

    given = tuple(Activation(schema="leaf", name=f"given {k}") for k in range(5))
    stage = grown(nao, actuation("many", start=start), 5, children=given)
    assert not stage.runtime.view("many").error
    assert len(stage.runtime.paths) == 1 + 1 + 5 + 3


def test_schema_that_wakes_itself_is_limited_in_depth(nao: Robot) -> None:
    stage = grown(nao, actuation("deep", start=lambda s: s.wake("deep")), 10)
    deepest = max(stage.runtime.paths, key=len)
    assert deepest.count("/") == FEW.depth - 1
    assert "would be 6 levels deep; at most 5 are" in stage.runtime.view(deepest).error


def test_number_of_instances_is_limited(nao: Robot) -> None:
    """Within the limits of depth and children: 3 wake 3 wake 3, in one slot."""

    def start(schema: Any) -> None:
        for k in range(3):
            schema.wake("bush", called=f"b{k}")

    bush = actuation("bush", start=start, period_s=0.01)
    stage = grown(nao, bush, 30)
    assert len(stage.runtime.paths) <= FEW.instances
    errors = [stage.runtime.view(path).error for path in stage.runtime.paths]
    assert any("12 instances exist" in error for error in errors)
    assert "leaf" in stage.runtime.winners


def test_added_roots_do_not_count(nao: Robot) -> None:
    stage = SchemaWorld.of(nao, actuation("leaf"), limits=FEW)
    for k in range(FEW.instances + 5):
        stage.begin("leaf", name=f"root {k}")
    assert len(stage.runtime.paths) == FEW.instances + 5


@pytest.mark.parametrize("what", ["depth", "children", "instances"])
@pytest.mark.parametrize("wrong", [0, -1, 2.0, "3", True, None])
def test_limits_are_positive_integers(what: str, wrong: Any) -> None:
    with pytest.raises(BadInput, match=f"{what} of schemas is .*give a whole number"):
        SchemaLimits(**{what: wrong})
