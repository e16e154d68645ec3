"""What a reader sees of an X-ray: tables for terminal and page, one figure."""

from typing import TYPE_CHECKING

import numpy as np

from experiments.common.drawing.page import (
    NOTHING,
    Column,
    DataTable,
    Row,
    duration,
    number,
    signed,
)
from experiments.common.drawing.style import (
    COLOURS,
    FAINT_INK,
    INK,
    SOFT_INK,
    new_figure,
    panel_title,
    plain_frame,
)
from experiments.heat.xray.losses import LIMIT_DEGC
from experiments.heat.xray.suspects import Suspects
from experiments.heat.xray.xray import Xray, cannot_tell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 0.01
"""Probability from which on a joint has a row, beside the best ones."""
FEWEST_SHOWN = 3


def headline(found: Xray) -> str:
    """Return the finding as a sentence."""
    best = found.suspects.best
    legs = found.losses
    heat = (
        f"The legs turn {legs.loss_w:.2f} W into heat; {legs.needed_w:.2f} W carry the "
        f"robot, {legs.useless_w:.2f} W carry nothing."
    )
    if legs.useless_w < 0.0:
        heat = (
            f"The legs turn {legs.loss_w:.2f} W into heat, less than the "
            f"{legs.needed_w:.2f} W that carry the robot: stuck gears bear a part."
        )
    if not best.errors:
        return f"{heat} No joint is off that this log could tell."
    parts = [
        f"{e.joint} is off by {e.degrees:+.2f}° ({e.low_deg:+.2f}° to "
        f"{e.high_deg:+.2f}°)"
        for e in best.errors
    ]
    said = f"{heat} {' and '.join(parts)}, with {best.probability:.0%}."
    saving = found.saving
    if saving is not None and saving.saved_w <= 0.0:
        said += f" To move the set-point of {saving.joint} alone would save nothing."
    elif saving is not None:
        said += (
            f" Its set-point moved by {saving.set_point_deg:+.2f}° would save "
            f"{saving.saved_w:.2f} W"
        )
        if saving.cooler_k:
            motor, kelvin = max(saving.cooler_k.items(), key=lambda item: item[1])
            said += f"; in 15 minutes {motor} would be {kelvin:.0f} K cooler"
        said += "."
    return said


def tables(found: Xray) -> tuple[DataTable, ...]:
    """Return heat, internal wrench, suspects, and what the log does not tell."""
    return (
        heat_table(found),
        wrench_table(found),
        suspects_table(found.suspects),
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


def suspects_table(suspects: Suspects) -> DataTable:
    """Return how likely each joint is off, and by how much as the only one."""
    chance = {name: suspects.probability_of(name) for name in suspects.by_joint}
    ordered = sorted(chance, key=lambda name: -chance[name])
    shown = [
        name
        for k, name in enumerate(ordered)
        if k < FEWEST_SHOWN or chance[name] >= SHOWN
    ]
    rows = []
    for name in shown:
        one = suspects.by_joint[name]
        error = one.errors[0]
        rows.append(
            Row(
                cells=(
                    name,
                    f"{chance[name]:.0%}",
                    signed(error.degrees, 2),
                    signed(error.low_deg, 2),
                    signed(error.high_deg, 2),
                    number(one.misfit, 0),
                )
            )
        )
    pairs = [e for e in suspects.explanations if len(e.errors) == 2]
    both = sum(e.probability for e in pairs)
    none = next(e for e in suspects.explanations if not e.errors)
    return DataTable(
        caption="Which joint is off: true angle minus measured angle",
        columns=(
            Column(label="joint", is_number=False),
            Column(label="off with"),
            Column(label="by", unit="°"),
            Column(label="from", unit="°"),
            Column(label="to", unit="°"),
            Column(label="misfit"),
        ),
        rows=tuple(rows),
        note=(
            f"By how much: if it is the only one, with its interval of 95 %. None is "
            f"off with {none.probability:.0%}, two are with {both:.0%}."
        ),
    )


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
        f"assumed: a flat floor, level to {np.rad2deg(assumed.floor_rad):.2f}°; a mass "
        f"model right to {1000.0 * assumed.com_m:.1f} mm"
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
    names = list(suspects.by_joint)
    rows = np.arange(len(names))[::-1]
    for place, name in zip(rows, names, strict=True):
        error = suspects.by_joint[name].errors[0]
        is_best = name in suspects.best.joints
        colour = COLOURS[1] if is_best else FAINT_INK
        right.plot([error.low_deg, error.high_deg], [place] * 2, color=colour, lw=3)
        right.plot(error.degrees, place, "o", color=colour, ms=5)
        chance = suspects.probability_of(name)
        right.annotate(
            f"{chance:.0%}",
            (1.0, place),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="center",
            fontsize=8,
            color=INK if is_best else SOFT_INK,
        )
    right.axvline(0.0, color=SOFT_INK, lw=0.8)
    right.set_yticks(rows, names, fontsize=8)
    right.margins(x=0.15)
    right.set_xlabel(
        "true minus measured angle in °, if it is the only one", fontsize=9
    )
    panel_title(right, "Which joint is off, and how likely")
    for axes in (left, right):
        plain_frame(axes)
        axes.grid(axis="y", visible=False)
        axes.grid(axis="x", color=FAINT_INK, lw=0.4, alpha=0.6)
    return figure
