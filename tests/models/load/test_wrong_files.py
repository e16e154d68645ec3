"""Errors in robot files name the file, the line and the correction."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from nao_testbed.models import RobotDataError, load_robot
from tests.messages import Messages
from tests.models.conftest import Load, Spoil, problems

CASES: dict[str, dict[str, Any]] = YAML(typ="safe").load(
    Path(__file__).with_name("wrong_files.yaml")
)


def cases(section: str) -> pytest.MarkDecorator:
    chosen = CASES[section]
    return pytest.mark.parametrize("case", chosen.values(), ids=chosen.keys())


def check_refused(case: dict[str, str], spoil: Spoil) -> None:
    new = case["new"].replace("{long}", "x" * 200_000)
    folder = spoil(case["file"], case["old"], new)
    with pytest.raises(RobotDataError) as caught:
        load_robot(folder)
    text = str(caught.value)
    assert f"/{case['at']}: " in text
    assert case["told"] in text


@cases("robot")
def test_a_wrong_file_is_refused_at_its_line(
    case: dict[str, str], spoil: Spoil
) -> None:
    check_refused(case, spoil)


@pytest.mark.requirement("RM-4")
@cases("resources")
def test_a_wrong_tree_is_refused_at_its_line(
    case: dict[str, str], spoil: Spoil
) -> None:
    check_refused(case, spoil)


@cases("library")
def test_all_library_problems_are_reported_with_lines(
    case: dict[str, Any], load: Load
) -> None:
    found = problems(load, case["text"])
    assert len(found) == len(case["told"]), "\n".join(found)
    for problem, words in zip(found, case["told"], strict=True):
        assert problem.startswith(f"here.yaml:{words}"), problem


def test_led_position_is_optional(spoil: Spoil) -> None:
    folder = spoil("leds.csv", "Lamp", "Lamp")
    assert load_robot(folder).leds[0].place == (0.05, 0.0, 0.1)
    nowhere = "name,link,count,channels,levels,source,status\n"
    (folder / "leds.csv").write_text(
        nowhere + "Lamp,trunk,1,rgb,255,a,estimate\n", "utf-8"
    )
    assert load_robot(folder).leds[0].place is None


def test_coupled_joints_must_have_one_angle(spoil: Spoil) -> None:
    """Two joints on one motor cannot have different angles."""
    urdf = '<limit lower="-1.2" upper="0.8" effort="2" velocity="6"/>\n  </joint>'
    folder = spoil("joints.csv", "right_hip,right_hip", "right_hip,left_hip")
    text = (folder / "two_leg.urdf").read_text("utf-8")
    before, middle, after = text.split(urdf)
    mimic = urdf.replace("</joint>", '<mimic joint="left_hip"/></joint>')
    (folder / "two_leg.urdf").write_text(
        before + urdf + middle + mimic + after, "utf-8"
    )
    motors = (folder / "motors.csv").read_text("utf-8")
    hip = "right_hip,tiny,100,leg,made-up,estimate\n"
    (folder / "motors.csv").write_text(motors.replace(hip, ""), "utf-8")
    robot = load_robot(folder)
    assert len(robot.motors) == 5
    assert robot.motors[0].joints == ("left_hip", "right_hip")
    spoil("postures.csv", "-0.35,-0.35,0.7,-0.35", "-0.35,-0.3,0.7,-0.35")
    with pytest.raises(RobotDataError, match=r"right_hip is -0\.3 rad and left_hip"):
        load_robot(folder)


def test_messages(messages: Messages, tmp_path: Path) -> None:
    messages(
        folder_that_is_not_there_is_bad_input=lambda: load_robot(tmp_path / "nobody"),
        empty_folder_says_which_file_is_missing=lambda: load_robot(tmp_path),
    )
