"""A robot's library: it becomes data, or all that is wrong in it is told at once."""

import dataclasses
import math
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models import BadInput, Robot, load_robot
from models.files.yaml_forms import FileErrors
from models.library import Interpolation, Library, Unit
from models.load.library_files import load_library

Load = Callable[..., Library]


@pytest.fixture
def load(nao: Robot, tmp_path: Path) -> Load:
    """Return a function that writes files into a NAO's library and reads it."""

    def load(text: str, **others: str) -> Library:
        folder = tmp_path / "library"
        folder.mkdir(exist_ok=True)
        for name, content in {"here": text, **others}.items():
            (folder / f"{name}.yaml").write_text(content)
        return load_library(dataclasses.replace(nao, folder=tmp_path))

    return load


def problems(load: Load, text: str, **others: str) -> list[str]:
    """Return line and message of each problem, without the folder."""
    with pytest.raises(FileErrors) as caught:
        load(text, **others)
    return [f"{e.path.name}:{e.line}: {e.problem}" for e in caught.value.errors]


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
        ("to: Stand, angles_deg: {HeadPitch: [[0.5, 3]]}", "is wherever it was"),
        (
            "from: Stand, to: Stand, angles_deg: {LShoulderPitch: [[2, 0]]}",
            "LShoulderPitch is 82.7 degrees off",
        ),
    ],
)
@pytest.mark.requirement("SY-19", "SY-20")
def test_what_leads_to_a_posture_ends_in_it(load: Load, motion: str, told: str) -> None:
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
def test_arms_may_stay_where_they_are_on_the_way(load: Load, motion: str) -> None:
    ends = load(f"motions: {{m: {{{motion}}}}}").motion("m")
    assert ends.end == "Stand"


def test_coupled_joints_are_one_track_by_whichever_name(load: Load) -> None:
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
    assert (first.at_s, last.at_s) == (0.0, 0.5), "in the order of their time"
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


def test_a_robot_without_a_library_can_do_nothing_by_heart(two_leg: Robot) -> None:
    assert two_leg.library == Library()


# text, then the line and the beginning of each problem
WRONG = {
    "a motion and a posture": (
        "motions: {m: {angles_deg: {HeadYaw: [[1, 0]]}}}\n"
        "commands:\n  c:\n    motion: m\n    to: Sitt",
        [
            "5: Posture 'Sitt' is not in robot 'nao'. Did you mean 'Sit'?",
            "5: motion 'm' and a posture, Sitt; give one of them.",
        ],
    ),
    "a posture without points": (
        'lights:\n  x:\n    steps: [{at_s: 0, leds: [Chest], colour: "#0000ff"}]\n'
        "commands:\n  c: {to: Sit, light: x, points: {light: 100}}",
        ["5: points are of light, the outputs are motion, light; give points to"],
    ),
    "unknown joint": (
        "motions:\n  m: {angles_deg: {HeadYow: [[1, 0]]}}",
        ["2: Joint 'HeadYow' is not in robot 'nao'. Did you mean 'HeadYaw'?"],
    ),
    "unknown group": (
        "motions:\n  m:\n    postures: [[1, Stand]]\n    joints: [RArms]",
        ["4: Joint or joint group 'RArms' is not in robot 'nao'. Did you mean"],
    ),
    "unknown posture": (
        "motions:\n  m:\n    from: Stnd\n    postures: [[1, Sitt]]",
        [
            "3: Posture 'Stnd' is not in robot 'nao'. Did you mean 'Stand'?",
            "4: Posture 'Sitt' is not in robot 'nao'. Did you mean 'Sit'?",
        ],
    ),
    "angle out of range": (
        "motions:\n  m:\n    angles_deg:\n      HeadYaw: [[1, 0],\n        [2, 120]]",
        ["5: angle of HeadYaw is 120°; accepted: -119.50 to 119.50°."],
    ),
    "overlapping keyframes": (
        "motions:\n  m: {angles_deg: {HeadYaw: [[1, 0], [1.0, 20]]}}",
        ["2: overlapping keyframes: 1 s comes after 1 s; times must rise"],
    ),
    "overlapping postures, told once": (
        "motions:\n  m: {postures: [[2, Stand], [1, Crouch]]}",
        ["2: overlapping keyframes: 1 s comes after 2 s"],
    ),
    "too fast": (
        "motions:\n  m:\n    angles_deg:\n      HeadYaw: [[1, 0], [1.1, 60]]",
        ["4: HeadYaw moves from 0° at 1 s to 60° at 1.1 s with up to 900.0 °/s"],
    ),
    "too fast from its posture": (
        "motions: {m: {from: Stand, angles_deg: {HeadYaw: [[0.1, 60]]}}}",
        ["1: HeadYaw moves from 0° at 0 s to 60° at 0.1 s with up to 900.0 °/s"],
    ),
    "linear is slower, and still too fast": (
        "motions:\n  m: {interpolation: linear, "
        "angles_deg: {HeadYaw: [[1, 0], [1.1, 48]]}}",
        ["2: HeadYaw moves from 0° at 1 s to 48° at 1.1 s with up to 480.0 °/s"],
    ),
    "no keyframes": ("motions:\n  m: {}", ["2: motion 'm' has no keyframes"]),
    "joints without postures": (
        "motions:\n  m: {angles_deg: {HeadYaw: [[1, 0]]}, joints: [LArm]}",
        ["2: `joints` says which joints `postures` move"],
    ),
    "stop after the end": (
        "motions:\n  m: {angles_deg: {HeadYaw: [[1, 0]]}, stops_s: [0.5, 1.5]}",
        ["2: stop at 1.5 s; accepted: times that rise, up to the end"],
    ),
    "time zero": (
        "motions:\n  m: {angles_deg: {HeadYaw: [[0, 0]]}}",
        ["2: motions.m.angles_deg.HeadYaw.0.0 is 0: input should be greater than 0."],
    ),
    "no interpolation": (
        "motions:\n  m: {interpolation: quintic}",
        ["2: motions.m.interpolation is 'quintic': input should be 'linear' or"],
    ),
    "no colour": (
        "lights:\n  x:\n    steps:\n      - {at_s: 0, leds: [Chest], colour: green}",
        ["4: lights.x.steps.0.colour is 'green': give red, green and blue as six"],
    ),
    "unknown LED": (
        'lights:\n  x: {steps: [{at_s: 0, leds: [Chst], colour: "#000000"}]}',
        ["2: LED 'Chst' is not in the LEDs of 'nao'. Did you mean 'Chest'?"],
    ),
    "a composite of other things is no LED": (
        'lights:\n  x: {steps: [{at_s: 0, leds: [root], colour: "#000000"}]}',
        ["2: LED 'root' is not in the LEDs of 'nao'."],
    ),
    "two colours at once": (
        "lights:\n  x:\n    steps:\n"
        '      - {at_s: 0, leds: [Leds], colour: "#000000"}\n'
        '      - {at_s: 0, leds: [Chest], colour: "#ffffff"}',
        ["5: Chest gets two colours at 0 s"],
    ),
    "fade into the past": (
        'lights:\n  x: {steps: [{at_s: 0, leds: [Chest], colour: "#000000", '
        "fade_s: -1}]}",
        ["2: lights.x.steps.0.fade_s is -1: input should be greater than or equal"],
    ),
    "shorter than its fades": (
        'lights:\n  x: {steps: [{at_s: 1, leds: [Chest], colour: "#000000"}], '
        "length_s: 0.5}",
        ["2: length_s is 0.5 s, but its last fade ends at 1 s"],
    ),
    "text and tone": (
        "sounds:\n  s: {text: a, tone_hz: 440, length_s: 1}",
        ["2: a sound has either `text` or `tone_hz`"],
    ),
    "tone without length": (
        "sounds:\n  s: {tone_hz: 440}",
        ["2: a tone needs `length_s`"],
    ),
    "text with length": (
        "sounds:\n  s: {text: a, length_s: 1}",
        ["2: a text takes as long as saying it does"],
    ),
    "text without a word": (
        "sounds:\n  s: {text: '...'}",
        ["2: there is nothing to say in '...'; give letters or digits."],
    ),
    "points short of the preset": (
        "sounds: {s: {text: a}}\ncommands:\n  c: {sound: s, points: {sound: 99}}",
        ["3: points sum to 99, the preset is 100; make them equal"],
    ),
    "points of another unit": (
        "sounds: {s: {text: a}}\ncommands:\n  c: {sound: s, points: {light: 100}}",
        ["3: points are of light, the outputs are sound; give points to each"],
    ),
    "half a point": (
        "sounds: {s: {text: a}}\ncommands:\n  c: {sound: s, points: {sound: 1.5}}",
        ["3: commands.c.points.sound is 1.5: give a whole number."],
    ),
    "command of nothing": (
        "commands:\n  c: {}",
        ["2: a command does something; give one of: motion, light, sound, to."],
    ),
    "unknown outputs": (
        "commands:\n  c: {motion: a, light: b, sound: c}",
        [
            "2: Motion 'a' is not in the library.",
            "2: Light pattern 'b' is not in the library.",
            "2: Sound 'c' is not in the library.",
        ],
    ),
    "way of another motion": (
        "motions: {m: {from: Sit, postures: [[5, Stand]]}}\n"
        "transitions:\n  - {from: Sit, to: Stand, motion: m}",
        ["3: motion 'm' leads from Sit to unstated, this way from Sit to Stand"],
    ),
    "way of no motion": (
        "motions: {up: {postures: [[5, Stand]]}}\n"
        "transitions:\n  - {from: Sit, to: Stand, motion: upp}",
        ["3: Motion 'upp' is not in the library. Did you mean 'up'?"],
    ),
    "two ways and a round one": (
        "motions: {m: {from: Sit, to: Stand, postures: [[5, Stand]]}}\n"
        "transitions:\n  - {from: Sit, to: Stand, motion: m}\n"
        "  - {from: Sit, to: Stand, motion: m}\n  - {from: Sit, to: Sit, motion: m}",
        [
            "4: a second way from Sit to Stand",
            "5: a way from Sit to itself",
            "5: motion 'm' leads from Sit to Stand, this way from Sit to Sit",
        ],
    ),
    "unknown keys": (
        "motion: {}\nmotions:\n  m:\n    angles: {}\n    postures: [[3, Stand]]",
        [
            "1: unknown key 'motion'. Did you mean 'motions'? Accepted: motions,",
            "4: unknown key 'motions.m.angles'. Did you mean 'angles_deg'?",
        ],
    ),
    "what is wrong in itself is still known by name": (
        "motions:\n  m: {angles_deg: 3}\nsounds: {s: {}}\n"
        "commands:\n  c: {motion: m, sound: t}\n"
        "transitions:\n  - {from: Sit, to: Stand, motion: m}",
        [
            "2: motions.m.angles_deg is 3: give keys with values.",
            "3: a sound has either `text` or `tone_hz`",
            "5: Sound 't' is not in the library.",
        ],
    ),
    "an item of a list is left out, the lines of the others stay": (
        "transitions:\n  - {from: Sit, motion: m}\n  - {from: Sit, to: Stnd, motion: m}"
        "\nmotions: {m: {postures: [[5, Stand]]}}",
        [
            "2: key 'transitions.0.to' is missing.",
            "3: Posture 'Stnd' is not in robot 'nao'.",
            "3: motion 'm' leads from unstated to unstated",
        ],
    ),
    "key twice": (
        "motions:\n  m: {}\n  m: {}",
        ['3: found duplicate key "m"'],
    ),
    "no YAML": ("motions: [", ["1: "]),
}


@pytest.mark.parametrize(("text", "expected"), WRONG.values(), ids=WRONG)
def test_all_that_is_wrong_is_told_with_its_line(
    load: Load, text: str, expected: list[str]
) -> None:
    found = problems(load, text)
    assert len(found) == len(expected), "\n".join(found)
    for problem, words in zip(found, expected, strict=True):
        assert problem.startswith(f"here.yaml:{words}"), problem


def test_problems_of_all_files_are_told_together(load: Load) -> None:
    found = problems(load, "sounds: {a: {}}", other="sounds: {b: {}}", third="x: 1")
    assert [problem.partition(":")[0] for problem in found] == [
        *("here.yaml", "other.yaml", "third.yaml"),
    ]


def test_a_name_has_one_home(load: Load) -> None:
    text = "sounds: {a: {text: a}}"
    assert problems(load, text, more=text) == [
        "more.yaml:1: 'a' is in here.yaml too; keep one of them."
    ]


def test_a_way_has_one_home(load: Load) -> None:
    motion = "motions: {m: {from: Sit, to: Stand, postures: [[5, Stand]]}}\n"
    way = "transitions: [{from: Sit, to: Stand, motion: m}]"
    assert problems(load, motion + way, more=way) == [
        "more.yaml:1: a way from Sit to Stand is in here.yaml too."
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


def test_a_library_is_read_when_somebody_looks_into_it(
    spoil: Callable[[str, str, str], Path],
) -> None:
    folder = spoil("joints.csv", "left_knee,left_knee", "left_knee,left_knee")
    (folder / "library").mkdir()
    (folder / "library" / "sounds.yaml").write_text("sounds: {a: {text: a}, b: {}}")
    robot = load_robot(folder)
    with pytest.raises(FileErrors, match=r"sounds\.yaml:1"):
        robot.library.sound("a")
    (folder / "library" / "sounds.yaml").write_text("sounds: {a: {text: a}}")
    assert robot.library.sound("a").text == "a"
    (folder / "library" / "sounds.yaml").unlink()
    assert robot.library.sound("a").text == "a", "it is read once"
    again = pickle.loads(pickle.dumps(robot.library))
    assert again.sounds == robot.library.sounds
    assert not robot.library.transitions
    with pytest.raises(AttributeError, match="no 'danse'"):
        robot.library.danse  # type: ignore[attr-defined]  # noqa: B018


def test_every_command_that_ships_names_what_there_is(nao: Robot) -> None:
    library = nao.library
    assert {"blink", "beep", "alarm", "greet"} <= set(library.orders)
    for order in library.orders.values():
        for unit, output in order.outputs.items():
            known = (library.motions, library.lights, library.sounds)
            assert output in known[list(Unit).index(unit)]
        assert sum(order.points.values()) in {0, order.preset}
