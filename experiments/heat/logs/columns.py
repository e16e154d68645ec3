"""Our names for the columns of a log: `dialects.yaml`, or a map given by the user.

The head of `dialects.yaml` explains patterns. The patterns of a map precede those of
the file; each has the form `OUR_NAME=PATTERN`, such as `q.{joint}=pos_{joint}`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nao_testbed.experiments.heat.logs.signals import SIGNALS, find_signal
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.files.yaml_tree import read_tree
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.recording.channels import TIME_COLUMN

FILE = Path(__file__).with_name("dialects.yaml")
OWN, GIVEN = "own names", "given"
TIME = "time"
"""Name of a time column whose unit is inferred from its values."""
FIRST_DAY, DAY_STEP = 2e4, 2e-4
"""Smallest day number of a spreadsheet (1954), and largest step: 17 s in days."""
ODD_RAD, CLEAR_RAD, UNUSED_RAD = 1.0, 0.2, 1e-3
"""Limits of an order of numbered joints: how odd its angles may be, by how much it must
be less odd than others, and largest angle of an unused motor."""
OF_MOTORS = frozenset({"current", "torque", "temperature"})
_UNIT = re.compile(r"(.*\S)\s*[\[(]\s*([^\[\]()\d]+?)\s*[\])]")
_UNIT_BELOW = re.compile(r"([^/]+?)\s*/\s*([^/]+)")  # as in t/ms
UNITS: Mapping[str, str] = {
    **dict.fromkeys(("deg", "degree", "degrees", "°"), "deg"),
    **dict.fromkeys(("°c", "degc", "c", "celsius"), "degc"),
    **dict.fromkeys(("°f", "degf", "f", "fahrenheit"), "degf"),
    **dict.fromkeys(("k", "kelvin"), "k"),
    **dict.fromkeys(("rad", "rad/s", "m/s²", "m/s^2", "n·m", "nm", "n"), "si"),
    **{name: name for name in ("s", "ms", "us", "ns", "min", "ma", "kg", "g")},
    "µs": "us",
    "a": "a",
}
"""Unit in brackets after a name, to the corresponding suffix of our names."""
_PARTS = {
    "{joint}": r"(?P<joint>[^./:]+)",
    "{axis}": r"[./_:]?(?P<axis>[xyz012])",
    "*": r".*",
    ".": r"[./_: ]",
}


class Match(NamedTuple):
    """Meaning of a column."""

    column: str
    name: str
    """Our name of the column, as parsed by `find_signal`, or `TIME`."""
    dialect: str
    other: str = ""
    """Column with the same angles in another topic, which is not used."""


@dataclass(frozen=True, kw_only=True)
class _Line:
    pattern: re.Pattern[str]
    name: str
    dialect: str


def _compiled(pattern: str, *, is_given: bool = False) -> re.Pattern[str]:
    parts = []
    for part in re.split(r"(\.?\{(?:i|axis)\}|\{joint\}|\*|\.)", pattern):
        if part in {".{i}", "{i}"}:
            parts.append(r"[./_:]?(?P<i>\d+)")
        elif is_given and part == ".":
            parts.append(r"\.")
        else:
            parts.append(_PARTS.get(part.removeprefix(".") or part) or re.escape(part))
    text = "".join(parts)
    return re.compile(
        text if is_given else rf"(?:.*(?:[./]|: ?))?{text}", re.IGNORECASE
    )


@cache
def _table() -> tuple[tuple[_Line, ...], Mapping[str, tuple[str, ...]]]:
    """Return the patterns of `dialects.yaml`, times first, and the joint orders."""
    tree = read_tree(FILE)
    sections = [(TIME, tree["time"]), *tree["dialects"].items()]
    lines = tuple(
        _Line(pattern=_compiled(str(pattern)), name=str(name), dialect=str(dialect))
        for dialect, section in sections
        for pattern, name in section.items()
    )
    return lines, {str(k): tuple(map(str, v)) for k, v in tree["orders"].items()}


def read_map(entries: Sequence[str]) -> tuple[str, ...]:
    """Return the entries of a map, including those of its files.

    Raises:
        BadInput: an entry is neither `NAME=PATTERN` nor a YAML file of such lines.
    """
    found: list[str] = []
    for entry in entries:
        if entry.endswith((".yaml", ".yml")):
            tree = read_tree(Path(entry))
            if not isinstance(tree, Mapping):
                raise BadInput(f"{entry} has no lines `q.NAME: COLUMN`; give some.")
            found += [f"{name}={pattern}" for name, pattern in tree.items()]
        else:
            found.append(entry)
    for entry in found:
        name = entry.partition("=")[0].strip()
        if "=" not in entry or not (name == TIME or find_signal(name)):
            raise BadInput(
                f"--map {entry}: {name!r} is no signal; give NAME=COLUMN with a NAME "
                "such as time_s, q.{joint}, current.{joint}, torque.{joint} or "
                "temperature.{joint}, or a file of `nao-testbed log-columns`."
            )
    return tuple(found)


def member_of(text: str, robot: Robot) -> str | None:
    """Return the joint or motor for a name in any spelling; None if there is none."""
    plain = _plain(text)
    names = {_plain(n): n for n in (*robot.motor_names, *robot.joint_names)}
    side = re.sub("^([lr])_(?:leg|arm)_", r"\1_", text.lower())  # L_LEG_KNEE
    side = re.sub("^l", "left", re.sub("^r", "right", _plain(side)))
    for one in (plain, plain.removeprefix("k"), side):
        if one in names:
            return names[one]
    ending = [n for p, n in names.items() if len(plain) > 4 and p == f"aa{plain}"]
    return ending[0] if ending else None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower()).removesuffix("joint")


def match_columns(
    columns: Sequence[str],
    robot: Robot | None,
    entries: Sequence[str] = (),
    first_text: Callable[[str], str] = lambda _: "",
) -> list[Match]:
    """Return the meanings of all known columns; numbered joints keep their numbers.

    Names of other programs are used for signals without a column of the testbed's name.

    Args:
        columns: names of the columns.
        robot: robot of the log; None: joints keep their names.
        entries: user's map, from `read_map`.
        first_text: function that returns the first cell of a column.

    Raises:
        BadInput: an entry of the map fits no column.
    """
    given = [_given_line(entry, columns) for entry in entries]
    found, rest = [], []
    for column in columns:
        mapped = (_fitting(line, column, robot) for line in given)
        if name := next(filter(None, mapped), None):
            found.append(Match(column, name, GIVEN))
        elif name := _own_name(column):
            found.append(Match(column, name, OWN))
        else:
            rest.append(column)
    own = {_signal_of(m.name) for m in found if m.dialect == OWN}
    lines = _table()[0]
    ranked, labels = [], {}
    for column in rest:
        bare, unit = _without_unit(column)
        bare = re.sub(r"\[(\w+)\]", r".\1", bare)
        fits = ((k, _fitting(line, bare, robot)) for k, line in enumerate(lines))
        rank, name = next(((k, name) for k, name in fits if name), (0, ""))
        if name.startswith("label."):
            labels[name.removeprefix("label.")] = first_text(column)
        elif name and _signal_of(name) not in own:
            match = Match(column, _with_unit(name, unit), lines[rank].dialect)
            ranked.append((rank, match))
    has_time = any(map(_is_time, found))
    places = {match.name: (-1, k) for k, match in enumerate(found)}
    for rank, match in sorted(ranked, key=lambda one: one[0]):
        one = _labelled(match, labels, robot)
        if one is None or (has_time and _is_time(one)):
            continue
        first, k = places.setdefault(one.name, (rank, len(found)))
        if k == len(found):
            has_time |= _is_time(one)
            found.append(one)
        elif rank == first and not found[k].other and _signal_of(one.name) == "q":
            found[k] = found[k]._replace(other=one.column)
    if not any(map(_is_time, found)):  # "Uhr [s]"
        units = ((column, _without_unit(column)[1]) for column in rest)
        times = [Match(c, f"{TIME}_{u}", TIME) for c, u in units]
        found += [one for one in times if _is_time(one)][:1]
    return found


def _own_name(column: str) -> str | None:
    """Return our name for a column that has it, maybe with a unit in brackets."""
    bare, unit = _without_unit(column)
    if column.rpartition(".")[2].isdecimal():
        return None
    if find_signal(bare):
        return _with_unit(bare, unit)
    whole = f"{bare.lower()}_{unit}"
    return whole if unit and find_signal(whole) else None


def _signal_of(name: str) -> str:
    return (find_signal(name) or ("",))[0]


def _is_time(match: Match) -> bool:
    return match.name == TIME or match.name in SIGNALS[TIME_COLUMN]


def _given_line(entry: str, columns: Sequence[str]) -> _Line:
    name, _, pattern = (part.strip() for part in entry.partition("="))
    line = _Line(pattern=_compiled(pattern, is_given=True), name=name, dialect=GIVEN)
    if not any(line.pattern.fullmatch(column) for column in columns):
        raise BadInput(
            f"--map {entry}: no column fits {pattern!r}; the log has "
            f"{listed(columns)}. Give one of these, or a pattern with {{joint}}."
        )
    return line


def listed(columns: Sequence[str], most: int = 40) -> str:
    """Return the names of the first columns, and the number of the others."""
    more = len(columns) - most
    return ", ".join(columns[:most]) + (f" and {more} more" if more > 0 else "")


def _labelled(
    match: Match, labels: Mapping[str, str], robot: Robot | None
) -> Match | None:
    """Return a match whose joint number is replaced by the name in a text column."""
    prefix, _, member = match.name.partition(".")
    label = labels.get(member)
    if label is None:
        return match
    joint = member_of(label, robot) if robot else label
    if joint is None:
        return None
    return match._replace(name=of_motor(f"{prefix}.{joint}", robot))


def _without_unit(column: str) -> tuple[str, str | None]:
    """Return a name without the unit in brackets, and our suffix for the unit."""
    found = _UNIT.fullmatch(column) or _UNIT_BELOW.fullmatch(column)
    unit = UNITS.get(found[2].lower()) if found else None
    return (found[1], unit) if found and unit else (column, None)


def _fitting(line: _Line, column: str, robot: Robot | None) -> str | None:
    fit = line.pattern.fullmatch(column)
    if fit is None:
        return None
    groups = fit.groupdict()
    if joint := groups.get("joint"):
        known = member_of(joint, robot) if robot else joint
        if known is None:
            return None
        groups["joint"] = known
    if axis := groups.get("axis"):
        groups["axis"] = "xyz"[int(axis)] if axis.isdecimal() else axis.lower()
    return of_motor(line.name.format(**groups), robot)


def of_motor(name: str, robot: Robot | None) -> str:
    """Return a name with the motor in place of the joint, for signals of motors.

    Torques of joints with parallel motors keep the joint (`sensor_checks`).
    """
    prefix, _, member = name.partition(".")
    if (
        robot is None
        or _signal_of(name) not in OF_MOTORS
        or member not in robot.joint_names
    ):
        return name
    motor = robot.servo_of_joint[robot.joint_index(member)]
    if robot.is_parallel[motor] and _signal_of(name) == "torque":
        return name
    return f"{prefix}.{robot.motor_names[motor]}"


def _with_unit(name: str, unit: str | None) -> str:
    """Return a name with another unit, if its signal supports the unit."""
    prefix, dot, member = name.partition(".")
    other = f"{'time' if prefix == TIME else prefix}_{unit}{dot}{member}"
    return other if find_signal(other) else name


def order_of_numbers(
    numbers: Sequence[int],
    angles: Mapping[int, float],
    robot: Robot,
    dialects: Iterable[str] = (),
) -> tuple[str, dict[int, str]]:
    """Return the source of the order of numbered joints, and the joint of each number.

    An order has as many joints as the log, or legs only; other motors do not move. The
    selected one keeps the angles within the limits and makes the legs more similar than
    every other order does, or else belongs to the maker of the log's program.

    Args:
        numbers: increasing numbers of the columns, from 0 or 1.
        angles: number to a typical angle in rad; 0 for an unused motor.
        robot: robot of the log.
        dialects: dialects of the columns.

    Raises:
        BadInput: no order fits the robot and the angles, or several do.
    """
    makers = {dialect.split()[0] for dialect in dialects}
    orders = {**_table()[1], f"{robot.name}'s": robot.joint_names}
    alphabetical = tuple(sorted(robot.joint_names))
    fits: list[tuple[float, bool, str, dict[int, str]]] = []
    for title, names in {**orders, "alphabetical": alphabetical}.items():
        joints = [str(member_of(name, robot)) for name in names]
        legs = [joint for joint in joints if joint in robot.leg_joints]
        part = legs if len(legs) == len(numbers) and title in orders else joints
        known = dict(zip(numbers, part, strict=False))
        is_whole = list(known) == [numbers[0] + k for k in range(len(part))]
        rest = [abs(angles.get(i, np.inf)) for i in numbers[len(part) :]]
        is_fit = is_whole and numbers[0] < 2 and max(rest, default=0.0) < UNUSED_RAD
        is_new = all(known != other for *_, other in fits)
        if is_fit and is_new and "None" not in joints:
            is_other = title.partition("'")[0] not in makers
            fits.append((_oddness(known, angles, robot), is_other, title, known))
    least = min((one[0] for one in fits), default=np.inf)
    fits = [one for one in fits if one[0] < min(least + CLEAR_RAD, ODD_RAD)]
    fits = [one for one in fits if not one[1]][:1] or fits
    if len(fits) == 1:
        return fits[0][2:]
    several = " and ".join(title for *_, title, _ in fits)
    which = f"angles that fit {several} order" if fits else "another order"
    raise BadInput(
        f"the log has {len(numbers)} numbered joints, and robot {robot.name!r} has "
        f"{len(robot.joint_names)} joints in {which}; give the robot of the log by "
        "--robot, such as --robot g1, or write a map by `nao-testbed log-columns LOG "
        "--write map.yaml`, replace its numbers by joints, and add --map map.yaml."
    )


def _oddness(
    known: Mapping[int, str], angles: Mapping[int, float], robot: Robot
) -> float:
    """Return how far angles exceed the limits, and the legs differ, in rad."""
    at = {name: angles[i] for i, name in known.items() if i in angles}
    total = 0.0
    for name, angle in at.items():
        joint = robot.joints[robot.joint_index(name)]
        total += 10.0 * max(joint.lower - angle, angle - joint.upper, 0.0)
        other = re.sub("^L(?=[A-Z])", "R", name)
        other = other.replace("left", "right").replace("Left", "Right")
        if other in at and re.search("pitch|knee", name, re.IGNORECASE):
            total += abs(angle - at[other])
    return total


def nanoseconds_beside(column: str, columns: Sequence[str]) -> str | None:
    """Return the column with the nanoseconds of a stamp's seconds, if there is one."""
    stem = re.sub(r"stamp[./_: ]secs?$", "", column)
    rest = column.removeprefix(stem)
    names = [rest.replace("sec", "nanosec"), rest.replace("sec", "nsec")]
    wanted = [stem + name for name in names if rest]
    return next((name for name in wanted if name in columns), None)


def time_unit(path: Path, column: str, values: FloatArray) -> str:
    """Return our name for a time column, with the unit inferred from its values.

    Raises:
        BadInput: the values may be seconds or milliseconds.
    """
    known = values[np.isfinite(values)]
    largest = float(np.abs(known).max()) if known.size else 0.0
    for least, name in ((1e17, "ns"), (1e14, "us"), (1e11, "ms"), (1e8, "s")):
        if largest > least:
            return f"time_{name}"
    steps = np.diff(known)
    step = float(np.median(steps[steps > 0.0])) if (steps > 0.0).any() else 0.1
    if largest > FIRST_DAY and step < DAY_STEP:
        return "time_days"
    if step < 1.0 or column.endswith("__time"):
        return "time_s"
    if step >= 1e3:
        return "time_ns" if step >= 1e6 else "time_us"
    raise BadInput(
        f"{path}: the step of column {column!r} is {step:g}, which may be in s or in "
        f"ms; say it by --map time_s={column} or --map time_ms={column}."
    )
