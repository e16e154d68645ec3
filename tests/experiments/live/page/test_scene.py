"""The 3-D scene shows the values of a moment."""

import dataclasses
import secrets

import numpy as np
import pytest

pytest.importorskip("viser", reason="nao-testbed[live] is not installed")

from nao_testbed.experiments.live.page.gateway import closed_viser
from nao_testbed.experiments.live.page.page_api import _state
from nao_testbed.experiments.live.page.scene import Scene
from nao_testbed.experiments.report.replay.actor import METRES_A_NEWTON
from tests.experiments.live.robot.test_live_robot import MakeLive, make_live, run

__all__ = ["make_live"]


@pytest.mark.requirement("JD-23")
def test_forces_lights_and_speech_are_those_of_the_moment(
    make_live: MakeLive,
) -> None:
    live = make_live()
    run(live, 4)
    moment, robot = live.moment(), live.body.sim.robot
    assert moment.says == ""
    links = np.array([sensor.link for sensor in robot.force_sensors])
    left = links == "l_ankle"
    fsr = np.where(left, 0.0, 1.0)
    fsr[np.flatnonzero(left)[2]] = 12.0  # force on a single sensor of the left foot
    lights = np.zeros_like(moment.lights)
    lights[-1] = 1.0
    moment = dataclasses.replace(
        moment,
        seen=dataclasses.replace(moment.seen, fsr=fsr),
        lights=lights,
        says="hello",
    )
    with closed_viser(secrets.token_urlsafe(8)) as viser:
        scene = Scene(viser, robot, moment.q, ["fixed"])
        scene.show([moment])
        (figure,) = scene._figures
        arrow = figure._arrows["l_ankle"]
        (((*_, low), tip),) = arrow.points
        place = robot.force_sensors[int(np.flatnonzero(left)[2])].position
        np.testing.assert_allclose(tip, place, atol=1e-6)
        assert tip[2] - low == pytest.approx(12.0 * METRES_A_NEWTON, abs=1e-6)
        assert figure._arrows["r_ankle"].visible
        assert figure._said is not None
        assert figure._said.text == "hello"
        shining = [n for n, lamp in figure._lamps.items() if max(lamp.color) > 200]
        placed = [group.name for group in robot.leds if group.place is not None]
        assert shining == [placed[-1]]
        in_the_air = dataclasses.replace(moment.seen, fsr=np.zeros(len(fsr)))
        scene.show([dataclasses.replace(moment, seen=in_the_air, says="")])
        assert not arrow.visible
        assert not figure._said.visible


def test_ring_grows_with_the_useless_heat(
    make_live: MakeLive,
) -> None:
    live = make_live()
    run(live, 4)
    moment, robot = live.moment(), live.body.sim.robot
    knee = robot.joint_index("LKneePitch")
    sizes: list[float] = []
    with closed_viser(secrets.token_urlsafe(8)) as viser:
        clicked: list[tuple[int, int]] = []
        touched: list[tuple[int, str]] = []
        scene = Scene(
            viser,
            robot,
            moment.q,
            ["fixed"],
            on_joint=lambda i, j: clicked.append((i, j)),
            on_touch=lambda i, name: touched.append((i, name)),
        )
        (figure,) = scene._figures
        for watts in (0.0, 1.0, 4.0, 0.0):
            least_w = np.full(len(robot.joints), 0.5)
            least_w[:3] = np.nan
            loss_w = np.full(len(robot.joints), 0.4)
            loss_w[knee] = 0.5 + watts
            scene.show([dataclasses.replace(moment, loss_w=loss_w, least_w=least_w)])
            ring = figure._rings.get(knee)
            is_seen = ring is not None and ring.visible
            sizes.append(float(np.max(ring.scale)) if ring and is_seen else 0.0)
        assert list(figure._rings) == [knee]
        for callback in figure._drums[knee]._impl.click_cb or ():
            callback.callback(None)  # type: ignore[arg-type]
        assert clicked == [(0, knee)]
        for callback in figure.touches["Head/Touch/Front"]._impl.click_cb or ():
            callback.callback(None)  # type: ignore[arg-type]
        assert touched == [(0, "Head/Touch/Front")]
    assert sizes[0] == sizes[3] == 0.0
    assert 1.0 < sizes[1] < sizes[2]


def test_heat_of_guessed_motors_is_percent_of_the_minimum(make_live: MakeLive) -> None:
    live = make_live()
    moment = dataclasses.replace(live.moment(), legs_w=(30.0, 20.0))
    for thermal, legs in (("published", [30.0, 20.0]), ("estimate", [150.0, 100.0])):
        state = _state(0, moment, None, moment.power_unit(thermal))
        assert state["legs"] == legs
