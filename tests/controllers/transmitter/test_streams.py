"""Streams of motions, lights and sounds: items per slot."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from nao_testbed.controllers.arbitration.gate.device_map import map_devices
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.interface.robot_interface import LedSetting, SoundChunk
from nao_testbed.controllers.transmitter.streams import (
    SLOT_S,
    CannotBegin,
    Stream,
    effector_leaves,
)
from nao_testbed.controllers.transmitter.streams.light_and_sound_streams import (
    LightStream,
    SoundStream,
    led_colours,
)
from nao_testbed.controllers.transmitter.streams.motion_stream import MotionStream
from nao_testbed.models import Robot
from nao_testbed.models.library import (
    Interpolation,
    LightPattern,
    LightStep,
    Motion,
    Track,
    Unit,
)

TOKEN = Token(1, 1, 1)
CUBIC = Interpolation.CUBIC


def track(joint: str, *frames: tuple[float, float]) -> Track:
    times, angles = zip(*frames, strict=True)
    return Track(joint=joint, times_s=times, angles=angles)


def motion(
    *tracks: Track, how: Interpolation = CUBIC, start: str | None = None
) -> Motion:
    return Motion(name="m", tracks=tracks, interpolation=how, start=start)


def stream_of(nao: Robot, *motions: Motion) -> MotionStream:
    return MotionStream(motions, TOKEN, effector_leaves(nao), SLOT_S)


def rest(nao: Robot, angle: float = 0.0) -> dict[str, float]:
    return dict.fromkeys(nao.motor_names, angle)


@pytest.mark.requirement("SY-6")
def test_leaves_and_channels_agree_with_the_gate(nao: Robot) -> None:
    found = effector_leaves(nao)
    devices = map_devices(nao.resources, nao)
    assert set(found.motors.values()) == {
        leaf.name for leaf in devices.joint_leaves if leaf.kind == "motor"
    }
    assert set(found.led_channels) == {leaf.name for leaf in devices.led_leaves}
    assert found.led_channels["Left eye"] == 3
    assert found.led_channels["Left ear"] == 1
    assert found.speaker == "TTS"


@pytest.mark.requirement("SY-19")
def test_motion_ends_at_its_last_keyframe_after_its_length(nao: Robot) -> None:
    stream = stream_of(nao, motion(track("HeadYaw", (0.5, 0.3), (1.234, -0.4))))
    assert stream.begin(rest(nao, 0.1)) == stream.length == 124
    assert stream.leaves == ("HeadYaw",)
    values = [stream.item(k)["HeadYaw"] for k in range(124)]
    assert values[49] == pytest.approx(0.3), "item k is due at the end of its slot"
    assert values[-1] == pytest.approx(-0.4)
    assert all(type(value) is float for value in values)
    assert abs(values[0] - 0.1) < 1e-3, "starts at the present angle, at rest"


def test_joint_after_its_last_keyframe_rests(nao: Robot) -> None:
    short, long = track("HeadYaw", (0.2, 0.1)), track("HeadPitch", (1.0, 0.2))
    stream = stream_of(nao, motion(short, long))
    assert stream.begin(rest(nao)) == 100
    assert_allclose([stream.item(k)["HeadYaw"] for k in range(19, 100)], 0.1)


@pytest.mark.requirement("SY-20")
def test_consecutive_motions_form_one_stream(nao: Robot) -> None:
    first = motion(track("HeadYaw", (0.5, 0.3)))
    second = motion(track("HeadPitch", (0.5, 0.1)), track("HeadYaw", (1.0, 0.0)))
    stream = stream_of(nao, first, second)
    assert stream.leaves == ("HeadPitch", "HeadYaw")
    assert stream.begin(rest(nao, 0.05)) == 150
    pitch = [stream.item(k)["HeadPitch"] for k in range(150)]
    yaw = [stream.item(k)["HeadYaw"] for k in range(150)]
    assert_allclose(pitch[:50], 0.05, err_msg="not in the first motion: at rest")
    assert yaw[49] == pytest.approx(0.3)
    assert max(np.abs(np.diff(yaw))) < 0.02, "no gap between them"
    assert (pitch[-1], yaw[-1]) == pytest.approx((0.1, 0.0), abs=1e-12)


def test_motion_begins_only_within_reach_of_its_motors(nao: Robot) -> None:
    limit = nao.joints[nao.joint_index("HeadYaw")].max_velocity
    far = motion(track("HeadYaw", (0.1, 0.5)), start="Stand")
    reach = limit * 0.1 / 1.5  # cubic from rest to rest
    assert stream_of(nao, far).begin(rest(nao, 0.5 - 0.999 * reach)) == 10
    with pytest.raises(CannotBegin, match=r"HeadYaw would move .* in Stand first"):
        stream_of(nao, far).begin(rest(nao, 0.5 - 1.001 * reach))


@st.composite
def motions(draw: st.DrawFn) -> Motion:
    tracks = []
    for joint in draw(st.sets(st.sampled_from(["HeadYaw", "HeadPitch"]), min_size=1)):
        gaps = draw(st.lists(st.floats(0.05, 1.0), min_size=1, max_size=4))
        angles = [draw(st.floats(-0.5, 0.5)) for _ in gaps]
        times = np.cumsum(gaps).tolist()
        tracks.append(track(joint, *zip(times, angles, strict=True)))
    return motion(*tracks, how=draw(st.sampled_from(list(Interpolation))))


@pytest.mark.requirement("SY-19")
@given(motion=motions(), start=st.floats(-0.5, 0.5))
def test_set_point_steps_are_within_the_motor_speed(
    nao: Robot, motion: Motion, start: float
) -> None:
    stream = stream_of(nao, motion)
    try:
        count = stream.begin(rest(nao, start))
    except CannotBegin:
        return
    for leaf in stream.leaves:
        limit = nao.joints[nao.joint_index(leaf)].max_velocity
        values = [start, *(stream.item(k)[leaf] for k in range(count))]
        assert np.abs(np.diff(values)).max() <= limit * SLOT_S * (1 + 1e-5)


@pytest.mark.requirement("SY-4")
@given(k=st.integers(0, 99), away=st.floats(-1.0, 1.0))
def test_rejoining_is_at_half_speed_and_ends_where_it_left(
    nao: Robot, k: int, away: float
) -> None:
    stream = stream_of(nao, motion(track("HeadYaw", (1.0, 0.6))))
    stream.begin(rest(nao))
    limit = nao.joints[nao.joint_index("HeadYaw")].max_velocity
    back = [item["HeadYaw"] for item in stream.rejoin(k, rest(nao, away))]
    following = stream.item(k)["HeadYaw"]
    if abs(following - away) <= limit * SLOT_S:
        assert back == [], "it can follow at once"
        return
    before = stream.item(k - 1)["HeadYaw"] if k else 0.0
    assert back[-1] == pytest.approx(before)
    speeds = np.abs(np.diff([away, *back])) / SLOT_S
    assert speeds.max() <= limit / 2 * (1 + 1e-9)
    assert abs(following - back[-1]) <= limit * SLOT_S


def test_light_has_items_only_at_its_steps(nao: Robot) -> None:
    pattern = LightPattern(
        name="p",
        steps=(
            LightStep(at_s=0.0, leds=("Left eye", "Left ear"), colour=(1.0, 0.5, 0.0)),
            LightStep(at_s=0.2, leds=("Left ear",), colour=(0.0, 0.2, 0.1), fade_s=0.3),
        ),
        length_s=0.5,
    )
    stream = LightStream(pattern, TOKEN, effector_leaves(nao), SLOT_S)
    assert stream.leaves == ("Left ear", "Left eye")
    assert stream.begin({}) == 50
    assert [k for k in range(50) if stream.item(k)] == [0, 20]
    eye, ear = stream.item(0)["Left eye"], stream.item(20)["Left ear"]
    assert isinstance(eye, LedSetting)
    assert isinstance(ear, LedSetting)
    assert eye.colours.tolist() == [1.0, 0.5, 0.0]
    assert (ear.colours.tolist(), ear.fade_s) == ([0.2], 0.3)


def test_single_colour_leds_take_the_brightest_channel() -> None:
    assert led_colours((0.2, 0.7, 0.1), 1).tolist() == [0.7]
    assert led_colours((0.2, 0.7, 0.1), 3).tolist() == [0.2, 0.7, 0.1]


def test_step_at_the_end_is_sent(nao: Robot) -> None:
    step = LightStep(at_s=0.3, leds=("Chest",), colour=(1.0, 1.0, 1.0))
    pattern = LightPattern(name="p", steps=(step,), length_s=0.3)
    stream = LightStream(pattern, TOKEN, effector_leaves(nao), SLOT_S)
    assert stream.begin({}) == 31
    assert stream.item(30)


@given(n=st.integers(0, 2000), rate=st.sampled_from([8000, 16000, 22050, 44100, 48000]))
def test_sound_is_cut_into_slots_without_losing_a_sample(n: int, rate: int) -> None:
    samples = np.linspace(-1.0, 1.0, n)
    stream = SoundStream("Hello", samples, rate, TOKEN, "TTS", SLOT_S)
    count = stream.begin({})
    chunks = [stream.item(k).get("TTS") for k in range(count)]
    heard = [chunk for chunk in chunks if isinstance(chunk, SoundChunk)]
    assert count == max(1, int(np.ceil(n / (rate * SLOT_S) - 1e-9)))
    assert len(heard) == (count if n else 0)
    joined = np.concatenate([c.samples for c in heard]) if heard else np.empty(0)
    assert_allclose(joined, samples)
    assert all(len(c.samples) - 1 < rate * SLOT_S for c in heard)
    assert [c.is_last for c in heard] == [False] * (len(heard) - 1) + [True] * bool(n)
    assert {c.label for c in heard} <= {"Hello"}


def test_motion_light_and_sound_are_streams(nao: Robot) -> None:
    step = LightStep(at_s=0.0, leds=("Chest",), colour=(1.0, 1.0, 1.0))
    pattern = LightPattern(name="p", steps=(step,), length_s=0.0)
    streams: list[Stream] = [
        stream_of(nao, motion(track("HeadYaw", (0.5, 0.3)))),
        LightStream(pattern, TOKEN, effector_leaves(nao), SLOT_S),
        SoundStream("s", np.zeros(5), 16000, TOKEN, "TTS", SLOT_S),
    ]
    assert [stream.unit for stream in streams] == list(Unit)
    for stream in streams:
        assert stream.begin(rest(nao)) >= 1
        assert stream.token is TOKEN
    assert not any(stream.rejoin(0, {}) for stream in streams[1:])
