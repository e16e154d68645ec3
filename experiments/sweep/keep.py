"""Keep the robots of a sweep whose outcome with one controller is near a wanted one.

The choice sees that controller's outcomes alone. What the others make of the robots
that are kept is then a prediction.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_SIDES = (("left_", "right_"), ("L", "R"))


@dataclass(frozen=True, kw_only=True)
class Target:
    """What an outcome is near to."""

    value: float
    tolerance: float


@dataclass(frozen=True, kw_only=True)
class Keep:
    """Which robots are kept."""

    controller: str
    targets: Mapping[str, Target]
    """By column of the table."""
    mirrored: bool
    """Whether left and right may be swapped."""


@dataclass(frozen=True, kw_only=True)
class Kept:
    """How a robot that is kept fits."""

    is_mirrored: bool
    """It fits with left and right swapped."""
    distance: float
    """Largest deviation over its tolerance, at most 1."""


def mirror(column: str, columns: Iterable[str]) -> str:
    """Return the column of the other side, or itself where it has none."""
    prefix, dot, name = column.rpartition(".")
    for one, other in (*_SIDES, *((right, left) for left, right in _SIDES)):
        if name.startswith(one):
            found = f"{prefix}{dot}{other}{name.removeprefix(one)}"
            if found in columns:
                return found
    return column


def kept_robots(keep: Keep, rows: Iterable[Mapping[str, Any]]) -> dict[int, Kept]:
    """Return the robots that are kept, by number.

    A robot is kept when every trial of it with the choosing controller ended without a
    fall and within all tolerances, all of them swapped or none.

    Args:
        keep: from the sweep file.
        rows: of the table; those of other controllers do not matter.
    """
    trials: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["controller"] == keep.controller:
            trials.setdefault(int(row["robot"]), []).append(row)
    kept = {}
    for robot, own in trials.items():
        fits = [
            Kept(
                is_mirrored=swap,
                distance=max(_distance(keep, row, swap) for row in own),
            )
            for swap in ((False, True) if keep.mirrored else (False,))
        ]
        best = min(fits, key=lambda fit: fit.distance)
        if best.distance <= 1.0:
            kept[robot] = best
    return kept


def mark_kept(
    keep: Keep | None, rows: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return rows that say whether their robot is kept, and whether as a mirror."""
    marked = [dict(row) for row in rows]
    kept = None if keep is None else kept_robots(keep, marked)
    for row in marked:
        fit = None if kept is None else kept.get(int(row["robot"]))
        row["kept"] = kept is None or fit is not None
        row["mirrored"] = fit is not None and fit.is_mirrored
    return marked


def keep_from(data: Mapping[str, Any]) -> Keep:
    """Return what a sweep's folder has written of its `keep`.

    Raises:
        KeyError, TypeError: it is something else.
    """
    targets = {name: Target(**target) for name, target in data["targets"].items()}
    return Keep(
        controller=data["controller"], targets=targets, mirrored=data["mirrored"]
    )


def _distance(keep: Keep, row: Mapping[str, Any], swap: bool) -> float:
    """Return the largest deviation over its tolerance; inf where there is none."""
    if row.get("error") is not None or row.get("failure") is not None:
        return float("inf")
    largest = 0.0
    for column, target in keep.targets.items():
        value = row.get(mirror(column, row) if swap else column)
        if value is None:
            return float("inf")
        largest = max(largest, abs(value - target.value) / target.tolerance)
    return largest
