"""LEDs and sound of a run on its page: lamps, audio player, spoken text."""

import base64
import io
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from nao_testbed.experiments.closed_loop.recording import (
    BASE_POSITION,
    BASE_QUATERNION,
    QUATERNION,
)
from nao_testbed.experiments.common.drawing.page import Section
from nao_testbed.experiments.report.replay.rig import OFF, Rig, clothe
from nao_testbed.experiments.report.replay.scene import build_replay
from nao_testbed.experiments.report.replay.track import lamps_of, pose_robot
from nao_testbed.experiments.report.run_contents import (
    MOST_BYTES,
    heard_of,
    sound_of,
    texts_at,
)
from nao_testbed.experiments.report.run_source import RecordedTrial
from nao_testbed.experiments.report.write import render_page
from nao_testbed.models import Robot, load_robot
from nao_testbed.sim.effectors import SOUND_FILE, colour_names, write_wav
from nao_testbed.sim.recording.channels import AXES
from nao_testbed.sim.recording.run_folder import Event, Run
from nao_testbed.sim.recording.run_meta import RunMeta

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LATEST_MS, POLL_MS = 120_000, 500
NAO = load_robot()
META = RunMeta(
    experiment="scenario",
    robot="nao",
    seed=0,
    config={},
    command=(),
    versions={},
    commit=None,
    started_utc="",
)


def stream(kind: str, time_s: float, number: int, label: str) -> Event:
    data = {"unit": "sound", "stream": number, "label": label}
    return Event(kind=kind, time_s=time_s, data=data)


HELLO = (
    stream("StreamStarted", 1.0, 7, "Hello"),
    stream("StreamEnded", 1.4, 7, "Hello"),
)


def trial_of(
    folder: Path,
    events: Sequence[Event] = (),
    rows: dict[str, list[float]] | None = None,
) -> RecordedTrial:
    run = Run(folder=folder, meta=META, state="done", events=tuple(events))
    frame = pd.DataFrame(rows or {}, index=[0.0, 1.0, 2.0])
    return RecordedTrial(name="fixed", run=run, frame=frame)


@pytest.fixture(scope="module")
def body() -> Rig:
    return clothe(NAO, NAO.posture("Stand").angles)


def dark() -> dict[str, list[float]]:
    return {f"leds.{name}": [0.0] * 3 for name in colour_names(NAO.leds)}


def test_each_led_group_of_the_nao_has_a_lamp_in_its_colour(
    tmp_path: Path, body: Rig
) -> None:
    rows = dark()
    rows["leds.ChestLeds.blue"] = [0.0, 0.5, 1.0]
    rows["leds.LeftEarLeds.blue"] = [0.0, float("nan"), 1.0]
    rows["leds.BrainLeds.white"] = [0.0, 0.0, 1.0]
    trial = trial_of(tmp_path, rows=rows)
    lamps = {lamp.name: lamp for lamp in lamps_of(trial, body, np.array([0, 1, 2]))}
    assert set(lamps) == {group.name for group in NAO.leds}
    off = [round(OFF)] * 3
    assert lamps["ChestLeds"].rgb[0].tolist() == off
    assert lamps["ChestLeds"].rgb[1].tolist() == [22, 22, 150]
    assert lamps["ChestLeds"].rgb[2].tolist() == [0, 0, 255]
    assert lamps["LeftEarLeds"].rgb.tolist() == [off, off, [0, 0, 255]]
    assert lamps["BrainLeds"].rgb[2].tolist() == [255, 255, 255]
    assert lamps["LeftFootLeds"].link == "l_ankle"


def test_lamp_is_at_its_place_or_outside_the_body(tmp_path: Path, body: Rig) -> None:
    trial = trial_of(tmp_path, rows=dark())
    lamps = {lamp.name: lamp for lamp in lamps_of(trial, body, np.array([0]))}
    for group, axis in (("LeftFaceLeds", 0), ("LeftEarLeds", 1), ("BrainLeds", 2)):
        (place,) = (np.array(g.place) for g in NAO.leds if g.name == group)
        moved = lamps[group].position - place
        assert 0.001 < moved[axis] < 0.03
        assert np.delete(moved, axis) == pytest.approx([0.0, 0.0], abs=1e-12)
    assert lamps["LeftFootLeds"].position.tolist() == [0.05, 0.0, -0.01]


def test_group_without_place_or_rows_has_no_lamp(
    tmp_path: Path, body: Rig, two_leg: Robot
) -> None:
    rows = dark()
    del rows["leds.BrainLeds.white"]
    trial, first = trial_of(tmp_path, rows=rows), np.array([0])
    assert "BrainLeds" not in {lamp.name for lamp in lamps_of(trial, body, first)}
    nowhere = tuple(replace(group, place=None) for group in NAO.leds)
    without = replace(body, robot=replace(NAO, leds=nowhere))
    assert lamps_of(trial, without, first) == ()
    assert lamps_of(trial, replace(body, robot=two_leg), first) == ()


def test_speech_text_is_shown_while_it_sounds(tmp_path: Path) -> None:
    light = Event(kind="StreamStarted", time_s=0.2, data={"unit": "light"})
    beep = stream("StreamStarted", 1.9, 8, "beep")  # without an end: the run was killed
    heard = heard_of(trial_of(tmp_path, (light, *HELLO, beep)))
    assert [(one.label, one.begin_s, one.end_s) for one in heard] == [
        ("Hello", 1.0, 1.4),
        ("beep", 1.9, 2.0),
    ]
    grid_s = np.arange(0.0, 2.1, 0.25)
    said = ["", "", "", "", "Hello", "Hello", "", "beep", ""]
    assert texts_at(heard, grid_s) == said
    assert texts_at(heard, np.array([0.0, 5.0])) == ["beep", ""]


def test_page_embeds_the_sound(tmp_path: Path) -> None:
    write_wav(tmp_path / SOUND_FILE, np.arange(1600, dtype=np.int16), 16_000)
    problems: list[str] = []
    trial = trial_of(tmp_path, (stream("StreamStarted", 0.5, 1, "<b>"), *HELLO))
    section = Section(name="r", title="t", lead="", sound=sound_of(trial, problems))
    page = render_page("t", [section], "us")
    (tag,) = re.findall(r"<audio[^>]*>", page)
    (data,) = re.findall(r'src="data:audio/wav;base64,([^"]*)"', tag)
    assert base64.b64decode(data) == (tmp_path / SOUND_FILE).read_bytes()
    assert "media-src data:;" in page
    assert "0.50 to 2.00 s: &lt;b&gt;; 1.00 to 1.40 s: Hello." in page
    assert problems == []


def test_unusable_sound_file_is_reported(tmp_path: Path) -> None:
    def told() -> str:
        problems: list[str] = []
        assert sound_of(trial_of(tmp_path), problems) is None
        return " ".join(problems)

    assert told() == ""
    path = tmp_path / SOUND_FILE
    path.write_bytes(b"")
    assert told() == "sound.wav cannot be read: it is truncated."
    path.write_bytes(b"RIFX" * 20)
    assert told().startswith("sound.wav cannot be read: file does not start with RIFF")
    with path.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    assert told().startswith("sound.wav is not embedded: it has 5.0 MB")
    path.unlink()
    path.mkdir()
    assert told().startswith("sound.wav cannot be read: ")


def moves(*postures: str, height: float = 0.0) -> dict[str, list[float]]:
    """Rows of a robot that takes three postures at a base height in m."""
    q = np.array([NAO.posture(name).angles for name in postures])
    rows = {f"q.{name}": q[:, j].tolist() for j, name in enumerate(NAO.joint_names)}
    rows |= {f"true_temperature.{name}": [30.0] * 3 for name in NAO.motor_names}
    rows |= {f"{BASE_POSITION}.{axis}": [0.0] * 3 for axis in AXES}
    rows[f"{BASE_POSITION}.{AXES[-1]}"] = [height] * 3
    rows |= {f"{BASE_QUATERNION}.{part}": [0.0] * 3 for part in QUATERNION}
    rows[f"{BASE_QUATERNION}.{QUATERNION[-1]}"] = [1.0] * 3
    return rows


def test_camera_has_room_for_a_robot_that_stands_up(tmp_path: Path, body: Rig) -> None:
    """With the height of the sitting robot, its head would leave the picture."""
    trial = trial_of(tmp_path, rows=moves("Sit", "Stand", "Sit"))
    sits = pose_robot(trial, body, np.array([0.0]))
    assert sits.height < 0.5
    assert 0.55 < pose_robot(trial, body, np.array([0.0, 1.0, 2.0])).height < 0.65


def is_lit(image: np.ndarray, colour: int) -> np.ndarray:
    """Return where one colour channel far exceeds the other two."""
    others = np.delete(image, colour, axis=2).max(axis=2)
    return np.asarray(image[:, :, colour] - others > 90)


@pytest.mark.slow
def test_lamps_have_their_colours_in_a_browser(
    tmp_path: Path, browser: "Browser"
) -> None:
    """Green eyes above a blue chest, and nothing red."""
    rows = dark() | moves("Stand", "Stand", "Stand", height=0.33)
    for group in ("LeftFaceLeds", "RightFaceLeds"):
        rows[f"leds.{group}.green"] = [1.0] * 3
    rows["leds.ChestLeds.blue"] = [1.0] * 3
    trial = trial_of(tmp_path, rows=rows)
    section = Section(
        name="r", title="t", lead="", replay=build_replay([trial], {"fixed": NAO}, "R.")
    )
    path = tmp_path / "page.html"
    path.write_text(render_page("t", [section], "us"), encoding="utf-8")
    context = browser.new_context(offline=True, viewport={"width": 460, "height": 460})
    page = context.new_page()
    page.set_default_timeout(LATEST_MS)
    page.goto(path.as_uri())
    stage = page.locator(".stage")
    stage.scroll_into_view_if_needed()
    scene = page.frame_locator(".stage iframe")
    notice = scene.locator(".mantine-Notification-closeButton")
    for _ in range(LATEST_MS // POLL_MS):
        page.wait_for_timeout(POLL_MS)
        if notice.count():  # without a graphics card it covers the robot
            notice.first.click()
        picture = io.BytesIO(stage.screenshot())
        image = np.asarray(Image.open(picture).convert("RGB"), dtype=int)[:-50]
        green, blue = is_lit(image, 1), is_lit(image, 2)
        if green.any() and blue.any():
            break
    else:
        pytest.fail("no lamp is lit")
    eyes, chest = np.argwhere(green), np.argwhere(blue)
    assert eyes[:, 0].max() < chest[:, 0].min()
    assert not is_lit(image, 0).any()
    middle = chest[:, 1].mean()
    assert eyes[:, 1].min() < middle < eyes[:, 1].max()
    context.close()
