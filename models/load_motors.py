"""Motors of a robot folder: catalogue, gears and heating put together."""

from pathlib import Path

from models.errors import UnknownName
from models.motors import Motor, OneNodeHeating, TwoNodeHeating
from models.rows import JointRow, MotorRow, MotorTypeRow, OneNodeRow, TwoNodeRow
from models.tables import Table, read_table


def load_motors(folder: Path, joints: Table[JointRow]) -> tuple[Motor, ...]:
    """Return the motors in the order of their leading joints.

    Raises:
        RobotDataError: a motor drives no joint, a joint has no motor, or a motor's
            type or heating row does not exist.
    """
    motors = read_table(folder / "motors.csv", MotorRow, "name", "motor")
    types = read_table(folder / "motor_types.csv", MotorTypeRow, "type", "motor type")
    one_node = read_table(
        folder / "heating_one_node.csv", OneNodeRow, "group", "heating group"
    )
    two_node = read_table(
        folder / "heating_two_node.csv", TwoNodeRow, "type", "motor type"
    )
    driven = _driven_joints(joints, motors)
    for row in motors:
        if row.name not in driven:
            motors.fail(
                row.name,
                f"motor {row.name!r} drives no joint: no row of {joints.path.name} "
                "names it.",
            )
        for kind, name, table in (
            ("Motor type", row.type, types),
            ("Motor type", row.type, two_node),
            ("Heating group", row.one_node, one_node),
        ):
            if name not in table.rows:
                unknown = UnknownName(kind, name, table.rows, table.path.name)
                motors.fail(row.name, str(unknown))
    return tuple(
        _motor(
            motors.rows[name],
            driven[name],
            types.rows[motors.rows[name].type],
            one_node.rows[motors.rows[name].one_node],
            two_node.rows[motors.rows[name].type],
        )
        for name in driven
    )


def _driven_joints(
    joints: Table[JointRow], motors: Table[MotorRow]
) -> dict[str, tuple[str, ...]]:
    """Return the joints of each motor, leading joint first, in joint order."""
    driven = {row.name: [row.name] for row in joints if row.motor == row.name}
    for row in joints:
        if row.motor not in motors.rows:
            unknown = UnknownName("Motor", row.motor, motors.rows, motors.path.name)
            joints.fail(row.name, f"joint {row.name!r}: {unknown}")
        if row.motor != row.name:
            driven[row.motor].append(row.name)
    return {name: tuple(names) for name, names in driven.items()}


def _motor(
    row: MotorRow,
    joints: tuple[str, ...],
    kind: MotorTypeRow,
    one_node: OneNodeRow,
    two_node: TwoNodeRow,
) -> Motor:
    leave = {"source", "status", "note", "type", "group"}
    return Motor(
        name=row.name,
        type=row.type,
        joints=joints,
        gear_ratio=row.gear_ratio,
        one_node=OneNodeHeating(**one_node.model_dump(exclude=leave)),
        two_node=TwoNodeHeating(**two_node.model_dump(exclude=leave)),
        **kind.model_dump(exclude=leave),
    )
