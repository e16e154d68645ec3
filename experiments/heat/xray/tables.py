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
from nao_testbed.experiments.heat.xray.suspects import (
    LOAD_CAUSE,
    MAX_OFF,
    RIVAL,
    Suspects,
)
from nao_testbed.experiments.heat.xray.verdict import (
    NAMED,
    Hypothesis,
    cause_label,
)
from nao_testbed.experiments.heat.xray.xray import (
    MAX_MISFIT,
    Xray,
    undetermined,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = ("error", "low", "high")
NO_ACCELEROMETER = (
    "This log has no accelerometer, which tells the legs apart: record "
    "accelerometer.x, .y and .z to decide."
)
GUESSED = (
    "Motor constants of this robot are guesses: powers are percent of the heat of the "
    "legs."
)
MAX_PERHAPS = 4
"""Largest number of possible causes in the headline."""
PERHAPS = 0.2
"""Minimum probability of an uncertain cause named in the headline."""
UNLIKE = 1.5
"""Minimum factor on the gear friction mentioned in the headline."""


def headline(found: Xray) -> str:
    """Return the finding as sentences; an unexplained log is reported first."""
    text = f"{_causes_text(found)} {_heat(found)}"
    friction = found.suspects.friction
    if found.is_explained and not 1.0 / UNLIKE < friction < UNLIKE:
        verb = "is probably" if _is_identified(found) else "fits best at"
        text += f" Gear friction {verb} {friction:.1f} times that of the model."
    saving = found.saving
    if saving is None:
        return text
    if saving.saved_w <= 0.0:
        return f"{text} Shifting the set-point of {saving.joint} alone saves nothing."
    text += (
        f" Shifting the set-point of {saving.joint} by {saving.set_point_deg:+.2f}° "
        f"would save {_power(found, saving.saved_w)}"
    )
    if saving.cooler_k and not _is_relative(found):
        motor, kelvin = max(saving.cooler_k.items(), key=lambda item: item[1])
        text += f"; after 15 minutes {motor} would be {kelvin:.0f} K cooler"
    return f"{text}."


def _is_relative(found: Xray) -> bool:
    """Return True if the robot's motor constants are guesses: watts mean nothing."""
    return found.model.robot.thermal == "estimate" and found.losses.loss_w > 0.0


def _in_unit(found: Xray, watts: float) -> float:
    """Return W, or percent of the heat of the legs where only ratios have a meaning."""
    return 100.0 * watts / found.losses.loss_w if _is_relative(found) else watts


def _power(found: Xray, watts: float) -> str:
    if _is_relative(found):
        return f"{_in_unit(found, watts):.0f} % of the heat of the legs"
    return f"{watts:.2f} W"


def _heat(found: Xray) -> str:
    legs = found.losses
    if _is_relative(found) and legs.useless_w < 0.0:
        return (
            f"{_power(found, legs.needed_w)} would be needed without gear friction, "
            "which carries part of the load."
        )
    if legs.useless_w < 0.0:
        return (
            f"The legs dissipate {legs.loss_w:.2f} W, less than the "
            f"{legs.needed_w:.2f} W needed: gear friction carries part of the load."
        )
    if _is_relative(found):
        return (
            f"{_power(found, legs.needed_w)} is needed to carry the robot, "
            f"{_in_unit(found, legs.useless_w):.0f} % is useless."
        )
    return (
        f"The legs dissipate {legs.loss_w:.2f} W: {legs.needed_w:.2f} W needed to "
        f"carry the robot, {legs.useless_w:.2f} W useless."
    )


def _is_identified(found: Xray) -> bool:
    """Return True if the log identifies the cause, or the absence of one."""
    return bool(found.named) or found.suspects.probability_of_none > NAMED


def _causes_text(found: Xray) -> str:
    suspects = found.suspects
    if not found.is_explained:
        return (
            f"No combination of errors explains this log (up to {MAX_OFF} joints, a "
            f"sloping floor, a load; misfit {suspects.best.misfit:.0f}, usually at "
            f"most {MAX_MISFIT:.0f}): no joint is named."
        )
    verdict = found.verdict
    named, none = verdict.named, verdict.none
    parts = []
    if named is not None:
        parts.append(_named_text(suspects, named))
    elif none.probability > NAMED:
        parts.append(
            f"No joint error is detectable in this log; probability {none.percent}%."
        )
    rivals = [
        one for one in verdict.hypotheses if one not in {named, none} and one.causes
    ]
    perhaps = [
        f"{one.label} {one.percent}%" for one in rivals if one.probability >= PERHAPS
    ]
    if not parts:
        rivals = [one for one in rivals if one.probability >= RIVAL][:MAX_PERHAPS]
        perhaps = [f"{one.label} {one.percent}%" for one in rivals]
        perhaps.append(f"no error {none.percent}%")
        parts.append("There may be an error, but this log does not identify it.")
    if perhaps:
        parts.append(f"Possible: {', '.join(perhaps)}.")
    if named is None and any(one.mirrored for one in rivals):
        parts.append(NO_ACCELEROMETER)
    if verdict.load > NAMED:
        clause = cause_text(suspects, LOAD_CAUSE)
        parts.append(f"{clause}; probability {verdict.load:.0%}.")
    return " ".join(parts)


def _named_text(suspects: Suspects, named: Hypothesis) -> str:
    """Return the result as a sentence; both legs if they cannot be distinguished."""
    if named.mirrored:
        sizes = [f"{suspects.error_of(n).degrees:+.2f}°" for n in named.causes]
        return (
            f"{named.label} has an error ({' and '.join(sizes)}, or the opposite in "
            f"the other leg; probability {named.percent}%). {NO_ACCELEROMETER}"
        )
    clauses = [cause_text(suspects, name) for name in named.causes]
    return f"{', and '.join(clauses)}; probability {named.percent}%."


def cause_text(suspects: Suspects, name: str) -> str:
    """Return a clause with the size of a cause."""
    if name == LOAD_CAUSE:
        mass = suspects.likeliest_with(name).load_kg or 0.0
        return f"The robot carries {mass:+.2f} kg more than its model"
    e = suspects.error_of(name)
    size = f"{e.degrees:+.2f}° ({e.low_deg:+.2f}° to {e.high_deg:+.2f}°)"
    if name not in suspects.ankles:
        return f"{name} has an error of {size}"
    pair = suspects.ankles[name]
    slopes = f"the floor slope is {abs(e.degrees):.2f}°"
    if not pair:
        return f"{name}: {slopes}"
    return (
        f"{' and '.join(pair)} both have an error of {size}, or {slopes} (a standing "
        "robot cannot distinguish them)"
    )


def tables(found: Xray) -> tuple[DataTable, ...]:
    """Return heat, internal wrench, suspects, and limits of the analysis."""
    return (
        heat_table(found),
        wrench_table(found),
        suspects_table(found),
        unknown_table(found),
    )


def heat_table(found: Xray) -> DataTable:
    """Return needed and useless watts of the leg motors, and their sum."""
    seen, losses, relative = found.standing, found.losses, _is_relative(found)
    unit, digits = ("%", 1) if relative else ("W", 2)
    rows = [
        Row(
            cells=(
                one.motor,
                signed(one.effort_nm, 2),
                number(_in_unit(found, one.loss_w), digits),
                number(_in_unit(found, one.needed_w), digits),
                signed(_in_unit(found, one.useless_w), digits),
                number(one.temperature_degc, 0),
                NOTHING
                if one.time_to_limit_s is None or relative
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
                *(number(_in_unit(found, watts), digits) for watts in legs),
                signed(_in_unit(found, losses.useless_w), digits),
                "",
                "",
            ),
            is_sum=True,
        )
    )
    note = (
        f"The last {seen.still_s:.0f} of {seen.log_s:.0f} s, in which the robot stood "
        "still. Useless: measured minus needed heat; needed minimizes the heat of both "
        "legs; negative: the motor would need more torque."
    )
    if relative:
        note += f" {GUESSED}"
    return DataTable(
        caption=f"Heat of the legs, {seen.name}",
        columns=(
            Column(label="motor", is_number=False),
            Column(label="torque", unit="N·m"),
            Column(label="heat", unit=unit),
            Column(label="needed", unit=unit),
            Column(label="useless", unit=unit),
            Column(label="temperature", unit="°C"),
            Column(label=f"time to {LIMIT_DEGC:.0f} °C"),
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
        caption="Internal wrench on the left sole; the right sole has the opposite",
        columns=(
            Column(label="ahead", unit="N"),
            Column(label="left", unit="N"),
            Column(label="up", unit="N"),
            Column(label="about x (forward)", unit="N·m"),
            Column(label="about y (left)", unit="N·m"),
            Column(label="about z (up)", unit="N·m"),
        ),
        rows=(Row(cells=tuple(cells)),),
    )


def suspects_table(found: Xray) -> DataTable:
    """Return the probability and size of the error of each joint."""
    suspects, load = found.suspects, found.suspects.likeliest_with(LOAD_CAUSE)
    rows = []
    for one in found.verdict.hypotheses:
        percent = f"{one.percent}%" if found.is_explained else NOTHING
        if not one.causes:
            rows.append((one.label, percent, *[NOTHING] * 4))
        for k, name in enumerate(one.causes):
            e = suspects.error_of(name)
            misfit = number(suspects.likeliest_with(name).misfit, 0)
            text = one.label if len(one.causes) == 1 else cause_label(suspects, name)
            size = [signed(x, 2) for x in (e.degrees, e.low_deg, e.high_deg)]
            if k:
                text, percent = f"and {text}", NOTHING
            rows.append((text, percent, *size, misfit))
    carried = (f"{load.load_kg or 0.0:+.2f} kg", NOTHING, NOTHING)
    percent = f"{found.verdict.load:.0%}" if found.is_explained else NOTHING
    rows.append(("load, or none", percent, *carried, number(load.misfit, 0)))
    note = "No combination of errors explains the log: no joint is named."
    if found.is_explained:
        note = (
            "Error if present, with its 95 % interval. The probabilities of joints, no "
            "error and others sum to 100%; a load is a question of its own."
        )
    return DataTable.of(
        "Errors: true angle minus measured angle",
        ("joint", "probability", *(Column(label=n, unit="°") for n in SIZES), "misfit"),
        rows,
        note,
    )


def unknown_table(found: Xray) -> DataTable:
    """Return the assumptions, and what the log cannot determine."""
    assumed = found.model.assumptions
    rows = []
    if found.model.uses_placement:
        rows.append(
            f"assumed: feet placed as in {found.posture}, within "
            f"{1000.0 * assumed.feet_m:.0f} mm and {np.rad2deg(assumed.yaw_rad):.1f}° "
            "(not with --feet anywhere)"
        )
    rows.append(
        f"assumed: a flat floor, level within {np.rad2deg(assumed.floor_rad):.2f}° or "
        f"with a slope; a centre of mass accurate to {1000.0 * assumed.com_m:.1f} mm, "
        "or with a load"
    )
    rows.append(
        "estimated: gear friction, "
        f"{found.suspects.friction:.1f} times that of the model"
    )
    rows += [f"undetermined: {text}" for text in undetermined(found)]
    rows += [f"log: {text}" for text in found.standing.remarks]
    return DataTable(
        caption="Assumptions and limits",
        columns=(Column(label="", is_number=False),),
        rows=tuple(Row(cells=(text,)) for text in rows),
    )


def xray_figure(found: Xray) -> "Figure":
    """Return the figure of needed and useless watts, and of the errors behind them."""
    figure = new_figure(10.0, 4.2)
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
    motors = found.losses.motors
    places = np.arange(len(motors))[::-1]
    needed = np.array([_in_unit(found, one.needed_w) for one in motors])
    useless = np.array([_in_unit(found, one.useless_w) for one in motors])
    kept = np.minimum(needed, needed + useless)
    left.barh(places, kept, color=COLOURS[2], height=0.7, label="needed")
    more = np.maximum(useless, 0.0)
    left.barh(places, more, left=kept, color=COLOURS[1], height=0.7, label="useless")
    left.plot(needed, places, "|", color=INK, ms=8, label="minimum of all legs")
    left.set_yticks(places, [one.motor for one in motors], fontsize=8)
    unit = "% of that of the legs" if _is_relative(found) else "W"
    left.set_xlabel(f"Joule loss ({unit})", fontsize=9)
    left.legend(frameon=False, fontsize=8, loc="lower right")
    panel_title(left, "Needed and useless heat")
    suspects = found.suspects
    shown = [(one, name) for one in found.verdict.hypotheses for name in one.causes]
    rows = np.arange(len(shown))[::-1]
    for place, (one, name) in zip(rows, shown, strict=True):
        error = suspects.error_of(name)
        is_best = one == found.verdict.named and found.is_explained
        colour = COLOURS[1] if is_best else FAINT_INK
        right.plot([error.low_deg, error.high_deg], [place] * 2, color=colour, lw=3)
        right.plot(error.degrees, place, "o", color=colour, ms=5)
        right.annotate(
            f"{one.percent}%" if found.is_explained else NOTHING,
            (1.0, place),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="center",
            fontsize=8,
            color=INK if is_best else SOFT_INK,
        )
    right.axvline(0.0, color=SOFT_INK, lw=0.8)
    labels = [cause_label(suspects, name) for _, name in shown]
    right.set_yticks(rows, labels, fontsize=8)
    right.margins(x=0.15)
    right.set_xlabel("True minus measured angle (°)", fontsize=9)
    titles = (
        "No combination of errors explains it",
        "Joint errors and their probability",
    )
    panel_title(right, titles[found.is_explained])
    for axes in (left, right):
        plain_frame(axes)
        axes.grid(axis="y", visible=False)
        axes.grid(axis="x", color=FAINT_INK, lw=0.4, alpha=0.6)
    return figure
