"""Falls of pushed robots: shares with intervals, and paired comparisons.

Pushes of one robot are not independent: its errors and its ground are the same in all
directions. Robots are therefore resampled with all their pushes 2000 times (cluster
bootstrap). The interval is from the 2.5 to the 97.5 percentile of the resulting shares,
and at least Wilson's interval, which treats pushes as independent and is not empty
without falls. Few robots give little information: with two, the bootstrap has three
outcomes.

A trial that ended early for another reason counts as a fall; one without a result is
omitted.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nao_testbed.experiments.common.drawing.number_text import NOTHING, signed
from nao_testbed.experiments.common.drawing.page import DataTable
from nao_testbed.experiments.sweep.summary import (
    compared,
    controllers_of,
    grid_columns,
    reference_of,
)
from nao_testbed.experiments.sweep.sweep_table import Sweep
from nao_testbed.experiments.sweep.sweep_trial import DIRECTION, PUSH, SIZE
from nao_testbed.models.values import FloatArray

if TYPE_CHECKING:
    import pandas as pd


DRAWS, SEED = 2000, 0
"""Number of draws and seed of the bootstrap."""
CONFIDENCE = 0.95
MIN_ROBOTS = 6
"""Minimum number of robots for an interval of a difference: with fewer, no sign test
gives p below 0.05."""
MAX_SIZES, CLASSES = 12, 5
"""Largest number of sizes, and number of classes of equal width for more sizes."""
BEGIN = f"{PUSH}.at_s"


def pushed_trials(sweep: Sweep) -> "pd.DataFrame":
    """Return the trials that have a result, with `is_fall`, `size_n` and `point`.

    `size_n` is the size of the push, or the middle of its class for many drawn sizes.
    `point` is a text with the other grid values of a trial, without the direction.
    """
    frame = compared(sweep)
    frame = frame[frame["error"].isna()].copy()
    frame["is_fall"] = frame["failure"].notna()
    frame["size_n"] = _classes(frame[SIZE].astype(float))
    words = {
        column: label
        for column, label in grid_columns(sweep).items()
        if column not in (SIZE, DIRECTION)
    }
    frame["point"] = [
        ", ".join(f"{label} {_plain(trial[column])}" for column, label in words.items())
        for trial in frame.to_dict("records")
    ]
    return frame


def _classes(sizes: "pd.Series[float]") -> "pd.Series[float]":
    if sizes.nunique() <= MAX_SIZES:
        return sizes
    low, high = float(sizes.min()), float(sizes.max())
    width = (high - low) / CLASSES
    place = ((sizes - low) / width).astype(int).clip(upper=CLASSES - 1)
    return low + (place + 0.5) * width


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def falls_of(sweep: Sweep) -> "pd.DataFrame":
    """Return a row per grid point, size and controller, with pooled directions.

    Columns: `point`, `size_n`, `controller`; `trials`, `fell`, their `share` with `low`
    and `high`; `robots`, `robots_fell` (in any direction); `before` (fell before the
    push). Compared with the reference on the same robot and push: `pairs`, `fell_here`
    (not with the reference), `fell_there` (only with the reference), `robots_more` and
    `robots_fewer` (robots with more or fewer falls), `difference` of the shares with
    `difference_low`, `_high`, and `p` (two-sided sign test over robots).
    """
    import pandas as pd  # noqa: PLC0415  # heavy

    frame = pushed_trials(sweep)
    reference = reference_of(sweep)
    keys = ["robot", *(n for n in sweep.meta["grid"] if n != "controller")]
    there = frame.loc[frame["controller"] == reference, [*keys, "is_fall"]]
    there = there.rename(columns={"is_fall": "is_fall_there"})
    frame = frame.merge(there, how="left", on=keys)
    names = controllers_of(sweep)
    rows: list[dict[str, Any]] = [
        {
            "point": point,
            "size_n": size_n,
            "controller": name,
            **_shares(group),
            **(_paired_difference(group) if name != reference else {}),
        }
        for (point, size_n, name), group in frame.groupby(
            ["point", "size_n", "controller"], sort=False
        )
    ]
    points = list(dict.fromkeys(row["point"] for row in rows))
    rows.sort(
        key=lambda row: (
            points.index(row["point"]),
            row["size_n"],
            names.index(row["controller"]),
        )
    )
    return pd.DataFrame(rows)


def _shares(group: "pd.DataFrame") -> dict[str, Any]:
    fell, n = int(group["is_fall"].sum()), len(group)
    by_robot = group.groupby("robot")["is_fall"].agg(["sum", "count"])
    counts = by_robot.to_numpy(float)
    low, high = wilson(fell, n)
    drawn_low, drawn_high = bootstrap(counts[:, 0], counts[:, 1])
    begins = group[BEGIN].astype(float)
    return {
        "trials": n,
        "fell": fell,
        "share": fell / n,
        "low": min(low, drawn_low),
        "high": max(high, drawn_high),
        "robots": len(by_robot),
        "robots_fell": int((by_robot["sum"] > 0).sum()),
        "before": int((group["fell_s"].astype(float) <= begins).sum()),
    }


def _paired_difference(group: "pd.DataFrame") -> dict[str, Any]:
    from scipy.stats import binomtest  # noqa: PLC0415  # heavy

    pairs = group[group["is_fall_there"].notna()]
    if not len(pairs):
        return {"pairs": 0}
    here, there = pairs["is_fall"], pairs["is_fall_there"].astype(bool)
    more = here.astype(int) - there.astype(int)
    by_robot = more.groupby(pairs["robot"]).agg(["sum", "count"]).to_numpy(float)
    low = high = None
    if len(by_robot) >= MIN_ROBOTS:
        low, high = bootstrap(by_robot[:, 0], by_robot[:, 1])
    robots_more = int((by_robot[:, 0] > 0).sum())
    robots_fewer = int((by_robot[:, 0] < 0).sum())
    untied = robots_more + robots_fewer
    return {
        "pairs": len(pairs),
        "fell_here": int((here & ~there).sum()),
        "fell_there": int((there & ~here).sum()),
        "robots_more": robots_more,
        "robots_fewer": robots_fewer,
        "difference": float(more.mean()),
        "difference_low": low,
        "difference_high": high,
        "p": float(binomtest(robots_more, untied).pvalue) if untied else 1.0,
    }


def wilson(k: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval for a share k / n."""
    from scipy.stats import binomtest  # noqa: PLC0415  # heavy

    found = binomtest(k, n).proportion_ci(CONFIDENCE, method="wilson")
    return float(found.low), float(found.high)


def bootstrap(sums: FloatArray, counts: FloatArray) -> tuple[float, float]:
    """Return the 95 % interval of a mean over pushes by resampling robots.

        sum of s_r / sum of n_r,    r drawn with replacement, n_robots times

    Args:
        sums: (n_robots,) sum of the averaged quantity over the pushes of a robot.
        counts: (n_robots,) number of its pushes.
    """
    n = len(sums)
    drawn = np.random.default_rng(SEED).integers(n, size=(DRAWS, n))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def falls_json(sweep: Sweep) -> dict[str, Any]:
    """Return the rows of `falls_of` for JSON; missing values are None."""
    return {"falls": falls_of(sweep).to_dict("records")}


def fall_tables(sweep: Sweep) -> tuple[DataTable, ...]:
    """Return the tables of falls, and of falls relative to the reference."""
    rows = falls_of(sweep).to_dict("records")
    if not rows:
        return ()
    tables = [_fall_table(rows)]
    if any(row.get("pairs", 0) > 0 for row in rows):
        tables.append(_difference_table(rows, str(reference_of(sweep))))
    return tuple(tables)


def _fall_table(rows: list[dict[Any, Any]]) -> DataTable:
    before = sum(row["before"] for row in rows)
    fell_before = f" {before} of them fell before the push." if before else ""
    return DataTable.of(
        "Falls of pushed robots",
        (*PLACE, "fell", "%", "95 %", "fallen robots"),
        (
            (
                *cells,
                f"{row['fell']} of {row['trials']}",
                f"{100.0 * row['share']:.1f}",
                f"{100.0 * row['low']:.1f} to {100.0 * row['high']:.1f}",
                f"{row['robots_fell']} of {row['robots']}",
            )
            for cells, row in _labelled(rows)
        ),
        "All directions pooled; a robot has fallen if it fell in any direction. 95 %: "
        "bootstrap over robots with all their pushes (those of one robot are not "
        f"independent), at least Wilson's interval.{fell_before}",
        texts=(0, 2),
    )


def _difference_table(rows: list[dict[Any, Any]], reference: str) -> DataTable:
    others = [row for row in rows if row["controller"] != reference]
    heads = ("only it fell", f"only {reference} fell", "difference, % of pairs (95 %)")
    return DataTable.of(
        f"Compared with {reference}: the same robots and pushes",
        (*PLACE, *heads, "robots: more, fewer falls", "p"),
        ((*cells, *_difference_cells(row)) for cells, row in _labelled(others)),
        "Pairs: trials that differ only in the controller. p: sign test over "
        f"robots that fell more or less often than with {reference}. No interval below "
        f"{MIN_ROBOTS} robots.",
        texts=(0, 2),
    )


def _difference_cells(row: Mapping[Any, Any]) -> tuple[str, ...]:
    if not row["pairs"] > 0:
        return (NOTHING,) * 5
    difference, low, high = (
        signed(100.0 * row[name])
        for name in ("difference", "difference_low", "difference_high")
    )
    interval = "" if low == NOTHING else f" ({low} to {high})"
    return (
        f"{row['fell_here']:.0f} of {row['pairs']:.0f}",
        f"{row['fell_there']:.0f}",
        f"{difference}{interval}",
        f"{row['robots_more']:.0f}, {row['robots_fewer']:.0f}",
        f"{row['p']:.2g}",
    )


PLACE = ("", "push, N", "controller")
"""Labels of the cells of `_labelled`."""


def _labelled(
    rows: list[dict[Any, Any]],
) -> list[tuple[tuple[str, str, str], dict[Any, Any]]]:
    """Return rows with their labels, each point and size only once."""
    found, last = [], ("", "")
    for row in rows:
        here = (str(row["point"]), f"{row['size_n']:.4g}")
        shown = ("" if here[0] == last[0] else here[0], "" if here == last else here[1])
        found.append(((*shown, str(row["controller"])), row))
        last = here
    return found
