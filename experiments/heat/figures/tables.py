"""Tables of a heat experiment: outcome, joints, distance to the published numbers.

Pure functions of the result, for a page and for a terminal or a pipe; nothing is
printed here. First the key numbers that both are made of: which joints are shown, mean
torque and Joule loss of the legs, lifetime (the time until the first joint reaches 80
°C or the robot is shut down). On a terminal: the joints' temperatures; the published
numbers beside ours; what the robots had to do.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from experiments.closed_loop.trial_result import (
    LEG_JOINTS,
    SMALLEST_LEAST_W,
    JointResult,
    TrialResult,
)
from experiments.common.drawing.page import (
    NOTHING,
    Column,
    DataTable,
    Row,
    duration,
    number,
    signed,
    with_unit,
)
from experiments.common.drawing.plain_table import plain_table
from experiments.heat.published import (
    LIFETIME_FACTOR,
    PRESET,
    PUBLISHED,
    HeatResult,
    Published,
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


NO_LIFETIME = "–"
"""Where there is nothing to tell."""


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
        return NO_LIFETIME
    return "never" if math.isinf(time_s) else f"{time_s / max(reference_s, 1e-9):.1f} ×"


def heat_tables(result: HeatResult) -> tuple[DataTable, ...]:
    """Return the tables of a result, those without rows left out."""
    tables = (outcome_table(result), joint_table(result), published_table(result))
    return tuple(table for table in tables if table.rows)


def outcome_table(result: HeatResult) -> DataTable:
    """A row a quantity, a column a controller."""
    arms = list(result.arms.values())
    legs = has_published_legs(result)
    of_legs = "of the legs" if legs else "of the joints below"
    joints = shown_joints(result)
    rows: list[Row] = []

    def add(label: str, cell: Callable[[TrialResult], str]) -> None:
        cells = [cell(arm) for arm in arms]
        if any(text != NOTHING for text in cells):
            rows.append(Row(cells=(label, *cells)))

    add("hottest joint at the end", _hottest)
    add("first joint at 80 °C", _lifetime)
    if len(arms) > 1 and not any(map(_is_recomputed, arms)):
        first = arms[0]
        add(
            f"time to 80 °C over that of {first.controller}",
            lambda arm: NOTHING if arm is first else lifetime_ratio_text(arm, first),
        )
    add("left leg rises by", lambda arm: with_unit(arm.left_leg_rise_k, "K"))
    add("right leg rises by", lambda arm: with_unit(arm.right_leg_rise_k, "K"))
    add(
        f"mean |torque| {of_legs}",
        lambda arm: with_unit(mean_effort(arm, joints), "N·m", 2),
    )
    add("Joule loss of the legs", lambda arm: with_unit(legs_loss(arm, joints), "J", 0))
    add("power of the legs at the end", lambda arm: with_unit(arm.legs_power_w, "W", 2))
    add("least without gear friction", lambda a: with_unit(a.least_power_w, "W", 2))
    add(
        "power over the least without",
        lambda a: times_least(a.legs_power_w, a.least_power_w),
    )
    add("least with gear friction", lambda a: with_unit(a.least_with_gears_w, "W", 2))
    add(
        "power over the least with",
        lambda a: times_least(a.legs_power_w, a.least_with_gears_w),
    )
    if any(arm.largest_shift_deg > 0.0 for arm in arms):
        add("largest set-point shift", lambda a: with_unit(a.largest_shift_deg, "°", 2))
    add("settled after", lambda arm: with_unit(arm.settled_s, "s"))
    for flag in dict.fromkeys(flag for arm in arms for flag in arm.flags):
        if not flag.isupper():  # a controller's own counts: they are events
            continue
        words = f"flag: {flag.lower().replace('_', ' ')}"
        add(words, lambda arm, flag=flag: f"{arm.flags.get(flag, 0)} cycles")  # type: ignore[misc]  # its default
    if any(arm.failure for arm in arms):
        add("ended early", lambda arm: arm.failure or "no")
    add("simulated time", lambda arm: duration(arm.sim_s))
    add("of it with physics", lambda arm: with_unit(arm.physics_s, "s"))
    add("computed in", lambda arm: with_unit(arm.wall_s, "s"))
    return DataTable(
        caption="What came of it",
        columns=(
            Column(label="", is_number=False),
            *(Column(label=name) for name in result.arms),
        ),
        rows=tuple(rows),
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
        cells = [joint, number(start)]
        for row in found:
            cells += (
                [NOTHING] * 3
                if row is None
                else [
                    number(row.end_degc),
                    signed(row.rise_k),
                    number(row.mean_abs_effort_nm, 2),
                ]
            )
        rows.append(Row(cells=tuple(cells)))
        if legs and joint.endswith("AnklePitch"):
            rows.append(_leg_sum(joint[0], arms))
    per_arm = ("end, °C", "rise, K", "mean |torque|, N·m")
    return DataTable(
        caption="Joints",
        columns=(
            Column(label="joint", is_number=False),
            Column(label="start, °C"),
            *(
                Column(label=text, group=name)
                for name in result.arms
                for text in per_arm
            ),
        ),
        rows=tuple(rows),
        note=why_not_beside(result) or "" if legs else "The hottest joints.",
    )


def _leg_sum(side: str, arms: Sequence[TrialResult]) -> Row:
    cells = [f"{'left' if side == 'L' else 'right'} leg, sum", ""]
    for arm in arms:
        rise = arm.left_leg_rise_k if side == "L" else arm.right_leg_rise_k
        cells += ["", signed(rise), ""]
    return Row(cells=tuple(cells), is_sum=True)


def published_table(result: HeatResult) -> DataTable:
    """A row a published number: the number, ours, the distance between them."""
    known = list(result.published) if has_published_legs(result) else []
    rows: list[Row] = []
    ends = dict.fromkeys(j for name in known for j in PUBLISHED[name].end_degc)
    for joint in ends:
        cells = [f"{joint} at the end, °C"]
        for name in known:
            published = PUBLISHED[name].end_degc.get(joint, math.nan)
            ours = result.arms[name].joints[joint].end_degc
            cells += [number(published, 0), number(ours), signed(ours - published)]
        rows.append(Row(cells=tuple(cells)))
    for side in ("right", "left") if known else ():
        cells = [f"{side} leg rises by, K"]
        for name in known:
            published = getattr(PUBLISHED[name], f"{side}_leg_rise_k")
            ours = getattr(result.arms[name], f"{side}_leg_rise_k")
            cells += [number(published, 0), number(ours), signed(ours - published)]
        rows.append(Row(cells=tuple(cells)))
    if {"fixed", "smart"} <= set(known):
        fixed, smart = result.arms["fixed"], result.arms["smart"]
        cells = ["time to 80 °C over that of fixed"]
        for name in known:
            ratio = lifetime_ratio_text(smart, fixed)
            is_smart = name == "smart"
            cells += (
                [f"about {LIFETIME_FACTOR:.0f} ×", ratio, ""] if is_smart else [""] * 3
            )
        rows.append(Row(cells=tuple(cells)))
    per_arm = ("published", "ours", "apart")
    return DataTable(
        caption="Distance to the published numbers",
        columns=(
            Column(label="", is_number=False),
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


def terminal_tables(result: HeatResult) -> Group:
    """Return the tables of an experiment; two arms fit into 80 columns."""
    tables = [_temperatures(result), _beside_published(result), _work(result)]
    shown: list[RenderableType] = [table for table in tables if table.row_count]
    if (line := why_not_beside(result)) is not None:
        shown.insert(1, Text(f"\n{line}"))
    if result.failed:
        shown.append(_failed(result))
    return Group(*shown)


def _temperatures(result: HeatResult) -> Table:
    """A row a joint: start, then end and rise under every controller."""
    names = shown_joints(result)
    arms = list(result.arms.values())
    setting = f"{result.posture}, {result.minutes:g} min"
    table = plain_table(f"\nTemperatures in °C, {setting}")
    table.add_column("joint", no_wrap=True)
    table.add_column("start", justify="right")
    for name in result.arms:
        table.add_column(f"{name}\nend   rise", justify="right", overflow="fold")
    for joint in names:
        rows = [arm.joints.get(joint) for arm in arms]
        starts = [row.start_degc for row in rows if row is not None]
        is_last = joint[1:] == LEG_JOINTS[-1] and has_published_legs(result)
        table.add_row(joint, f"{starts[0]:.1f}", *map(_end_and_rise, rows))
        if is_last:
            table.add_row(
                f"{'left' if joint[0] == 'L' else 'right'} leg, sum",
                "",
                *(_leg_rise(arm, joint[0]) for arm in arms),
                style="bold",
                end_section=joint[0] == "R",
            )
    table.caption = None if has_published_legs(result) else "the hottest joints"
    return table


def _end_and_rise(row: JointResult | None) -> str:
    if row is None:
        return NO_LIFETIME
    return f"{row.end_degc:.1f} {_signed(row.rise_k):>6}"


def _signed(value: float) -> str:
    """Return a number with its sign and one decimal; zero is never negative."""
    return f"{round(value, 1) + 0.0:+.1f}"


def _leg_rise(arm: TrialResult, side: str) -> str:
    rise = arm.left_leg_rise_k if side == "L" else arm.right_leg_rise_k
    return NO_LIFETIME if rise is None else _signed(rise)


def _beside_published(result: HeatResult) -> Table:
    """A row a published number: the number, ours, the distance."""
    known = list(result.published) if has_published_legs(result) else []
    table = plain_table("\nBeside the published numbers")
    table.add_column("", no_wrap=True)
    for name in known:
        table.add_column(f"{name}\npubl.", justify="right")
        table.add_column("\nours", justify="right")
        table.add_column("\napart", justify="right")
    if not known:
        return table

    def add(label: str, values: Callable[[TrialResult | Published], float]) -> None:
        cells: list[str] = []
        for name in known:
            published, ours = values(PUBLISHED[name]), values(result.arms[name])
            cells += [f"{published:.0f}", f"{ours:z.1f}", _signed(ours - published)]
        table.add_row(label, *cells)

    for joint in PUBLISHED[known[0]].end_degc:
        add(f"{joint} end, °C", partial(_end, joint=joint))
    add("right leg rises, K", lambda source: source.right_leg_rise_k or 0.0)
    add("left leg rises, K", lambda source: source.left_leg_rise_k or 0.0)
    if {"fixed", "smart"} <= set(known):
        ratio = lifetime_ratio_text(result.arms["smart"], result.arms["fixed"])
        smart = known.index("smart")
        cells = ["", "", ""] * len(known)
        cells[3 * smart : 3 * smart + 2] = [f"~{LIFETIME_FACTOR:.0f} ×", ratio]
        table.add_row("time to 80 °C, ratio", *cells)
    table.caption = _caption(known)
    return table


def _end(source: TrialResult | Published, *, joint: str) -> float:
    if isinstance(source, TrialResult):
        return source.joints[joint].end_degc
    return source.end_degc[joint]


def _caption(known: Sequence[str]) -> str:
    """Say in few words what the comparison is worth."""
    words = []
    if "fixed" in known:
        words.append(f"fixed: the preset '{PRESET}' is fitted to it")
    if "smart" in known:
        words.append("smart: a prediction")
    return "; ".join(words)


def _work(result: HeatResult) -> Table:
    """A row a quantity: what each robot had to do for it, and how long it lasts."""
    names = shown_joints(result)
    arms = list(result.arms.values())
    which = "legs" if has_published_legs(result) else "above"
    table = plain_table("\nThe robots")
    table.add_column("", no_wrap=True)
    for name in result.arms:
        table.add_column(name, justify="right", overflow="fold", min_width=11)

    def add(label: str, text: Callable[[TrialResult], str]) -> None:
        table.add_row(label, *(text(arm) for arm in arms))

    add("hottest joint", _hottest_text)
    add("first joint at 80 °C", lifetime_text)
    if any(math.isinf(lifetime_s(arm)) for arm in arms):
        add("hottest in the end", in_the_end_text)
    if len(arms) > 1:
        reference = arms[0]
        table.add_row(
            f"time over that of {reference.controller}",
            "",
            *(lifetime_ratio_text(arm, reference) for arm in arms[1:]),
        )
    add(f"mean |torque|, {which}", lambda arm: f"{mean_effort(arm, names):.2f} N·m")
    add(f"Joule loss, {which}", lambda arm: f"{legs_loss(arm, names):.0f} J")
    if any(arm.legs_power_w is not None for arm in arms):
        add("power in all legs, end", lambda arm: _power_text(arm.legs_power_w, "W"))
        add("least for that posture", lambda arm: _power_text(arm.least_power_w, "W"))
        add(
            "least if gears help it",
            lambda arm: _power_text(arm.least_with_gears_w, "W"),
        )
    if any(arm.largest_shift_deg for arm in arms):
        add("largest set-point shift", lambda arm: f"{arm.largest_shift_deg:.1f}°")
    for flag in dict.fromkeys(flag for arm in arms for flag in arm.flags):
        if flag.isupper():  # what the published method met; others count their own
            add(_flag_words(flag), partial(_cycles, flag=flag))
    if any(arm.failure for arm in arms):
        add("ended early", lambda arm: arm.failure or "no")
    return table


def _failed(result: HeatResult) -> Table:
    """A row a robot that has no result."""
    table = plain_table("\nWithout a result")
    table.add_column("", no_wrap=True)
    table.add_column("failed", overflow="fold")
    for name, why in result.failed.items():
        table.add_row(Text(name), Text(why))
    return table


def _power_text(value: float | None, unit: str) -> str:
    return "unknown" if value is None else f"{value:.2f} {unit}"


def _flag_words(flag: str) -> str:
    """Return `flag: com outside support` for COM_OUTSIDE_SUPPORT."""
    return f"flag: {flag.lower().replace('_', ' ')}"


def _cycles(arm: TrialResult, *, flag: str) -> str:
    return f"{arm.flags.get(flag, 0)} cycles"


def _hottest_text(arm: TrialResult) -> str:
    name, row = hottest(arm)
    return f"{name} {row.end_degc:.1f} °C"
