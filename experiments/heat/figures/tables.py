"""Tables of a heat experiment: outcome, joints, distance to the published numbers.

Pure functions of the result; pages and terminals draw the same tables. First the key
numbers that they are made of: which joints are shown, mean torque and Joule loss of the
legs, lifetime (the time until the first joint reaches 80 °C or the robot is shut down).
A quantity is a line in `outcome_quantities` or `OF_JOINTS`.
"""

import itertools
import math
from collections.abc import Sequence
from functools import partial

from rich.console import Group

from nao_testbed.experiments.closed_loop.trial_result import (
    LEG_JOINTS,
    SMALLEST_LEAST_W,
    JointResult,
    TrialResult,
)
from nao_testbed.experiments.common.drawing.page import (
    NOTHING,
    Column,
    DataTable,
    Quantity,
    Row,
    duration,
    number,
    rows_across,
    signed,
    text_columns,
)
from nao_testbed.experiments.heat.published import (
    LIFETIME_FACTOR,
    PRESET,
    PUBLISHED,
    HeatResult,
)

MOST_ROWS = 10
"""Joints shown of a robot whose legs are not those of ES2659053."""


def has_published_legs(result: HeatResult) -> bool:
    """Does the robot have the legs that ES2659053 draws?"""
    return all(
        arm.left_leg_rise_k is not None and arm.right_leg_rise_k is not None
        for arm in result.arms.values()
    )


def why_not_beside(result: HeatResult) -> str | None:
    """Return why no published number is shown, where one could be looked for."""
    is_asked = has_published_legs(result) and not PUBLISHED.keys().isdisjoint(
        result.arms
    )
    return result.not_comparable if is_asked else None


def shown_joints(result: HeatResult) -> tuple[str, ...]:
    """Return the joints to look at: the ten of ES2659053, or the hottest ones."""
    if has_published_legs(result):
        return tuple(side + joint for side in "RL" for joint in LEG_JOINTS)
    arms = list(result.arms.values())
    names = list(dict.fromkeys(name for arm in arms for name in arm.joints))

    def hottest_first(name: str) -> float:
        ends = [arm.joints[name].end_degc for arm in arms if name in arm.joints]
        return -max(ends)

    return tuple(sorted(names, key=hottest_first)[:MOST_ROWS])


def hottest(arm: TrialResult) -> tuple[str, JointResult]:
    """Return the joint with the highest temperature at the end."""
    return max(arm.joints.items(), key=lambda item: item[1].end_degc)


def mean_effort(arm: TrialResult, names: Sequence[str]) -> float:
    """Return the mean |torque| of the joints named in N·m; NaN without any."""
    efforts = [arm.joints[n].mean_abs_effort_nm for n in names if n in arm.joints]
    return sum(efforts) / len(efforts) if efforts else math.nan


def legs_loss(arm: TrialResult, names: Sequence[str]) -> float:
    """Return the Joule loss of the legs in J; without it that of the joints named."""
    if arm.legs_joule_loss_j is not None:
        return arm.legs_joule_loss_j
    return sum(arm.joints[n].joule_loss_j for n in names if n in arm.joints)


def lifetime_s(arm: TrialResult) -> float:
    """Return when the first joint reaches 80 °C, or the robot is shut down, in s.

    Run on with the last torques if need be; inf for never. NaN where the robot fell or
    failed before: those torques foretell nothing.
    """
    failed = arm.failure is not None
    times = [
        arm.shut_down_s,
        *(
            joint.time_to_80_degc_s if failed else joint.forecast_80_degc_s
            for joint in arm.joints.values()
        ),
    ]
    never = math.nan if failed else math.inf
    return min((time for time in times if time is not None), default=never)


def lifetime_text(arm: TrialResult) -> str:
    """Say when the first joint reaches 80 °C."""
    time_s = lifetime_s(arm)
    if math.isnan(time_s):
        return "ended before"
    if math.isinf(time_s):
        return "never"
    minutes = f"{time_s / 60.0:.1f} min"
    if time_s == arm.shut_down_s:
        return f"{minutes} (shut down)"
    reached = any(joint.time_to_80_degc_s is not None for joint in arm.joints.values())
    return minutes + ("" if reached else " (forecast)")


def in_the_end_text(arm: TrialResult) -> str:
    """Say which joint would be the hottest if the robot stood on for ever."""
    name = max(arm.joints, key=lambda joint: arm.joints[joint].steady_degc)
    steady = arm.joints[name].steady_degc
    return f"{name} {steady:.0f} °C" if math.isfinite(steady) else f"{name} burns"


def lifetime_ratio_text(arm: TrialResult, reference: TrialResult) -> str:
    """Say how many times longer an arm lasts than the reference."""
    time_s, reference_s = lifetime_s(arm), lifetime_s(reference)
    if not math.isfinite(reference_s) or math.isnan(time_s):
        return NOTHING
    return "never" if math.isinf(time_s) else f"{time_s / max(reference_s, 1e-9):.1f} ×"


LEFT_RISE = Quantity[TrialResult](
    "left leg rises by", lambda arm: arm.left_leg_rise_k, "K", is_signed=True
)
RIGHT_RISE = Quantity[TrialResult](
    "right leg rises by", lambda arm: arm.right_leg_rise_k, "K", is_signed=True
)
POWER = Quantity[TrialResult](
    "power of the legs at the end", lambda arm: arm.legs_power_w, "W", 2
)
TIMES_LEAST = Quantity[TrialResult](
    "power over the least with",
    lambda arm: times_least(arm.legs_power_w, arm.least_with_gears_w),
)
ENDED_EARLY = Quantity[TrialResult](
    "ended early", lambda arm: arm.failure or "no", is_text=True
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
"""How many of them a terminal shows; the page has all."""


def outcome_quantities(result: HeatResult) -> tuple[Quantity[TrialResult], ...]:
    """Return what is told of each robot, in the order of the rows."""
    arms = list(result.arms.values())
    joints = shown_joints(result)
    shown = "of the legs" if has_published_legs(result) else "of the joints shown"
    has_legs = any(arm.legs_joule_loss_j is not None for arm in arms)
    beside = [] if any(map(_is_recomputed, arms)) else arms
    flags = dict.fromkeys(flag for arm in arms for flag in arm.flags)

    def over_first(arm: TrialResult) -> str | None:
        return lifetime_ratio_text(arm, arms[0]) if arm in beside[1:] else None

    return (
        Quantity("hottest joint at the end", _hottest),
        Quantity("first joint at 80 °C", _lifetime),
        *(
            [Quantity("hottest in the end", in_the_end_text)]
            if any(math.isinf(lifetime_s(arm)) for arm in beside)
            else []
        ),
        Quantity(f"time to 80 °C over that of {arms[0].controller}", over_first),
        LEFT_RISE,
        RIGHT_RISE,
        Quantity(
            f"mean |torque| {shown}", lambda arm: mean_effort(arm, joints), "N·m", 2
        ),
        Quantity(
            f"Joule loss {'of the legs' if has_legs else shown}",
            lambda arm: legs_loss(arm, joints),
            "J",
            0,
        ),
        POWER,
        Quantity("least without gear friction", lambda arm: arm.least_power_w, "W", 2),
        Quantity(
            "power over the least without",
            lambda arm: times_least(arm.legs_power_w, arm.least_power_w),
        ),
        Quantity(
            "least with gear friction", lambda arm: arm.least_with_gears_w, "W", 2
        ),
        TIMES_LEAST,
        *(
            [
                Quantity(
                    "largest set-point shift", lambda arm: arm.largest_shift_deg, "°", 2
                )
            ]
            if any(arm.largest_shift_deg for arm in arms)
            else []
        ),
        *(
            Quantity(f"{who}: {what}", partial(_of_pressing, who=who, part=part), unit)
            for who in dict.fromkeys(who for arm in arms for who in arm.pressing)
            for what, part, unit in (
                ("first touch", "first_s", "s"),
                ("largest force", "largest_n", "N"),
                ("force at the end", "last_n", "N"),
            )
        ),
        Quantity("settled after", lambda arm: arm.settled_s, "s"),
        Quantity(
            "left of a full battery",
            lambda arm: (
                None if arm.battery_charge is None else 100 * arm.battery_charge
            ),
            "%",
        ),
        Quantity("which lasts for", lambda arm: arm.battery_minutes, "min", 0),
        *(
            Quantity(
                f"flag: {flag.lower().replace('_', ' ')}", partial(_cycles, flag=flag)
            )
            for flag in flags
            if flag.isupper()  # others are a controller's own counts: events
        ),
        *([ENDED_EARLY] if any(arm.failure for arm in arms) else []),
        Quantity("simulated time", lambda arm: duration(arm.sim_s)),
        Quantity("of it with physics", lambda arm: arm.physics_s, "s"),
        Quantity("computed in", lambda arm: arm.wall_s, "s"),
    )


def heat_tables(result: HeatResult) -> tuple[DataTable, ...]:
    """Return the tables of a result, those without rows left out."""
    tables = (outcome_table(result), joint_table(result), published_table(result))
    return tuple(table for table in tables if table.rows)


def terminal_tables(result: HeatResult) -> Group:
    """Return the tables for a terminal: what came of it stands last."""
    outcome, *others = heat_tables(result)
    failed = DataTable(
        caption="Without a result",
        columns=text_columns("", "failed"),
        rows=tuple(Row(cells=item) for item in result.failed.items()),
    )
    return Group(*others, outcome, *([failed] if failed.rows else []))


def outcome_table(result: HeatResult) -> DataTable:
    """A row a quantity, a column a controller."""
    arms = list(result.arms.values())
    return DataTable(
        caption="What came of it",
        columns=(*text_columns(""), *(Column(label=name) for name in result.arms)),
        rows=rows_across(outcome_quantities(result), arms),
        note=_outcome_note(arms),
    )


def joint_table(result: HeatResult) -> DataTable:
    """A row a joint: temperatures and mean torque under every controller."""
    arms = list(result.arms.values())
    rows: list[Row] = []
    legs = has_published_legs(result)
    for joint in shown_joints(result):
        found = [arm.joints.get(joint) for arm in arms]
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
                rise.bare(arm) if quantity is RISE else ""
                for arm in arms
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
                for name in result.arms
                for k, quantity in enumerate(OF_JOINTS)
            ),
        ),
        rows=tuple(rows),
        note=why_not_beside(result) or "" if legs else "The hottest joints.",
    )


def published_table(result: HeatResult) -> DataTable:
    """A row a published number: the number, ours, the distance between them."""
    known = list(result.published) if has_published_legs(result) else []
    rows: list[Row] = []

    def add(label: str, ours: Sequence[float], published: Sequence[float]) -> None:
        pairs = zip(ours, published, strict=True)
        cells = [(number(b, 0), number(a), signed(a - b)) for a, b in pairs]
        rows.append(Row(cells=(label, *itertools.chain(*cells))))

    arms, numbers = [result.arms[n] for n in known], [PUBLISHED[n] for n in known]
    for joint in numbers[0].end_degc if numbers else ():
        add(
            f"{joint} at the end, °C",
            [arm.joints[joint].end_degc for arm in arms],
            [column.end_degc[joint] for column in numbers],
        )
    for side in ("right", "left") if known else ():
        rise = f"{side}_leg_rise_k"
        add(
            f"{side} leg rises by, K",
            [getattr(arm, rise) for arm in arms],
            [getattr(column, rise) for column in numbers],
        )
    if {"fixed", "smart"} <= set(known):
        ratio = lifetime_ratio_text(result.arms["smart"], result.arms["fixed"])
        smart = (f"about {LIFETIME_FACTOR:.0f} ×", ratio, "")
        cells = [smart if name == "smart" else ("", "", "") for name in known]
        rows.append(Row(cells=("time to 80 °C, ratio", *itertools.chain(*cells))))
    per_arm = ("published", "ours", "apart")
    return DataTable(
        caption="Beside the published numbers",
        columns=(
            *text_columns(""),
            *(Column(label=text, group=name) for name in known for text in per_arm),
        ),
        rows=tuple(rows),
        note=_worth(known),
    )


def _worth(known: Sequence[str]) -> str:
    """Say what the comparison is worth."""
    words = []
    if "fixed" in known:
        words.append(f"The preset “{PRESET}” is fitted to fixed.")
    if "smart" in known:
        words.append("smart is a prediction.")
    return " ".join(words)


def _outcome_note(arms: Sequence[TrialResult]) -> str:
    words = []
    if any(arm.least_power_w is not None for arm in arms):
        words.append(
            "Least without gear friction: the Joule loss of the best contact forces in "
            "the last posture. Gears that stick bear a part of the load, so a robot "
            "may need less; the least with gear friction lets them bear all they can."
        )
    if any(map(_is_recomputed, arms)):
        words.append(
            "Computed from the recorded rows, which hold the torque of a moment and no "
            "mean: efforts and losses are near those of a whole run, not the same."
        )
    return " ".join(words)


def _is_recomputed(arm: TrialResult) -> bool:
    return math.isnan(arm.wall_s)


def _hottest(arm: TrialResult) -> str:
    if not arm.joints:
        return NOTHING
    name, row = hottest(arm)
    return f"{name} {number(row.end_degc)} °C"


def _lifetime(arm: TrialResult) -> str:
    if not _is_recomputed(arm):
        return lifetime_text(arm)
    times = [row.time_to_80_degc_s for row in arm.joints.values()]
    reached = [time for time in times if time is not None]
    return duration(min(reached)) if reached else "not in these rows"


def times_least(power_w: float | None, least_w: float | None) -> str:
    """Return a power over the least; a dash where next to nothing is needed."""
    if power_w is None or least_w is None or least_w < SMALLEST_LEAST_W:
        return NOTHING
    return f"{number(power_w / least_w, 2)} ×"


def _of_pressing(arm: TrialResult, *, who: str, part: str) -> float | None:
    one = arm.pressing.get(who)
    return None if one is None else float(getattr(one, part))


def _cycles(arm: TrialResult, *, flag: str) -> str:
    return f"{arm.flags.get(flag, 0)} cycles"
