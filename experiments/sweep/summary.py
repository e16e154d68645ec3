"""What a sweep tells: controllers compared on the same robots, as frames.

sweep = read_sweep("runs/sweeps/fifty_robots")
summary_of(sweep).loc["minheat", "loss_median"]

A robot is compared with itself: under every controller it has the same errors, ground,
starts and noise. Robots that are not kept (key `keep` of the file) do not count.
"""

from typing import TYPE_CHECKING

from experiments.standing.results import SMALLEST_LEAST_W
from experiments.sweep.table import Sweep

if TYPE_CHECKING:
    import pandas as pd

REFERENCE = "fixed"
"""What others are compared with, where it is in the sweep; else the first one."""
LOW, HIGH = 0.05, 0.95
"""The band that 90 % of the robots lie in."""


def controllers_of(sweep: Sweep) -> tuple[str, ...]:
    """Return the controllers in the order of the file."""
    return tuple(str(name) for name in dict.fromkeys(sweep.frame["controller"]))


def reference_of(sweep: Sweep) -> str | None:
    """Return the controller that others are compared with; None in an empty sweep."""
    names = controllers_of(sweep)
    return REFERENCE if REFERENCE in names else next(iter(names), None)


def compared(sweep: Sweep) -> "pd.DataFrame":
    """Return the trials that count, those of robots that are kept, with more columns.

    `multiple` is the legs' joule loss at the end over the least that contact forces
    would allow at the true posture with free gears; `multiple_with_gears` that over the
    least when stuck gears bear what they can, which nobody gets below; both NaN where
    next to nothing is needed. `stands` says that the trial ended as it should.
    """
    frame = sweep.frame[sweep.frame["kept"].astype(bool)].copy()
    frame["stands"] = frame["error"].isna() & frame["failure"].isna()
    for column, least in (
        ("multiple", "least_power_w"),
        ("multiple_with_gears", "least_with_gears_w"),
    ):
        power = frame[least].where(frame[least] >= SMALLEST_LEAST_W)
        frame[column] = frame["legs_power_w"] / power
    return frame


def paired(sweep: Sweep, column: str) -> "pd.DataFrame":
    """Return an outcome with a row a robot and grid point, and a column a controller.

    NaN where a robot fell, or has not run.

    Args:
        sweep: from `read_sweep`.
        column: of `compared`.
    """
    frame = compared(sweep)
    frame = frame[frame["stands"]]
    rows = ["robot", *(name for name in sweep.meta["grid"] if name != "controller")]
    # Not `pivot_table`: it would span the product of all joints of a group's grid.
    means = frame.groupby([*rows, "controller"], dropna=False)[column].mean()
    wide = means.unstack("controller").dropna(how="all")
    return wide.reindex(columns=list(controllers_of(sweep)))


def relative(pairs: "pd.DataFrame", reference: str) -> "pd.DataFrame":
    """Return paired outcomes over those of the reference on the same robot."""
    return pairs.div(pairs[reference], axis=0)


def band(values: "pd.Series[float]", prefix: str = "") -> dict[str, float]:
    """Return median and 90 % band; NaN where there are no values."""
    low, median, high = values.quantile([LOW, 0.5, HIGH])
    return {f"{prefix}median": median, f"{prefix}low": low, f"{prefix}high": high}


def summary_of(sweep: Sweep) -> "pd.DataFrame":
    """Return a row a controller.

    Columns: `trials`, `fell` (or ended early), `failed` (no result), `pairs`;
    `loss_*`, the legs' joule loss over the run relative to the reference on the same
    robot; `multiple_*` and `with_gears_*`, as in `compared`; `largest_shift_deg`;
    `settled` (trials whose power had settled), `settled_median_s` and `settled_last_s`;
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
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("controller")


def hotter_on(sweep: Sweep, tolerance: float = 0.001) -> "pd.DataFrame":
    """Return on how many robots a controller (row) loses more than another (column).

    Args:
        sweep: from `read_sweep`.
        tolerance: fraction by which the legs' joule loss must be above.
    """
    import pandas as pd  # noqa: PLC0415  # heavy

    pairs = paired(sweep, "legs_joule_loss_j")
    counts = {  # by column, then row
        other: {
            name: int((pairs[name] > (1.0 + tolerance) * pairs[other]).sum())
            for name in pairs
        }
        for other in pairs
    }
    return pd.DataFrame(counts)
