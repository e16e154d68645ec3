"""What a robot is, as tables for the screen: degrees here, SI everywhere else."""

from math import degrees

from rich.table import Table

from experiments.common.drawing.plain_table import plain_table
from models.resources import ResourceNode
from models.robot import Joint, Robot


def describe(robot: Robot) -> tuple[Table, ...]:
    """Return the tables that say what a robot is, in the order to show them.

    Nothing is printed: hand them to a `rich.console.Console`.
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
    return table


def joint_table(robot: Robot) -> Table:
    """Return limits, torque at stiffness 1 and servo numbers of each joint."""
    table = _table(
        "Joints",
        "Joint",
        "lower °",
        "upper °",
        "°/s",
        "N·m",
        "kp N·m/rad",
        "kd N·m·s/rad",
        "friction N·m",
        "motor",
    )
    for joint in robot.joints:
        table.add_row(joint.name, *_joint_cells(joint))
    return table


def _joint_cells(joint: Joint) -> tuple[str, ...]:
    return (
        f"{degrees(joint.lower):.1f}",
        f"{degrees(joint.upper):.1f}",
        f"{degrees(joint.max_velocity):.0f}",
        f"{joint.effort_limit:.3f}",
        f"{joint.kp:.1f}",
        f"{joint.kd:.3f}",
        f"{joint.friction:.4f}",
        joint.motor if joint.motor != joint.name else "own",
    )


def motor_table(robot: Robot) -> Table:
    """Return gear, ratings and one-node heating of each motor."""
    table = _table(
        "Motors",
        "Motor",
        "type",
        "ratio",
        "stall mN·m",
        "rpm",
        "armature kg·m²",
        "K N·m/A",
        "R Ω",
        "λ W/K",
        "C J/K",
        "ambient °C",
    )
    for motor in robot.motors:
        heating = motor.one_node
        also = f" (+ {', '.join(motor.joints[1:])})" if len(motor.joints) > 1 else ""
        table.add_row(
            motor.name + also,
            motor.type,
            f"{motor.gear_ratio:g}",
            f"{motor.stall_torque * 1e3:.1f}",
            f"{degrees(motor.no_load_speed) / 6.0:.0f}",
            f"{motor.armature:.2g}",
            f"{heating.torque_constant:.3g}",
            f"{heating.resistance:.3g}",
            f"{heating.conductance:.3g}",
            f"{heating.heat_capacity:.3g}",
            f"{heating.ambient_degc:.0f}",
        )
    return table


def link_table(robot: Robot) -> Table:
    """Return mass and centre of mass of each link, in the link frame."""
    table = _table("Links", "Link", "mass kg", "x mm", "y mm", "z mm")
    for link in robot.links:
        com = (f"{value * 1e3:.1f}" for value in link.com)
        table.add_row(link.name, f"{link.mass:.5f}", *com)
    return table


def posture_table(robot: Robot) -> Table:
    """Return what carries the robot in each stored posture."""
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
    """Return sensors and how often each is read."""
    rates, imu = robot.sensor_rates, robot.imu
    table = _table("Sensors", "Sensor", "count", "period ms", "what", numbers=2)
    step = degrees(max(joint.encoder_step for joint in robot.joints))
    for name, count, period, what in (
        ("encoder", len(robot.joints), rates.encoder_period, f"step {step:.3f}°"),
        ("current", len(robot.motors), rates.current_period, _noise(robot)),
        (
            "temperature",
            len(robot.motors),
            rates.temperature_period,
            f"step {rates.temperature_step:g} K",
        ),
        (
            "IMU",
            1,
            rates.imu_period,
            f"{imu.link}; {imu.accelerometer_range:.1f} m/s², "
            f"{degrees(imu.gyro_range):.0f} °/s",
        ),
        (
            "force",
            len(robot.force_sensors),
            rates.fsr_period,
            ", ".join(sensor.name for sensor in robot.force_sensors),
        ),
        (
            "contact candidate",
            len(robot.contact_points),
            None,
            ", ".join(dict.fromkeys(p.effector for p in robot.contact_points)),
        ),
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
    """Return what behaviours may reserve, parts under their composites."""
    table = _table("Resources", "Resource", "shared", "commands", numbers=0)
    _add_resources(table, robot.resources, 0)
    return table


def _add_resources(table: Table, node: ResourceNode, depth: int) -> None:
    table.add_row(
        "  " * depth + node.name,
        "" if node.children else str(node.kind),
        f"{node.device.kind} {', '.join(node.device.names)}" if node.device else "",
    )
    for child in node.children:
        _add_resources(table, child, depth + 1)


def _noise(robot: Robot) -> str:
    return f"noise {robot.sensor_rates.current_noise * 1e3:g} mA"


def _table(title: str, first: str, *others: str, numbers: int | None = None) -> Table:
    """Return a table whose columns after the first are numbers, or `numbers` of them.

    `numbers` counts from the second column; None means all.
    """
    table = plain_table(f"\n{title}")
    table.add_column(first, no_wrap=True)
    for i, name in enumerate(others):
        is_number = numbers is None or i < numbers
        table.add_column(name, justify="right" if is_number else "left")
    return table
