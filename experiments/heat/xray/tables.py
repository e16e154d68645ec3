"""Presentation of an X-ray: tables for terminal and page, one figure."""

from typing import TYPE_CHECKING

import numpy as np

from nao_testbed.experiments.common.drawing.page import (
    NOTHING,
    Column,
    DataTable,
    Row,
    duration,
    number,
    signed,
)
from nao_testbed.experiments.common.drawing.style import (
    COLOURS,
    FAINT_INK,
    INK,
    SOFT_INK,
    new_figure,
    panel_title,
    plain_frame,
)
from nao_testbed.experiments.heat.xray.losses import LIMIT_DEGC
from nao_testbed.experiments.heat.xray.suspects import LOAD_CAUSE, MOST_OFF, Suspects
from nao_testbed.experiments.heat.xray.xray import MOST_MISFIT, NAMED, Xray, cannot_tell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 0.05
"""Probability from which on a joint has a row, beside the best ones."""
FEWEST_SHOWN = 3
PERHAPS = 0.2
"""Probability from which on the sentence names a cause that is no result."""
UNLIKE = 1.5
"""Factor from which on gear friction that is not the model's is said at the top."""


def headline(found: Xray) -> str:
    """Return the finding as sentences; that nothing explains the log comes first."""
    said = f"{_what_is_off(found)} {_heat(found)}"
    friction = found.suspects.friction
    if found.is_explained and not 1.0 / UNLIKE < friction < UNLIKE:
        seems = "seems to be" if _is_told(found) else "would fit best at"
        said += f" The gears' friction {seems} {friction:.1f} times the model's."
    saving = found.saving
    if saving is None:
        return said
    if saving.saved_w <= 0.0:
        return (
            f"{said} To move the set-point of {saving.joint} alone would save nothing."
        )
    said += (
        f" The set-point of {saving.joint} moved by {saving.set_point_deg:+.2f}° would "
        f"save {saving.saved_w:.2f} W"
    )
    if saving.cooler_k:
        motor, kelvin = max(saving.cooler_k.items(), key=lambda item: item[1])
        said += f"; in 15 minutes {motor} would be {kelvin:.0f} K cooler"
    return f"{said}."


def _heat(found: Xray) -> str:
    legs = found.losses
    if legs.useless_w < 0.0:
        return (
            f"The legs turn {legs.loss_w:.2f} W into heat, less than the "
            f"{legs.needed_w:.2f} W that carry the robot: stuck gears bear a part."
        )
    return (
        f"The legs turn {legs.loss_w:.2f} W into heat; {legs.needed_w:.2f} W carry the "
        f"robot, {legs.useless_w:.2f} W carry nothing."
    )


def _is_told(found: Xray) -> bool:
    """Return True if the log identifies the cause, or the absence of one."""
    return bool(found.named) or found.suspects.probability_of_none > NAMED


def _what_is_off(found: Xray) -> str:
    suspects = found.suspects
    if not found.is_explained:
        return (
            f"No set of offsets explains this log (up to {MOST_OFF} joints, a sloping "
            f"floor, a load; misfit {suspects.best.misfit:.0f}, at most "
            f"{MOST_MISFIT:.0f} is usual): no joint is named."
        )
    parts = [
        f"{cause_words(suspects, name)}, with {chance:.0%}."
        for name, chance in found.named.items()
    ]
    perhaps = [
        f"{label(suspects, name)} {chance:.0%}"
        for name, chance in suspects.causes.items()
        if PERHAPS <= chance <= NAMED and name not in found.named
    ]
    none = suspects.probability_of_none
    if not parts and none > NAMED:
        return f"No joint is off that this log could tell, with {none:.0%}."
    if not parts:
        parts = ["Something may be off, and this log does not tell what."]
        perhaps.append(f"nothing {none:.0%}")
    if perhaps:
        parts.append(f"Perhaps: {', '.join(perhaps)}.")
    return " ".join(parts)


def cause_words(suspects: Suspects, name: str) -> str:
    """Return a clause that says by how much a cause is off."""
    if name == LOAD_CAUSE:
        mass = suspects.likeliest_with(name).load_kg or 0.0
        return (
            f"The robot carries {mass:+.2f} kg, or its model is lighter than it by that"
        )
    e = suspects.error_of(name)
    size = f"{e.degrees:+.2f}° ({e.low_deg:+.2f}° to {e.high_deg:+.2f}°)"
    if name not in suspects.ankles:
        return f"{name} is off by {size}"
    pair = suspects.ankles[name]
    slopes = f"the floor slopes by {abs(e.degrees):.2f}°"
    if not pair:
        return f"{name}: {slopes}"
    return (
        f"{' and '.join(pair)} are both off by {size}, or {slopes} (standing still "
        "cannot tell them apart)"
    )


def tables(found: Xray) -> tuple[DataTable, ...]:
    """Return heat, internal wrench, suspects, and what the log does not tell."""
    return (
        heat_table(found),
        wrench_table(found),
        suspects_table(found),
        unknown_table(found),
    )


def heat_table(found: Xray) -> DataTable:
    """Return needed and useless watts of the leg motors, and their sum."""
    seen, losses = found.standing, found.losses
    rows = [
        Row(
            cells=(
                one.motor,
                signed(one.effort_nm, 2),
                number(one.loss_w, 2),
                number(one.needed_w, 2),
                signed(one.useless_w, 2),
                number(one.temperature_degc, 0),
                NOTHING
                if one.time_to_limit_s is None
                else duration(one.time_to_limit_s),
            )
        )
        for one in losses.motors
    ]
    legs = (losses.loss_w, losses.needed_w)
    rows.append(
        Row(
            cells=(
                "legs",
                "",
                *(number(watts, 2) for watts in legs),
                signed(losses.useless_w, 2),
                "",
                "",
            ),
            is_sum=True,
        )
    )
    note = (
        f"The last {seen.still_s:.0f} of {seen.log_s:.0f} s, in which it stood still. "
        "Useless: beyond what the motor gives where all legs together lose "
        "least; below 0: it would have to give more."
    )
    return DataTable(
        caption=f"Heat of the legs, {seen.name}",
        columns=(
            Column(label="motor", is_number=False),
            Column(label="torque", unit="N·m"),
            Column(label="heat", unit="W"),
            Column(label="needed", unit="W"),
            Column(label="useless", unit="W"),
            Column(label="now", unit="°C"),
            Column(label=f"to {LIMIT_DEGC:.0f} °C"),
        ),
        rows=tuple(rows),
        note=note,
    )


def wrench_table(found: Xray) -> DataTable:
    """Return the internal wrench, six numbers."""
    w = found.losses.wrench
    cells = [number(value, 1) for value in w.force_n]
    cells += [number(value, 2) for value in w.moment_nm]
    return DataTable(
        caption="Internal wrench on the left sole; opposite on the right one",
        columns=(
            Column(label="ahead", unit="N"),
            Column(label="left", unit="N"),
            Column(label="up", unit="N"),
            Column(label="about ahead", unit="N·m"),
            Column(label="about left", unit="N·m"),
            Column(label="about up", unit="N·m"),
        ),
        rows=(Row(cells=tuple(cells)),),
    )


def suspects_table(found: Xray) -> DataTable:
    """Return how likely each joint is off, and by how much."""
    suspects = found.suspects
    shown = [
        name
        for k, (name, chance) in enumerate(suspects.causes.items())
        if k < FEWEST_SHOWN or chance >= SHOWN
    ]
    rows = []
    for name in shown:
        one = suspects.likeliest_with(name)
        chance = f"{suspects.probability_of(name):.0%}"
        size = [f"{one.load_kg or 0.0:+.2f} kg", NOTHING, NOTHING]
        if name != LOAD_CAUSE:
            e = suspects.error_of(name)
            size = [signed(x, 2) for x in (e.degrees, e.low_deg, e.high_deg)]
        cells = (
            label(suspects, name),
            chance if found.is_explained else NOTHING,
            *size,
            number(one.misfit, 0),
        )
        rows.append(Row(cells=cells))
    note = (
        "No set of them explains the log: no joint is named, and no probability holds."
    )
    if found.is_explained:
        note = (
            "By how much: if it is, with its interval of 95 %. "
            f"None is off with {suspects.probability_of_none:.0%}."
        )
    return DataTable(
        caption="What is off: true angle minus measured angle",
        columns=(
            Column(label="joint", is_number=False),
            Column(label="off with"),
            Column(label="by", unit="°"),
            Column(label="from", unit="°"),
            Column(label="to", unit="°"),
            Column(label="misfit"),
        ),
        rows=tuple(rows),
        note=note,
    )


def label(suspects: Suspects, name: str) -> str:
    """Return the name of a cause in a table or a figure."""
    pair = suspects.ankles.get(name)
    return f"{' and '.join(pair)}, or floor" if pair else name


def unknown_table(found: Xray) -> DataTable:
    """Return what was assumed, and what the log does not tell."""
    assumed = found.model.assumptions
    rows = []
    if found.model.uses_placement:
        rows.append(
            f"assumed: the feet stand as in {found.posture}, to within "
            f"{1000.0 * assumed.feet_m:.0f} mm and {np.rad2deg(assumed.yaw_rad):.1f}° "
            "(--feet anywhere does without)"
        )
    rows.append(
        f"assumed: a flat floor, level to {np.rad2deg(assumed.floor_rad):.2f}° or off "
        f"as a joint is; a mass model right to {1000.0 * assumed.com_m:.1f} mm, or off "
        "by a load"
    )
    rows.append(
        "found with the rest: the gears' friction, "
        f"{found.suspects.friction:.1f} times that of the model"
    )
    rows += [f"cannot tell {text}" for text in cannot_tell(found)]
    rows += [f"read: {text}" for text in found.standing.remarks]
    return DataTable(
        caption="What this rests on",
        columns=(Column(label="", is_number=False),),
        rows=tuple(Row(cells=(text,)) for text in rows),
    )


def xray_figure(found: Xray) -> "Figure":
    """Return needed and useless watts beside the errors that explain them."""
    figure = new_figure(10.0, 4.2)
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
    motors = found.losses.motors
    places = np.arange(len(motors))[::-1]
    needed = np.array([one.needed_w for one in motors])
    useless = np.array([one.useless_w for one in motors])
    kept = np.minimum(needed, [one.loss_w for one in motors])
    left.barh(places, kept, color=COLOURS[2], height=0.7, label="needed")
    more = np.maximum(useless, 0.0)
    left.barh(places, more, left=kept, color=COLOURS[1], height=0.7, label="useless")
    left.plot(needed, places, "|", color=INK, ms=8, label="where all lose least")
    left.set_yticks(places, [one.motor for one in motors], fontsize=8)
    left.set_xlabel("heat in W", fontsize=9)
    left.legend(frameon=False, fontsize=8, loc="lower right")
    panel_title(left, "Where the heat comes from")
    suspects = found.suspects
    names = [*suspects.by_joint, *suspects.ankles]
    rows = np.arange(len(names))[::-1]
    for place, name in zip(rows, names, strict=True):
        error = suspects.error_of(name)
        is_best = name in found.named
        colour = COLOURS[1] if is_best else FAINT_INK
        right.plot([error.low_deg, error.high_deg], [place] * 2, color=colour, lw=3)
        right.plot(error.degrees, place, "o", color=colour, ms=5)
        chance = suspects.probability_of(name)
        right.annotate(
            f"{chance:.0%}" if found.is_explained else NOTHING,
            (1.0, place),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="center",
            fontsize=8,
            color=INK if is_best else SOFT_INK,
        )
    right.axvline(0.0, color=SOFT_INK, lw=0.8)
    right.set_yticks(rows, [label(suspects, name) for name in names], fontsize=8)
    right.margins(x=0.15)
    right.set_xlabel("true minus measured angle in °, if it is off", fontsize=9)
    titles = ("No set of offsets explains it", "Which joint is off, and how likely")
    panel_title(right, titles[found.is_explained])
    for axes in (left, right):
        plain_frame(axes)
        axes.grid(axis="y", visible=False)
        axes.grid(axis="x", color=FAINT_INK, lw=0.4, alpha=0.6)
    return figure
