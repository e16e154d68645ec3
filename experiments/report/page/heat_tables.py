"""The tables of a heat experiment: outcome, joints, distance to published numbers."""

import math
from collections.abc import Callable, Sequence

from experiments.report.legs_work import legs_loss, mean_effort
from experiments.report.lifetime import lifetime_ratio_text, lifetime_text
from experiments.report.page.numbers import (
    NOTHING,
    duration,
    number,
    signed,
    with_unit,
)
from experiments.report.page.views import Column, Row, Table
from experiments.report.shown_joints import (
    has_document_legs,
    hottest,
    shown_joints,
    why_not_beside,
)
from experiments.standing.published import (
    LIFETIME_FACTOR,
    PRESET,
    PUBLISHED,
)
from experiments.standing.results import SMALLEST_LEAST_W, ArmResult, HeatResult


def heat_tables(result: HeatResult) -> tuple[Table, ...]:
    """Return the tables of a result, those without rows left out."""
    tables = (outcome_table(result), joint_table(result), published_table(result))
    return tuple(table for table in tables if table.rows)


def outcome_table(result: HeatResult) -> Table:
    """A row a quantity, a column a controller."""
    arms = list(result.arms.values())
    legs = has_document_legs(result)
    of_legs = "of the legs" if legs else "of the joints below"
    joints = shown_joints(result)
    rows: list[Row] = []

    def add(label: str, cell: Callable[[ArmResult], str]) -> None:
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
    return Table(
        caption="What came of it",
        columns=(
            Column(label="", is_number=False),
            *(Column(label=name) for name in result.arms),
        ),
        rows=tuple(rows),
        note=_outcome_note(arms),
    )


def joint_table(result: HeatResult) -> Table:
    """A row a joint: temperatures and mean torque under every controller."""
    arms = list(result.arms.values())
    rows: list[Row] = []
    legs = has_document_legs(result)
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
    return Table(
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


def _leg_sum(side: str, arms: Sequence[ArmResult]) -> Row:
    cells = [f"{'left' if side == 'L' else 'right'} leg, sum", ""]
    for arm in arms:
        rise = arm.left_leg_rise_k if side == "L" else arm.right_leg_rise_k
        cells += ["", signed(rise), ""]
    return Row(cells=tuple(cells), is_sum=True)


def published_table(result: HeatResult) -> Table:
    """A row a published number: the number, ours, the distance between them."""
    known = list(result.published) if has_document_legs(result) else []
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
    return Table(
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


def _outcome_note(arms: Sequence[ArmResult]) -> str:
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


def _is_recomputed(arm: ArmResult) -> bool:
    return math.isnan(arm.wall_s)


def _hottest(arm: ArmResult) -> str:
    if not arm.joints:
        return NOTHING
    name, row = hottest(arm)
    return f"{name} {number(row.end_degc)} °C"


def _lifetime(arm: ArmResult) -> str:
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
