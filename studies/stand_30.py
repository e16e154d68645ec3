"""Tables of Stand-30: public policies of the G1 and the T1 that only stand there.

    nao-testbed study stand-30 --out runs/stand_30

The command runs what its four sweeps lack (`stand_30_*` and `pushed_*` in
`experiments/sweep/spec_file/builtin`), and prints the tables as Markdown: heat of each
policy, the same with `+cool=nudge` on the same robots, agreement of the engines, falls
after pushes. Numbers are the median over robots with the 90 % band, or, with fewer than
five robots, the value of each; a cell has MuJoCo · PyBullet.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from nao_testbed.controllers.policies.text import short_names
from nao_testbed.experiments.sweep.engines.joblib_engine import JoblibEngine
from nao_testbed.experiments.sweep.run_commands import shown_progress
from nao_testbed.experiments.sweep.run_sweep import run_sweep
from nao_testbed.experiments.sweep.spec_file.read_spec import SWEEPS, read_spec
from nao_testbed.experiments.sweep.summary import band
from nao_testbed.experiments.sweep.sweep_table import is_sweep_folder, read_folder
from nao_testbed.experiments.sweep.sweep_trial import SIZE
from nao_testbed.models import BadInput
from studies.commands import run_study

COOL = "+cool="
"""Text before the name of the shift in the name of a cooled policy."""
ENGINES = ("mujoco", "pybullet")
"""Engines in the order of a cell."""
MIN_ROBOTS = 5
"""Smallest number of robots with a band; the values of fewer are printed."""


@dataclass(frozen=True, kw_only=True)
class Stand30Cfg:
    """Options; see `nao-testbed study stand-30 --help`."""

    out: Path
    robots: int
    pushed: int
    """Numbers of robots, standing and pushed; 0: run none, read those of `out`."""
    jobs: int | None = None


def run_stand_30(cfg: Stand30Cfg) -> int:
    """Run the missing trials, print the tables; return the exit status.

    Raises:
        BadInput: a policy is not installed, or a folder holds another or no sweep.
    """
    frames = []
    with JoblibEngine(cfg.jobs) as engine:
        for kind, robots in (("stand_30", cfg.robots), ("pushed", cfg.pushed)):
            for name in (f"{kind}_g1", f"{kind}_t1"):
                folder = cfg.out / name
                if robots:
                    spec = read_spec(SWEEPS.find(name), (), robots)
                    with shown_progress(name, spec.n_trials) as show:
                        run_sweep(spec, folder, engine, show)
                if is_sweep_folder(folder):
                    frames.append(read_folder(folder).sweep.frame)
    if not frames:
        raise BadInput(
            f"{cfg.out} has no folder stand_30_g1 or stand_30_t1; give --robots 20, or "
            "the folder of an earlier run as --out."
        )
    print("\n\n".join(tables(frames)))
    return 0


def tables(frames: Sequence[pd.DataFrame]) -> Iterator[str]:
    """Yield the tables as Markdown, from the frames of sweeps (`Sweep.frame`)."""
    frames = [_named(frame) for frame in frames if len(frame)]
    stood = [frame for frame in frames if SIZE not in frame]
    pushed = [frame for frame in frames if SIZE in frame]
    if stood:
        frame = pd.concat(stood)
        plain = frame[~frame["policy"].str.contains(COOL, regex=False)]
        yield _markdown(
            "MuJoCo · PyBullet|robots|fell|legs, W|minimum, W|useless, %|"
            "most useless watts|hottest, °C|first at 80 °C|drift, cm",
            _rows(plain, _heat_cells),
        )
        cool = frame[frame["policy"].str.contains(COOL, regex=False)]
        yield _markdown(
            "MuJoCo · PyBullet|fell|power ratio|accepted share|no shift left|"
            "more drift, cm",
            _rows(cool, lambda rows: _cool_cells(rows, plain)),
        )
        yield _markdown(
            "PyBullet / MuJoCo|robots|useless watts, ratio|within 15 %",
            list(_agreement(frame)),
        )
    if pushed:
        yield _markdown(
            "MuJoCo · PyBullet|robots|pushes|fell|share, %|power after it, W",
            _rows(pd.concat(pushed), _push_cells),
        )


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the finished trials, with the columns `policy` and `useless_w`."""
    frame = frame[frame["error"].isna()].copy()
    texts = list(dict.fromkeys(map(str, frame["controller"])))
    names = dict(zip(texts, short_names(texts), strict=True))
    frame["policy"] = frame["controller"].map(names).str.replace("_29dof", "")
    frame["useless_w"] = frame["legs_power_w"] - frame["least_power_w"]
    return frame


def _rows(
    frame: pd.DataFrame, cells_of: Callable[[pd.DataFrame], list[str]]
) -> list[list[str]]:
    """Return a row per policy; a cell has MuJoCo · PyBullet."""
    found = []
    for name in dict.fromkeys(frame["policy"]):
        of_it = frame[frame["policy"] == name].set_index("robot").sort_index()
        engines = [of_it[of_it["engine"] == engine] for engine in ENGINES]
        cells = [cells_of(rows) for rows in engines if len(rows)]
        found.append(
            [str(name), *(" · ".join(both) for both in zip(*cells, strict=True))]
        )
    return found


def _heat_cells(rows: pd.DataFrame) -> list[str]:
    stands = rows[~rows["fell"].astype(bool)]
    return [
        str(len(rows)),
        str(len(rows) - len(stands)),
        _text(stands["legs_power_w"]),
        _text(stands["least_power_w"]),
        _text(100.0 * stands["useless_w"] / stands["legs_power_w"], "{:.0f}"),
        _most(_useless(stands)),
        _text(stands["hottest_degc"]),
        _first_hot(stands),
        _text(100.0 * stands["drift_m"]),
    ]


def _cool_cells(rows: pd.DataFrame, plain: pd.DataFrame) -> list[str]:
    """Return the cells of a cooled policy, compared on the robots of the plain one."""
    name, engine = str(rows["policy"].iloc[0]).split(COOL)[0], rows["engine"].iloc[0]
    before = plain[(plain["policy"] == name) & (plain["engine"] == engine)]
    before = before.set_index("robot").reindex(rows.index)
    share = rows["accepted_share"].astype(float)
    stands = ~rows["fell"].astype(bool)
    return [
        str(int((~stands).sum())),
        _text(rows["legs_power_w"] / before["legs_power_w"], "{:.2f}"),
        _text(share, "{:.2f}"),
        str(int((share.isna() & stands).sum())),
        _text(100.0 * (rows["drift_m"] - before["drift_m"])),
    ]


def _agreement(frame: pd.DataFrame) -> Iterator[list[str]]:
    """Yield a row per policy: useless watts of a robot on both engines."""
    for name in dict.fromkeys(frame["policy"]):
        rows = frame[frame["policy"] == name]
        wide = rows.pivot_table("useless_w", "robot", "engine").dropna()
        if set(ENGINES) <= set(wide):
            ratio = wide["pybullet"] / wide["mujoco"]
            near = int((np.abs(ratio - 1.0) <= 0.15).sum())
            yield [
                str(name),
                str(len(wide)),
                _text(ratio, "{:.2f}"),
                f"{near} of {len(wide)}",
            ]


def _push_cells(rows: pd.DataFrame) -> list[str]:
    fell = rows["fell"].astype(bool)
    return [
        str(rows.index.nunique()),
        str(len(rows)),
        str(int(fell.sum())),
        f"{100.0 * fell.mean():.0f}",
        _text(rows.loc[~fell, "legs_power_w"]),
    ]


def _useless(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the useless watts: a row per trial, a column per motor."""
    watts = rows.filter(regex=r"^power_w\.").rename(columns=_name)
    least = rows.filter(regex=r"^least_w\.").rename(columns=_name)
    return (watts - least).dropna(axis="columns", how="all")


def _most(watts: pd.DataFrame) -> str:
    """Return the motor that is largest in most rows, and its median in these."""
    if not len(watts):
        return "–"
    largest = watts.idxmax(axis="columns")
    name = largest.mode().iloc[0]
    of_it = watts.loc[largest == name, name]
    return f"{name}, {of_it.median():.1f} W ({len(of_it)} of {len(watts)})"


def _first_hot(rows: pd.DataFrame) -> str:
    """Return the first motor at 80 °C in most trials, and the median time."""
    times = rows.filter(regex=r"^time_to_80_degc_s\.").rename(columns=_name)
    times = times.astype(float).dropna(how="all")
    if not len(times):
        return "none"
    minutes = _text(times.min(axis="columns") / 60.0)
    first = times.idxmin(axis="columns").mode().iloc[0]
    return f"{first}, {minutes} min ({len(times)} of {len(rows)})"


def _name(column: str) -> str:
    """Return the motor of a column such as `power_w.left_knee`."""
    return column.partition(".")[2]


def _text(values: "pd.Series[float]", form: str = "{:z.1f}") -> str:
    """Return the median and the 90 % band over robots; of few, the values."""
    values = values.astype(float).dropna()
    if len(values) < MIN_ROBOTS:
        return ", ".join(map(form.format, values)) or "–"
    median, low, high = map(form.format, band(values).values())
    return f"{median} ({low} to {high})"


def _markdown(heads: str, rows: Sequence[Sequence[str]]) -> str:
    cells = [heads.split("|"), ["---"] * (heads.count("|") + 1), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


if __name__ == "__main__":
    run_study("stand-30")
