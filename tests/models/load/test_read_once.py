"""A robot folder is read once per process, and again when a file has changed."""

import shutil
from pathlib import Path

import pytest

from nao_testbed.models import RobotDataError, load_robot

TWO_LEG = Path(__file__).parents[2] / "data" / "two_leg"


def test_a_folder_is_read_again_only_after_a_change(tmp_path: Path) -> None:
    folder = tmp_path / "robot"
    shutil.copytree(TWO_LEG, folder)
    first = load_robot(folder)
    assert load_robot(folder) is first
    assert load_robot(folder / ".." / "robot") is first
    joints = folder / "joints.csv"
    whole = joints.read_text(encoding="utf-8")
    joints.write_text(whole.replace(first.joints[0].name, "other", 1), encoding="utf-8")
    with pytest.raises(RobotDataError):
        load_robot(folder)
    joints.write_text(whole, encoding="utf-8")
    assert load_robot(folder) == first
    (folder / "robot.yaml").unlink()
    with pytest.raises(RobotDataError):
        load_robot(folder)
