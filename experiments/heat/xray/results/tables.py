"""Presentation of an X-ray: sentences and tables, for terminal and page."""

import numpy as np

from nao_testbed.experiments.common.drawing.number_text import (
    NOTHING,
    duration,
    number,
    signed,
)
from nao_testbed.experiments.common.drawing.page import Column, DataTable, Row
from nao_testbed.experiments.heat.xray.advice import MIN_SAVED
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

SIZES = ("error", "low", "high")
NO_ACCELEROMETER = (
    "This log has no accelerometer, which tells the legs apart: record "
    "accelerometer.x, .y and .z to decide."
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
    low, high = saving.saved_range_w
    if high <= 0.0:
        return f"{text} Shifting the set-point of {saving.joint} alone saves nothing."
    text += (
        f" Shifting the set-point of {saving.joint} slowly by "
        f"{saving.set_point_deg:+.2f}° "
    )
    if low <= 0.0:
        most = _power(found, high)
        return f"{text}would save at most {most}, depending on the gear friction."
    text += (
        f"would save {_power(found, saving.saved_w)} ({_bare(found, low)} to "
        f"{_bare(found, high)}, for half to twice the gear friction)"
    )
    if saving.cooler_k and not found.unit.is_relative:
        motor, kelvin = max(saving.cooler_k.items(), key=lambda item: item[1])
        text += f"; after 15 minutes {motor} would be {kelvin:.0f} K cooler"
    return f"{text}."


def advice_text(found: Xray) -> str:
    """Return the cooler stance as a sentence; empty if the log does not support one."""
    advice = found.advice
    if isinstance(advice, str):
        return ""
    near = f"within {advice.within_deg:.0f}° of this stance"
    now, then = advice.now, advice.then
    if not advice.change_deg:
        return (
            f"Cooler stance: none {near} needs at least {MIN_SAVED:.0%} less heat for "
            "every explanation of the log."
        )
    joints: dict[float, list[str]] = {}
    for name, degrees in advice.change_deg.items():
        joints.setdefault(degrees, []).append(name)
    changes = [f"{', '.join(names)} {x:+.1f}°" for x, names in joints.items()]
    unit, digits = found.unit.symbol, 0 if found.unit.is_relative else 2
    middle, low, high = (
        f"{found.unit.of(watts):.{digits}f}"
        for watts in (then.needed_w, then.low_w, then.high_w)
    )
    bounds = "" if low == high else f" ({low} to {high})"
    return (
        f"Cooler stance: {_power(found, now.needed_w)} is needed, and {near} "
        f"{middle} {unit}{bounds} is possible: {'; '.join(changes)}. The centre of "
        f"mass is then {1e3 * then.com_margin_m:.0f} mm inside the support polygon, "
        f"now {1e3 * now.com_margin_m:.0f} mm."
    )


def _power(found: Xray, watts: float) -> str:
    whole = f" of the {found.unit.whole}" if found.unit.is_relative else ""
    return _bare(found, watts) + whole


def _bare(found: Xray, watts: float) -> str:
    return found.unit.text(watts, 0 if found.unit.is_relative else 2)


def _heat(found: Xray) -> str:
    legs = found.losses
    if found.unit.is_relative and legs.useless_w < 0.0:
        return (
            f"{_power(found, legs.needed_w)} would be needed without gear friction, "
            "which carries part of the load."
        )
    if legs.useless_w < 0.0:
        return (
            f"The legs dissipate {legs.loss_w:.2f} W, less than the "
            f"{legs.needed_w:.2f} W needed: gear friction carries part of the load."
        )
    if found.unit.is_relative:
        return (
            f"{_power(found, legs.needed_w)} is needed to carry the robot, "
            f"{found.unit.text(legs.useless_w, 0)} is useless."
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
    if found.probable_fault is not None:
        return found.probable_fault.sentence
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
    perhaps += [
        f"{one.label} {one.probability:.0%}"
        for one in found.column_faults
        if one.probability >= PERHAPS
    ]
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
    seen, losses, relative = found.standing, found.losses, found.unit.is_relative
    unit, digits = found.unit.symbol, 1 if relative else 2
    advice = found.advice
    after = {}
    if not isinstance(advice, str) and advice.change_deg:
        after = advice.then.motors_w
    rows = [
        Row(
            cells=(
                one.motor,
                signed(one.effort_nm, 2),
                number(found.unit.of(one.loss_w), digits),
                number(found.unit.of(one.needed_w), digits),
                signed(found.unit.of(one.useless_w), digits),
                *([number(found.unit.of(after[one.motor]), digits)] if after else []),
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
                *(number(found.unit.of(watts), digits) for watts in legs),
                signed(found.unit.of(losses.useless_w), digits),
                *(
                    [number(found.unit.of(sum(after.values())), digits)]
                    if after
                    else []
                ),
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
    if after:
        note += " Cooler: needed heat in the cooler stance."
    if relative:
        note += f" {found.unit.note}"
    return DataTable(
        caption=f"Heat of the legs, {seen.name}",
        columns=(
            Column(label="motor", is_number=False),
            Column(label="torque", unit="N·m"),
            Column(label="heat", unit=unit),
            Column(label="needed", unit=unit),
            Column(label="useless", unit=unit),
            *([Column(label="cooler", unit=unit)] if after else []),
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
    has_percent = found.is_explained or found.probable_fault is not None
    for one in found.verdict.hypotheses:
        percent = f"{one.percent}%" if has_percent else NOTHING
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
    if not isinstance(found.advice, str) and found.advice.change_deg:
        rows.append(
            "assumed for the cooler stance: set-points change, the feet stay in place; "
            f"a ground slope of {found.advice.slope_deg:+.1f}° (positive: uphill); "
            "gear friction, which carries part of the load in both stances, is ignored"
        )
    rows += [f"undetermined: {text}" for text in undetermined(found)]
    rows += [f"log: {text}" for text in found.standing.remarks]
    return DataTable(
        caption="Assumptions and limits",
        columns=(Column(label="", is_number=False),),
        rows=tuple(Row(cells=(text,)) for text in rows),
    )
