"""Tables that describe a robot, with angles in degrees and other values in SI units."""

from collections.abc import Callable, Iterable, Mapping
from math import degrees
from typing import TypeVar

from rich.table import Table

from nao_testbed.experiments.common.drawing.plain_table import plain_table
from nao_testbed.models.folders import robot_names
from nao_testbed.models.resources import ResourceNode
from nao_testbed.models.robot import Joint, Motor, Robot

T = TypeVar("T")


def describe(robot: Robot) -> tuple[Table, ...]:
    """Return the tables that describe a robot, in display order.

    Print them with a `rich.console.Console`.
    """
    return (
        overview_table(robot),
        joint_table(robot),
        motor_table(robot),
        link_table(robot),
        posture_table(robot),
        angle_table(robot),
        sensor_table(robot),
        device_table(robot),
        resource_table(robot),
    )


def overview_table(robot: Robot) -> Table:
    """Return name, files, sizes and groups."""
    table = _table(f"Robot {robot.name}", "What", "Value", numbers=0)
    table.add_row("folder", str(robot.folder))
    table.add_row("URDF", str(robot.urdf))
    table.add_row("base link", robot.base_link)
    table.add_row("mass", f"{robot.total_mass:.3f} kg in {len(robot.links)} links")
    table.add_row("joints", f"{len(robot.joints)}")
    table.add_row("motors", f"{len(robot.motors)}")
    table.add_row("feet", ", ".join(robot.feet))
    for name, joints in robot.groups.items():
        table.add_row(f"group {name}", ", ".join(joints))
    table.add_row("built-in robots", ", ".join(robot_names()))
    return table


def joint_table(robot: Robot) -> Table:
    """Return limits, torque at stiffness 1 and servo numbers of each joint."""
    return _rows(
        "Joints",
        robot.joints,
        {
            "Joint": lambda joint: joint.name,
            "lower °": lambda joint: f"{degrees(joint.lower):.1f}",
            "upper °": lambda joint: f"{degrees(joint.upper):.1f}",
            "°/s": lambda joint: f"{degrees(joint.max_velocity):.0f}",
            "N·m": lambda joint: f"{joint.effort_limit:.3f}",
            "kp N·m/rad": lambda joint: f"{joint.kp:.1f}",
            "kd N·m·s/rad": lambda joint: f"{joint.kd:.3f}",
            "friction N·m": lambda joint: f"{joint.friction:.4f}",
            "motor": lambda joint: _motors_of(robot, joint),
        },
    )


def _motors_of(robot: Robot, joint: Joint) -> str:
    names = [robot.motor_names[m] for m in robot.motors_of([joint.name])]
    return "own" if names == [joint.name] else ", ".join(names)


def _with_joints(motor: Motor) -> str:
    """Return a motor's name, with the joints that it couples, or drives with others."""
    if len(motor.joints) == 1:
        return motor.name
    if set(motor.ratios) == {1.0}:
        return f"{motor.name} (+ {', '.join(motor.joints[1:])})"
    parts = (f"{r:+g} {j}" for j, r in zip(motor.joints, motor.ratios, strict=True))
    return f"{motor.name} ({' '.join(parts)})"


def motor_table(robot: Robot) -> Table:
    """Return gear, ratings and one-node heating of each motor."""
    return _rows(
        "Motors",
        robot.motors,
        {
            "Motor": _with_joints,
            "type": lambda motor: motor.type,
            "ratio": lambda motor: f"{motor.gear_ratio:g}",
            "stall mN·m": lambda motor: f"{motor.stall_torque * 1e3:.1f}",
            "rpm": lambda motor: f"{degrees(motor.no_load_speed) / 6.0:.0f}",
            "armature kg·m²": lambda motor: f"{motor.armature:.2g}",
            "K N·m/A": lambda motor: f"{motor.one_node.torque_constant:.3g}",
            "R Ω": lambda motor: f"{motor.one_node.resistance:.3g}",
            "λ W/K": lambda motor: f"{motor.one_node.conductance:.3g}",
            "C J/K": lambda motor: f"{motor.one_node.heat_capacity:.3g}",
            "ambient °C": lambda motor: f"{motor.one_node.ambient_degc:.0f}",
        },
    )


def link_table(robot: Robot) -> Table:
    """Return mass and centre of mass of each link, in the link frame."""
    return _rows(
        "Links",
        robot.links,
        {
            "Link": lambda link: link.name,
            "mass kg": lambda link: f"{link.mass:.5f}",
            "x mm": lambda link: f"{link.com[0] * 1e3:.1f}",
            "y mm": lambda link: f"{link.com[1] * 1e3:.1f}",
            "z mm": lambda link: f"{link.com[2] * 1e3:.1f}",
        },
    )


def posture_table(robot: Robot) -> Table:
    """Return the supporting body parts of each stored posture."""
    table = _table("Postures", "Posture", "carried by", "offset", "status", numbers=0)
    for posture in robot.postures.values():
        offset = "default" if posture.offset is None else f"{posture.offset:g}"
        effectors = ", ".join(posture.effectors) or "not a typical posture"
        table.add_row(posture.name, effectors, offset, posture.status)
    return table


def angle_table(robot: Robot) -> Table:
    """Return the joint angles of each posture in degrees."""
    table = _table("Posture angles in degrees", "Joint", *robot.postures)
    for i, name in enumerate(robot.joint_names):
        angles = (f"{degrees(p.angles[i]):.1f}" for p in robot.postures.values())
        table.add_row(name, *angles)
    return table


def sensor_table(robot: Robot) -> Table:
    """Return the sensors with their sampling periods."""
    rates, imu = robot.sensor_rates, robot.imu
    table = _table("Sensors", "Sensor", "count", "period ms", "what", numbers=2)
    step = degrees(max(joint.encoder_step for joint in robot.joints))
    ranges = f"{imu.accelerometer_range:.1f} m/s², {degrees(imu.gyro_range):.0f} °/s"
    forces = ", ".join(sensor.name for sensor in robot.force_sensors)
    effectors = ", ".join(dict.fromkeys(p.effector for p in robot.contact_points))
    n_motors, noise = len(robot.motors), f"noise {rates.current_noise * 1e3:g} mA"
    for name, count, period, what in (
        ("encoder", len(robot.joints), rates.encoder_period, f"step {step:.3f}°"),
        ("current", n_motors, rates.current_period, noise),
        (
            "temperature",
            n_motors,
            rates.temperature_period,
            f"step {rates.temperature_step:g} K",
        ),
        ("IMU", 1, rates.imu_period, f"{imu.link}; {ranges}"),
        ("force", len(robot.force_sensors), rates.fsr_period, forces),
        ("contact candidate", len(robot.contact_points), None, effectors),
    ):
        period_ms = "-" if period is None else f"{period * 1e3:g}"
        table.add_row(name, str(count), period_ms, what)
    return table


def device_table(robot: Robot) -> Table:
    """Return battery, lights and loudspeakers."""
    battery = robot.battery
    table = _table("Devices", "Device", "Value", numbers=0)
    table.add_row(
        "battery",
        f"{battery.nominal_volt:g} V ({battery.max_volt:g} V full), "
        f"{battery.max_discharge_ampere:g} A, {battery.capacity_watt_hour:g} Wh",
    )
    for led in robot.leds:
        value = f"{led.count} {led.channels}, {led.levels} levels, on {led.link}"
        table.add_row(led.name, value)
    for speaker in robot.speakers:
        rates = ", ".join(str(rate) for rate in speaker.sample_rates_hz)
        table.add_row(speaker.name, f"{rates} Hz, on {speaker.link}")
    return table


def resource_table(robot: Robot) -> Table:
    """Return the resources for behaviours, parts below their composites."""
    table = _table("Resources", "Resource", "shared", "commands", numbers=0)

    def add(node: ResourceNode, depth: int) -> None:
        device = node.device
        table.add_row(
            "  " * depth + node.name,
            "" if node.children else str(node.kind),
            f"{device.kind} {', '.join(device.names)}" if device else "",
        )
        for child in node.children:
            add(child, depth + 1)

    add(robot.resources, 0)
    return table


def _rows(
    title: str, parts: Iterable[T], columns: Mapping[str, Callable[[T], str]]
) -> Table:
    """Return a row per part; the columns after the first are numbers."""
    table = _table(title, *columns)
    for part in parts:
        table.add_row(*(cell(part) for cell in columns.values()))
    return table


def _table(title: str, first: str, *others: str, numbers: int | None = None) -> Table:
    """Return a table; after the first column, all or `numbers` are numbers."""
    table = plain_table(f"\n{title}")
    table.add_column(first, no_wrap=True)
    for i, name in enumerate(others):
        is_number = numbers is None or i < numbers
        table.add_column(name, justify="right" if is_number else "left")
    return table
