"""Tables of a heat experiment: results, joints, comparison with published numbers.

Pure functions of the result; pages and terminals draw the same tables. The first
functions compute the key numbers: joints shown, mean torque and Joule loss of the legs,
lifetime (time until the first joint reaches 80 °C or the robot shuts down). A quantity
is an entry of `outcome_quantities` or `OF_JOINTS`.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from rich.console import Group

from nao_testbed.experiments.closed_loop.trial_result import (
    LEG_JOINTS,
    SMALLEST_LEAST_W,
    JointResult,
    TrialResult,
)
from nao_testbed.experiments.common.drawing.number_text import (
    NOTHING,
    duration,
    number,
    signed,
)
from nao_testbed.experiments.common.drawing.page import (
    Column,
    DataTable,
    Quantity,
    Row,
    rows_across,
    text_columns,
)
from nao_testbed.experiments.heat.published import (
    LIFETIME_FACTOR,
    PRESET,
    PUBLISHED,
    HeatResult,
)

MAX_ROWS = 10
"""Number of joints shown for a robot whose legs differ from those of ES2659053."""


def has_published_legs(result: HeatResult) -> bool:
    """Return True if the robot has the leg joints shown in ES2659053."""
    legs = {side + joint for side in "LR" for joint in LEG_JOINTS}
    return all(legs <= trial.joints.keys() for trial in result.trials.values())


def why_not_comparable(result: HeatResult) -> str | None:
    """Return the reason for a missing comparison; None if none is expected."""
    is_hidden = has_published_legs(result) and not PUBLISHED.keys().isdisjoint(
        result.trials
    )
    return result.not_comparable if is_hidden else None


def shown_joints(result: HeatResult) -> tuple[str, ...]:
    """Return the joints to show: the ten of ES2659053, or the hottest ones."""
    if has_published_legs(result):
        return tuple(side + joint for side in "RL" for joint in LEG_JOINTS)
    trials = list(result.trials.values())
    names = list(dict.fromkeys(name for trial in trials for name in trial.joints))

    def hottest_first(name: str) -> float:
        ends = [trial.joints[name].end_degc for trial in trials if name in trial.joints]
        return -max(ends)

    return tuple(sorted(names, key=hottest_first)[:MAX_ROWS])


def hottest(trial: TrialResult) -> tuple[str, JointResult]:
    """Return the joint with the highest temperature at the end."""
    return max(trial.joints.items(), key=lambda item: item[1].end_degc)


def mean_effort(trial: TrialResult, names: Sequence[str]) -> float:
    """Return the mean |torque| of the given joints in N·m; NaN without joints."""
    efforts = [trial.joints[n].mean_abs_effort_nm for n in names if n in trial.joints]
    return sum(efforts) / len(efforts) if efforts else math.nan


def legs_loss(trial: TrialResult, names: Sequence[str]) -> float:
    """Return the Joule loss of the legs in J; without legs that of the given joints."""
    if trial.legs_joule_loss_j is not None:
        return trial.legs_joule_loss_j
    return sum(trial.joints[n].joule_loss_j for n in names if n in trial.joints)


def lifetime_s(trial: TrialResult) -> float:
    """Return the time until a joint reaches 80 °C or the robot shuts down, in s.

    Times after the end of the run are extrapolated with the last torques; inf if 80 °C
    is never reached. NaN if the robot fell or failed before.
    """
    failed = trial.failure is not None
    times = [
        trial.shut_down_s,
        *(
            joint.time_to_80_degc_s if failed else joint.forecast_80_degc_s
            for joint in trial.joints.values()
        ),
    ]
    never = math.nan if failed else math.inf
    return min((time for time in times if time is not None), default=never)


def lifetime_text(trial: TrialResult) -> str:
    """Return the text for `lifetime_s`."""
    time_s = lifetime_s(trial)
    if math.isnan(time_s):
        return "ended before"
    if math.isinf(time_s):
        return "not reached"
    minutes = f"{time_s / 60.0:.1f} min"
    if time_s == trial.shut_down_s:
        return f"{minutes} (shut down)"
    reached = any(
        joint.time_to_80_degc_s is not None for joint in trial.joints.values()
    )
    return minutes + ("" if reached else " (forecast)")


def steady_state_text(trial: TrialResult) -> str:
    """Return the hottest joint of the steady state under the last torques."""
    name = max(trial.joints, key=lambda joint: trial.joints[joint].steady_degc)
    steady = trial.joints[name].steady_degc
    return (
        f"{name} {steady:.0f} °C"
        if math.isfinite(steady)
        else f"{name}, no steady state"
    )


def lifetime_ratio_text(trial: TrialResult, reference: TrialResult) -> str:
    """Return the lifetime as a multiple of the reference's."""
    time_s, reference_s = lifetime_s(trial), lifetime_s(reference)
    if not math.isfinite(reference_s) or math.isnan(time_s):
        return NOTHING
    return "∞" if math.isinf(time_s) else f"{time_s / max(reference_s, 1e-9):.1f} ×"


LEFT_RISE = Quantity[TrialResult](
    "temperature rise, left leg",
    lambda trial: trial.left_leg_rise_k,
    "K",
    is_signed=True,
)
RIGHT_RISE = Quantity[TrialResult](
    "temperature rise, right leg",
    lambda trial: trial.right_leg_rise_k,
    "K",
    is_signed=True,
)
POWER = Quantity[TrialResult](
    "final power of the legs", lambda trial: trial.legs_power_w, "W", 2
)
RATIO_TO_MINIMUM = Quantity[TrialResult](
    "ratio to the minimum power",
    lambda trial: ratio_to_minimum(trial.legs_power_w, trial.least_with_gears_w),
)
ENDED_EARLY = Quantity[TrialResult](
    "ended early", lambda trial: trial.failure or "no", is_text=True
)

RISE = Quantity[JointResult]("rise", lambda joint: joint.rise_k, "K", is_signed=True)
OF_JOINTS = (
    Quantity[JointResult]("end", lambda joint: joint.end_degc, "°C"),
    RISE,
    Quantity[JointResult](
        "mean |torque|", lambda joint: joint.mean_abs_effort_nm, "N·m", 2
    ),
)
"""Columns of the joint table, for every controller."""
SHORT = 2
"""Number of these columns on a terminal; pages show all."""


def outcome_quantities(result: HeatResult) -> tuple[Quantity[TrialResult], ...]:
    """Return the quantities of each robot, in the order of the rows."""
    trials = list(result.trials.values())
    joints = shown_joints(result)
    shown = "of the legs" if has_published_legs(result) else "of the joints shown"
    has_legs = any(trial.legs_joule_loss_j is not None for trial in trials)
    beside = [] if any(map(_is_from_samples, trials)) else trials
    flags = dict.fromkeys(flag for trial in trials for flag in trial.flags)

    def over_first(trial: TrialResult) -> str | None:
        return lifetime_ratio_text(trial, trials[0]) if trial in beside[1:] else None

    return (
        Quantity("hottest joint at the end", _hottest),
        Quantity("time to 80 °C", _lifetime),
        *(
            [Quantity("steady state, hottest", steady_state_text, is_extra=True)]
            if any(math.isinf(lifetime_s(trial)) for trial in beside)
            else []
        ),
        Quantity(f"ratio to {trials[0].controller}", over_first),
        LEFT_RISE,
        RIGHT_RISE,
        Quantity(
            f"mean |torque| {shown}",
            lambda trial: mean_effort(trial, joints),
            "N·m",
            2,
            is_extra=True,
        ),
        Quantity(
            f"Joule loss {'of the legs' if has_legs else shown}",
            lambda trial: legs_loss(trial, joints),
            "J",
            0,
        ),
        POWER,
        Quantity(
            "minimum power",
            lambda trial: trial.least_with_gears_w,
            "W",
            2,
            is_extra=True,
        ),
        RATIO_TO_MINIMUM,
        Quantity(
            "minimum, no gear friction",
            lambda trial: trial.least_power_w,
            "W",
            2,
            is_extra=True,
        ),
        Quantity(
            "ratio to it",
            lambda trial: ratio_to_minimum(trial.legs_power_w, trial.least_power_w),
            is_extra=True,
        ),
        *(
            [
                Quantity(
                    "largest set-point shift",
                    lambda trial: trial.largest_shift_deg,
                    "°",
                    2,
                    is_extra=True,
                )
            ]
            if any(trial.largest_shift_deg for trial in trials)
            else []
        ),
        *(
            Quantity(
                f"{pair}: {what}", partial(_contact_value, pair=pair, part=part), unit
            )
            for pair in dict.fromkeys(
                pair for trial in trials for pair in trial.pressing
            )
            for what, part, unit in (
                ("first touch", "first_s", "s"),
                ("largest force", "largest_n", "N"),
                ("force at the end", "last_n", "N"),
            )
        ),
        Quantity("settling time", lambda trial: trial.settled_s, "s", is_extra=True),
        Quantity(
            "battery charge at the end",
            lambda trial: (
                None if trial.battery_charge is None else 100 * trial.battery_charge
            ),
            "%",
            is_extra=True,
        ),
        Quantity(
            "battery life", lambda trial: trial.battery_minutes, "min", 0, is_extra=True
        ),
        *(
            Quantity(
                f"flag: {flag.lower().replace('_', ' ')}", partial(_cycles, flag=flag)
            )
            for flag in flags
            if flag.isupper()  # other names are event counts of a controller
        ),
        *([ENDED_EARLY] if any(trial.failure for trial in trials) else []),
        Quantity("simulated time", lambda trial: duration(trial.sim_s), is_extra=True),
        Quantity(
            "physics stepped for", lambda trial: trial.physics_s, "s", is_extra=True
        ),
        Quantity("computing time", lambda trial: trial.wall_s, "s", is_extra=True),
    )


def relative_quantities(result: HeatResult) -> tuple[Quantity[TrialResult], ...]:
    """Return `outcome_quantities`; guessed W and J become multiples.

    Powers become multiples of the final power of `HeatResult.reference`, losses
    multiples of its loss.
    """
    quantities, reference = outcome_quantities(result), result.reference
    if reference is None:
        return quantities
    return tuple(
        replace(
            quantity,
            label=f"{quantity.label} / {POWER_UNITS[quantity.unit]} of "
            f"{reference.controller}",
            of=partial(
                _share, quantity, POWER if quantity.unit == "W" else quantity, reference
            ),
            unit="×",
            digits=2,
        )
        if quantity.unit in POWER_UNITS
        else quantity
        for quantity in quantities
    )


POWER_UNITS = {"W": "power", "J": "that"}
"""Unit to the name of the divisor of a relative value."""


def _share(
    quantity: Quantity[TrialResult],
    of: Quantity[TrialResult],
    reference: TrialResult,
    trial: TrialResult,
) -> float | None:
    value, whole = quantity.of(trial), of.of(reference)
    if isinstance(value, str) or isinstance(whole, str) or value is None or not whole:
        return None
    return value / whole


def heat_tables(result: HeatResult) -> tuple[DataTable, ...]:
    """Return the tables of a result that have rows."""
    tables = (outcome_table(result), joint_table(result), published_table(result))
    return tuple(table for table in tables if table.rows)


def terminal_tables(result: HeatResult, *, shows_all: bool = False) -> Group:
    """Return the tables for a terminal, with the results last.

    Args:
        result: result of the experiment.
        shows_all: True: include the rows marked as extra.
    """
    outcome, *others = heat_tables(result)
    hidden = sum(row.is_extra for row in outcome.rows)
    if shows_all:
        rows = tuple(replace(row, is_extra=False) for row in outcome.rows)
        outcome = replace(outcome, rows=rows)
    elif hidden:
        note = f"{outcome.note} --all prints {hidden} more rows.".lstrip()
        outcome = replace(outcome, note=note)
    failed = DataTable(
        caption="No result",
        columns=text_columns("", "failure"),
        rows=tuple(Row(cells=item) for item in result.failed.items()),
    )
    return Group(*others, outcome, *([failed] if failed.rows else []))


def outcome_table(result: HeatResult) -> DataTable:
    """Return the table of results: a row per quantity, a column per controller."""
    trials = list(result.trials.values())
    return DataTable(
        caption="Results",
        columns=(*text_columns(""), *(Column(label=name) for name in result.trials)),
        rows=rows_across(relative_quantities(result), trials),
        note=_outcome_note(result),
    )


def joint_table(result: HeatResult) -> DataTable:
    """Return the table of joints: temperatures and mean torque by controller."""
    trials = list(result.trials.values())
    rows: list[Row] = []
    legs = has_published_legs(result)
    for joint in shown_joints(result):
        found = [trial.joints.get(joint) for trial in trials]
        start = next(row.start_degc for row in found if row is not None)
        cells = [
            NOTHING if row is None else quantity.bare(row)
            for row in found
            for quantity in OF_JOINTS
        ]
        rows.append(Row(cells=(joint, number(start), *cells)))
        if legs and joint.endswith("AnklePitch"):
            side, rise = {"L": ("left", LEFT_RISE), "R": ("right", RIGHT_RISE)}[
                joint[0]
            ]
            sums = [
                rise.bare(trial) if quantity is RISE else ""
                for trial in trials
                for quantity in OF_JOINTS
            ]
            rows.append(Row(cells=(f"{side} leg, sum", "", *sums), is_sum=True))
    return DataTable(
        caption=f"Joints, {result.posture}, {result.minutes:g} min",
        columns=(
            *text_columns("joint"),
            Column(label="start", unit="°C"),
            *(
                quantity.column(name, is_extra=k >= SHORT)
                for name in result.trials
                for k, quantity in enumerate(OF_JOINTS)
            ),
        ),
        rows=tuple(rows),
        note=why_not_comparable(result) or "" if legs else "The hottest joints.",
    )


def published_table(result: HeatResult) -> DataTable:
    """Return the table of published numbers: published, simulated, difference."""
    known = list(result.published) if has_published_legs(result) else []
    rows: list[Row] = []
    for name in known:
        trial, numbers = result.trials[name], PUBLISHED[name]
        found = [
            (f"{joint} at the end, °C", degc, trial.joints[joint].end_degc)
            for joint, degc in numbers.end_degc.items()
        ]
        for side in ("right", "left"):
            rise = f"{side}_leg_rise_k"
            label = f"temperature rise, {side} leg, K"
            found.append((label, getattr(numbers, rise), getattr(trial, rise)))
        rows += [
            Row(cells=(name, label, number(a, 0), number(b), signed(b - a)))
            for label, a, b in found
        ]
    if {"fixed", "smart"} <= set(known):
        label = "time to 80 °C, ratio to fixed"
        ratio = lifetime_ratio_text(result.trials["smart"], result.trials["fixed"])
        cells = ("smart", label, f"about {LIFETIME_FACTOR:.0f} ×", ratio, "")
        rows.append(Row(cells=cells))
    return DataTable.of(
        "Comparison with the published experiment",
        ("controller", "", "published", "simulated", "difference"),
        rows,
        _worth(known),
        texts=(0, 1),
    )


def _worth(known: Sequence[str]) -> str:
    """Return a sentence on fitted and predicted values."""
    words = []
    if "fixed" in known:
        words.append(
            f"The preset “{PRESET}” was fitted to the published values of fixed."
        )
    if "smart" in known:
        words.append("The values of smart are predictions.")
    if words:
        words.append("Rise of a leg: sum of its five joints.")
    return " ".join(words)


def _outcome_note(result: HeatResult) -> str:
    words, trials = [], list(result.trials.values())
    if result.reference is not None:
        words.append(
            "Motor constants of this robot are guesses: powers are relative, and "
            "temperatures and times are guesses too."
        )
    if any(trial.least_power_w is not None for trial in trials):
        words.append(
            "Minimum power: Joule loss with the optimal contact forces in the final "
            "posture, with gear friction carrying as much of the load as possible."
        )
    if any(map(_is_from_samples, trials)):
        words.append(
            "Computed from recorded samples: torques and losses approximate those of "
            "the complete run."
        )
    return " ".join(words)


def _is_from_samples(trial: TrialResult) -> bool:
    return math.isnan(trial.wall_s)


def _hottest(trial: TrialResult) -> str:
    if not trial.joints:
        return NOTHING
    name, row = hottest(trial)
    return f"{name} {number(row.end_degc)} °C"


def _lifetime(trial: TrialResult) -> str:
    if not _is_from_samples(trial):
        return lifetime_text(trial)
    times = [row.time_to_80_degc_s for row in trial.joints.values()]
    reached = [time for time in times if time is not None]
    return duration(min(reached)) if reached else "not reached in the samples"


def ratio_to_minimum(power_w: float | None, least_w: float | None) -> str:
    """Return the ratio of a power to the minimum; a dash for a minimum near 0."""
    if power_w is None or least_w is None or least_w < SMALLEST_LEAST_W:
        return NOTHING
    return f"{number(power_w / least_w, 2)} ×"


def _contact_value(trial: TrialResult, *, pair: str, part: str) -> float | None:
    one = trial.pressing.get(pair)
    return None if one is None else float(getattr(one, part))


def _cycles(trial: TrialResult, *, flag: str) -> str:
    return f"{trial.flags.get(flag, 0)} cycles"
