"""Detection of faulty clocks, units and sensors in the log of a real robot.

Certain faults are corrected and reported with their first row and time; meaningless
values become missing ones. All else is left to the checks of each command.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.ndimage import median_filter

from nao_testbed.controllers.stiffness.kernels import BoolArray
from nao_testbed.experiments.heat.logs.record import (
    BEYOND_STOP_RAD,
    COPY,
    COPY_RAD,
    Columns,
    Log,
    Repair,
    largest_current,
)
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.recording.channels import TIME_COLUMN
from nao_testbed.sim.sensors.current_sign import CurrentSign

RECORD_ROWS = 20
"""Number of rows; a clock that falls back over the times of more rows starts a
record."""
BETWEEN_S = 3600.0
"""Gap in s between two records if the clock of the second starts again."""
WINDOW, MIN_ROWS = 21, 50
"""Rows of the running median for dropouts, and minimum length of a checked log."""
MOST_DROPPED = 0.4
"""Share of the rows above which outliers count as the signal and not as dropouts."""
FAR = {"q": 0.05, "target": 0.05, "temperature": 5.0}
"""Minimum distance of a dropout from the running median, in rad and K."""
ZERO = 0.002
"""The same for values of exactly 0."""
NOISES = 8.0
"""The same for noisy signals, in standard deviations."""
RAW = {"current": 900.0, "torque": 900.0, "temperature": 250.0, "accelerometer": 900.0}
IN_SI = {"q": 12.0, "target": 12.0, "current": 100.0}
"""Size from which a value is impossible: in any unit, and in A and rad."""
CODE_FACTOR, MAX_CODES = 3.0, 0.5
"""Least ratio of a code of a failed sensor to the other values; largest share of
readings with the code."""
FROZEN_ROWS, FROZEN_S = 20, 1.0
"""Rows and seconds after which a noisy sensor with a constant value counts as
frozen."""
WARM_DEGC = 10.0
"""If all other temperatures are higher, 0 °C counts as a missing value."""
HOT_DEGC = 60.0
"""If all motors are hotter, the temperatures are assumed to be in °F."""
LAG_S, MAX_LAG_S = 0.2, 3.0
"""Delay from which a sensor lags, more than that of servos; and the largest one."""
MOVED_RAD = 0.2
"""Way of all joints together from which delays can be seen."""
SURE, LIKELY = 0.8, 0.5
"""Correlations at the delay for a correction, and for a report."""
IRREGULAR, MOST_IRREGULAR = 0.25, 0.05
"""Relative deviation of a step from the median that is irregular, and the share of such
steps from which the clock jitters."""
FEW_MISSING = 0.05
"""Share of missing cells that is not reported."""
COPY_ROWS, COPY_SHARE = 4, 0.99
"""Number of rows by which copied angles may be late; share of equal readings."""
SIGN_S, SIGN_ROWS = 60.0, 6000
"""Length of the last part of a log, from which signs of currents are inferred."""


def doubt(log: Log, robot: Robot | None) -> Log:
    """Return a log with certain faults corrected, and one repair per fault.

    Args:
        log: log of a file.
        robot: robot of the log; None: units and signs are not checked.
    """
    log = _without_codes(_in_order(_in_seconds(log)), RAW)
    if robot is not None:
        log = _without_codes(_in_our_units(log, robot), IN_SI)
    log = _with_gaps_noted(_with_jitter_noted(log))
    if log.time_s.size >= MIN_ROWS:
        log = _without_frozen(log)
        log = _without_dropouts(log)
        log = _without_lag(log)
    log = _upright(log)
    return log if robot is None else _signed(_with_copy_noted(log, robot), robot)


def _noted(log: Log, kind: str, rows: int, what: str, **changed: object) -> Log:
    done = Repair(kind=kind, rows=rows, what=what)
    return replace(log, repairs=(*log.repairs, done), **changed)  # type: ignore[arg-type]


def _changed(log: Log, signal: str, columns: Columns) -> dict[str, Columns]:
    return {**log.signals, signal: columns}


def _converted(log: Log, signal: str, columns: Columns, what: str) -> Log:
    changed = _changed(log, signal, columns)
    return _noted(log, "unit", log.time_s.size, what, signals=changed)


def _in_seconds(log: Log) -> Log:
    """Convert times in ms, us or ns whose column claims s."""
    largest = float(np.nanmax(log.time_s, initial=0.0))
    for least, factor, unit in (
        (1e17, 1e-9, "ns"),
        (1e14, 1e-6, "us"),
        (1e11, 1e-3, "ms"),
    ):
        if largest > least:
            what = f"times beyond the year 5000 in s: read as {unit}"
            return _converted(log, TIME_COLUMN, {"": factor * log.time_s}, what)
    return log


def _in_order(log: Log) -> Log:
    """Sort rows; start a record if the clock falls back over earlier times."""
    time_s = log.time_s.copy()
    places = np.flatnonzero(np.isfinite(time_s))
    known = time_s[places]
    cuts = np.flatnonzero(np.diff(known) < 0.0) + 1
    if not cuts.size:
        return log
    last = known[: cuts[0]].max()
    for begin, end in zip(cuts, [*cuts[1:], known.size], strict=True):
        part = known[begin:end]
        overlaps = int((part <= last).sum()) >= RECORD_ROWS
        if not overlaps or part[-1] < known[:begin].min():  # rows out of order
            last = max(last, part.max())
            continue
        shift = last + BETWEEN_S - part[0]
        row = int(places[begin])
        what = (
            f"{log.place(row)}: the clock falls from {known[begin - 1]:g} s to "
            f"{part[0]:g} s: a new record begins"
        )
        log = _noted(log, "order", end - begin, what)
        known[begin:] += shift
        last = known[begin:end].max()
    falls = int((np.diff(known) < 0.0).sum())
    time_s[places] = known
    order = np.argsort(np.where(np.isfinite(time_s), time_s, np.inf), kind="stable")
    signals = {
        signal: {name: values[order] for name, values in members.items()}
        for signal, members in log.signals.items()
    }
    signals[TIME_COLUMN] = {"": time_s[order]}
    lines = tuple(log.lines[k] for k in order) if log.lines else ()
    if falls:
        rows = f"{falls} row{'' if falls == 1 else 's'}"
        what = f"time decreases at {rows}: sorted by time"
        log = _noted(log, "order", falls, what)
    return replace(log, signals=signals, lines=lines)


def _with_jitter_noted(log: Log) -> Log:
    """Report irregular time stamps of rows with an angle."""
    known = [np.isfinite(values) for values in log.signals.get("q", {}).values()]
    if not known:
        return log
    rows = np.flatnonzero(np.isfinite(log.time_s) & np.logical_or.reduce(known))
    steps = np.diff(log.time_s[rows])
    rows, steps = rows[1:][steps > 0.0], steps[steps > 0.0]
    if rows.size < MIN_ROWS:
        return log
    usual = float(np.median(steps))
    off = np.abs(steps - usual) > IRREGULAR * usual
    if off.mean() < MOST_IRREGULAR:
        return log
    row = int(rows[int(off.argmax())])
    low, high = 1e3 * np.percentile(steps, (1.0, 99.0))
    what = (
        f"times jitter: steps from {low:.3g} to {high:.3g} ms, usually "
        f"{1e3 * usual:.3g}, first at {log.time_s[row]:g} s ({log.place(row)}); means "
        "of a standing robot are not affected"
    )
    return _noted(log, "jitter", int(off.sum()), what)


def _with_gaps_noted(log: Log) -> Log:
    """Report missing cells in rows where another column of their signal has a value."""
    found: dict[str, tuple[int, str, float]] = {}
    for signal, columns in log.signals.items():
        lost = {name: ~np.isfinite(values) for name, values in columns.items()}
        lost = {name: cells for name, cells in lost.items() if not cells.all()}
        if not any(cells.any() for cells in lost.values()):
            continue
        has_value = ~np.logical_and.reduce([*lost.values()])
        share = float(np.mean([cells[has_value] for cells in lost.values()]))
        if share > FEW_MISSING:
            rows = {n: int((has_value & cells).argmax()) for n, cells in lost.items()}
            name = min((n for n in lost if lost[n][rows[n]]), key=lambda n: rows[n])
            found[signal] = rows[name], name, share
    if not found:
        return log
    signal = min(found, key=lambda one: found[one][0])
    row, name, _ = found[signal]
    what = (
        f"{max(share for *_, share in found.values()):.0%} of the cells of "
        f"{', '.join(found)} have no value, first {signal}.{name} at "
        f"{log.time_s[row]:g} s ({log.place(row)}): the others are used"
    )
    return _noted(log, "missing", log.time_s.size, what)


def _in_our_units(log: Log, robot: Robot) -> Log:
    """Convert degrees, tenths of degrees, mA and °F, if all columns agree."""
    for signal in ("q", "target"):
        columns = _of_robot(log.signals.get(signal, {}), robot.joint_names)
        for factor, unit in ((np.pi / 180.0, "degrees"), (np.pi / 1800.0, "0.1°")):
            if sum(_is_beyond(v, n, robot) for n, v in columns.items()) <= 2:
                break
            scaled = {n: factor * v for n, v in columns.items()}
            if not any(_is_beyond(v, n, robot) for n, v in scaled.items()):
                what = f"{signal} of all joints in {unit}: converted to rad"
                log = _converted(log, signal, scaled, what)
                break
    columns = _of_robot(log.signals.get("current", {}), robot.motor_names)
    shares = [
        float(np.nanpercentile(np.abs(v), 90.0)) / largest_current(robot, n)
        for n, v in columns.items()
        if np.fmax.reduce(np.abs(v)) > largest_current(robot, n)
    ]
    if sum(share > 1.0 for share in shares) > 2:
        scaled = {n: 1e-3 * v for n, v in columns.items()}
        if max(shares, default=0.0) < 1e3:
            what = "currents of all motors in mA: converted to A"
            log = _converted(log, "current", scaled, what)
    columns = _of_robot(log.signals.get("temperature", {}), robot.motor_names)
    known = [v for v in columns.values() if np.isfinite(v).any()]
    if len(known) > 7 and all(HOT_DEGC < np.nanmedian(v) < 250.0 for v in known):
        scaled = {n: (v - 32.0) / 1.8 for n, v in columns.items()}
        what = f"all motors above {HOT_DEGC:g} degrees: °F, converted to °C"
        log = _converted(log, "temperature", scaled, what)
    return log


def _of_robot(columns: Columns, names: Iterable[str]) -> Columns:
    known = set(names)
    return columns if columns.keys() <= known else {}


def _is_beyond(values: FloatArray, name: str, robot: Robot) -> bool:
    joint = robot.joints[robot.joint_index(name)]
    low, high = joint.lower - BEYOND_STOP_RAD, joint.upper + BEYOND_STOP_RAD
    known = values[np.isfinite(values)]
    beyond = (known < low) | (known > high)
    return bool(known.size) and float(beyond.mean()) > 0.5


def _without_codes(log: Log, limits: Mapping[str, float]) -> Log:
    """Remove repeated impossible values, such as 9999 or -999 of a failed sensor."""

    def codes(limit: float, values: FloatArray) -> BoolArray:
        size, bad = np.abs(values), np.zeros(len(values), dtype=np.bool_)
        while (top := float(np.fmax.reduce(size, initial=0.0))) > limit:
            is_top = size == top
            size = np.where(is_top, 0.0, size)
            rest = float(np.fmax.reduce(size, initial=0.0))
            n = int(is_top.sum())
            if n < 2 or n > MAX_CODES * len(values) or top < CODE_FACTOR * rest:
                break
            bad |= is_top
        return bad

    for signal, limit in limits.items():
        why = "repeat one impossible number, a code for no value"
        log = _emptied(log, (signal,), partial(codes, limit), why)
    return log


def _without_frozen(log: Log) -> Log:
    def frozen(values: FloatArray) -> BoolArray:
        same = np.diff(values) == 0.0
        changes = np.flatnonzero(~same)
        if changes.size < MIN_ROWS or (np.diff(changes) > 1).mean() >= 0.5:
            return np.zeros(len(values), dtype=np.bool_)  # not noisy
        edges = np.flatnonzero(np.diff(same, prepend=False, append=False))
        bad = np.zeros(len(values), dtype=np.bool_)
        begin, end = edges.reshape(-1, 2).T
        is_long = log.time_s[end] - log.time_s[begin] > FROZEN_S
        is_long &= end - begin >= FROZEN_ROWS
        for first, last in zip(begin[is_long], end[is_long], strict=True):
            bad[first : last + 1] = True
        return bad

    noisy = ("current", "torque", "accelerometer")
    return _emptied(log, noisy, frozen, "frozen at one value")


def _without_dropouts(log: Log) -> Log:
    for signal in (*FAR, "current", "torque", "accelerometer"):
        find = partial(_dropped, signal)
        log = _emptied(log, (signal,), find, "far from its neighbours")
    return log


def _dropped(signal: str, values: FloatArray) -> BoolArray:
    known, far = np.isfinite(values), FAR.get(signal, 0.0)
    if known.sum() < MIN_ROWS:
        return np.zeros(len(values), dtype=np.bool_)
    bad = np.zeros(len(values), dtype=np.bool_)
    swing = float(np.ptp(values[known]))
    if swing > far or (swing > 0.0 and (values == 0.0).any()):
        middle = np.full_like(values, np.nan)
        seen, half = values[known], WINDOW // 2
        # the ends are mirrored; but the first currents may be a transient
        begin = seen[half:0:-1] if far else np.repeat(seen[0], half)
        padded = np.concatenate((begin, seen, seen[-2 : -half - 2 : -1]))
        middle[known] = median_filter(padded, WINDOW)[half:-half]
        off, is_zero = np.abs(values - middle), values == 0.0
        noise = ZERO
        if is_zero.any() or not far:
            noise = NOISES * 1.4826 * float(np.nanmedian(off))
        bad = off > (far or noise + 0.2 * float(np.nanmax(np.abs(middle))))
        bad |= is_zero & (off > max(noise, ZERO))
        bad &= bad.mean() < MOST_DROPPED
    if signal == "temperature":
        others = values[known & (values != 0.0)]
        if others.size and others.min() > WARM_DEGC:
            bad |= values == 0.0  # a failed sensor reads 0
    return np.asarray(bad)


def _emptied(
    log: Log, signals: Iterable[str], find: Callable[[FloatArray], BoolArray], why: str
) -> Log:
    """Return a log without the values marked by `find`."""
    for signal in signals:
        columns = dict(log.signals.get(signal, {}))
        total, first, where = 0, log.time_s.size, ""
        for name, values in columns.items():
            bad = find(values)
            if not bad.any():
                continue
            columns[name] = np.where(bad, np.nan, values)
            total += int(bad.sum())
            if int(bad.argmax()) < first:
                first, where = int(bad.argmax()), name
        if total:
            what = (
                f"{total} values of {signal} {why}, first of {where or signal} at "
                f"{log.time_s[first]:g} s ({log.place(first)}): treated as missing"
            )
            changed = _changed(log, signal, columns)
            log = _noted(log, "missing", total, what, signals=changed)
    return log


def _without_lag(log: Log) -> Log:
    """Shift a sensor that changes later than the set-points, or than the angles.

    The delay maximises the correlation of the changes per row, summed over the columns
    of each signal. Without a motion it is unknown, and has no effect.
    """
    given = [one for one in ("target", "q") if log.signals.get(one)]
    steps = np.diff(log.time_s)
    if not given or not (steps > 0.0).any():
        return log
    dt = float(np.median(steps[steps > 0.0]))
    lead = _changes(log.signals[given[0]])
    if lead.sum() < MOVED_RAD:
        what = (
            f"no joint is moved from {log.time_s[0]:g} s ({log.place(0)}) to "
            f"{log.time_s[-1]:g} s: the delay of a sensor is unknown; means of a "
            "standing robot are not affected"
        )
        return _noted(log, "lag", 0, what)
    most = min(int(MAX_LAG_S / dt), len(lead) // 2)
    for signal in ("q", "current", "torque"):
        if signal == given[0] or not log.signals.get(signal):
            continue
        late = _changes(log.signals[signal])
        late = np.maximum(late - np.percentile(late, 75.0), 0.0)  # noise
        alike = _alike(lead, late, most)
        k = int(np.argmax(alike))
        if k * dt < LAG_S or alike[k] < LIKELY or alike[k] < 1.5 * alike[0]:
            continue
        what = f"{signal} follows {given[0]} {k * dt:.2g} s later: "
        if alike[k] < SURE:
            what += "perhaps a delay of the sensor; end the log with a longer standing"
            log = _noted(log, "lag", 0, what)
            continue
        lost = np.full(k, np.nan)
        moved = {n: np.append(v[k:], lost) for n, v in log.signals[signal].items()}
        changed = _changed(log, signal, moved)
        what += f"shifted by {k} rows"
        log = _noted(log, "lag", log.time_s.size, what, signals=changed)
    return log


def _with_copy_noted(log: Log, robot: Robot) -> Log:
    """Report angles of the legs that equal the set-points: one is a copy."""
    q, target = log.signals.get("q", {}), log.signals.get("target", {})
    legs = set(robot.leg_joints)
    if not legs or not legs <= q.keys() & target.keys():
        return log
    n = log.time_s.size
    for late in range(min(COPY_ROWS, n)):
        off = (np.abs(q[one][late:] - target[one][: n - late]) for one in legs)
        known = (one[np.isfinite(one)] for one in off)
        if all(one.size and (one < COPY_RAD).mean() > COPY_SHARE for one in known):
            what = "q equals target in all leg joints: perhaps a copy"
            return _noted(log, COPY, n, what)
    return log


def _changes(columns: Columns) -> FloatArray:
    """Return the absolute changes from row to row, summed over columns."""
    total = np.zeros(len(next(iter(columns.values()))) - 1)
    for values in columns.values():
        total += np.nan_to_num(np.abs(np.diff(values)))
    return total


def _alike(lead: FloatArray, late: FloatArray, most: int) -> FloatArray:
    """Return the correlations at delays of 0 to `most` rows."""
    n = 1 << (len(lead) + most).bit_length()
    product = np.fft.rfft(late, n) * np.conj(np.fft.rfft(lead, n))
    size = float(np.linalg.norm(lead) * np.linalg.norm(late))
    found = np.fft.irfft(product, n)[: most + 1] / max(size, 1e-12)
    return np.asarray(found, dtype=np.float64)


def _upright(log: Log) -> Log:
    """Invert an accelerometer whose measured gravity points downwards."""
    axes = log.signals.get("accelerometer", {})
    up = axes.get("z", np.zeros(0))
    if not np.isfinite(up).any() or np.nanmedian(up) >= 0.0:
        return log
    turned = {axis: -values for axis, values in axes.items()}
    what = "accelerometer with gravity downward: sign inverted"
    return _converted(log, "accelerometer", turned, what)


def _signed(log: Log, robot: Robot) -> Log:
    """Infer the signs of unsigned currents, as `sim.sensors.current_sign` does."""
    columns = log.signals.get("current", {})
    legs = [robot.joints[robot.joint_index(n)].motor for n in robot.leg_joints]
    if not legs or not all(leg in columns for leg in legs):
        return log
    if any(np.nanmin(columns[leg], initial=np.inf) < 0.0 for leg in legs):
        return log
    sign = _signs(log, robot)
    unsure = frozenset(m for m in columns if abs(sign.get(m, 0.0)) < 1.0)
    signed = {m: v * np.sign(sign.get(m, 1.0) or 1.0) for m, v in columns.items()}
    unsure_legs = [leg for leg in dict.fromkeys(legs) if leg in unsure]
    what = "currents have no sign: inferred from set-points and angles"
    if unsure_legs:
        what += f"; unknown of {', '.join(unsure_legs)}"
    signals = _changed(log, "current", signed)
    return _noted(log, "unit", log.time_s.size, what, signals=signals, unsigned=unsure)


def _signs(log: Log, robot: Robot) -> dict[str, float]:
    """Return the sign of each motor's current at the end; from 0 to 1 if uncertain."""
    own = zip(robot.motors, ~robot.is_parallel, strict=True)
    lead = {m.name: m.joints[0] for m, is_own in own if is_own}
    target, q, size = (log.signals.get(s, {}) for s in ("target", "q", "current"))
    known = [m for m in lead if m in size and lead[m] in target and lead[m] in q]
    if not known:
        return {}
    rows = np.flatnonzero(log.time_s >= log.time_s[-1] - SIGN_S)[-SIGN_ROWS:]
    names = robot.motor_names
    amount = np.zeros((rows.size, len(names)))
    error = np.zeros_like(amount)
    for m in known:
        k = names.index(m)
        amount[:, k] = np.nan_to_num(size[m][rows])
        error[:, k] = np.nan_to_num(target[lead[m]][rows] - q[lead[m]][rows])
    estimator = CurrentSign(robot)
    steps = np.diff(log.time_s[rows], prepend=log.time_s[rows[0]])
    signed = np.zeros(len(names))
    for k in range(rows.size):
        signed = estimator.step(amount[k], error[k], float(steps[k]))
    last = np.where(amount[-1] > 0.0, amount[-1], np.inf)
    return {m: float((signed / last)[names.index(m)]) for m in known}
