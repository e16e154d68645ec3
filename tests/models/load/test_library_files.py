"""A robot's library is loaded, or all its problems are reported together."""

import math
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nao_testbed.models import BadInput, Robot, load_robot
from nao_testbed.models.files.yaml_forms import FileErrors
from nao_testbed.models.library import Interpolation, Library, Unit
from tests.models.conftest import Load, Spoil, problems

WAVE = """
motions:
  wave:
    from: Stand
    postures: [[1.0, Stand], [2.0, Crouch]]
    joints: [RArm, HeadYaw]
    angles_deg:
      RShoulderPitch: [[0.8, -60], [2.8, -60.0]]
    stops_s: [2.0]
"""


@pytest.mark.requirement("SY-19")
def test_a_motion_takes_keyframes_from_postures_and_joints(
    load: Load, nao: Robot
) -> None:
    wave = load(WAVE).motion("wave")
    assert (wave.start, wave.end, wave.stops_s) == ("Stand", None, (2.0,))
    assert wave.interpolation is Interpolation.CUBIC
    assert wave.length_s == pytest.approx(2.8)
    assert set(wave.joints) == {*nao.groups["RArm"], "HeadYaw"}
    tracks = {track.joint: track for track in wave.tracks}
    assert tracks["RShoulderPitch"].times_s == (0.8, 2.8)
    assert_allclose(tracks["RShoulderPitch"].angles, np.radians([-60, -60]))
    elbow = nao.joint_index("RElbowRoll")
    stored = [nao.posture(p).angles[elbow] for p in ("Stand", "Crouch")]
    assert_allclose(tracks["RElbowRoll"].angles, stored)


@pytest.mark.parametrize(
    ("motion", "told"),
    [
        (
            "from: Sit, to: Stand, angles_deg: {HeadPitch: [[0.5, 3]]}",
            "does not end in Stand: RHipPitch is 95.3 degrees off",
        ),
        ("to: Stand, angles_deg: {HeadPitch: [[0.5, 3]]}", "is unknown"),
        (
            "from: Stand, to: Stand, angles_deg: {LShoulderPitch: [[2, 0]]}",
            "LShoulderPitch is 82.7 degrees off",
        ),
    ],
)
@pytest.mark.requirement("SY-19", "SY-20")
def test_a_motion_to_a_posture_ends_in_it(load: Load, motion: str, told: str) -> None:
    (problem,) = problems(load, f"motions: {{m: {{{motion}}}}}")
    assert told in problem


@pytest.mark.parametrize(
    "motion",
    [
        "from: Sit, to: Stand, postures: [[4, Stand]]",
        "from: Sit, to: Stand, postures: [[4, Stand]], joints: [Legs]",
        "to: Stand, postures: [[4, Stand]]",
        "from: Stand, to: Stand, angles_deg: {HeadPitch: [[0.5, 3]]}",
    ],
)
def test_arms_may_hold_their_angles_on_the_way(load: Load, motion: str) -> None:
    ends = load(f"motions: {{m: {{{motion}}}}}").motion("m")
    assert ends.end == "Stand"


def test_coupled_joints_are_one_track_by_either_name(load: Load) -> None:
    for named in ("LHipYawPitch", "RHipYawPitch"):
        motion = load(f"motions: {{m: {{angles_deg: {{{named}: [[1.0, -10]]}}}}}}")
        assert motion.motion("m").joints == ("LHipYawPitch",)
    both = "LHipYawPitch: [[1.0, -10]], RHipYawPitch: [[1.0, -11]]"
    (problem,) = problems(load, f"motions: {{m: {{angles_deg: {{{both}}}}}}}")
    assert "one motor (LHipYawPitch) moves both" in problem


def test_without_joints_a_posture_moves_every_motor(load: Load, nao: Robot) -> None:
    motion = load("motions: {m: {postures: [[3.0, Crouch]]}}").motion("m")
    assert motion.joints == nao.motor_names


@pytest.mark.requirement("SY-19")
def test_lights_sounds_commands_and_transitions_become_data(load: Load) -> None:
    library = load(
        """
lights:
  x:
    steps:
      - {at_s: 0.5, leds: [Chest], colour: "#0000ff"}
      - {at_s: 0.0, leds: [Leds, Chest], colour: "#ff8000", fade_s: 0.3}
sounds: {hello: {text: Hello, volume: 0.8}, beep: {tone_hz: 440, length_s: 0.2}}
commands:
  go: {motion: up, light: x, sound: beep, points: {motion: 20, light: 10, sound: 70}}
  shine: {light: x}
  rise: {to: Stand, light: x, points: {motion: 60, light: 40}}
transitions: [{from: Sit, to: Stand, motion: up}]
motions: {up: {from: Sit, to: Stand, postures: [[4.0, Stand]]}}
"""
    )
    first, last = library.light("x").steps
    assert (first.at_s, last.at_s) == (0.0, 0.5), "sorted by time"
    assert first.colour == pytest.approx((1.0, 128 / 255, 0.0))
    assert len(first.leds) == 8
    assert library.light("x").length_s == 0.5
    assert library.sound("hello").volume == 0.8
    assert library.sound("beep").tone_hz == 440
    go = library.order("go")
    assert go.outputs == {Unit.MOTION: "up", Unit.LIGHT: "x", Unit.SOUND: "beep"}
    assert go.points == {Unit.MOTION: 20, Unit.LIGHT: 10, Unit.SOUND: 70}
    assert go.is_synchronous
    assert not library.order("shine").is_synchronous
    rise = library.order("rise")
    assert (rise.to, rise.outputs) == ("Stand", {Unit.LIGHT: "x"})
    (way,) = library.transitions
    assert (way.start, way.end, way.motion) == ("Sit", "Stand", "up")


def test_entries_of_one_file_may_name_those_of_another(load: Load) -> None:
    library = load(
        "commands: {c: {sound: s}}", more="sounds: {s: {text: Hello}}", empty=""
    )
    assert library.order("c").outputs == {Unit.SOUND: "s"}
    assert library.sound("s").text == "Hello"


def test_a_robot_without_library_files_has_an_empty_library(two_leg: Robot) -> None:
    assert two_leg.library == Library()


def test_problems_of_all_files_are_listed(load: Load) -> None:
    found = problems(load, "sounds: {a: {}}", other="sounds: {b: {}}", third="x: 1")
    assert [problem.partition(":")[0] for problem in found] == [
        *("here.yaml", "other.yaml", "third.yaml"),
    ]


def test_a_duplicate_name_is_rejected(load: Load) -> None:
    text = "sounds: {a: {text: a}}"
    assert problems(load, text, more=text) == [
        "more.yaml:1: 'a' is also in here.yaml; keep one of them."
    ]


def test_a_duplicate_transition_is_rejected(load: Load) -> None:
    motion = "motions: {m: {from: Sit, to: Stand, postures: [[5, Stand]]}}\n"
    way = "transitions: [{from: Sit, to: Stand, motion: m}]"
    assert problems(load, motion + way, more=way) == [
        "more.yaml:1: a transition from Sit to Stand is also in here.yaml."
    ]


def test_every_problem_is_an_error_of_bad_input(load: Load) -> None:
    with pytest.raises(BadInput, match=r"(?s)here\.yaml:1: .*\n.*here\.yaml:2: "):
        load("sounds: {a: {}}\nlights: {b: {}}")


def test_the_fastest_motion_accepted_is_at_the_limit(load: Load, nao: Robot) -> None:
    """1.5 (angle / time) = limit for a cubic from rest to rest."""
    limit = nao.joints[nao.joint_index("HeadYaw")].max_velocity
    angle_deg = 60.0
    least_s = 1.5 * math.radians(angle_deg) / limit
    text = "motions: {{m: {{from: Stand, angles_deg: {{HeadYaw: [[{}, 60]]}}}}}}"
    load(text.format(least_s * 1.0001))
    assert len(problems(load, text.format(least_s * 0.9999))) == 1


def test_a_library_is_read_on_first_access(
    spoil: Spoil,
) -> None:
    folder = spoil("joints.csv", "left_knee,left_knee", "left_knee,left_knee")
    (folder / "library").mkdir()
    (folder / "library" / "sounds.yaml").write_text(
        "sounds: {a: {text: a}, b: {}}", "utf-8"
    )
    robot = load_robot(folder)
    with pytest.raises(FileErrors, match=r"sounds\.yaml:1"):
        robot.library.sound("a")
    (folder / "library" / "sounds.yaml").write_text("sounds: {a: {text: a}}", "utf-8")
    assert robot.library.sound("a").text == "a"
    (folder / "library" / "sounds.yaml").unlink()
    assert robot.library.sound("a").text == "a", "the library must be read once"
    again = pickle.loads(pickle.dumps(robot.library))
    assert again.sounds == robot.library.sounds
    assert not robot.library.transitions
    with pytest.raises(AttributeError, match="no 'danse'"):
        robot.library.danse  # type: ignore[attr-defined]  # noqa: B018


def test_shipped_commands_name_existing_outputs(nao: Robot) -> None:
    library = nao.library
    assert {"blink", "beep", "alarm", "greet"} <= set(library.orders)
    for order in library.orders.values():
        for unit, output in order.outputs.items():
            known = (library.motions, library.lights, library.sounds)
            assert output in known[list(Unit).index(unit)]
        assert sum(order.points.values()) in {0, order.preset}
