"""Schemas of a live robot: activated, modulated, stopped on request only."""

import pytest

from nao_testbed.experiments.live.robot.live_robot import LiveRobot
from nao_testbed.experiments.live.robot.moment import SchemaView
from nao_testbed.experiments.live.robot.operation import (
    ModulateSchema,
    SleepSchema,
    Take,
    WakeSchema,
    action_of,
)
from nao_testbed.models import BadInput
from tests.experiments.live.robot.test_live_robot import (  # noqa: F401
    MakeLive,
    make_live,
    owner_of,
    run,
)


@pytest.fixture
def live(make_live: MakeLive) -> LiveRobot:  # noqa: F811
    one = make_live()
    run(one, 4)
    assert one.moment().schemas == ()
    return one


def view(live: LiveRobot, path: str) -> SchemaView:
    return {one.path: one for one in live.moment().schemas}[path]


@pytest.mark.requirement("JD-24")
def test_schema_is_activated_modulated_and_deactivated(live: LiveRobot) -> None:
    live.act(WakeSchema(schema="wave"))
    run(live, 30)
    assert view(live, "wave").state == "winner"
    assert "wave" in owner_of(live, "Right arm")
    live.act(SleepSchema(schema="wave"))
    run(live, 30)
    assert view(live, "wave").state == "slept"
    assert "wave" not in owner_of(live, "Right arm")
    live.act(WakeSchema(schema="hot joint watch"))
    run(live, 12)
    watch = view(live, "hot joint watch")
    name, before = next(
        (name, float(value))
        for name, value in watch.parameters.items()
        if value.replace(".", "", 1).isdigit()
    )
    live.act(ModulateSchema(path="hot joint watch", parameter=name, value=before + 1.0))
    assert float(view(live, "hot joint watch").parameters[name]) == before + 1.0
    assert watch.outputs


def test_schema_waits_for_the_operator(live: LiveRobot) -> None:
    live.act(Take(resource="All motors", priority=9))
    live.act(WakeSchema(schema="wave", priority=2))
    run(live, 30)
    assert view(live, "wave").note == "waits for its resources"
    assert owner_of(live, "Right arm") == "operator"


def test_invalid_request_is_refused(live: LiveRobot) -> None:
    for action, word in (
        (WakeSchema(schema="wav"), "wave"),
        (WakeSchema(schema="choose"), "children"),
        (SleepSchema(schema="wave"), "wave"),
        (ModulateSchema(path="wave", parameter="x", value=1), "wave"),
    ):
        live.act(action)
        assert "refused" in live.moment().said[-1]
        assert word in live.moment().said[-1]
    live.act(WakeSchema(schema="hot joint watch"))
    live.act(ModulateSchema(path="hot joint watch", parameter="<b>", value="x"))
    assert "Parameter" in live.moment().said[-1]
    run(live, 4)
    with pytest.raises(BadInput, match="is nan"):
        action_of(
            {
                "do": "ModulateSchema",
                "path": "wave",
                "parameter": "x",
                "value": float("nan"),
            }
        )
