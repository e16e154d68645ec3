"""Logs of a simulated run as other programs write them.

    nao-testbed study example-logs RUN --out DIR

Each writer takes the columns of a run folder and writes a file with the names, units,
times and gaps of one program. Nothing is copied from these programs.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from nao_testbed.models import Robot
from nao_testbed.models.errors import ExtraMissing
from nao_testbed.models.values import FloatArray

EPOCH_S = 1.7e9
"""Time of the first row for programs that write the time of day."""
SENSORS = ("q", "target", "current", "temperature", "fsr", "accelerometer", "gyro")
NOISE = {"q": 2e-4, "current": 2e-3, "accelerometer": 0.02}
Frame = pd.DataFrame
Writer = Callable[[Frame, Robot, Path], Path]


def motor_at(robot: Robot, joint: str) -> int:
    """Return the index of the servo of a joint."""
    return int(robot.servo_of_joint[robot.joint_index(joint)])


def torque(frame: Frame, robot: Robot, joint: str) -> FloatArray:
    """Return what the servo of a joint gives: of parallel motors, that of the joint."""
    share = robot.servo_torques[motor_at(robot, joint)]
    of_motors = [
        m.one_node.torque_constant * k * frame[f"current.{m.name}"].to_numpy()
        for m, k in zip(robot.motors, share, strict=True)
        if k != 0.0
    ]
    return np.asarray(np.sum(of_motors, axis=0))


def members(frame: Frame, signal: str) -> list[str]:
    """Return the names of the columns of a signal, without the signal."""
    names = map(str, frame.columns)
    return [n.partition(".")[2] for n in names if n.startswith(f"{signal}.")]


def plotjuggler(frame: Frame, _robot: Robot, folder: Path) -> Path:
    """Write joint states, commands, diagnostics and IMU, each at its own times."""
    time_s = EPOCH_S + frame["time_s"]
    states = {"__time": time_s}
    for n in members(frame, "q"):
        states[f"/joint_states/{n}/position"] = frame[f"q.{n}"]
        states[f"/joint_states/{n}/velocity"] = frame[f"v.{n}"]
    rest = {"__time": time_s + 0.003}
    for n in members(frame, "target"):
        rest[f"/joint_command/{n}/position"] = frame[f"target.{n}"]
    for n in members(frame, "current"):
        rest[f"/diagnostics/{n}/Current"] = frame[f"current.{n}"]
        rest[f"/diagnostics/{n}/Temperature"] = frame[f"temperature.{n}"]
    for axis in "xyz":
        name = f"/imu/data/linear_acceleration/{axis}"
        rest[name] = frame[f"accelerometer.{axis}"]
    both = pd.concat([pd.DataFrame(states), pd.DataFrame(rest)]).sort_values("__time")
    path = folder / "plotjuggler.csv"
    both.to_csv(path, index=False)
    return path


def rostopic(frame: Frame, robot: Robot, folder: Path) -> Path:
    """Write a JointState as `rostopic echo -p`: times in ns, names as text."""
    stamp = (1e9 * (EPOCH_S + frame["time_s"])).round().astype(np.int64)
    columns: dict[str, object] = {
        "%time": stamp,
        "field.header.seq": np.arange(len(frame)),
    }
    columns |= {"field.header.stamp": stamp, "field.header.frame_id": ""}
    joints = members(frame, "q")[::-1]
    columns |= {f"field.name{i}": n for i, n in enumerate(joints)}
    columns |= {f"field.position{i}": frame[f"q.{n}"] for i, n in enumerate(joints)}
    columns |= {f"field.velocity{i}": frame[f"v.{n}"] for i, n in enumerate(joints)}
    motors = {i: robot.joints[robot.joint_index(n)].motor for i, n in enumerate(joints)}
    columns |= {f"field.effort{i}": torque(frame, robot, m) for i, m in motors.items()}
    path = folder / "rostopic.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def almemory(frame: Frame, _robot: Robot, folder: Path) -> Path:
    """Write keys of ALMemory, with the DCM's clock in ms and forces in kg."""
    base = "Device/SubDeviceList/"
    columns = {"DCM/Time": (1000.0 * frame["time_s"]).round() + 5e6}
    for n in members(frame, "current"):
        columns[f"{base}{n}/Position/Sensor/Value"] = frame[f"q.{n}"]
        columns[f"{base}{n}/Position/Actuator/Value"] = frame[f"target.{n}"]
        columns[f"{base}{n}/ElectricCurrent/Sensor/Value"] = frame[f"current.{n}"]
        columns[f"{base}{n}/Temperature/Sensor/Value"] = frame[f"temperature.{n}"]
    corners = {"FL": "FrontLeft", "FR": "FrontRight", "RL": "RearLeft"}
    corners["RR"] = "RearRight"
    for n in members(frame, "fsr"):
        key = f"{base}{n[0]}Foot/FSR/{corners[n[-2:]]}/Sensor/Value"
        columns[key] = frame[f"fsr.{n}"] / 9.81
    for axis in "xyz":
        key = f"{base}InertialSensor/Accelerometer{axis.upper()}/Sensor/Value"
        columns[key] = frame[f"accelerometer.{axis}"]
    path = folder / "almemory.csv"
    pd.DataFrame(columns).to_csv(path, index=False, sep=";", decimal=",")
    return path


def unitree(
    frame: Frame,
    robot: Robot,
    folder: Path,
    order: list[str] | None = None,
    name: str = "motor_state[{}].{}",
) -> Path:
    """Write a LowState of 35 motors, two temperatures each, time in ms."""
    order = order or list(robot.joint_names)
    columns: dict[str, object] = {
        "tick": (1000.0 * frame["time_s"]).round().astype(int) + 123456
    }
    for i in range(35):
        n = order[i] if i < len(order) else None
        motor = robot.motor_names[motor_at(robot, n)] if n else ""
        zero = 0.0 * frame["time_s"]
        values = {
            "q": zero if n is None else frame[f"q.{n}"],
            "dq": zero if n is None else frame[f"v.{n}"],
            "tau_est": zero if n is None else torque(frame, robot, n),
            "temperature[0]": zero
            if n is None
            else frame[f"temperature.{motor}"] - 5.0,
            "temperature[1]": zero if n is None else frame[f"temperature.{motor}"],
        }
        columns |= {name.format(i, key): one for key, one in values.items()}
    for i, axis in enumerate("xyz"):
        columns[f"imu_state.accelerometer[{i}]"] = frame[f"accelerometer.{axis}"]
    path = folder / "lowstate.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def booster(frame: Frame, robot: Robot, folder: Path) -> Path:
    """Write a state of Booster: a temperature for each motor, time in ms."""
    columns: dict[str, object] = {
        "timestamp_ms": (1000.0 * frame["time_s"]).round().astype(int)
    }
    for i, n in enumerate(robot.joint_names):
        motor = robot.motor_names[motor_at(robot, n)]
        values: dict[str, object] = {
            "q": frame[f"q.{n}"],
            "dq": frame[f"v.{n}"],
            "tau_est": torque(frame, robot, n),
            "temperature": frame[f"temperature.{motor}"],
        }
        columns |= {f"motor_state_serial[{i}].{k}": one for k, one in values.items()}
    for i, axis in enumerate("xyz"):
        columns[f"imu_state.acc[{i}]"] = frame[f"accelerometer.{axis}"]
    path = folder / "booster.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def echo(frame: Frame, robot: Robot, folder: Path) -> Path:
    """Write a JointState as `ros2 topic echo --csv`: no header, velocities empty."""
    joints = members(frame, "q")
    ns = (1e9 * (EPOCH_S + frame["time_s"])).round().astype(np.int64)
    columns: dict[str, object] = {"s": ns // 10**9, "ns": ns % 10**9, "frame": ""}
    columns |= {f"name{i}": n for i, n in enumerate(joints)}
    columns |= {f"position{i}": frame[f"q.{n}"] for i, n in enumerate(joints)}
    columns |= {"velocity": ""}
    columns |= {f"effort{n}": torque(frame, robot, n) for n in joints}
    path = folder / "echo.csv"
    pd.DataFrame(columns).to_csv(path, index=False, header=False)
    return path


def records(frame: Frame, robot: Robot, folder: Path) -> Path:
    """Write a JointState as an array of JSON objects, with lists."""
    joints = members(frame, "q")
    efforts = np.column_stack([torque(frame, robot, n) for n in joints]).tolist()
    angles = frame[[f"q.{n}" for n in joints]].to_numpy().tolist()
    rows = [
        {"time": t, "name": joints, "position": q, "effort": tau}
        for t, q, tau in zip(frame["time_s"], angles, efforts, strict=True)
    ]
    path = folder / "records.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def bag(frame: Frame, _robot: Robot, folder: Path, kind: str = "mcap") -> Path:
    """Write a bag of ROS 2 (mcap, sqlite3) or ROS 1 (bag).

    Raises:
        ExtraMissing: the extra `logs` is not installed.
    """
    try:
        from rosbags.rosbag1 import Writer as Writer1  # noqa: PLC0415  # an extra
        from rosbags.rosbag2 import StoragePlugin  # noqa: PLC0415
        from rosbags.rosbag2 import Writer as Writer2  # noqa: PLC0415
        from rosbags.typesys import Stores, get_typestore  # noqa: PLC0415
    except ImportError as error:
        raise ExtraMissing("a bag", "rosbags", "logs") from error

    is1 = kind == "bag"
    store = get_typestore(Stores.ROS1_NOETIC if is1 else Stores.ROS2_HUMBLE)
    types = store.types
    state, array = (
        types[f"{name}"]
        for name in (
            "sensor_msgs/msg/JointState",
            "diagnostic_msgs/msg/DiagnosticArray",
        )
    )
    status, pair = (
        types[f"diagnostic_msgs/msg/{name}"]
        for name in ("DiagnosticStatus", "KeyValue")
    )
    path = folder / ("run.bag" if is1 else kind)
    plugin = StoragePlugin.MCAP if kind == "mcap" else StoragePlugin.SQLITE3
    joints = members(frame, "q")
    none = np.zeros(0)
    with (
        Writer1(path) if is1 else Writer2(path, version=9, storage_plugin=plugin) as out
    ):
        topics = [
            out.add_connection(topic, one.__msgtype__, typestore=store)
            for topic, one in (("/joint_states", state), ("/diagnostics", array))
        ]

        def write(k: int, ns: int, message: object, kind: str) -> None:
            raw = (store.serialize_ros1 if is1 else store.serialize_cdr)(message, kind)
            out.write(topics[k], ns, raw)

        for _, row in frame.iterrows():
            ns = int(1e9 * (EPOCH_S + row["time_s"]))
            stamp = types["builtin_interfaces/msg/Time"](ns // 10**9, ns % 10**9)
            count = (0,) if is1 else ()
            header = types["std_msgs/msg/Header"](*count, stamp, "")
            angles = np.array([row[f"q.{n}"] for n in joints])
            write(0, ns, state(header, joints, angles, none, none), state.__msgtype__)
            found = [
                status(
                    0,
                    n,
                    "",
                    "",
                    [
                        pair("Temperature", f"{row[f'temperature.{n}']:.1f} C"),
                        pair("Current", f"{row[f'current.{n}']:.9f}"),
                    ],
                )
                for n in members(frame, "current")
            ]
            write(1, ns + 10**6, array(header, found), array.__msgtype__)
    return path


def lerobot(frame: Frame, _robot: Robot, folder: Path) -> Path:
    """Write a data set of one episode, with the names in `meta/info.json`."""
    base = folder / "dataset"
    (base / "meta").mkdir(parents=True)
    (base / "data" / "chunk-000").mkdir(parents=True)
    joints, motors = members(frame, "q"), members(frame, "current")
    names = {
        "observation.state": {"motors": [f"{n}.pos" for n in joints]},
        "observation.current": list(motors),
        "action": [f"{n}.pos" for n in joints],
    }
    info = {"fps": 50, "features": {k: {"names": v} for k, v in names.items()}}
    (base / "meta" / "info.json").write_text(json.dumps(info), encoding="utf-8")
    rows = {
        "observation.state": frame[[f"q.{n}" for n in joints]],
        "observation.current": frame[[f"current.{n}" for n in motors]],
        "action": frame[[f"target.{n}" for n in joints]],
    }
    columns: dict[str, object] = {
        k: list(v.to_numpy(np.float32)) for k, v in rows.items()
    }
    columns["timestamp"] = frame["time_s"].astype(np.float32)
    columns["episode_index"] = np.zeros(len(frame), np.int64)
    file = base / "data" / "chunk-000" / "file-000.parquet"
    pd.DataFrame(columns).to_parquet(file)
    return base


def long(frame: Frame, _robot: Robot, folder: Path, hours: float = 2.0) -> Path:
    """Write the last seconds again and again, with noise, as Parquet and CSV."""
    names = ["time_s", *(f"{s}.{n}" for s in SENSORS for n in members(frame, s))]
    last = frame[names].tail(250)
    rng = np.random.default_rng(0)
    n = int(50.0 * 3600.0 * hours)
    found = last.iloc[np.arange(n) % len(last)].reset_index(drop=True)
    for name in names:
        size = NOISE.get(name.partition(".")[0], 0.0)
        found[name] = (found[name] + size * rng.standard_normal(n)).round(5)
    found["time_s"] = (0.02 * np.arange(n)).round(2)
    path = folder / "long.parquet"
    found.to_parquet(path)
    found.to_csv(path.with_suffix(".csv"), index=False)
    return path


def write_all(frame: Frame, robot: Robot, folder: Path) -> list[Path]:
    """Write a log of each program that fits the robot; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    of_robot: Writer = almemory if members(frame, "fsr") else unitree
    if robot.base_link == "Trunk":
        of_robot = booster
    bags = [partial(bag, kind=kind) for kind in ("mcap", "bag")]
    texts: tuple[Writer, ...] = (plotjuggler, rostopic, echo, records, of_robot)
    writers: tuple[Writer, ...] = (*texts, *bags, lerobot)
    return [writer(frame, robot, folder) for writer in writers]
