"""What a heat experiment found, as tables for a terminal or a pipe.

Three of them: the joints' temperatures; the published numbers beside ours; what the
robots had to do. Pure functions of the result; nothing is printed here.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from experiments.report.legs_work import legs_loss, mean_effort
from experiments.report.lifetime import (
    NOTHING,
    in_the_end_text,
    lifetime_ratio_text,
    lifetime_s,
    lifetime_text,
)
from experiments.report.shown_joints import (
    has_document_legs,
    hottest,
    shown_joints,
    why_not_beside,
)
from experiments.standing.published import (
    LEG_JOINTS,
    LIFETIME_FACTOR,
    PRESET,
    PUBLISHED,
    Published,
)
from experiments.standing.results import ArmResult, HeatResult, JointResult
from models.plain_table import plain_table


def heat_table(result: HeatResult) -> Group:
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
        is_last = joint[1:] == LEG_JOINTS[-1] and has_document_legs(result)
        table.add_row(joint, f"{starts[0]:.1f}", *map(_end_and_rise, rows))
        if is_last:
            table.add_row(
                f"{'left' if joint[0] == 'L' else 'right'} leg, sum",
                "",
                *(_leg_rise(arm, joint[0]) for arm in arms),
                style="bold",
                end_section=joint[0] == "R",
            )
    table.caption = None if has_document_legs(result) else "the hottest joints"
    return table


def _end_and_rise(row: JointResult | None) -> str:
    if row is None:
        return NOTHING
    return f"{row.end_degc:.1f} {_signed(row.rise_k):>6}"


def _signed(value: float) -> str:
    """Return a number with its sign and one decimal; zero is never negative."""
    return f"{round(value, 1) + 0.0:+.1f}"


def _leg_rise(arm: ArmResult, side: str) -> str:
    rise = arm.left_leg_rise_k if side == "L" else arm.right_leg_rise_k
    return NOTHING if rise is None else _signed(rise)


def _beside_published(result: HeatResult) -> Table:
    """A row a published number: the number, ours, the distance."""
    known = list(result.published) if has_document_legs(result) else []
    table = plain_table("\nBeside the published numbers")
    table.add_column("", no_wrap=True)
    for name in known:
        table.add_column(f"{name}\npubl.", justify="right")
        table.add_column("\nours", justify="right")
        table.add_column("\napart", justify="right")
    if not known:
        return table

    def add(label: str, values: Callable[[ArmResult | Published], float]) -> None:
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


def _end(source: ArmResult | Published, *, joint: str) -> float:
    if isinstance(source, ArmResult):
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
    which = "legs" if has_document_legs(result) else "above"
    table = plain_table("\nThe robots")
    table.add_column("", no_wrap=True)
    for name in result.arms:
        table.add_column(name, justify="right", overflow="fold", min_width=11)

    def add(label: str, text: Callable[[ArmResult], str]) -> None:
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
        add("power in all legs, end", lambda arm: _number(arm.legs_power_w, "W"))
        add("least for that posture", lambda arm: _number(arm.least_power_w, "W"))
        add(
            "least if gears help it",
            lambda arm: _number(arm.least_with_gears_w, "W"),
        )
    if any(arm.largest_shift_deg for arm in arms):
        add("largest set-point shift", lambda arm: f"{arm.largest_shift_deg:.1f}°")
    for flag in dict.fromkeys(flag for arm in arms for flag in arm.flags):
        if flag.isupper():  # what the document's method met; others count their own
            add(_words(flag), partial(_cycles, flag=flag))
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


def _number(value: float | None, unit: str) -> str:
    return "unknown" if value is None else f"{value:.2f} {unit}"


def _words(flag: str) -> str:
    """Return `flag: com outside support` for COM_OUTSIDE_SUPPORT."""
    return f"flag: {flag.lower().replace('_', ' ')}"


def _cycles(arm: ArmResult, *, flag: str) -> str:
    return f"{arm.flags.get(flag, 0)} cycles"


def _hottest_text(arm: ArmResult) -> str:
    name, row = hottest(arm)
    return f"{name} {row.end_degc:.1f} °C"
