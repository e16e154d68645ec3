"""Images of ALVideoDevice and the log of LogManager, in the test process."""

import logging
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("qi", reason="qi is not installed: extra `naoqi`")

from nao_testbed.controllers.interface.robot_interface import Picture
from nao_testbed.experiments.server.naoqi.services.monitoring.log_manager import (
    ERROR,
    INFO,
    WARNING,
    ServerLog,
)
from nao_testbed.experiments.server.naoqi.services.monitoring.video import pixels_of
from nao_testbed.models import BadInput
from tests.experiments.server.naoqi.in_process import InProcess

RED, GREY = (255, 0, 0), (128, 128, 128)


@pytest.fixture(scope="module")
def robot() -> Iterator[InProcess]:
    world = InProcess(0.1)
    yield world
    world.served.close("done")


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        (0, [76, 128]),  # 0.299 of 255
        (9, [76, 85, 128, 255]),  # U of the first pixel, V of the second pixel's pair
        (10, [76, 85, 255, 128, 128, 128]),
        (11, [*RED, *GREY]),
        (12, [0, 255, 76, 0, 0, 128]),
        (13, [0, 0, 255, 128, 128, 128]),
    ],
)
def test_red_and_grey_pixel_in_each_colour_space(
    space: int, expected: list[int]
) -> None:
    rgb = np.array([[RED, GREY]], dtype=np.uint8)
    picture = Picture(time_s=0.0, camera="any", rgb=rgb)
    found = list(pixels_of(picture, space))
    assert found == pytest.approx(expected, abs=1)  # Pillow rounds down


@pytest.mark.parametrize(
    ("resolution", "width", "height"), [(8, 40, 30), (7, 80, 60), (0, 160, 120)]
)
def test_image_has_the_published_size_and_layout(
    robot: InProcess, resolution: int, width: int, height: int
) -> None:
    ask = robot.ask("ALVideoDevice")
    handle = ask("subscribeCamera", "test", 1, resolution, 11, 30)
    *head, pixels, camera, _, _, _, _ = ask("getImageRemote", handle)
    assert head[:4] == [width, height, 3, 11]
    assert head[4] + 1e-6 * head[5] == pytest.approx(robot.served.time_s, abs=1e-5)
    assert (len(pixels), camera) == (3 * width * height, 1)
    assert len(set(pixels)) > 3  # edges and colours of the ground tiles
    assert ask("unsubscribe", handle) is True


def test_image_is_updated_at_the_frame_rate(
    robot: InProcess,
) -> None:
    ask = robot.ask("ALVideoDevice")
    handle = ask("subscribeCamera", "rate", 0, 8, 0, 10)
    times = []
    for _ in range(11):
        image = ask("getImageRemote", handle)
        times.append(image[4] + 1e-6 * image[5])
        robot.run(0.02)
    assert len(set(times)) == 3
    assert np.diff(sorted(set(times))) == pytest.approx([0.1, 0.1], abs=1e-4)
    ask("unsubscribe", handle)


def test_settings_can_be_changed_and_end_with_their_client(robot: InProcess) -> None:
    ask, other = robot.ask("ALVideoDevice"), robot.ask("ALVideoDevice", 1)
    assert ask("getFrameRate", 0) == -1
    handle = other("subscribe", "mine", 8, 0, 5)
    assert other("subscribe", "mine", 8, 0, 5) != handle
    assert ask("setResolution", handle, 7)
    assert ask("setActiveCamera", handle, 1)
    assert [ask("getResolution", handle), ask("getActiveCamera", handle)] == [7, 1]
    assert len(ask("getImageRemote", handle)[6]) == 80 * 60
    for what in (
        ("subscribeCamera", "x", 2, 1, 11, 10),  # camera
        ("subscribeCamera", "x", 0, 4, 11, 10),  # 2560 pixels
        ("subscribeCamera", "x", 0, 1, 17, 10),  # depth
        ("subscribeCamera", "x", 0, 1, 11, 31),  # frames per second
        ("setColorSpace", handle, 99),
        ("getImageRemote", "nobody_0"),
    ):
        with pytest.raises(BadInput):
            ask(*what)
    for leave in robot.clients[1].on_leave:
        leave()
    assert ask("getSubscribers") == []


def test_angles_of_an_image_position_are_those_of_the_head(robot: InProcess) -> None:
    ask = robot.ask("ALVideoDevice")
    across, upright = ask("getHorizontalFOV", 0), ask("getVerticalFOV", 0)
    assert np.rad2deg([across, upright]) == pytest.approx([60.9, 47.6], abs=0.1)
    corner = ask("getAngularPositionFromImagePosition", 0, [0.0, 1.0])
    assert corner == pytest.approx([across / 2, upright / 2])  # left and down
    found = ask("getImagePositionFromAngularPosition", 0, corner)
    assert found == pytest.approx([0.0, 1.0])


def test_log_listener_filters_by_level_and_category(
    robot: InProcess,
) -> None:
    ask = robot.ask("LogManager")
    robot.parts.motion.warn("once")
    listener = ask("createListener")
    listener.addFilter("robot.*", WARNING)
    single: list[dict[str, Any]] = []
    several: list[list[dict[str, object]]] = []
    listener.onLogMessage.connect(single.append)
    listener.onLogMessagesWithBacklog.connect(several.append)
    robot.served.event("speech", said="below the level")
    robot.parts.motion.warn("twice")
    robot.parts.motion.warn("twice")
    logging.getLogger("nao_testbed.test").error("a %s", "record")
    ask("log", [{"source": "", "level": INFO, "category": "me", "message": "hello"}])
    with pytest.raises(BadInput):
        ask("log", [["too", "short"]])
    end = time.monotonic() + 30.0
    while len(single) < 3 or len(several) < 4:
        assert time.monotonic() < end
        time.sleep(0.01)
    expected = [
        (WARNING, "robot.warning", "twice"),
        (ERROR, "nao_testbed.test", "a record"),
        (INFO, "me", "hello"),
    ]
    found = sorted(single, key=lambda one: one["id"])
    assert [(m["level"], m["category"], m["message"]) for m in found] == expected
    assert "once" in [one["message"] for group in several for one in group]
    for leave in robot.clients[0].on_leave:
        leave()
    assert robot.parts.get(ServerLog).listeners == []
