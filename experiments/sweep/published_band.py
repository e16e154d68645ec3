"""Where the published outcomes lie among robots that were kept for being near them.

The document has one robot without and one with the method [ES2659053T3, fig. 4a to
5b]. A sweep that keeps robots whose outcome with `fixed` is near the column "without"
says what the method makes of such robots; the column "with" was not looked at.
"""

from typing import TYPE_CHECKING

from experiments.standing.published import (
    LEG_JOINTS,
    MINUTES,
    POSTURE,
    PUBLISHED,
    differences_line,
)
from experiments.sweep.read_keep import NEAR_PUBLISHED
from experiments.sweep.summary import band, compared, controllers_of
from experiments.sweep.table import Sweep

if TYPE_CHECKING:
    import pandas as pd

_RISES = {name: p.left_leg_rise_k + p.right_leg_rise_k for name, p in PUBLISHED.items()}
MEASURES = {
    "hot_leg_rise_k": {n: p.left_leg_rise_k for n, p in PUBLISHED.items()},
    "other_leg_rise_k": {n: p.right_leg_rise_k for n, p in PUBLISHED.items()},
    "hot_joint_degc": {n: p.end_degc["LAnklePitch"] for n, p in PUBLISHED.items()},
    "other_joint_degc": {n: p.end_degc["RHipPitch"] for n, p in PUBLISHED.items()},
    "rise_ratio": {n: rise / _RISES["fixed"] for n, rise in _RISES.items()},
}
"""Outcome to what is published of it, by controller. The hot leg is the document's left
one; a joint is the hottest of its leg with `fixed`, wherever that is; the ratio is that
of both legs' rises to those with `fixed`."""


def is_near_published(sweep: Sweep) -> bool:
    """Tell whether a sweep kept robots for being near the published ones.

    And let them stand as those did, so that the published outcomes belong beside them.
    """
    return _is_kept_near(sweep) and not _other_setting(sweep)


def why_no_band(sweep: Sweep) -> str | None:
    """Say why no published outcome is set beside robots kept for being near one."""
    found = _other_setting(sweep) if _is_kept_near(sweep) else ()
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


def _other_setting(sweep: Sweep) -> tuple[str, ...]:
    """Return where all robots' setting is not that of the document.

    What nobody knows of the document's robot, a sweep may draw: calibration errors,
    starts, ground. A key that an older sweep lacks is not judged.
    """
    identity = sweep.meta["identity"]
    expected = {"minutes": MINUTES, "posture": POSTURE, "protection": "none"}
    found = [
        f"{name} is not {value} throughout"
        for name, value in expected.items()
        if name in identity and identity[name] != {"fixed": {"value": value}}
    ]
    return (*found, *(["robots are pushed"] if identity.get("pushes") else []))


def band_robots(sweep: Sweep) -> "pd.DataFrame":
    """Return the outcomes `MEASURES` of the robots that were kept.

    Returns:
        A row a trial that ended as it should: `robot`, `controller`, the measures.
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
    """Return where the published outcomes lie, a row a measure and controller.

    Returns:
        Index `measure`, `controller`; columns `robots`, `median`, `low`, `high` (the
        90 % band), `published` (NaN where nothing is), `below` (the fraction of robots
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
