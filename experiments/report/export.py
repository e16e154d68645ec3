"""Export of a run for other programs, with one writer per format.

The module starts with the definitions of the ROS 2 messages in an MCAP file. Fields and
order are those of common_interfaces, geometry2 and rcl_interfaces [ros2]; a definition
is followed by those of the types that it uses.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nao_testbed.experiments.common.output_files import check_replaceable
from nao_testbed.experiments.report.exported_run import WORLD, ExportedRun
from nao_testbed.models import ExtraMissing

if TYPE_CHECKING:
    from nao_testbed.sim.recording.run_folder import Event


_FIELDS: Mapping[str, str] = {
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec",
    "std_msgs/Header": "builtin_interfaces/Time stamp\nstring frame_id",
    "std_msgs/String": "string data",
    "std_msgs/MultiArrayDimension": "string label\nuint32 size\nuint32 stride",
    "std_msgs/MultiArrayLayout": (
        "std_msgs/MultiArrayDimension[] dim\nuint32 data_offset"
    ),
    "std_msgs/Float64MultiArray": "std_msgs/MultiArrayLayout layout\nfloat64[] data",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Quaternion": "float64 x\nfloat64 y\nfloat64 z\nfloat64 w",
    "geometry_msgs/Transform": (
        "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation"
    ),
    "geometry_msgs/TransformStamped": (
        "std_msgs/Header header\nstring child_frame_id\n"
        "geometry_msgs/Transform transform"
    ),
    "tf2_msgs/TFMessage": "geometry_msgs/TransformStamped[] transforms",
    "sensor_msgs/JointState": (
        "std_msgs/Header header\nstring[] name\nfloat64[] position\n"
        "float64[] velocity\nfloat64[] effort"
    ),
    "sensor_msgs/Temperature": (
        "std_msgs/Header header\nfloat64 temperature\nfloat64 variance"
    ),
    "diagnostic_msgs/KeyValue": "string key\nstring value",
    "diagnostic_msgs/DiagnosticStatus": (
        "byte level\nstring name\nstring message\nstring hardware_id\n"
        "diagnostic_msgs/KeyValue[] values"
    ),
    "diagnostic_msgs/DiagnosticArray": (
        "std_msgs/Header header\ndiagnostic_msgs/DiagnosticStatus[] status"
    ),
    "rcl_interfaces/Log": (
        "builtin_interfaces/Time stamp\nuint8 level\nstring name\nstring msg\n"
        "string file\nstring function\nuint32 line"
    ),
}
"""Type to its fields, one per line."""


def definition(name: str) -> str:
    """Return the whole definition of a type, such as `sensor_msgs/JointState`."""
    text = _FIELDS[name]
    for used in _used_by(name):
        text += f"\n{'=' * 80}\nMSG: {used}\n{_FIELDS[used]}"
    return text


def _used_by(name: str) -> list[str]:
    """Return the types that a type uses, recursively."""
    found: list[str] = []
    for line in _FIELDS[name].splitlines():
        kind = line.partition(" ")[0].removesuffix("[]")
        if kind in _FIELDS:
            found += [kind, *_used_by(kind)]
    return list(dict.fromkeys(found))


OnTime = Callable[[float], None]
"""Function called with the simulated time in s written so far."""
Written = Mapping[Path, Mapping[str, int]]
"""File to the number of rows per table, topic or entity."""

ROWS_AT_ONCE = 2000
"""Number of rows between two progress reports, about a fifth of a second."""
_INFO_LOG, _ERROR_LOG = 20, 40
"""Levels of `rcl_interfaces/Log`."""


def write_csv(run: ExportedRun, path: Path, on_time: OnTime) -> Written:
    """Write all rows as one table, and the events as another.

    The first column is the time in s. Columns keep the run's names. Of the
    transforms, only that of the base is written; the others follow from the angles.
    """
    events = path.with_suffix(".events.csv")
    check_replaceable("the events beside it,", events)
    with path.open("w", encoding="utf-8", newline="") as file:
        for i in range(0, len(run.frame), ROWS_AT_ONCE):
            rows_now = run.frame.iloc[i : i + ROWS_AT_ONCE]
            rows_now.to_csv(
                file, header=i == 0, index_label="time_s", float_format="%.9g"
            )
            on_time(float(rows_now.index[-1]))
    import pandas as pd  # noqa: PLC0415  # heavy, and there already

    rows = [(e.time_s, e.kind, json.dumps(e.data)) for e in run.run.events]
    pd.DataFrame(rows, columns=["time_s", "kind", "data"]).to_csv(events, index=False)
    return {path: {"observations": len(run.frame)}, events: {"events": len(rows)}}


def write_mcap(run: ExportedRun, path: Path, on_time: OnTime) -> Written:
    """Write an MCAP file with messages of ROS 2, in the order of their time.

    Topics: `/joint_states`, `/joint_targets`, `/stiffness`, `/temperature/MOTOR`,
    `/diagnostics`, `/tf`, `/rosout` with the events, `/robot_description`.

    Raises:
        BadInput: the extra `export` is not installed.
    """
    try:
        from mcap_ros2.writer import Writer  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise _not_there("mcap-ros2-support", "export") from error
    with path.open("wb") as file, Writer(file) as writer:
        schemas: dict[str, Any] = {}
        rows: Counter[str] = Counter()
        told_s = -np.inf
        for time_s, topic, kind, message in _messages(run):
            if kind not in schemas:
                package, name = kind.split("/")
                schemas[kind] = writer.register_msgdef(
                    f"{package}/msg/{name}", definition(kind)
                )
            writer.write_message(topic, schemas[kind], message, _ns(time_s))
            rows[topic] += 1
            if time_s > told_s + 1.0:
                told_s = time_s
                on_time(time_s)
        writer.add_metadata("nao-testbed", _about(run))
    return {path: rows}


def write_rerun(run: ExportedRun, path: Path, on_time: OnTime) -> Written:
    """Write a Rerun recording: scalars, transforms and events on the timeline `time`.

    Raises:
        BadInput: the extra `rerun` is not installed.
    """
    try:
        import rerun as rr  # noqa: PLC0415  # an extra, and heavy
    except ImportError as error:
        raise _not_there("rerun-sdk", "rerun") from error
    name = run.run.meta.experiment
    record = rr.RecordingStream("nao-testbed", recording_id=f"{name} {run.run.folder}")
    record.save(path)
    times = rr.TimeColumn("time", duration=run.time_s)
    rows: Counter[str] = Counter()

    def scalars(place: str, names: tuple[str, ...], block: Any) -> None:
        for i, one in enumerate(() if block is None else names):
            columns = rr.Scalars.columns(scalars=np.ascontiguousarray(block[:, i]))
            path_of = rr.new_entity_path([place, one])
            record.send_columns(path_of, indexes=[times], columns=columns)
            rows[str(path_of)] += len(run.time_s)

    for label, channel in _JOINT_CHANNELS.items():
        scalars(label, run.robot.joint_names, run.joints(channel))
    scalars("temperature", run.robot.motor_names, run.motors("temperature"))
    paths = {WORLD: [WORLD]}  # frame to its path in the tree
    for one in run.transforms:
        paths[one.child] = [*paths.get(one.parent, [one.parent]), one.child]
        path_of = rr.new_entity_path(paths[one.child])
        rows[str(path_of)] += len(run.time_s)
        record.send_columns(
            path_of,
            indexes=[times],
            columns=rr.Transform3D.columns(
                translation=one.translation, quaternion=one.quaternion
            ),
        )
    for time_s, said in run.diagnostics():
        record.set_time("time", duration=time_s)
        for status in said:
            level = ("INFO", "WARN", "ERROR")[status.level]
            text = f"{status.message} {json.dumps(status.values)}"
            place = rr.new_entity_path(["diagnostics", status.name])
            record.log(place, rr.TextLog(text, level=level))
            rows[str(place)] += 1
    for event in run.run.events:
        record.set_time("time", duration=event.time_s)
        level = "ERROR" if _is_failure(event) else "INFO"
        record.log("events", rr.TextLog(_said(event), level=level))
        rows["events"] += 1
    record.flush()
    record.disconnect()
    on_time(float(run.time_s[-1]))
    return {path: rows}


WRITERS: Mapping[str, Callable[[ExportedRun, Path, OnTime], Written]] = {
    "mcap": write_mcap,
    "csv": write_csv,
    "rerun": write_rerun,
}
"""Format to its writer, which returns the written files."""
SUFFIXES = {"mcap": ".mcap", "csv": ".csv", "rerun": ".rrd"}
"""Format to its file suffix."""
_JOINT_CHANNELS = {
    "position": "q",
    "velocity": "v",
    "effort": "effort",
    "target": "target",
    "stiffness": "stiffness",
}
"""Name in an export to the channel of the run."""


# -- messages -------------------------------------------------------------------------

Message = tuple[float, str, str, dict[str, Any]]
"""Time in s, topic, type, fields."""


def _messages(run: ExportedRun) -> Iterator[Message]:
    """Yield all messages, oldest first."""
    times = run.time_s.tolist()
    description = run.robot.urdf.read_text(encoding="utf-8")
    yield times[0], "/robot_description", "std_msgs/String", {"data": description}
    diagnostics = list(run.diagnostics())
    events = sorted(run.run.events, key=lambda event: event.time_s)
    blocks = {name: run.joints(c) for name, c in _JOINT_CHANNELS.items()}
    degc = run.motors("temperature")
    names = list(run.robot.joint_names)
    state = "sensor_msgs/JointState"
    unknown: dict[str, Any] = {"velocity": [], "effort": []}
    for i, now in enumerate(times):
        while events and events[0].time_s <= now:
            yield _log(events.pop(0))
        header = _header(now, "")
        rows = {n: [] if b is None else b[i].tolist() for n, b in blocks.items()}
        of = {"header": header, "name": names}
        felt = {key: rows[key] for key in ("position", "velocity", "effort")}
        yield now, "/joint_states", state, of | felt
        wanted = of | {"position": rows["target"]} | unknown
        yield now, "/joint_targets", state, wanted
        layout = {"dim": _labels(names), "data_offset": 0}
        limits = {"layout": layout, "data": rows["stiffness"]}
        yield now, "/stiffness", "std_msgs/Float64MultiArray", limits
        yield now, "/tf", "tf2_msgs/TFMessage", {"transforms": _stamped(run, i, now)}
        while diagnostics and diagnostics[0][0] <= now:
            yield _diagnostic(run, *diagnostics.pop(0))
            if degc is None:
                continue
            for name, hot in zip(run.robot.motor_names, degc[i].tolist(), strict=True):
                fields = {"header": header, "temperature": hot, "variance": 0.0}
                yield now, f"/temperature/{name}", "sensor_msgs/Temperature", fields
    for event in events:
        yield _log(event)


def _stamped(run: ExportedRun, i: int, now: float) -> list[dict[str, Any]]:
    return [
        {
            "header": _header(now, one.parent),
            "child_frame_id": one.child,
            "transform": {
                "translation": dict(
                    zip("xyz", one.translation[i].tolist(), strict=True)
                ),
                "rotation": dict(zip("xyzw", one.quaternion[i].tolist(), strict=True)),
            },
        }
        for one in run.transforms
    ]


def _diagnostic(run: ExportedRun, now: float, said: list[Any]) -> Message:
    status = [
        {
            "level": one.level,
            "name": one.name,
            "message": one.message,
            "hardware_id": run.robot.name,
            "values": [{"key": k, "value": v} for k, v in one.values.items()],
        }
        for one in said
    ]
    fields = {"header": _header(now, ""), "status": status}
    return now, "/diagnostics", "diagnostic_msgs/DiagnosticArray", fields


def _log(event: "Event") -> Message:
    return (
        event.time_s,
        "/rosout",
        "rcl_interfaces/Log",
        {
            "stamp": _stamp(event.time_s),
            "level": _ERROR_LOG if _is_failure(event) else _INFO_LOG,
            "name": "nao-testbed",
            "msg": _said(event),
            "file": "",
            "function": "",
            "line": 0,
        },
    )


def _labels(names: list[str]) -> list[dict[str, Any]]:
    return [{"label": ",".join(names), "size": len(names), "stride": len(names)}]


def _header(time_s: float, frame: str) -> dict[str, Any]:
    return {"stamp": _stamp(time_s), "frame_id": frame}


def _stamp(time_s: float) -> dict[str, int]:
    sec, nanosec = divmod(_ns(time_s), 10**9)
    return {"sec": sec, "nanosec": nanosec}


def _ns(time_s: float) -> int:
    """Return a time in ns, rounded to µs, the precision of the floats."""
    return round(time_s * 1e6) * 1000


# -- texts -----------------------------------------------------------------------------


def _said(event: "Event") -> str:
    return f"{event.kind} {json.dumps(event.data, ensure_ascii=False)}"


def _is_failure(event: "Event") -> bool:
    return "failed" in event.kind.lower()


def _about(run: ExportedRun) -> dict[str, str]:
    meta = run.run.meta
    return {
        "experiment": meta.experiment,
        "robot": meta.robot,
        "seed": str(meta.seed),
        "state": run.run.state,
        "started_utc": meta.started_utc,
        "commit": str(meta.commit),
        "units": json.dumps(dict(meta.columns)),
    }


def _not_there(package: str, extra: str) -> ExtraMissing:
    return ExtraMissing("this format", package, extra, "or choose --to csv")
