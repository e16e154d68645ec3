"""Bags of ROS as tables: rosbag1, rosbag2 and MCAP, read by the library `rosbags`.

Columns are named by topic and field: `/imu/linear_acceleration/x`. A JointState and a
DiagnosticArray have the name of the joint or status in place of its number, as in
`/joint_states/LKneePitch/position`. Each row has the values of one time stamp.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from nao_testbed.models import BadInput
from nao_testbed.models.errors import ExtraMissing
from nao_testbed.models.values import FloatArray

ENDINGS = frozenset({".bag", ".mcap", ".db3"})
MAX_ITEMS = 64
"""Longest list that is read; longer ones are images or point clouds, not joints."""
TIME = "__time"
JOINT_FIELDS = ("position", "velocity", "effort")


def is_bag(path: Path) -> bool:
    """Return True for a bag file, by its suffix, or a folder with `metadata.yaml`."""
    return path.suffix.lower() in ENDINGS or (path / "metadata.yaml").is_file()


class MessageBlock:
    """Messages of equal fields."""

    def __init__(self) -> None:
        """Start without messages."""
        self.stamps, self.values = array("q"), array("d")


class BagTable:
    """Table of the numbers of a bag; messages of equal fields form one block."""

    lines: Sequence[int] = ()
    comma_rows = 0
    run_state = None

    def __init__(
        self, path: Path, blocks: Mapping[tuple[str, ...], MessageBlock]
    ) -> None:
        """Store the blocks: names of the columns to their values."""
        self.path, self._blocks = path, blocks
        stamps = [np.frombuffer(block.stamps, np.int64) for block in blocks.values()]
        self._stamps = np.unique(np.concatenate(stamps))
        self.names = [TIME, *dict.fromkeys(n for names in blocks for n in names)]

    def numbers(self, name: str) -> FloatArray:
        """Return the (n,) numbers of a column, NaN in rows of other messages."""
        if name == TIME:
            return 1e-9 * self._stamps.astype(np.float64)
        values = np.full(self._stamps.size, np.nan)
        for names, block in self._blocks.items():
            if name in names:
                column = np.frombuffer(block.values)[names.index(name) :: len(names)]
                stamps = np.frombuffer(block.stamps, np.int64)
                values[np.searchsorted(self._stamps, stamps)] = column
        return values

    def first_text(self, _name: str) -> str:
        """Return no text: bags have only numbers."""
        return ""


def read_bag(path: Path) -> BagTable:
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
    blocks: dict[tuple[str, ...], MessageBlock] = {}
    try:
        store = get_typestore(Stores.ROS2_HUMBLE)
        with AnyReader([path], default_typestore=store) as reader:
            for connection, stamp, raw in reader.messages():
                message = reader.deserialize(raw, connection.msgtype)
                numbers = dict(_numbers(connection.topic, message))
                if names := tuple(numbers):
                    block = blocks.setdefault(names, MessageBlock())
                    block.stamps.append(stamp)
                    block.values.extend(numbers.values())
    except (AnyReaderError, OSError, ValueError, KeyError) as error:
        text = next(iter(str(error).splitlines()), type(error).__name__)
        raise BadInput(
            f"{path} cannot be read as a bag: {text} Give a whole bag of ROS 1, the "
            "folder of a bag of ROS 2, or an MCAP file."
        ) from error
    if not blocks:
        raise BadInput(
            f"{path} has no numbers in its topics; give a bag with joint states."
        )
    return BagTable(path, blocks)


def _numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, bool | int | float | np.number):
        yield name, float(value)
    elif isinstance(value, np.ndarray | list | tuple):
        for i, item in enumerate(value[:MAX_ITEMS] if len(value) <= MAX_ITEMS else ()):
            label = getattr(item, "name", None)
            yield from _numbers(f"{name}/{label}" if label else f"{name}[{i}]", item)
    elif is_dataclass(value):
        yield from _fields(name, value)


@cache
def _joint_columns(name: str, joints: tuple[str, ...], kind: str) -> tuple[str, ...]:
    return tuple(f"{name}/{joint}/{kind}" for joint in joints)


def _fields(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """Return the numbers of a message."""
    if hasattr(value, "position") and isinstance(getattr(value, "name", ""), list):
        for kind in JOINT_FIELDS:
            columns = _joint_columns(name, tuple(value.name), kind)
            yield from zip(columns, map(float, getattr(value, kind)), strict=False)
        return
    if hasattr(value, "hardware_id"):  # a status, with pairs of key and text
        for pair in value.values:
            if (known := _number_in(pair.value)) is not None:
                yield f"{name}/{pair.key}", known
        return
    for field in fields(value):
        inner = getattr(value, field.name)
        is_array = field.name == "status" and isinstance(inner, list)
        if field.name != "header" and not field.name.endswith("covariance"):
            yield from _numbers(name if is_array else f"{name}/{field.name}", inner)


def _number_in(text: str) -> float | None:
    """Return the number before a unit, such as 38.5 for `38.5 C`; None for a word."""
    try:
        return float(text.split(maxsplit=1)[0])
    except (IndexError, ValueError):
        return None
