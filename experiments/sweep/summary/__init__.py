"""Summary of a sweep: controllers compared on the same robots, as frames.

sweep = read_sweep("runs/sweeps/fifty_robots")
summary_of(sweep).loc["minheat", "loss_median"]

Comparisons are paired: a robot has the same errors, ground, start temperatures and
noise under every controller. Robots that are not kept (key `keep` of the file) are
ignored.

ES2659053 has one robot without and one with the method [ES2659053T3, fig. 4a to 5b]. A
sweep that keeps robots whose outcome with `fixed` is near the column "without" predicts
the effect of the method on them; the column "with" is not used. `published_band`
locates the published outcomes among them.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from nao_testbed.experiments.closed_loop.trial_result import (
    LEG_JOINTS,
    SMALLEST_LEAST_W,
)
from nao_testbed.experiments.common.drawing.power_unit import PowerUnit, power_unit
from nao_testbed.experiments.heat.published import (
    HOT_JOINT,
    MINUTES,
    OTHER_JOINT,
    POSTURE,
    PUBLISHED,
    differences_line,
)
from nao_testbed.experiments.sweep.spec_file import NEAR_PUBLISHED
from nao_testbed.experiments.sweep.sweep_table import Sweep
from nao_testbed.experiments.sweep.sweep_trial import QUIET, SIZE

if TYPE_CHECKING:
    import pandas as pd


REFERENCE = "fixed"
"""Reference controller if it is in the sweep; otherwise the first controller is
used."""
LOW, HIGH = 0.05, 0.95
"""Quantiles of the band that contains 90 % of the robots."""


def controllers_of(sweep: Sweep) -> tuple[str, ...]:
    """Return the controllers in the order of the file."""
    return tuple(str(name) for name in dict.fromkeys(sweep.frame["controller"]))


def reference_of(sweep: Sweep) -> str | None:
    """Return the controller that others are compared with; None in an empty sweep."""
    names = controllers_of(sweep)
    return REFERENCE if REFERENCE in names else next(iter(names), None)


def compared(sweep: Sweep) -> "pd.DataFrame":
    """Return the trials of kept robots, with further columns.

    `multiple` is the legs' final Joule loss over the minimum of the contact forces in
    the true posture with frictionless gears; `multiple_with_gears` that over the
    minimum with gear friction; both are NaN if the minimum is almost zero. `stands` is
    True if the trial ended regularly. Joule loss is NaN in a sweep whose trials end
    when the robot is quiet, at different times.
    """
    frame = sweep.frame[sweep.frame["kept"].astype(bool)].copy()
    frame["stands"] = frame["error"].isna() & frame["failure"].isna()
    for column, least in (
        ("multiple", "least_power_w"),
        ("multiple_with_gears", "least_with_gears_w"),
    ):
        power = frame[least].where(frame[least] >= SMALLEST_LEAST_W)
        frame[column] = frame["legs_power_w"] / power
    if QUIET in frame:  # a longer run would count as hotter
        frame["legs_joule_loss_j"] = float("nan")
    return frame


def is_pushed(sweep: Sweep) -> bool:
    """Return True if a push is drawn, so that falls are the outcome."""
    return SIZE in sweep.frame


def paired(sweep: Sweep, column: str) -> "pd.DataFrame":
    """Return an outcome: a row per robot and grid point, a column per controller.

    NaN if a robot fell or has not run.

    Args:
        sweep: sweep from `read_sweep`.
        column: column of `compared`.
    """
    frame = compared(sweep)
    frame = frame[frame["stands"]]
    rows = ["robot", *(name for name in sweep.meta["grid"] if name != "controller")]
    # `pivot_table` would create the product of all joints of a group's grid.
    means = frame.groupby([*rows, "controller"], dropna=False)[column].mean()
    wide = means.unstack("controller").dropna(how="all")
    return wide.reindex(columns=list(controllers_of(sweep)))


def relative(pairs: "pd.DataFrame", reference: str) -> "pd.DataFrame":
    """Return the ratios of paired outcomes to those of the reference."""
    return pairs.div(pairs[reference], axis=0)


def band(values: "pd.Series[float]", prefix: str = "") -> dict[str, float]:
    """Return median and 90 % band; NaN without values."""
    low, median, high = values.quantile([LOW, 0.5, HIGH])
    return {f"{prefix}median": median, f"{prefix}low": low, f"{prefix}high": high}


def summary_of(sweep: Sweep) -> "pd.DataFrame":
    """Return a row for each controller.

    Columns: `trials`, `fell` (or ended early), `failed` (no result), `pairs`;
    `loss_*`, the legs' joule loss over the run relative to the reference on the same
    robot; `multiple_*` and `with_gears_*`, as in `compared`; `largest_shift_deg`;
    `settled` (trials whose power had settled), `settled_median_s` and `settled_last_s`;
    `hot` (trials in which a joint reached 80 °C), `until_80_degc_median_s` (NaN if at
    most half did) and `until_80_degc_first_s`; `caught` (trials in which the guard
    lifted limits) and `caught_share`, its share of their physics;
    each `*` is `median`, `low` and `high` of the 90 % band.
    """
    import pandas as pd  # noqa: PLC0415  # heavy

    frame = compared(sweep)
    reference = reference_of(sweep)
    rows = {}
    for name in controllers_of(sweep):
        of_it = frame[frame["controller"] == name]
        stands = of_it[of_it["stands"]]
        loss = relative(paired(sweep, "legs_joule_loss_j"), reference or name)[name]
        rows[name] = {
            "trials": len(of_it),
            "fell": int(of_it["failure"].notna().sum()),
            "failed": int(of_it["error"].notna().sum()),
            "pairs": int(loss.notna().sum()),
            **band(loss.dropna(), "loss_"),
            **band(stands["multiple"].dropna(), "multiple_"),
            **band(stands["multiple_with_gears"].dropna(), "with_gears_"),
            "largest_shift_deg": stands["largest_shift_deg"].max(),
            "settled": int(stands["settled_s"].notna().sum()),
            "settled_median_s": stands["settled_s"].median(),
            "settled_last_s": stands["settled_s"].max(),
            **_until_80_degc(stands),
            **_caught(stands),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("controller")


def _until_80_degc(stands: "pd.DataFrame") -> dict[str, float]:
    """Return the number of robots with a joint at 80 °C, and the times; inf: never."""
    if "until_80_degc_s" not in stands:  # no joints, or an older version
        return {"hot": 0}
    times = stands["until_80_degc_s"].astype(float)
    is_hot = np.isfinite(times)
    median = times.median() if is_hot.mean() > 0.5 else math.nan
    return {
        "hot": int(is_hot.sum()),
        "until_80_degc_median_s": median,
        "until_80_degc_first_s": times[is_hot].min(),
    }


def _caught(stands: "pd.DataFrame") -> dict[str, float]:
    """Return the number of trials with a raised limit, and its share of the time."""
    if "caught_s" not in stands:  # an older version
        return {"caught": 0, "caught_share": 0.0}
    caught_s = stands["caught_s"].astype(float)
    if not caught_s.any():
        return {"caught": 0, "caught_share": 0.0}
    share = caught_s.sum() / stands["physics_s"].sum()
    return {"caught": int((caught_s > 0.0).sum()), "caught_share": share}


def power_unit_of(sweep: Sweep, column: str = "legs_power_w") -> PowerUnit:
    """Return the unit of powers: W, or the reference's median if constants are guesses.

    Without a robot that stands under the reference, the first other controller is used.

    Args:
        sweep: sweep from `read_sweep`.
        column: column of `compared` in W, or in J.
    """
    medians = paired(sweep, column).median().dropna()
    names = [name for name in (reference_of(sweep), *medians.index) if name in medians]
    name = next(iter(names), None)
    median = None if name is None else float(medians[name])
    return power_unit(sweep.meta.get("thermal"), f"median of {name}", median)


def hotter_on(sweep: Sweep, tolerance: float = 0.001) -> "pd.DataFrame":
    """Return the number of robots that are hotter under the row's controller.

    Args:
        sweep: sweep from `read_sweep`.
        tolerance: minimum relative excess of the legs' joule loss.
    """
    import pandas as pd  # noqa: PLC0415  # heavy

    pairs = paired(sweep, "legs_joule_loss_j")
    counts = {  # by column, then by row
        other: {
            name: int((pairs[name] > (1.0 + tolerance) * pairs[other]).sum())
            for name in pairs
        }
        for other in pairs
    }
    return pd.DataFrame(counts)


_RISES = {name: p.left_leg_rise_k + p.right_leg_rise_k for name, p in PUBLISHED.items()}
MEASURES = {
    "hot_leg_rise_k": {n: p.left_leg_rise_k for n, p in PUBLISHED.items()},
    "other_leg_rise_k": {n: p.right_leg_rise_k for n, p in PUBLISHED.items()},
    "hot_joint_degc": {n: p.end_degc[HOT_JOINT] for n, p in PUBLISHED.items()},
    "other_joint_degc": {n: p.end_degc[OTHER_JOINT] for n, p in PUBLISHED.items()},
    "rise_ratio": {n: rise / _RISES["fixed"] for n, rise in _RISES.items()},
}
"""Outcome to controller to published value. The hot leg is the left one of ES2659053;
the joint is the hottest of its leg with `fixed`; the ratio is that of both legs' rises
to those with `fixed`."""


def is_near_published(sweep: Sweep) -> bool:
    """Return True if a sweep kept robots near the published ones, in their setting.

    Only then the published outcomes are comparable.
    """
    return _is_kept_near(sweep) and not _setting_differences(sweep)


def why_no_band(sweep: Sweep) -> str | None:
    """Return the reason against a comparison with the published outcomes."""
    found = _setting_differences(sweep) if _is_kept_near(sweep) else ()
    return differences_line(found) if found else None


def _is_kept_near(sweep: Sweep) -> bool:
    keep = sweep.meta.get("identity", {}).get("keep")
    return (
        keep is not None
        and keep["controller"] == "fixed"
        and all(
            NEAR_PUBLISHED.get(column) == target["value"]
            for column, target in keep["targets"].items()
        )
    )


def _setting_differences(sweep: Sweep) -> tuple[str, ...]:
    """Return the differences of the robots' setting from that of ES2659053.

    Unknown properties of ES2659053's robot may vary: calibration errors, start
    temperatures, ground. Keys that an older sweep lacks are skipped.
    """
    identity = sweep.meta["identity"]
    expected = {"minutes": MINUTES, "posture": POSTURE, "protection": "none"}
    found = [
        f"{name} is not {value} in all trials"
        for name, value in expected.items()
        if name in identity and identity[name] != {"fixed": {"value": value}}
    ]
    return (*found, *(["robots are pushed"] if identity.get("pushes") else []))


def band_robots(sweep: Sweep) -> "pd.DataFrame":
    """Return the outcomes `MEASURES` of the kept robots.

    Returns:
        A row per trial without an early end: `robot`, `controller`, the measures.
    """
    frame = compared(sweep)
    frame = frame[frame["stands"]]
    without = frame[frame["controller"] == "fixed"].set_index("robot")
    frame = frame[frame["robot"].isin(without.index)]
    rows = []
    for _, trial in frame.iterrows():
        fixed = without.loc[trial["robot"]]
        hot, other = ("R", "L") if trial["mirrored"] else ("L", "R")
        rises = {side: _rise(trial, side) for side in (hot, other)}
        joints = {side: _hottest_joint(fixed, side) for side in (hot, other)}
        rows.append(
            {
                "robot": trial["robot"],
                "controller": trial["controller"],
                "hot_leg_rise_k": rises[hot],
                "other_leg_rise_k": rises[other],
                "hot_joint_degc": trial[joints[hot]],
                "other_joint_degc": trial[joints[other]],
                "rise_ratio": sum(rises.values())
                / (_rise(fixed, hot) + _rise(fixed, other)),
            }
        )
    import pandas as pd  # noqa: PLC0415  # heavy

    return pd.DataFrame(rows, columns=["robot", "controller", *MEASURES])


def published_band(sweep: Sweep) -> "pd.DataFrame":
    """Return the position of the published outcomes, a row per measure and controller.

    Returns:
        Index `measure`, `controller`; columns `robots`, `median`, `low`, `high` (the
        90 % band), `published` (NaN without a value), `below` (the fraction of robots
        whose outcome is below the published one).
    """
    import pandas as pd  # noqa: PLC0415  # heavy

    robots = band_robots(sweep)
    rows = []
    for measure, published in MEASURES.items():
        for name in controllers_of(sweep):
            values = robots.loc[robots["controller"] == name, measure].astype(float)
            there = published.get(name)
            rows.append(
                {
                    "measure": measure,
                    "controller": name,
                    "robots": len(values),
                    **band(values),
                    "published": there,
                    "below": None if there is None else (values < there).mean(),
                }
            )
    frame = pd.DataFrame(rows).set_index(["measure", "controller"])
    return frame.astype(dict.fromkeys(("published", "below"), "float64"))


def _rise(trial: "pd.Series[float]", side: str) -> float:
    return float(trial["left_leg_rise_k" if side == "L" else "right_leg_rise_k"])


def _hottest_joint(trial: "pd.Series[float]", side: str) -> str:
    """Return the column of the hottest joint of a leg at the end."""
    columns = [f"end_degc.{side}{joint}" for joint in LEG_JOINTS]
    return max(columns, key=lambda column: float(trial[column]))


MAX_GRIDS = 4
"""Largest number of shown grid columns; a group of joints counts once."""


def grid_columns(sweep: Sweep) -> dict[str, str]:
    """Return grid column to its label, without the controller.

    Joints that always have the same value, such as those of a group, are one column.
    """
    shown: dict[str, str] = {}
    frame = sweep.frame
    for column in sweep.meta["grid"]:
        if column == "controller" or column not in frame:
            continue
        like = next(
            (
                other
                for other in shown
                if other.partition(".")[0] == column.partition(".")[0]
                and frame[other].equals(frame[column])
            ),
            None,
        )
        name = column.replace(".", " ")
        if like is None:
            shown[column] = name
        elif not shown[like].endswith(" …"):
            shown[like] += " …"
    return dict(list(shown.items())[:MAX_GRIDS])
