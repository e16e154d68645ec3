"""Golden runs: what a trial once was, kept beside the test, to be found again.

`golden_run.check(trial)` compares a small table with the one in
`golden/<test file>/<test>.csv`; `<test>.json` beside it says of which setting, columns,
tolerances and versions. Both are written by `--nao-testbed-regenerate` only.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.regression.golden_table import (
    CHANNELS,
    EVERY_S,
    GoldenTable,
    read_table,
    table_of,
    write_table,
)
from experiments.regression.tolerances import tolerances_of
from experiments.regression.trial import Trial
from models import BadInput

OPTION = "--nao-testbed-regenerate"
MEANT = f"If this is meant, run pytest with {OPTION} and review the diff of"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A value that is further off than its column may be."""

    column: str
    unit: str
    time_s: float
    was: float
    now: float
    tolerance: float


class GoldenRun:
    """The golden runs of one test; `check` once for each of its trials."""

    def __init__(self, folder: Path, stem: str, *, regenerate: bool) -> None:
        """Say where the tables of the test lie, and whether to write them anew."""
        self._folder = folder
        self._stem = stem
        self._regenerate = regenerate
        self._checked: list[str] = []
        self.written: list[Path] = []
        """Tables that were written in this test."""

    def check(
        self,
        trial: Trial,
        *,
        columns: Sequence[str] = CHANNELS,
        tolerances: Mapping[str, float] | None = None,
        every_s: float = EVERY_S,
        name: str | None = None,
    ) -> None:
        """Compare a trial with its golden run.

        Args:
            trial: to be compared; it must have stood to its end.
            columns: channels (of which the legs' columns are taken) or single columns.
            tolerances: column or channel to a tolerance in place of its unit's.
            every_s: time between two rows in s.
            name: tells several golden runs of one test apart.

        Raises:
            AssertionError: there is no golden run, or the trial differs from it.
            BadInput: an argument cannot be used.
        """
        __tracebackhide__ = True
        path = self._path(name)
        trial.stays_up()
        table = table_of(trial.run, trial.setting.robot, columns, every_s)
        allowed = tolerances_of(table.units, tolerances or {})
        if self._regenerate:
            write_table(path, table)
            _write_description(path, trial, table, allowed)
            self.written.append(path)
            return
        said = _read_description(path)
        complaint = _other_setting(said, trial, table) or _other_numbers(
            read_table(path, said["units"]), table, allowed
        )
        if complaint is not None:
            versions = _changed_versions(said["versions"], trial.run.meta.versions)
            raise AssertionError(
                f"{trial.controller} is not its golden run: {complaint} {MEANT} "
                f"{path.name}.{versions}"
            )

    def _path(self, name: str | None) -> Path:
        stem = self._stem if name is None else f"{self._stem}-{name}"
        plain = "".join(c if c.isalnum() or c in "-_." else "-" for c in stem)
        if plain in self._checked:
            raise BadInput(
                f"golden run {stem!r} is checked twice in one test; give each a name."
            )
        self._checked.append(plain)
        return self._folder / f"{plain}.csv"


def differences(
    golden: GoldenTable, now: GoldenTable, tolerances: Mapping[str, float]
) -> list[Difference]:
    """Return the worst value of each column that is too far off, the worst first."""
    error = np.abs(now.rows - golden.rows)
    error = np.where(np.isnan(error), np.inf, error)
    error[np.isnan(now.rows) & np.isnan(golden.rows)] = 0.0
    excess = error / np.array([tolerances[name] for name in now.columns])
    found = []
    for i in np.argsort(-excess.max(axis=0)):
        row = int(excess[:, i].argmax())
        if excess[row, i] <= 1.0 + 1e-9:
            break
        name = now.columns[i]
        found.append(
            Difference(
                column=name,
                unit=now.units[name],
                time_s=float(now.time_s[row]),
                was=float(golden.rows[row, i]),
                now=float(now.rows[row, i]),
                tolerance=tolerances[name],
            )
        )
    return found


def _other_setting(said: Any, trial: Trial, table: GoldenTable) -> str | None:
    """Say what of the description is another, None where it is the same."""
    setting = trial.setting.as_json()
    for key in sorted(setting.keys() | said["setting"].keys()):
        was, now = said["setting"].get(key), setting.get(key)
        if was != now:
            return f"it was made with {key} {was}, and the test has {now}."
    if list(said["units"]) != list(table.columns):
        changed = sorted(set(said["units"]) ^ set(table.columns))
        return f"it has other columns: {', '.join(changed) or 'in another order'}."
    return None


def _other_numbers(
    golden: GoldenTable, now: GoldenTable, tolerances: Mapping[str, float]
) -> str | None:
    if golden.time_s.shape != now.time_s.shape or not np.allclose(
        golden.time_s, now.time_s, rtol=0.0, atol=0.01
    ):
        return (
            f"it has {len(golden.time_s)} rows up to {golden.time_s[-1]:g} s, and the "
            f"trial {len(now.time_s)} up to {now.time_s[-1]:g} s."
        )
    found = differences(golden, now, tolerances)
    if not found:
        return None
    worst = found[0]
    unit = "" if worst.unit == "1" else f" {worst.unit}"
    return (
        f"{worst.column} was {worst.was:.5g}{unit} at {worst.time_s:.2f} s and is "
        f"{worst.now:.5g}{unit}; it may be off by {worst.tolerance:g}{unit}. "
        f"{len(found)} of {len(now.columns)} columns differ."
    )


def _write_description(
    path: Path, trial: Trial, table: GoldenTable, tolerances: Mapping[str, float]
) -> None:
    said = {
        "command": f"pytest {OPTION}",
        "controller": trial.controller,
        "setting": trial.setting.as_json(),
        "versions": dict(trial.run.meta.versions),
        "units": dict(table.units),
        "tolerances": dict(tolerances),
    }
    text = json.dumps(said, indent=2, ensure_ascii=False, allow_nan=False)
    path.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


def _read_description(path: Path) -> Any:
    __tracebackhide__ = True
    described = path.with_suffix(".json")
    if not (path.exists() and described.exists()):
        raise AssertionError(
            f"there is no golden run {path}. Make it by pytest with {OPTION}, look at "
            "it, and keep it under version control."
        )
    try:
        said = json.loads(described.read_text(encoding="utf-8"))
        if not all(isinstance(said[key], dict) for key in _MAPPINGS):
            raise ValueError("a part of it is no mapping")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(
            f"{described} is no description of a golden run: {error!r}. Make it anew "
            f"by pytest with {OPTION}."
        ) from error
    return said


_MAPPINGS = ("setting", "versions", "units")


def _changed_versions(was: Mapping[str, str], now: Mapping[str, str]) -> str:
    changed = [
        f"{name} {was[name]}, now {now[name]}"
        for name in sorted(was.keys() & now.keys())
        if was[name] != now[name] and name != "machine"
    ]
    return f" It was made with {'; '.join(changed)}." if changed else ""
