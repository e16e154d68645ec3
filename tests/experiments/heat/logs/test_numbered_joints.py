"""Joints without names: an order is used only if robot and angles support it."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from nao_testbed.experiments.cli import app
from nao_testbed.experiments.heat.logs.log import read_log
from nao_testbed.experiments.heat.logs.sensor_checks import check_sensors
from nao_testbed.models import BadInput, Robot
from studies import log_writers as writers

ANKLE = ("AnklePitch", "AnkleRoll")
BODY = [
    *("HeadYaw", "HeadPitch"),
    *(f"L{n}" for n in ("ShoulderPitch", "ShoulderRoll", "ElbowYaw", "ElbowRoll")),
    *("LWristYaw", "LHand"),
    *(
        f"{side}{n}"
        for side in "LR"
        for n in ("HipYawPitch", "HipRoll", "HipPitch", "KneePitch", *ANKLE)
    ),
    *(f"R{n}" for n in ("ShoulderPitch", "ShoulderRoll", "ElbowYaw", "ElbowRoll")),
    *("RWristYaw", "RHand"),
]
"""Order of `ALMotion.getAngles("Body", True)`."""
Columns = dict[str, object]


def numbered(
    frame: pd.DataFrame, robot: Robot, joints: Sequence[str], first: int = 0
) -> Columns:
    """Return angles and torques of joints under the numbers of their places."""
    columns: Columns = {"time_s": frame["time_s"]}
    for i, name in enumerate(joints, start=first):
        columns[f"q_{i}"] = frame[f"q.{name}"]
        columns[f"tau_{i}"] = writers.torque(frame, robot, name)
    return columns


def written(columns: Columns, folder: Path) -> Path:
    path = folder / "log.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def assert_true(path: Path, robot: Robot, frame: pd.DataFrame, joints: object) -> None:
    """Compare each angle that was read with the joint's own."""
    angles = read_log(path, robot).signals["q"]
    assert sorted(angles) == sorted(joints)  # type: ignore[call-overload]
    for name, seen in angles.items():
        truth = float(frame[f"q.{name}"].median())
        assert np.nanmedian(seen) == pytest.approx(truth, abs=1e-6), name


@pytest.fixture
def frame(g1_frame: pd.DataFrame) -> pd.DataFrame:
    return g1_frame.iloc[100:130]


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("part", [slice(None), slice(12)])
def test_a_g1_counted_from_0_or_1_whole_or_its_legs(
    first: int, part: slice, g1: Robot, frame: pd.DataFrame, tmp_path: Path
) -> None:
    joints = g1.joint_names[part]
    path = written(numbered(frame, g1, joints, first), tmp_path)
    assert_true(path, g1, frame, joints)


@pytest.mark.parametrize(
    "columns",
    [
        lambda frame: {f"temp_{i}": 40.0 for i in range(29)},
        lambda frame: {f"position_{i}": 0.3 * i for i in range(3)},  # of the robot
    ],
)
def test_numbers_beside_names_do_not_replace_them(
    columns: Callable[[pd.DataFrame], Columns],
    g1: Robot,
    frame: pd.DataFrame,
    tmp_path: Path,
) -> None:
    named: Columns = {"time_s": frame["time_s"], **columns(frame)}
    named |= {f"{name}_q": frame[f"q.{name}"] for name in g1.joint_names}
    path = written(named, tmp_path)
    assert_true(path, g1, frame, g1.joint_names)


def test_the_place_of_the_robot_is_not_an_angle(
    g1: Robot, frame: pd.DataFrame, tmp_path: Path
) -> None:
    columns = numbered(frame, g1, g1.joint_names)
    columns |= {"position_0": 0.3, "position_1": 0.0, "position_2": 0.7}
    assert_true(written(columns, tmp_path), g1, frame, g1.joint_names)


@pytest.mark.parametrize(
    ("angles", "torques", "first"),
    [
        ("dof_pos_{}", "dof_torque_{}", 0),
        ("joint_pos[{}]", "joint_torque[{}]", 0),
        ("angle{}", "torque{}", 1),
        ("motors.{}.q", "motors.{}.tau_est", 0),
    ],
)
def test_numbers_under_other_names(
    angles: str,
    torques: str,
    first: int,
    g1: Robot,
    frame: pd.DataFrame,
    tmp_path: Path,
) -> None:
    columns: Columns = {"timestamps": frame["time_s"]}
    for i, name in enumerate(g1.joint_names, start=first):
        columns[angles.format(i)] = frame[f"q.{name}"]
        columns[torques.format(i)] = writers.torque(frame, g1, name)
    path = written(columns, tmp_path)
    assert_true(path, g1, frame, g1.joint_names)
    assert "torque" in read_log(path, g1).signals


@pytest.mark.parametrize("key", ["name", "id"])
def test_objects_in_a_list_are_known_by_name_or_id(
    key: str, g1: Robot, frame: pd.DataFrame, tmp_path: Path
) -> None:
    names = [*enumerate(g1.joint_names)][::-1]
    lines = []
    for row in frame.to_dict("records"):
        motors = [
            {key: name if key == "name" else i, "q": row[f"q.{name}"]}
            for i, name in names
        ]
        lines.append(json.dumps({"t": row["time_s"], "motors": motors}))
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    assert_true(path, g1, frame, g1.joint_names)


@pytest.mark.parametrize("order", [BODY, sorted(BODY)])
def test_a_nao_in_the_order_of_naoqi_and_in_alphabetical_order(
    order: list[str], nao: Robot, nao_frame: pd.DataFrame, tmp_path: Path
) -> None:
    frame = nao_frame.iloc[100:130]
    path = written(numbered(frame, nao, order), tmp_path)
    assert_true(path, nao, frame, nao.joint_names)


def test_names_of_the_sdk_are_read(
    g1: Robot, frame: pd.DataFrame, tmp_path: Path
) -> None:
    """Such as L_LEG_HIP_PITCH and L_SHOULDER_PITCH."""
    columns: Columns = {"time_s": frame["time_s"]}
    for name in g1.joint_names:
        side, _, rest = name.upper().partition("_")
        leg = "LEG_" if name in g1.leg_joints else ""
        short = name if side == "WAIST" else f"{side[0]}_{leg}{rest}"
        columns[f"{short}_q"] = frame[f"q.{name}"]
    assert_true(written(columns, tmp_path), g1, frame, g1.joint_names)


def wrong(kind: str, frame: pd.DataFrame, g1: Robot) -> Columns:
    joints = list(g1.joint_names)
    match kind:
        case "hands between the arms":
            columns = numbered(frame, g1, joints[:22])
            hands = {f"q_{i}": 0.3 for i in range(22, 29)}
            arm = numbered(frame, g1, joints[22:], first=29)
            return columns | hands | arm
        case "no wrists":
            return numbered(frame, g1, [n for n in joints if "wrist" not in n])
        case "pose of the base first":
            columns = numbered(frame, g1, joints, first=7)
            return columns | {f"q_{i}": 0.1 * i for i in range(7)}
        case "other robot":
            angles = {f"q_{i}": (-0.06, 0.8, -1.47)[i % 3] for i in range(12)}
            return {"time_s": frame["time_s"], **angles}
        case "random":
            mixed = [joints[k] for k in np.random.default_rng(0).permutation(29)]
            return numbered(frame, g1, mixed)
    return {k: 0.0 * np.asarray(v) if k[0] == "q" else v for k, v in
            numbered(frame, g1, joints).items()}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("hands between the arms", "36 numbered joints.*29 joints in another order"),
        ("no wrists", "23 numbered joints"),
        ("pose of the base first", "36 numbered joints"),
        ("other robot", "12 numbered joints"),
        ("random", "29 numbered joints.*another order"),
        ("all zero", "angles that fit Unitree's and Isaac Lab's and alphabetical"),
    ],
)
def test_an_order_that_angles_do_not_support_is_refused(
    kind: str, said: str, g1: Robot, frame: pd.DataFrame, tmp_path: Path
) -> None:
    path = written(wrong(kind, frame, g1), tmp_path)
    with pytest.raises(BadInput, match=f"{said}.*--write map.yaml"):
        read_log(path, g1)


def test_the_proposed_map_is_written_and_names_the_joints(
    g1: Robot, frame: pd.DataFrame, tmp_path: Path
) -> None:
    mixed = [g1.joint_names[k] for k in np.random.default_rng(0).permutation(29)]
    path = written(numbered(frame, g1, mixed), tmp_path)
    file = tmp_path / "map.yaml"
    entries = ["log-columns", str(path), "--robot", "g1", "--write", str(file)]
    assert CliRunner().invoke(app, entries).exit_code
    lines = file.read_text("utf-8").splitlines()
    for i, name in reversed([*enumerate(mixed)]):
        lines = [line.replace(f".{i}:", f".{name}:") for line in lines]
    file.write_text("\n".join(lines), "utf-8")
    angles = read_log(path, g1, (str(file),)).signals["q"]
    assert np.median(angles["left_knee"]) == pytest.approx(
        frame["q.left_knee"].median()
    )


def test_angles_of_motors_are_refused_with_the_names_of_their_joints(
    g1: Robot, frame: pd.DataFrame, tmp_path: Path
) -> None:
    ankle = {"pitch": "a", "roll": "b"}
    names = {f"q.left_ankle_{joint}": f"q.left_ankle_{m}" for joint, m in ankle.items()}
    path = tmp_path / "log.parquet"
    frame.rename(columns=names).to_parquet(path)
    said = "of its joints left_ankle_pitch, left_ankle_roll"
    with pytest.raises(BadInput, match=said):
        check_sensors(read_log(path, g1), g1)
