"""Log of a robot as columns in SI units, and its repairs.

This module checks nothing: `doubts` corrects certain faults, and each command checks
the data that it needs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from nao_testbed.experiments.heat.logs.columns import Match, listed
from nao_testbed.experiments.heat.logs.signals import column_names
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.recording.channels import TIME_COLUMN

Columns = Mapping[str, FloatArray]
"""Member to (n,) values."""
LONG_ROWS = 100_000
"""Number of rows above which signals are kept in single precision, to save memory:
an angle is then exact to 1e-7 rad. The time keeps double precision."""
LARGEST_CURRENT_A = 20.0
"""Largest plausible current of a joint where the robot is not known."""
BEYOND_STOP_RAD = 0.35
"""Largest plausible angle of a joint beyond its stops: 20°."""
COLDEST_DEGC, HOTTEST_DEGC = -40.0, 200.0
"""Plausible temperatures of a motor in use."""

COPY, COPY_RAD = "copy", 9e-4
"""Kind of a repair: angles equal the set-points; largest difference, since a copy may
be rounded."""


def largest_torque(robot: Robot, motor: str) -> float:
    """Return the largest effort limit of a motor's joints in N·m."""
    joints = robot.motors[robot.motor_index(motor)].joints
    return max(robot.joints[robot.joint_index(j)].effort_limit for j in joints)


def largest_current(robot: Robot, motor: str) -> float:
    """Return the largest plausible current of a motor in A: twice that of its torque.

    It is at least `LARGEST_CURRENT_A`.
    """
    constant = robot.motors[robot.motor_index(motor)].one_node.torque_constant
    return max(LARGEST_CURRENT_A, 2.0 * largest_torque(robot, motor) / constant)


@dataclass(frozen=True, kw_only=True)
class Repair:
    """Fault of the data, and its repair."""

    kind: str
    """`unit`, `name`, `order`, `duplicate`, `missing`, `gap`, `lag`, `copy` or
    `short`."""
    rows: int
    """Number of affected rows."""
    what: str
    """Description of fault and repair."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Log:
    """Rows of a log, in the order of the source; NaN where a value is missing."""

    path: Path
    names: tuple[str, ...]
    """All columns of the source; known columns have our names."""
    signals: Mapping[str, Columns]
    """Signal to its columns, each (n,) in SI units (temperatures in °C);
    signals missing from the log are omitted."""
    lines: Sequence[int] = ()
    """(n,) line number of each row in a text file."""
    run_state: str | None = None
    """`Run.state`; None for a file."""
    repairs: tuple[Repair, ...] = ()
    matches: tuple[Match, ...] = ()
    """Meanings of the known columns."""
    unsigned: frozenset[str] = frozenset()
    """Motors whose currents have an unknown sign."""

    @property
    def time_s(self) -> FloatArray:
        """(n,) times in s."""
        return self.signals[TIME_COLUMN][""]

    def place(self, row: int) -> str:
        """Return the location of a row, for messages."""
        if self.lines:
            return f"{self.path}:{self.lines[row]}"
        return f"{self.path}, row {row + 1}"

    def column(self, member: str, *signals: str) -> str:
        """Return the only column of a member with one of the signals.

        Raises:
            BadInput: there is no such column, or more than one.
        """
        wanted = [n for one in signals for n in column_names(one, member)]
        found = [name for name in wanted if name in self.names]
        if len(found) > 1:
            raise BadInput(
                f"{self.path} has the columns {' and '.join(found)}; keep one."
            )
        if found:
            return found[0]
        close = [n for name in wanted for n in get_close_matches(name, self.names, n=1)]
        hint = f" (is it {close[0]!r}?)" if close else ""
        raise BadInput(
            f"{self.path}: there is no column {' or '.join(wanted)}{hint}; the header "
            f"has {listed(self.names)}. Rename the column, or say by --map "
            f"{wanted[0]}=COLUMN which it is"
            f"{', or record the time of each row' if TIME_COLUMN in signals else ''}."
        )
