"""Bags of ROS as tables: rosbag1, rosbag2 and MCAP, read by the library `rosbags`.

Columns are named by topic and field: `/imu/linear_acceleration/x`. A JointState and a
DiagnosticArray have the name of the joint or status in place of its number, as in
`/joint_states/LKneePitch/position`. Each row has the values of one time stamp.
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nao_testbed.experiments.heat.logs.tables import FrameTable
from nao_testbed.models import BadInput
from nao_testbed.models.errors import ExtraMissing

ENDINGS = frozenset({".bag", ".mcap", ".db3"})
MAX_ITEMS = 64
"""Longest list that is read; longer ones are images or point clouds, not joints."""
JOINT_FIELDS = ("position", "velocity", "effort")


def is_bag(path: Path) -> bool:
    """Return True for a bag file, by its suffix, or a folder with `metadata.yaml`."""
    return path.suffix.lower() in ENDINGS or (path / "metadata.yaml").is_file()


def read_bag(path: Path) -> FrameTable:
    """Read the numbers of all topics.

    Raises:
        BadInput: the bag cannot be read, or has no numbers.
        ExtraMissing: the extra `logs` is not installed.
    """
    try:
        from rosbags.highlevel import AnyReader, AnyReaderError  # noqa: PLC0415
        from rosbags.typesys import Stores, get_typestore  # noqa: PLC0415
    except ImportError as error:
        raise ExtraMissing("a bag", "rosbags", "logs", "or give a CSV file") from error
    import pandas as pd  # noqa: PLC0415  # slow

    rows: dict[int, dict[str, float]] = {}
    try:
        store = get_typestore(Stores.ROS2_HUMBLE)
        with AnyReader([path], default_typestore=store) as reader:
            for connection, stamp, raw in reader.messages():
                message = reader.deserialize(raw, connection.msgtype)
                row = rows.setdefault(stamp, {})
                row.update(_numbers(connection.topic, message))
    except (AnyReaderError, OSError, ValueError, KeyError) as error:
        text = next(iter(str(error).splitlines()), type(error).__name__)
        raise BadInput(
            f"{path} cannot be read as a bag: {text} Give a whole bag of ROS 1, the "
            "folder of a bag of ROS 2, or an MCAP file."
        ) from error
    if not any(rows.values()):
        raise BadInput(
            f"{path} has no numbers in its topics; give a bag with joint states."
        )
    times = sorted(rows)
    seconds = pd.Series(1e-9 * np.array(times, np.float64), name="__time")
    frame = pd.DataFrame([rows[t] for t in times])
    return FrameTable(path, pd.concat([seconds, frame], axis=1))


def _numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, bool | int | float | np.number):
        yield name, float(value)
    elif isinstance(value, np.ndarray | list | tuple):
        for i, item in enumerate(value[:MAX_ITEMS] if len(value) <= MAX_ITEMS else ()):
            label = getattr(item, "name", None)
            yield from _numbers(f"{name}/{label}" if label else f"{name}[{i}]", item)
    elif is_dataclass(value):
        yield from _fields(name, value)


def _fields(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """Return the numbers of a message."""
    if hasattr(value, "position") and isinstance(getattr(value, "name", ""), list):
        for kind in JOINT_FIELDS:
            for joint, item in zip(value.name, getattr(value, kind), strict=False):
                yield f"{name}/{joint}/{kind}", float(item)
        return
    if hasattr(value, "hardware_id"):  # a status, with pairs of key and text
        for pair in value.values:
            if (known := _number_in(pair.value)) is not None:
                yield f"{name}/{pair.key}", known
        return
    for field in fields(value):
        inner = getattr(value, field.name)
        is_array = field.name == "status" and isinstance(inner, list)
        if field.name != "header":
            yield from _numbers(name if is_array else f"{name}/{field.name}", inner)


def _number_in(text: str) -> float | None:
    """Return the number before a unit, such as 38.5 for `38.5 C`; None for a word."""
    try:
        return float(text.split(maxsplit=1)[0])
    except (IndexError, ValueError):
        return None
