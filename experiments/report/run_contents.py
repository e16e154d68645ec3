"""Page contents for any run: events, settings, sound, and a result from the rows.

- events: pushes, protection and falls one by one; counts of the others;
- settings: command, versions, seed, every setting;
- sound: the recorded sound, and the times of its parts;
- the result of a robot from its rows, if no result was written. Temperatures are those
  of the rows. Efforts and heat are sums over the rows with the last torque of each row,
  whereas the run uses means over ticks; for a standing robot they agree within some per
  cent. Forecasts are omitted.
"""

import base64
import io
import math
import wave
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from nao_testbed.experiments.closed_loop.recording import recorded_channel
from nao_testbed.experiments.closed_loop.trial_result import (
    SHUT_DOWN_DEGC,
    JointResult,
    TrialResult,
    leg_rise,
)
from nao_testbed.experiments.common.drawing.number_text import NOTHING, number
from nao_testbed.experiments.common.drawing.page import (
    Column,
    DataTable,
    Row,
    SoundPlayer,
    text_columns,
)
from nao_testbed.experiments.common.robot_setting import ResultSpec, annotated_with
from nao_testbed.experiments.heat.figures.section import push_text
from nao_testbed.experiments.heat.published import HeatResult
from nao_testbed.experiments.report.run_source import RecordedTrial
from nao_testbed.models import Robot
from nao_testbed.models.files import cause_of, read_bytes
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.effectors import SOUND_FILE
from nao_testbed.sim.engine.obstacles import Obstacle
from nao_testbed.sim.engine.world import Payload
from nao_testbed.sim.recording.run_folder import Event

if TYPE_CHECKING:
    pass


MOST_EVENTS = 100
"""Largest number of rows of the table; the run folder has all."""
FAST_FORWARD = "fast-forward"
COUNTED_AT_END = "controller flags"
"""Kind of the summary event at the end of a run."""
SHOWN = frozenset(
    {
        "protection",
        "reached 80 °C",
        COUNTED_AT_END,
        "scenario event",
        "operator",
        "refused",
    }
)
"""Kinds of events that are listed one by one; others are counted."""


def event_tables(
    trials: Sequence[RecordedTrial], happened: Sequence[tuple[float, str]] = ()
) -> tuple[DataTable, ...]:
    """Return the table of events, and that of counts, if they have rows.

    Args:
        trials: robots of the run.
        happened: times in s and texts of further events, as in `RunPage`.
    """
    found: list[tuple[float, str, str]] = []
    counts: list[Row] = []
    for trial in trials:
        found += [(time_s, trial.name, what) for time_s, what in events_of(trial)]
        counts += _counts(trial)
    first = trials[0].name if trials else ""
    found += [(time_s, first, what) for time_s, what in happened]
    found.sort(key=lambda event: event[0])
    rows = tuple(Row(cells=(number(t, 2), *rest)) for t, *rest in found[:MOST_EVENTS])
    more = len(found) - len(rows)
    one_by_one = DataTable(
        caption="Events over time",
        columns=(Column(label="time, s"), *text_columns("robot", "event")),
        rows=rows,
        note=f"{more} more events are in the run folder." if more else "",
    )
    counted = DataTable(
        caption="Number of other events",
        columns=(*text_columns("robot", "event"), Column(label="times")),
        rows=tuple(counts),
    )
    return tuple(table for table in (one_by_one, counted) if table.rows)


def events_of(
    trial: RecordedTrial, kinds: Collection[str] = SHOWN
) -> list[tuple[float, str]]:
    """Return the time in s and the text of each event of these kinds, unsorted."""
    config = cast("Mapping[str, Any]", trial.run.meta.config)
    events = [(float(p["at_s"]), push_text(p)) for p in config.get("pushes") or ()]
    events += [(e.time_s, _words(e)) for e in trial.run.events if e.kind in kinds]
    if trial.run.state.startswith("failed: ") and len(trial.frame):
        reason = trial.run.state.removeprefix("failed: ")
        events.append((float(trial.frame.index[-1]), f"ended: {reason}"))
    return events


def _words(event: Event) -> str:
    data = event.data
    if event.kind == "protection":
        return (
            f"protection: {data.get('motor')} from status {data.get('before')} to "
            f"{data.get('status')}"
        )
    if "said" in data:
        return str(data["said"])
    if data.keys() == {"text"}:
        return f"{event.kind}: {data['text']}"
    details = ", ".join(f"{key} {value}" for key, value in data.items())
    return f"{event.kind}: {details}" if details else event.kind


def _counts(trial: RecordedTrial) -> list[Row]:
    kinds = Counter(e.kind for e in trial.run.events if e.kind not in SHOWN)
    rows = []
    for kind, times in sorted(kinds.items()):
        name = kind
        if kind == FAST_FORWARD:
            skipped = sum(_skipped_s(e) for e in trial.run.events if e.kind == kind)
            name = f"fast-forward, {number(skipped, 0)} s without physics in total"
        rows.append(Row(cells=(trial.name, name, str(times))))
    return rows


def _skipped_s(event: Event) -> float:
    begin_s = event.data.get("begin_s")
    return event.time_s - float(begin_s) if isinstance(begin_s, int | float) else 0.0


ELSEWHERE = frozenset({"command", "folder", "controller", "scenario"})
"""Fields of a configuration that the page shows in another place."""


def settings_tables(trials: Sequence[RecordedTrial]) -> tuple[DataTable, ...]:
    """Return the tables of shared and of differing settings."""
    origins = {trial.name: _origin(trial) for trial in trials}
    settings = {trial.name: dict(_flat(trial.run.meta.config)) for trial in trials}
    tables = (
        _shared("Origin", origins),
        _differing("Differences between the robots", origins, settings),
        _shared("Settings", settings),
    )
    return tuple(table for table in tables if table.rows)


def _origin(trial: RecordedTrial) -> dict[str, str]:
    meta = trial.run.meta
    return {
        "experiment": meta.experiment,
        "robot": meta.robot,
        "command": " ".join(meta.command) or NOTHING,
        "seed": str(meta.seed),
        "state": trial.run.state,
        "started (UTC)": meta.started_utc.removesuffix("+00:00").replace("T", " "),
        "rows": str(len(trial.frame)),
        "commit": meta.commit or "unknown",
        **{_of_version(name): str(text) for name, text in meta.versions.items()},
    }


def _of_version(name: str) -> str:
    return name if name == "machine" else f"version of {name}"


def _differs(values: Mapping[str, Mapping[str, str]], key: str) -> bool:
    return len({row.get(key) for row in values.values()}) > 1


def _keys(values: Mapping[str, Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(key for row in values.values() for key in row))


def _shared(caption: str, values: Mapping[str, Mapping[str, str]]) -> DataTable:
    """Return a table with a row per key in which all robots agree."""
    first = next(iter(values.values()), {})
    keys = [key for key in _keys(values) if not _differs(values, key)]
    return DataTable(
        caption=caption,
        columns=text_columns("", "value"),
        rows=tuple(Row(cells=(key, first[key])) for key in keys),
    )


def _differing(caption: str, *groups: Mapping[str, Mapping[str, str]]) -> DataTable:
    """Return a table with a row per differing key and a column per robot."""
    rows = [
        Row(cells=(key, *(row.get(key, NOTHING) for row in values.values())))
        for values in groups
        for key in _keys(values)
        if _differs(values, key)
    ]
    names = list(groups[0])
    return DataTable(
        caption=caption,
        columns=text_columns("", *names),
        rows=tuple(rows),
    )


def _flat(value: Mapping[str, object], prefix: str = "") -> Sequence[tuple[str, str]]:
    """Return dotted keys and texts; a mapping of numbers stays in one line."""
    lines: list[tuple[str, str]] = []
    for key, item in value.items():
        if not prefix and key in ELSEWHERE:
            continue
        if isinstance(item, Mapping) and not _is_list_of_numbers(item):
            lines += _flat(item, f"{prefix}{key}.")
        else:
            lines.append((f"{prefix}{key}", _text(item)))
    return lines


def _is_list_of_numbers(value: Mapping[str, object]) -> bool:
    """Return True if a mapping has numbers, for example by joint, not settings."""
    return all(
        isinstance(item, int | float)
        and not isinstance(item, bool)
        and key[:1].isupper()
        for key, item in value.items()
    )


def _text(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_text(v)}" for k, v in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) or "none"
    return str(value)


MOST_BYTES = 5_000_000
"""Largest size of a sound in the page: 156 s; as text it takes a third more."""
MOST_NAMED = 50
"""Largest number of sounds that are named below the player."""


@dataclass(frozen=True, kw_only=True)
class Heard:
    """Sound played by the loudspeakers."""

    label: str
    begin_s: float
    end_s: float


def heard_of(trial: RecordedTrial) -> tuple[Heard, ...]:
    """Return the sounds of a robot in the order of their starts."""
    last_s = float(trial.frame.index[-1]) if len(trial.frame) else np.inf
    begun: dict[object, tuple[str, float]] = {}
    found = []
    for event in trial.run.events:
        data = event.data
        if data.get("unit") != "sound":
            continue
        key = str(data.get("stream"))
        if event.kind == "StreamStarted":
            begun[key] = (str(data.get("label")), event.time_s)
        elif event.kind == "StreamEnded" and key in begun:
            label, begin_s = begun.pop(key)
            found.append(Heard(label=label, begin_s=begin_s, end_s=event.time_s))
    for label, begin_s in begun.values():
        found.append(Heard(label=label, begin_s=begin_s, end_s=max(last_s, begin_s)))
    return tuple(sorted(found, key=lambda one: one.begin_s))


def texts_at(heard: Sequence[Heard], grid_s: FloatArray) -> list[str]:
    """Return the text played from each time to the next; of several the latest.

    Texts shorter than a step are shown for one step.
    """
    texts = [""] * len(grid_s)
    for one in heard:
        first = max(int(np.searchsorted(grid_s, one.begin_s + 1e-9)) - 1, 0)
        last = int(np.searchsorted(grid_s, one.end_s - 1e-9))
        for i in range(first, min(max(last, first + 1), len(texts))):
            texts[i] = one.label
    return texts


def sound_of(trial: RecordedTrial, problems: list[str]) -> SoundPlayer | None:
    """Return the sound of a run, or None.

    Args:
        trial: trial with the sound.
        problems: list that gets a line for a sound that the page cannot include.
    """
    path = trial.run.folder / SOUND_FILE
    if not path.exists():
        return None
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            problems.append(
                f"{SOUND_FILE} is not embedded: it has {number(size / 1e6, 1)} MB, "
                f"the limit is {number(MOST_BYTES / 1e6, 0)} MB. Play it from the "
                "run folder."
            )
            return None
        data = read_bytes(path)
        with wave.open(io.BytesIO(data)) as file:
            file.getnframes()
    except (OSError, EOFError, wave.Error) as error:
        problems.append(
            f"{SOUND_FILE} cannot be read: {cause_of(error) or 'it is truncated'}."
        )
        return None
    heard = heard_of(trial)
    named = [
        f"{number(one.begin_s, 2)} to {number(one.end_s, 2)} s: {one.label}"
        for one in heard[:MOST_NAMED]
    ]
    if len(heard) > MOST_NAMED:
        named.append(f"and {len(heard) - MOST_NAMED} more")
    text = base64.b64encode(data).decode("ascii")
    return SoundPlayer(uri=f"data:audio/wav;base64,{text}", named=tuple(named))


def trial_from_rows(trial: RecordedTrial, robot: Robot) -> TrialResult | None:
    """Return the result of one robot; None without rows or temperatures.

    Heat in J: sum over rows of R (tau / K)² dt, with R and K of the robot's data.
    """
    frame = trial.frame
    motors = robot.motor_names
    temperature = recorded_channel(frame, "true_temperature", motors)
    if temperature is None:
        temperature = recorded_channel(frame, "temperature", motors)
    if temperature is None or not len(frame):
        return None
    time_s = frame.index.to_numpy(float)
    dt = np.diff(time_s, prepend=0.0)
    torque = recorded_channel(frame, "motor_torque", motors)
    if torque is None:
        torque = np.full_like(temperature, math.nan)
    heating = [motor.one_node for motor in robot.motors]
    resistance = np.array([h.resistance for h in heating])
    torque_constant = np.array([h.torque_constant for h in heating])
    effort = np.abs(torque).T @ dt / max(dt.sum(), 1e-9)
    energy = ((torque / torque_constant) ** 2 * resistance).T @ dt
    joints = {}
    for name, m in zip(robot.heat_names, robot.servo_of_joint, strict=True):
        hot = np.flatnonzero(temperature[:, m] >= SHUT_DOWN_DEGC)
        joints[name] = JointResult(
            start_degc=float(temperature[0, m]),
            end_degc=float(temperature[-1, m]),
            rise_k=float(temperature[-1, m] - temperature[0, m]),
            mean_abs_effort_nm=float(effort[m]),
            joule_loss_j=float(energy[m]),
            time_to_80_degc_s=float(time_s[hot[0]]) if hot.size else None,
            steady_degc=math.nan,
            forecast_80_degc_s=None,
        )
    state = trial.run.state
    failure = None if state == "done" else state.removeprefix("failed: ")
    return TrialResult(
        controller=trial.name,
        joints=joints,
        left_leg_rise_k=leg_rise(joints, robot.leg("left")),
        right_leg_rise_k=leg_rise(joints, robot.leg("right")),
        fell=failure is not None and "fell" in failure,
        failure=failure,
        sim_s=float(time_s[-1]),
        wall_s=math.nan,
        physics_s=math.nan,
    )


def heat_from_rows(
    trials: Mapping[str, TrialResult], first: RecordedTrial
) -> HeatResult:
    """Combine the results of robots; shared settings are read from the first one."""
    config = cast("Mapping[str, Any]", first.run.meta.config)
    simulation = config.get("simulation") or {}
    duration_s = config.get("duration_s") or max(
        trial.sim_s for trial in trials.values()
    )
    return HeatResult(
        minutes=float(duration_s) / 60.0,
        posture=str(config.get("posture", "")),
        seed=first.run.meta.seed,
        misalignment_deg=dict(simulation.get("misalignment_deg") or {}),
        trials=dict(trials),
        settings={
            "robot": first.run.meta.robot,
            "preset": config.get("preset"),
            "effort_limits_nm": first.run.meta.robot_data.get("effort_limits_nm") or {},
            **{k: v for k, v in first.run.meta.robot_data.items() if k == "thermal"},
            **_settings(config),
        },
    )


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recorded values of the settings of `heat.json`."""
    found: dict[str, Any] = {}
    for one, _, spec in annotated_with(ResultSpec):
        inside: Any = config
        *outer, last = spec.config_path.split(".")
        for key in outer:
            inside = inside.get(key) if isinstance(inside, Mapping) else None
        if isinstance(inside, Mapping) and last in inside:
            found[spec.key or one.name] = inside[last]
    if "payload_kg" in found:
        loads = [Payload(**load) for load in found["payload_kg"]]
        found["payload_kg"] = {load.place: load.mass_kg for load in loads}
    if "obstacles" in found:
        found["obstacles"] = recorded_boxes(found["obstacles"])
    if "copper" in found:
        found["copper"] = bool(found["copper"])
    return found


def recorded_boxes(obstacles: Sequence[Mapping[str, Any]] | None) -> dict[str, str]:
    """Return name to box of the recorded obstacles, in the format of a setting."""
    return {one.name: one.box for one in (Obstacle(**box) for box in obstacles or ())}
