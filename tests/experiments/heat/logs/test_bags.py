"""Bags without definitions of messages or with two robots, and damaged data sets."""

import json
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from nao_testbed.experiments.heat.logs.log import read_log
from nao_testbed.models import BadInput, Robot

STATE = "lab_msgs/msg/State"
ROWS = 3


def bag(path: Path, *topics: str, has_state: bool = False) -> Path:
    """Write joint states, and messages of a type that the bag does not define."""
    store = get_typestore(Stores.ROS2_HUMBLE)
    store.register(get_types_from_msg("float32 q", STATE))
    kind, none = store.types["sensor_msgs/msg/JointState"], np.zeros(0)
    stamp = store.types["builtin_interfaces/msg/Time"](0, 0)
    header = store.types["std_msgs/msg/Header"](stamp, "")
    with Writer(path, version=9, storage_plugin=StoragePlugin.SQLITE3) as out:
        types = [(topic, kind.__msgtype__) for topic in topics]
        types += [("/state", STATE)] * has_state
        lines = [out.add_connection(*one, typestore=store) for one in types]
        for row in range(ROWS):
            for k, (_, name) in enumerate(types):
                angles = np.array([0.1 * row + k])
                one = kind(header, ["HeadYaw"], angles, none, none)
                if name == STATE:
                    one = store.types[STATE](0.5)
                stamp_ns = 20_000_000 * row + k
                out.write(lines[k], stamp_ns, store.serialize_cdr(one, name))
    if has_state:  # as `ros2 bag record` of before 2023
        (file,) = path.glob("*.db3")
        base = sqlite3.connect(file)
        base.execute("drop table message_definitions")
        base.execute("update schema set schema_version = 3")
        base.commit()
        base.close()
        (file,) = path.glob("metadata.yaml")
        text = file.read_text("utf-8").replace("version: 9", "version: 5", 1)
        file.write_text(text, "utf-8")
    return path


def test_a_bag_without_a_definition_is_refused_by_its_name(
    nao: Robot, tmp_path: Path
) -> None:
    path = bag(tmp_path / "state", has_state=True)
    with pytest.raises(BadInput, match=f"not define its messages {STATE}; .*convert"):
        read_log(path, nao)


def test_messages_that_are_defined_are_read(nao: Robot, tmp_path: Path) -> None:
    log = read_log(bag(tmp_path / "both", "/joint_states", has_state=True), nao)
    np.testing.assert_allclose(log.signals["q"]["HeadYaw"][:ROWS], [0.0, 0.1, 0.2])
    assert any(STATE in repair.what for repair in log.repairs)


def test_angles_of_two_robots_are_not_mixed(nao: Robot, tmp_path: Path) -> None:
    log = read_log(bag(tmp_path / "two", "a/joint_states", "b/joint_states"), nao)
    known = log.signals["q"]["HeadYaw"]
    np.testing.assert_allclose(known[np.isfinite(known)], [0.0, 0.1, 0.2])
    said = "angles twice: a/joint_states/HeadYaw/position is used, not b/joint"
    assert any(said in repair.what for repair in log.repairs)


def test_a_temperature_belongs_to_the_motor_in_its_frame(
    nao: Robot, tmp_path: Path
) -> None:
    store = get_typestore(Stores.ROS2_HUMBLE)
    kind = store.types["sensor_msgs/msg/Temperature"]
    stamp = store.types["builtin_interfaces/msg/Time"](0, 0)
    with Writer(tmp_path / "hot", version=9, storage_plugin=StoragePlugin.MCAP) as out:
        line = out.add_connection("/temp", kind.__msgtype__, typestore=store)
        for row in range(2 * ROWS):
            motor = ("LKneePitch", "RKneePitch")[row % 2]
            header = store.types["std_msgs/msg/Header"](stamp, motor)
            one = store.serialize_cdr(kind(header, 30.0 + row, 0.0), kind.__msgtype__)
            out.write(line, 1_000_000_000 * row, one)
    degc = read_log(tmp_path / "hot", nao).signals["temperature"]
    assert np.nanmax(degc["LKneePitch"]) == 34.0
    assert np.nanmin(degc["RKneePitch"]) == 31.0


@pytest.mark.parametrize("names", [["a"], [None, None], [["a", "b"]]])
def test_unusable_names_of_a_data_set_leave_the_numbers(
    names: list[object], tmp_path: Path
) -> None:
    log = read_log(data_set(tmp_path, names, [[0.0, 1.0], [0.0, 1.0]]))
    np.testing.assert_allclose(log.signals["q"]["1"], 1.0)


@pytest.mark.parametrize(
    ("states", "second"), [([[0.0, 1.0], [0.0]], b""), ([[0.0], [0.0]], b"PAR1x")]
)
def test_a_damaged_file_of_a_data_set_is_named(
    states: list[list[float]], second: bytes, tmp_path: Path
) -> None:
    path = data_set(tmp_path, [], states)
    if second:
        (path / "data" / "b.parquet").write_bytes(second)
    with pytest.raises(BadInput, match=r"data.[ab]\.parquet cannot be read as Parquet"):
        read_log(path)


def data_set(path: Path, names: object, states: list[list[float]]) -> Path:
    """Write a data set of LeRobot."""
    (path / "meta").mkdir()
    (path / "data").mkdir()
    info = {"features": {"observation.state": {"names": names}}}
    (path / "meta" / "info.json").write_text(json.dumps(info), "utf-8")
    columns = {"timestamp": [0.0, 0.02], "observation.state": states}
    pd.DataFrame(columns).to_parquet(path / "data" / "a.parquet")
    return path
