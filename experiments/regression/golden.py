"""Golden runs: tables of trials, stored beside the test for comparison.

`golden_run.check(trial)` compares a small table with the one in
`golden/<test file>/<test>.csv`; `<test>.json` beside it has the setting, columns,
tolerances and versions. Only `--nao-testbed-regenerate` writes them.

The table has a few columns of a recording on an even time grid. Fast-forward may begin
a second earlier or later after a small change, so rows are not compared directly: each
time of the grid has the latest value before it.

Runs are bit-identical on one machine; another machine rounds differently. In the
project's golden runs this shifts angles by up to 1.6e-5 rad and torques by up to 0.0024
N·m; a reported angle may jump by a count of its encoder (0.0015 rad). The tolerances by
unit are several times larger, and far below the effect of a change of a controller.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field

from nao_testbed.controllers.interface.checked import check_value
from nao_testbed.experiments.regression.standing_trial import StandingTrial
from nao_testbed.models import BadInput, UnknownName, load_robot
from nao_testbed.models.files import cause_of
from nao_testbed.sim.recording.run_folder import Run

BY_UNIT: Mapping[str, tuple[float, float]] = {
    "rad": (2e-3, 0.5),
    "rad/s": (0.05, 10.0),
    "N·m": (0.02, 2.0),
    "1": (0.01, 0.5),
    "degC": (0.1, 30.0),
    "A": (0.01, 1.0),
    "N": (1.0, 50.0),
    "m/s²": (0.2, 10.0),
    "m": (1e-3, 0.1),
    "s": (1e-6, 1.0),
}
"""Unit to its tolerance, and to the largest accepted tolerance, with which no standing
robot could fail."""


def tolerances_of(
    units: Mapping[str, str], asked: Mapping[str, float]
) -> dict[str, float]:
    """Return the tolerance of every column.

    Args:
        units: column to unit.
        asked: column or channel to a tolerance that replaces that of the unit; a column
            takes precedence over its channel.

    Raises:
        BadInput: a tolerance is not a positive number, is too large, or its column is
            unknown.
    """
    channels = {name.partition(".")[0] for name in units}
    for name in asked:
        if name not in units and name not in channels:
            known: Sequence[str] = [*sorted(channels), *units]
            raise UnknownName("Tolerance", name, known, "the golden run's columns")
    tolerances = {}
    for column, unit in units.items():
        own = asked.get(column, asked.get(column.partition(".")[0]))
        usual, most = BY_UNIT.get(unit, (1e-6, np.inf))
        if own is not None:
            name = f"tolerance of {column} in {unit}"
            check_value(name, own, Annotated[float, Field(gt=0.0, le=most)])
        tolerances[column] = usual if own is None else float(own)
    return tolerances


CHANNELS = ("limits", "target", "motor_torque", "true_temperature")
"""Default channels."""
EVERY_S = 0.5
"""Time between two rows in s."""
DECIMALS = 5


def table_of(
    run: Run, robot: Path, columns: Sequence[str], every_s: float = EVERY_S
) -> pd.DataFrame:
    """Return columns such as `limits.LKneePitch`, with one row per time in s.

    Args:
        run: the recording.
        robot: folder of the robot. Of a channel, the legs' columns are used; all for a
            robot without legs.
        columns: channels such as `limits`, or single columns.
        every_s: time between two rows in s.

    Raises:
        BadInput: a channel or column is unknown, or the time between rows too short or
            too long.
    """
    frame = run.frame
    end = float(frame.index[-1])
    if not (np.isfinite(every_s) and 0.02 <= every_s <= end):
        raise BadInput(
            f"every_s is {every_s} s; give 0.02 s to the {end:g} s of the trial."
        )
    names = _names(run, frozenset(load_robot(robot).leg_joints), columns)
    time_s = every_s * np.arange(1.0, int(end / every_s + 1e-6) + 1.0)
    newest = np.searchsorted(frame.index.to_numpy(), time_s + 1e-6) - 1
    values = frame[names].ffill().to_numpy(dtype=np.float64)[newest]
    values = np.round(values, DECIMALS) + 0.0  # no negative zero
    return pd.DataFrame(values, columns=names, index=pd.Index(time_s, name="time_s"))


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write the table as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    times = [f"{time_s:.2f}" for time_s in table.index]
    table.set_axis(pd.Index(times, name="time_s")).to_csv(
        path, float_format=f"%.{DECIMALS}f", na_rep="nan"
    )


def read_table(path: Path, units: Mapping[str, str]) -> pd.DataFrame:
    """Read a table written by `write_table`.

    Raises:
        BadInput: the table is damaged, or its columns differ from its record.
    """
    try:
        table = pd.read_csv(path, dtype=np.float64).set_index("time_s")
    except (OSError, ValueError, KeyError) as error:
        raise BadInput(
            f"{path} cannot be read: {cause_of(error)}. Regenerate it with {OPTION}."
        ) from error
    if list(table.columns) != list(units):
        raise BadInput(
            f"{path} and {path.stem}.json have different columns. Regenerate them with "
            f"{OPTION}."
        )
    return table


def _names(run: Run, legs: frozenset[str], columns: Sequence[str]) -> list[str]:
    known = [str(name) for name in run.frame.columns]
    channels = {name.partition(".")[0] for name in known}
    names: list[str] = []
    for wanted in columns:
        if wanted in known:
            found = [wanted]
        elif wanted in channels:
            found = [name for name in known if name.partition(".")[0] == wanted]
            found = [n for n in found if n.partition(".")[2] in legs] or found
        else:
            raise UnknownName("Column", wanted, sorted(channels), f"run {run.folder}")
        names += [name for name in found if name not in names]
    if not names:
        raise BadInput("the golden run has no columns; give channels such as 'limits'.")
    return names


OPTION = "--nao-testbed-regenerate"
REGENERATE_HINT = (
    f"If this is intended, run pytest with {OPTION} and review the diff of"
)


class GoldenRun:
    """Golden runs of one test; call `check` once per trial."""

    def __init__(self, folder: Path, stem: str, *, regenerate: bool) -> None:
        """Set the folder of the test's tables, and whether to rewrite them."""
        self._folder = folder
        self._stem = stem
        self._regenerate = regenerate
        self._checked: list[str] = []
        self.written: list[Path] = []
        """Tables written in this test."""

    def check(
        self,
        trial: StandingTrial,
        *,
        columns: Sequence[str] = CHANNELS,
        tolerances: Mapping[str, float] | None = None,
        every_s: float = EVERY_S,
        name: str | None = None,
    ) -> None:
        """Compare a trial with its golden run.

        Args:
            trial: trial to compare; it must have stood until its end.
            columns: channels (of which the legs' columns are used) or single columns.
            tolerances: column or channel to a tolerance that replaces its unit's.
            every_s: time between two rows in s.
            name: distinguishes several golden runs of one test.

        Raises:
            AssertionError: the golden run is missing, or the trial differs from it.
            BadInput: an argument is invalid.
        """
        __tracebackhide__ = True
        path = self._path(name)
        trial.stays_up()
        table = table_of(trial.run, trial.setting.robot, columns, every_s)
        units = {n: trial.run.meta.columns[n] for n in map(str, table)}
        allowed = tolerances_of(units, tolerances or {})
        if self._regenerate:
            write_table(path, table)
            _write_description(path, trial, units, allowed)
            self.written.append(path)
            return
        record = _read_description(path)
        complaint = _setting_difference(
            record, trial, list(units)
        ) or number_differences(
            read_table(path, record["units"]), table, units, allowed
        )
        if complaint is not None:
            versions = _changed_versions(record["versions"], trial.run.meta.versions)
            raise AssertionError(
                f"{trial.controller} differs from its golden run: {complaint} "
                f"{REGENERATE_HINT} {path.name}.{versions}"
            )

    def _path(self, name: str | None) -> Path:
        stem = self._stem if name is None else f"{self._stem}-{name}"
        plain = "".join(c if c.isalnum() or c in "-_." else "-" for c in stem)
        if plain in self._checked:
            raise BadInput(
                f"golden run {stem!r} is checked twice in one test; name each check."
            )
        self._checked.append(plain)
        return self._folder / f"{plain}.csv"


def _setting_difference(
    record: Any, trial: StandingTrial, columns: list[str]
) -> str | None:
    """Return the difference of the records as text; None if they are equal."""
    setting = trial.setting.as_json()
    for key in sorted(setting.keys() | record["setting"].keys()):
        was, now = record["setting"].get(key), setting.get(key)
        if was != now:
            return f"{key} was {was} and is now {now}."
    if list(record["units"]) != columns:
        changed = sorted(set(record["units"]) ^ set(columns))
        return f"its columns differ: {', '.join(changed) or 'in another order'}."
    return None


def number_differences(
    golden: pd.DataFrame,
    now: pd.DataFrame,
    units: Mapping[str, str],
    tolerances: Mapping[str, float],
) -> str | None:
    """Return a text with the largest deviation and the number of deviating columns.

    Args:
        golden: stored table.
        now: present table with the same columns.
        units: column to unit.
        tolerances: column to tolerance.
    """
    if golden.shape != now.shape or not np.allclose(
        golden.index, now.index, rtol=0.0, atol=0.01
    ):
        return (
            f"it has {len(golden)} rows up to {golden.index[-1]:g} s, the trial has "
            f"{len(now)} up to {now.index[-1]:g} s."
        )
    was, is_now = golden.to_numpy(), now.to_numpy()
    error = np.nan_to_num(np.abs(is_now - was), nan=np.inf)
    error[np.isnan(is_now) & np.isnan(was)] = 0.0
    excess = error / np.array([tolerances[name] for name in map(str, now)])
    row, column = np.unravel_index(excess.argmax(), excess.shape)
    if excess[row, column] <= 1.0 + 1e-9:
        return None
    name = str(now.columns[column])
    unit = "" if units[name] == "1" else f" {units[name]}"
    n_off = int((excess.max(axis=0) > 1.0 + 1e-9).sum())
    return (
        f"{name} was {was[row, column]:.5g}{unit} at {now.index[row]:.2f} s and is "
        f"{is_now[row, column]:.5g}{unit}; the tolerance is {tolerances[name]:g}{unit}."
        f" {n_off} of {len(now.columns)} columns differ."
    )


def _write_description(
    path: Path,
    trial: StandingTrial,
    units: Mapping[str, str],
    tolerances: Mapping[str, float],
) -> None:
    record = {
        "command": f"pytest {OPTION}",
        "controller": trial.controller,
        "setting": trial.setting.as_json(),
        "versions": dict(trial.run.meta.versions),
        "units": dict(units),
        "tolerances": dict(tolerances),
    }
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
    path.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


def _read_description(path: Path) -> Any:
    __tracebackhide__ = True
    described = path.with_suffix(".json")
    if not (path.exists() and described.exists()):
        raise AssertionError(
            f"there is no golden run {path}. Create it by pytest with {OPTION}, review "
            "it, and add it to version control."
        )
    try:
        record = json.loads(described.read_text(encoding="utf-8"))
        if not all(isinstance(record[key], dict) for key in _MAPPINGS):
            raise ValueError("a part of it is not a mapping")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(
            f"{described} is not a description of a golden run: {error!r}. "
            f"Regenerate it with {OPTION}."
        ) from error
    return record


_MAPPINGS = ("setting", "versions", "units")


def _changed_versions(was: Mapping[str, str], now: Mapping[str, str]) -> str:
    changed = [
        f"{name} {was[name]}, now {now[name]}"
        for name in sorted(was.keys() & now.keys())
        if was[name] != now[name] and name != "machine"
    ]
    return f" Versions changed: {'; '.join(changed)}." if changed else ""
