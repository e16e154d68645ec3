"""Panels of a live robot: isolated, range-checked, without access to joints."""

import time
from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nao_testbed.controllers.interface.controller import FixedStiffness
from nao_testbed.controllers.interface.panel import (
    Line,
    Panel,
    Plot,
    Setting,
    SettingValue,
)
from nao_testbed.controllers.schemas import ActuationSchema, NoParameters, SchemaInfo
from nao_testbed.controllers.schemas import registry as schema_registry
from nao_testbed.experiments.live.robot import live_robot, panels
from nao_testbed.experiments.live.robot.live_robot import LiveRobot
from nao_testbed.experiments.live.robot.moment import PanelView
from nao_testbed.experiments.live.robot.operation import (
    ChangeController,
    ChangeSetting,
    WakeSchema,
)
from tests.experiments.live.robot.test_live_robot import (  # noqa: F401
    MakeLive,
    make_live,
    run,
)

PANEL = Panel(
    settings=(Setting(name="gain", value=0.5, low=0.0, high=1.0),),
    plot=Plot(title="t", lines=(Line(name="a", value=1.0),)),
)


class Foreign(FixedStiffness):
    """Controller of an external package with an arbitrary panel."""

    def __init__(self, panel: Callable[[], object]) -> None:
        super().__init__()
        self.name = "foreign"
        self._panel = panel
        self.asked = 0
        self.got: list[tuple[str, SettingValue]] = []

    def panel(self) -> Panel:
        self.asked += 1
        return self._panel()  # type: ignore[return-value]  # wrong on purpose

    def change_setting(self, name: str, value: SettingValue) -> None:
        if value == 1.0:
            raise RuntimeError("not that one")
        self.got.append((name, value))


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_robot, "PANEL_SLOTS", 3)


def look(live: LiveRobot) -> dict[str, PanelView]:
    run(live, 3)
    return {f"{one.kind} {one.name}": one for one in live.moment().panels}


@pytest.mark.requirement("JD-25")
def test_minheat_and_a_schema_show_their_panels(make_live: MakeLive) -> None:  # noqa: F811
    live = make_live("minheat")
    run(live, 120)
    assert list(look(live)) == ["controller minheat"]
    live.act(WakeSchema(schema="example"))
    panels = look(live)
    assert list(panels) == ["controller minheat", "schema example"]
    assert not any(one.fault for one in panels.values())
    panel = panels["controller minheat"].panel
    assert panel is not None
    assert [row.name for row in panel.rows][:3] == [
        "LFoot, ahead",
        "LFoot, to the left",
        "LFoot, normal",
    ]
    live.act(ChangeSetting(setting="calm_s", value=3))
    assert live.moment().said[-1].endswith("calm_s of controller minheat is 3.0")
    live.act(ChangeController(controller="fixed"))
    assert list(look(live)) == ["schema example"]
    live.act(ChangeSetting(setting="calm_s", value=3.0))
    assert "controller fixed has no settings" in live.moment().said[-1]


@pytest.mark.requirement("JD-25")
def test_reading_a_panel_does_not_change_the_robot(make_live: MakeLive) -> None:  # noqa: F811
    ends = []
    for looks in (True, False):
        live = make_live("minheat")
        for _ in range(100):
            live.slot()
            if looks:
                live.moment()
        ends.append(live.moment())
    assert_array_equal(ends[0].q, ends[1].q)
    assert_array_equal(ends[0].seen.stiffness, ends[1].seen.stiffness)


def fail() -> Panel:
    raise KeyError("LKneePich")


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("nor this")


def fail_twice() -> Panel:
    raise Unspeakable


def sleep() -> Panel:
    time.sleep(0.06)
    return PANEL


def compute() -> Panel:
    begin = time.thread_time()
    while time.thread_time() < begin + 0.006:
        pass
    return PANEL


@pytest.mark.requirement("JD-25")
@pytest.mark.parametrize(
    ("panel", "asked", "fault"),
    [
        (fail, 1, "KeyError: 'LKneePich'"),
        (fail_twice, 1, "Unspeakable: "),
        (lambda: 3, 1, "its panel() returned 3"),
        (lambda: Panel(rows=(3,)), 1, "rows.0 of its panel is 3"),  # type: ignore[arg-type]
        (sleep, 3, "its panel computed for 0 ms and took "),
        (compute, 3, "slow 3 of 3 times"),
    ],
)
def test_invalid_panel_is_reported_and_no_longer_called(
    make_live: MakeLive,  # noqa: F811
    panel: Callable[[], object],
    asked: int,
    fault: str,
) -> None:
    live, controller = make_live(), Foreign(panel)
    live.stiffness.change(controller)
    for _ in range(4):
        look(live)
    shown = look(live)["controller foreign"]
    assert controller.asked == asked
    assert shown.panel is None
    assert fault in shown.fault
    assert not live.moment().has_fallen


@pytest.mark.requirement("JD-25")
def test_blocking_panel_is_not_called_a_second_time(
    make_live: MakeLive,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(panels, "BLOCKED_S", 0.055)
    live, controller = make_live(), Foreign(sleep)
    live.stiffness.change(controller)
    look(live)
    assert "slow 1 of 3 times" in look(live)["controller foreign"].fault
    assert controller.asked == 1


@pytest.mark.requirement("JD-25")
def test_setting_is_checked_before_the_controller_gets_it(
    make_live: MakeLive,  # noqa: F811
) -> None:
    live, controller = make_live(), Foreign(lambda: PANEL)
    live.stiffness.change(controller)
    run(live, 4)
    for setting, value, said in (
        ("gain", 1.5, "gain = 1.5; give a number, at least 0, at most 1."),
        ("gain", "0.5", "gain = '0.5'"),
        ("gian", 0.5, "gain"),
        ("gain", 1.0, "rejected gain: RuntimeError: not that one"),
    ):
        live.act(ChangeSetting(setting=setting, value=value))
        assert said in live.moment().said[-1]
        assert "refused" in live.moment().said[-1]
    assert controller.got == []
    live.act(ChangeSetting(setting="gain", value=0))
    assert controller.got == [("gain", 0.0)]
    live.stiffness.change(Foreign(fail))
    live.act(ChangeSetting(setting="gain", value=0))
    assert "rejected gain: KeyError" in live.moment().said[-1]
    run(live, 4)


class Grabber(ActuationSchema[NoParameters]):
    """Tries to move the head and to activate schemas from its panel."""

    info = SchemaInfo(
        name="grabber", about="Grabs.", needs=("HeadPitch",), period_s=0.02
    )
    answers: tuple[object, ...] = ()

    def panel(self) -> Panel:
        self.answers = (self.submit("HeadYaw", 1.0), self.wake("wave"))
        return Panel()


@pytest.mark.requirement("JD-25")
def test_panel_cannot_move_joints(
    make_live: MakeLive,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = {**schema_registry.BUILT_IN, "grabber": f"{__name__}:Grabber"}
    monkeypatch.setattr(schema_registry, "BUILT_IN", ours)
    live = make_live()
    live.act(WakeSchema(schema="grabber"))
    assert "activated" in live.moment().said[-1]
    for _ in range(2):
        look(live)
    view = look(live)["schema grabber"]
    run(live, 60)
    assert view.fault == ""
    assert abs(np.rad2deg(live.moment().q[0])) < 1.0
    assert [one.path for one in live.moment().schemas] == ["grabber"]
