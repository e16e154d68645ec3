"""The page of a served robot: its user is one more owner, named in errors."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("qi", reason="qi is not installed: extra `naoqi`")

from nao_testbed.experiments.heat.experiment import HeatCfg, plan_trials
from nao_testbed.experiments.live.naoqi.served_page import attach
from nao_testbed.experiments.live.robot.live_robot import LiveRobot
from nao_testbed.experiments.live.robot.moment import Moment
from nao_testbed.experiments.live.robot.operation import (
    ChangeController,
    Foresee,
    GiveBack,
    Light,
    MoveJoint,
    PushNow,
    Take,
)
from nao_testbed.experiments.live.robot.process_link import PageEnd
from nao_testbed.experiments.server.naoqi.naoqi_client import NaoqiClient, Parts
from nao_testbed.experiments.server.naoqi.served_robot import ServedRobot
from nao_testbed.experiments.server.naoqi.services.table import BEGUN, SERVICES
from nao_testbed.models import BadInput
from nao_testbed.sim.effectors import colour_names
from nao_testbed.sim.recording.run_folder import read_run

pytestmark = pytest.mark.slow(covers=True)  # a page, and programs with threads


class World:
    """Served robot with a client and a page, advanced slot by slot by the test."""

    def __init__(self, folder: Path | None = None, *, has_page: bool = True) -> None:
        (trial,) = plan_trials(HeatCfg(controllers=("smart",), preset=None))
        self.served = ServedRobot(replace(trial, folder=folder))
        self.parts = Parts(self.served)
        for kind in BEGUN:
            self.parts.get(kind)
        self.page, theirs = Pipe()
        self.link = PageEnd(self.page)
        self._live = attach(self.parts, theirs) if has_page else None
        self.client = NaoqiClient(self.parts, 1, "test")
        self.run(3.0)

    @property
    def live(self) -> LiveRobot:
        assert self._live is not None
        return self._live

    def ask(self, service: str) -> Callable[..., Any]:
        kind = next(one for one in SERVICES if service == one.NAME)
        made = kind(self.client)
        return lambda method, *args: made._call(method, args)

    def run(self, seconds: float) -> None:
        end = self.served.time_s + seconds
        while self.served.time_s < end - 1e-9:
            self.served.step()

    def moment(self) -> Moment:
        """Return the first moment of a future slot."""
        now_s = self.served.time_s
        for _ in range(20):
            self.served.step()
            found = self.link.poll()
            if found is not None and found.time_s > now_s:
                return found
        raise AssertionError("no moment")

    def do(self, action: Any) -> str:
        """Perform an action of the page; return the messages since."""
        assert self.link.send(action)
        self.run(0.02)
        return "\n".join(self.live.moment().said[-3:])

    def close(self) -> None:
        if self._live is not None:
            self._live.close("done")
        self.served.close("done")


@pytest.fixture(scope="module")
def shared() -> Iterator[World]:
    world = World()
    yield world
    world.close()


@pytest.fixture
def world(shared: World) -> Iterator[World]:
    yield shared
    shared.parts.motion.kill(shared.parts.motion.tasks())
    for group in ("Head", "Leds"):
        shared.do(GiveBack(resource=group))
    shared.run(1.0)


def test_preempted_program_is_notified_at_once_with_the_owner(
    world: World,
) -> None:
    motion = world.ask("ALMotion")
    moving = motion("angleInterpolation", "HeadYaw", 0.5, 9.0, True)
    world.run(0.2)
    holders = {one.name: one.holders for one in world.moment().groups}["Head"]
    assert len(holders) == 1
    assert holders[0].startswith("naoqi client 1/angleInterpolation")
    assert "held by naoqi client 1/" in world.do(
        MoveJoint(joint="HeadYaw", angle_deg=20)
    )
    assert not moving.done()
    assert world.link.send(Take(resource="Head"))
    world.run(0.02)
    said = world.live.moment().said
    assert any(f"Head taken from {holders[0]}" in one for one in said)
    assert any("HeadYaw was taken away by operator" in one for one in said)
    assert "HeadYaw was taken away by operator" in str(moving.exception())


def test_program_waits_for_operator_and_targets_report_it(
    world: World,
) -> None:
    motion = world.ask("ALMotion")
    assert "Head taken" in world.do(Take(resource="Head"))
    waiting = motion("angleInterpolation", "HeadYaw", 0.4, 0.5, True)
    motion("setAngles", "HeadPitch", 0.2, 0.5)
    world.run(0.7)
    assert not waiting.done()
    assert "HeadPitch is busy (operator): setAngles had no effect" in motion(
        "getSummary"
    )
    assert "HeadYaw to -20" in world.do(MoveJoint(joint="HeadYaw", angle_deg=-20))
    world.run(0.7)
    assert motion("getAngles", "HeadYaw", False) == [pytest.approx(np.deg2rad(-20))]
    world.do(GiveBack(resource="Head"))
    world.run(0.7)
    assert waiting.done()
    assert motion("getAngles", "HeadYaw", False) == [pytest.approx(0.4)]


def test_new_controller_respects_the_stiffness_of_programs(
    world: World,
) -> None:
    motion = world.ask("ALMotion")
    motion("setStiffnesses", "Head", 0.4)
    assert "controller fixed" in world.do(ChangeController(controller="fixed"))
    world.run(0.1)
    index = world.served.robot.joint_index("HeadYaw")
    assert world.moment().controller == "fixed"
    assert world.served.seen.stiffness[index] == pytest.approx(0.4)
    motion("setStiffnesses", "Head", 1.0)
    world.run(0.1)
    assert world.served.seen.stiffness[index] == pytest.approx(1.0)
    world.do(ChangeController(controller="smart"))


def test_lights_can_be_taken_and_a_push_needs_no_token(world: World) -> None:
    leds = world.ask("ALLeds")
    fading = leds("fadeRGB", "FaceLeds", "red", 0.5)
    world.run(0.1)
    assert "Leds taken from naoqi client 1" in world.do(Take(resource="Leds"))
    world.do(Light(leds="Leds", colour="#0000ff"))
    world.run(0.5)
    names = colour_names(world.served.robot.leds)
    lights = dict(zip(names, world.moment().lights, strict=True))
    assert lights["LeftFaceLeds.blue"] > 0.9
    assert lights["LeftFaceLeds.red"] < 0.1
    assert "the LEDs were taken away by operator" in str(fading.exception())
    with pytest.raises(BadInput, match="the LEDs are held by operator"):
        leds("fadeRGB", "FaceLeds", "red", 0.5)
    before = world.served.body.sim.truth().base_position.copy()
    push = PushNow(direction_deg=0.0, force_n=5.0, duration_s=0.2)
    assert "pushed with 5 N" in world.do(push)
    world.run(0.2)
    moved = np.abs(world.served.body.sim.truth().base_position - before).max()
    assert moved > 1e-5


def test_speech_ends_when_the_voice_is_taken(world: World) -> None:
    speech = world.ask("ALTextToSpeech")
    said = speech("say", "one two three four five six seven eight nine ten eleven")
    world.run(0.5)
    assert "TTS taken from naoqi client 1/say" in world.do(Take(resource="TTS"))
    world.run(0.1)
    assert "the voice was taken away by operator" in str(said.exception())
    world.do(GiveBack(resource="TTS"))
    done = speech("say", "one")
    world.run(3.0)
    assert done.result() is None


def test_forecast_is_refused_while_a_program_moves(world: World) -> None:
    moving = world.ask("ALMotion")("angleInterpolation", "HeadYaw", 0.5, 9.0, True)
    world.run(0.1)
    said = world.do(Foresee())
    assert "no forecast while naoqi client 1 runs the motion angleInterp" in said
    world.parts.motion.kill(world.parts.motion.tasks())
    assert moving.done()
    world.run(0.3)
    assert "forecast: unchanged" in world.do(Foresee())
    until, forecast = time.monotonic() + 60.0, None
    while forecast is None and time.monotonic() < until:
        forecast = world.moment().forecast
        time.sleep(0.05)
    assert forecast is not None
    assert not forecast.falls


def test_unused_page_changes_nothing_and_may_end(tmp_path: Path) -> None:
    """The run is bit-identical, and continues when the page's process ends."""
    for i in range(2):
        (tmp_path / str(i)).mkdir()
    worlds = [World(tmp_path / str(i), has_page=bool(i)) for i in range(2)]
    for world in worlds:
        world.ask("ALMotion")("angleInterpolation", "HeadYaw", 0.5, 0.5, True)
        world.run(0.2)
        world.page.close()
        world.run(0.8)
        world.close()
    plain, shown = (read_run(tmp_path / str(i)).frame for i in range(2))
    assert shown.equals(plain)
    assert worlds[1].served.step == worlds[1].served.slot
