"""Bags as tables: rosbag1, rosbag2 and MCAP of ROS, and MCAP with messages in JSON.

Columns are named by topic and field: `/imu/linear_acceleration/x`. A JointState and a
DiagnosticArray have the name of the joint or status in place of its number, as in
`/joint_states/LKneePitch/position`. Each row has the values of one time stamp.
"""

import json
import struct
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import is_dataclass
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers.stiffness.kernels import BoolArray, IndexArray
from nao_testbed.experiments.heat.logs.record import LONG_ROWS, Repair
from nao_testbed.experiments.heat.logs.tables import LogTable
from nao_testbed.models import BadInput
from nao_testbed.models.errors import ExtraMissing
from nao_testbed.models.values import FloatArray

ENDINGS = frozenset({".bag", ".mcap", ".db3"})
MAX_ITEMS = 64
"""Longest list that is read; longer ones are images or point clouds, not joints."""
TIME = "__time"
KINDS = ("<f8", "<f4", "<i8", "<u8", "<i4", "<u4", "<i2", "<u2", "i1", "u1")
"""Types of numbers in the bytes of a message."""
LONG_BYTES = 8192
"""Size above which the layout of a message is not learnt, which would take long."""
SIGN = 0x80
"""Bit of the last byte that is the sign of a signed number."""
LEARN_AFTER, TOGETHER = 100, 1000
"""Number of messages of a topic after which its layout is learnt, and number of
messages that are decoded together."""
CLOCK = 1e5
"""Size from which a number may be a clock, which keeps double precision."""
UNREADABLE_JSON = (ValueError, TypeError, AttributeError, RecursionError)
"""Errors of a message that is not JSON, or has texts in the place of numbers."""
JOINT_FIELDS = ("position", "velocity", "effort")


def is_bag(path: Path) -> bool:
    """Return True for a bag file, by its suffix, or a folder with `metadata.yaml`."""
    return path.suffix.lower() in ENDINGS or (path / "metadata.yaml").is_file()


class MessageBlock:
    """Messages of equal fields: one at a time, and chunks of messages."""

    def __init__(self) -> None:
        """Start without messages."""
        self.stamps, self.values = array("q"), array("d")
        self.chunks: list[tuple[IndexArray, NDArray[Any]]] = []
        """(n,) stamps and (m, n) numbers of n messages with m fields."""

    def all_stamps(self) -> IndexArray:
        """Return the (n,) stamps of all messages in ns."""
        ones = np.frombuffer(self.stamps, np.int64)
        return np.concatenate([ones, *(stamps for stamps, _ in self.chunks)])

    def field(self, k: int, fields: int) -> NDArray[Any]:
        """Return the (n,) numbers of field k of all messages."""
        ones = np.frombuffer(self.values)[k::fields]
        parts = [ones] if ones.size else []
        return np.concatenate([*parts, *(numbers[k] for _, numbers in self.chunks)])


class MessageLayout:
    """Places of a message's numbers in its bytes, learnt by changing single bytes.

    Messages with the same names then differ only in these bytes, and in bytes without
    an effect, such as those of the stamp.
    """

    def __init__(self, read: Callable[[bytes], dict[str, float]], raw: bytes) -> None:
        """Learn the layout from one message.

        Args:
            read: function that returns the numbers of a message by name.
            raw: bytes of a message.

        Raises:
            ValueError: there is no such layout, as in a message with numbers as text,
                or the message is long, as that of a camera.
        """
        numbers = read(raw)
        if not numbers or len(raw) > LONG_BYTES:
            raise ValueError(len(raw))
        self._raw = np.frombuffer(raw, np.uint8)
        self.names = tuple(numbers)
        values = np.array([*numbers.values()])
        places: list[tuple[int, str]] = []
        fixed: list[int] = []
        k = 0
        while k < len(raw):
            changed = self._changed(read, k)
            kind = "u1"
            if changed is None:
                fixed.append(k)
            elif (differs := _differs(values, changed)).any():
                kind = self._kind(read, k, int(differs.argmax()), values, changed)
                places.append((k, kind))
            k += np.dtype(kind).itemsize
        if len(places) != len(self.names):
            raise ValueError(raw)
        self._fixed = np.array(fixed, np.intp)
        self._groups = []
        for kind in {kind for _, kind in places}:
            columns = [i for i, place in enumerate(places) if place[1] == kind]
            starts = np.array([places[i][0] for i in columns])
            index = starts[:, np.newaxis] + np.arange(np.dtype(kind).itemsize)
            self._groups.append((kind, columns, index.ravel()))

    def _changed(
        self, read: Callable[[bytes], dict[str, float]], k: int, bit: int = 1
    ) -> FloatArray | None:
        """Return the numbers with a bit of byte k changed; None if the names change."""
        other = bytearray(self._raw.tobytes())
        other[k] ^= bit
        try:
            found = read(bytes(other))
        except Exception:  # noqa: BLE001  # the bytes may be no message any more
            return None
        return np.array([*found.values()]) if tuple(found) == self.names else None

    def _kind(
        self,
        read: Callable[[bytes], dict[str, float]],
        k: int,
        number: int,
        values: FloatArray,
        changed: FloatArray,
    ) -> str:
        """Return the type of the number that begins at byte k."""
        for kind in KINDS:
            size = np.dtype(kind).itemsize
            part = self._raw[k : k + size].copy()
            if part.size < size:
                continue
            ends = [(values, part.copy())]
            part[0] ^= 1
            ends.append((changed, part.copy()))
            part[0] ^= 1
            part[-1] ^= SIGN
            last = self._changed(read, k + size - 1, SIGN)
            if last is None:
                continue
            ends.append((last, part))
            seen = np.array([float(p.view(kind)[0]) for _, p in ends])
            said = np.array([numbers[number] for numbers, _ in ends])
            others = np.delete(changed, number), np.delete(values, number)
            if not _differs(seen, said).any() and not _differs(*others).any():
                return kind
        raise ValueError(k)

    def numbers(self, messages: Sequence[bytes]) -> tuple[FloatArray, BoolArray]:
        """Return the (n, m) numbers of messages of this size, and (n,) if they fit."""
        rows = np.frombuffer(b"".join(messages), np.uint8).reshape(len(messages), -1)
        fits = (rows[:, self._fixed] == self._raw[self._fixed]).all(axis=1)
        found = np.empty((len(rows), len(self.names)))
        for kind, columns, index in self._groups:
            found[:, columns] = np.ascontiguousarray(rows[:, index]).view(kind)
        return found, fits

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self._raw.size


def _differs(one: FloatArray, other: FloatArray) -> BoolArray:
    """Return True where two numbers have different bits, as NaN and NaN may have."""
    return np.asarray(one.view(np.int64) != other.view(np.int64))


class BagTable(LogTable):
    """Table of the numbers of a bag; messages of equal fields form one block."""

    def __init__(
        self, path: Path, blocks: Mapping[tuple[str, ...], MessageBlock]
    ) -> None:
        """Store the blocks: names of the columns to their values."""
        self.path, self._blocks = path, blocks
        stamps = {names: block.all_stamps() for names, block in blocks.items()}
        self._stamps = np.unique(np.concatenate([*stamps.values()]))
        self._rows = {n: np.searchsorted(self._stamps, s) for n, s in stamps.items()}
        self.names = [TIME, *dict.fromkeys(n for names in blocks for n in names)]

    def numbers(self, name: str) -> FloatArray:
        """Return the (n,) numbers of a column, NaN in rows of other messages."""
        if name == TIME:
            return 1e-9 * self._stamps.astype(np.float64)
        values = np.empty(0)
        for names, block in self._blocks.items():
            if name in names:
                field = block.field(names.index(name), len(names))
                if not values.size:
                    values = np.full(self._stamps.size, np.nan, field.dtype)
                values[self._rows[names]] = field
        return values


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
    if not path.exists():
        raise BadInput(f"{path} cannot be read: No such file or directory.")
    blocks: dict[tuple[str, ...], MessageBlock] = {}
    unknown = ""
    try:
        store = get_typestore(Stores.ROS2_HUMBLE)
        with AnyReader([path], default_typestore=store) as reader:
            topics: dict[int, _Topic] = {}
            types = reader.typestore.fielddefs
            known = [c for c in reader.connections if c.msgtype in types]
            others = {c.msgtype for c in reader.connections if c not in known}
            unknown = ", ".join(sorted(others))
            for connection, stamp, raw in reader.messages(known) if known else ():
                topic = topics.get(id(connection))
                if topic is None:
                    read = partial(_read, reader, connection)
                    is_long = connection.msgcount > LONG_ROWS
                    topic = _Topic(read, blocks, is_long=is_long)
                    topics[id(connection)] = topic
                topic.add(stamp, raw)
            for topic in topics.values():
                topic.flush()
    except (AnyReaderError, OSError, ValueError, KeyError) as error:
        if path.suffix.lower() == ".mcap" and (blocks := _read_json(path)):
            return BagTable(path, blocks)
        text = next(iter(str(error).splitlines()), type(error).__name__)
        raise BadInput(
            f"{path} cannot be read as a bag: {text} Give a whole bag of ROS 1, the "
            "folder of a bag of ROS 2, or an MCAP file of ROS 2 or with JSON messages."
        ) from error
    if not blocks:
        why = "has no numbers in its topics; give a bag with joint states."
        if unknown:
            why = f"does not define its messages {unknown}; where they are installed, "
            why += "convert it by `ros2 bag convert` to MCAP, or export topics as CSV."
        raise BadInput(f"{path} {why}")
    table = BagTable(path, blocks)
    if unknown:
        what = f"messages without a definition, {unknown}: left out"
        table.repairs = (Repair(kind="missing", rows=0, what=what),)
    return table


def _read_json(path: Path) -> dict[tuple[str, ...], MessageBlock]:
    """Return the numbers of an MCAP file's messages in JSON.

    Empty for another file, and for one that is damaged.

    Raises:
        BadInput: all messages are in another encoding, such as protobuf.
        ExtraMissing: the extra `logs` is not installed.
    """
    try:
        from mcap.exceptions import McapError  # noqa: PLC0415
        from mcap.reader import make_reader  # noqa: PLC0415
    except ImportError as error:
        raise ExtraMissing("an MCAP file", "mcap", "logs") from error
    blocks: dict[tuple[str, ...], MessageBlock] = {}
    others: set[str] = set()
    try:
        with path.open("rb") as file:
            for _, channel, message in make_reader(file).iter_messages():
                if channel.message_encoding != "json":
                    others.add(channel.message_encoding)
                    continue
                found = json.loads(
                    message.data, object_hook=lambda fields: SimpleNamespace(**fields)
                )
                numbers = dict(_numbers(channel.topic, found))
                block = blocks.setdefault(tuple(numbers), MessageBlock())
                block.stamps.append(message.log_time)
                block.values.extend(numbers.values())
    except (McapError, struct.error, OSError, *UNREADABLE_JSON):
        return {}
    blocks = {names: block for names, block in blocks.items() if names}
    if not blocks and (others := others - {"cdr", "ros1", ""}):
        raise BadInput(
            f"{path} has messages in {', '.join(sorted(others))}, which is not read; "
            "record in ROS 2 or JSON, or export the plotted topics as CSV."
        )
    return blocks


def _read(reader: Any, connection: Any, raw: bytes) -> dict[str, float]:
    message = reader.deserialize(raw, connection.msgtype)
    return dict(_numbers(connection.topic, message))


class _Topic:
    """Messages of one topic; those of one layout are decoded together."""

    def __init__(
        self,
        read: Callable[[bytes], dict[str, float]],
        blocks: dict[tuple[str, ...], MessageBlock],
        *,
        is_long: bool,
    ) -> None:
        self._read, self._blocks, self._is_long = read, blocks, is_long
        self._layout: MessageLayout | None = None
        self._count = 0
        self._stamps: list[int] = []
        self._waiting: list[bytes] = []

    def add(self, stamp: int, raw: bytes) -> None:
        """Add a message."""
        self._count += 1
        if self._count == LEARN_AFTER:
            with suppress(ValueError):
                self._layout = MessageLayout(self._read, raw)
        if self._layout is None or len(raw) != self._layout.size:
            self._add_one(stamp, raw)
            return
        self._stamps.append(stamp)
        self._waiting.append(raw)
        if len(self._waiting) == TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Decode the messages that wait."""
        if self._layout is None or not self._waiting:
            return
        numbers, fits = self._layout.numbers(self._waiting)
        block = self._blocks.setdefault(self._layout.names, MessageBlock())
        kept = np.ascontiguousarray(numbers[fits].T)
        if self._is_long and np.nanmax(np.abs(kept), initial=0.0) < CLOCK:
            kept = kept.astype(np.float32)
        block.chunks.append((np.array(self._stamps, np.int64)[fits], kept))
        for k in np.flatnonzero(~fits).tolist():
            self._add_one(self._stamps[k], self._waiting[k])
        self._stamps, self._waiting = [], []

    def _add_one(self, stamp: int, raw: bytes) -> None:
        numbers = self._read(raw)
        if names := tuple(numbers):
            block = self._blocks.setdefault(names, MessageBlock())
            block.stamps.append(stamp)
            block.values.extend(numbers.values())


def _numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, bool | int | float | np.number):
        yield name, float(value)
    elif isinstance(value, np.ndarray | list | tuple):
        for i, item in enumerate(value[:MAX_ITEMS] if len(value) <= MAX_ITEMS else ()):
            label = getattr(item, "name", None)
            yield from _numbers(f"{name}/{label}" if label else f"{name}[{i}]", item)
    elif is_dataclass(value) or isinstance(value, SimpleNamespace):
        yield from _fields(name, value)


@cache
def _joint_columns(name: str, joints: tuple[str, ...], kind: str) -> tuple[str, ...]:
    return tuple(f"{name}/{joint}/{kind}" for joint in joints)


def _fields(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """Return the numbers of a message."""
    if hasattr(value, "position") and isinstance(getattr(value, "name", ""), list):
        for kind in JOINT_FIELDS:
            columns = _joint_columns(name, tuple(value.name), kind)
            yield from zip(columns, map(float, getattr(value, kind, ())), strict=False)
        return
    if hasattr(value, "hardware_id"):  # a status, with pairs of key and text
        for pair in value.values:
            if (known := _number_in(pair.value)) is not None:
                yield f"{name}/{pair.key}", known
        return
    frame = getattr(getattr(value, "header", None), "frame_id", "")
    if frame and hasattr(value, "temperature"):  # the motor of sensor_msgs/Temperature
        yield f"{name}/{frame}/temperature", float(value.temperature)
    for field, inner in vars(value).items():
        is_array = field == "status" and isinstance(inner, list)
        if field != "header" and not field.endswith("covariance"):
            yield from _numbers(name if is_array else f"{name}/{field}", inner)


def _number_in(text: str) -> float | None:
    """Return the number before a unit, such as 38.5 for `38.5 C`; None for a word."""
    try:
        return float(text.split(maxsplit=1)[0])
    except (IndexError, ValueError):
        return None
